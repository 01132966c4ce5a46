"""How does a champion of Go do against GNU Go? A match from random openings, colours swapped in pairs.

    python scripts/against_gnugo.py --run go5  # 100 games, 400 simulations a move, GNU Go at level 10
    python scripts/against_gnugo.py --run go9 --level 5 --opening 4

GNU Go plays by the same rules: area scoring, positional superko, no suicide, the game's komi; it takes dead
stones off before it passes, for here they count as alive, and never resigns. It needs GNU Go (apt-get install
gnugo). The champion plays the move of its search, without noise, on one core.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from champions import add_champion, add_search, load_champion, title

from azero.champion.load import FEW_ROWS
from azero.cli.hydra_program import one_sentence
from azero.config.schema import UserError
from azero.games.game import Game
from azero.games.playing import GameInProgress
from azero.match.openings import draw_openings
from azero.network.torch_inference import one_thread_per_worker
from azero.players import Player, move_of
from azero.players.pv_mcts import PvMcts
from azero.report.console import Console
from azero.truth.perfect_play import Played, count, results_text

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from gnugo import COLOURS, PROGRAM, GnuGo


def play(game: Game, champion: Player, gnugo: GnuGo, side: int, opening: Sequence[int]) -> Played:
    """Play a game after an opening; the champion is player `side`, 0 for black."""
    actions = {game.action_name(game.initial_state(), action): action for action in range(game.num_actions)}
    at = GameInProgress(game)
    gnugo.ask("clear_board")
    champion.new_games(np.zeros(1, np.uint64))
    while not at.is_over:
        mover, ply = at.to_play, len(at.actions)
        if ply >= len(opening) and mover != side:
            action = actions[gnugo.ask(f"genmove {COLOURS[mover]}")]
        else:
            action = move_of(champion, at) if ply >= len(opening) else opening[ply]
            gnugo.ask(f"play {COLOURS[mover]} {game.action_name(at.state, action)}")
        at.play(action)
    assert at.outcome is not None
    return Played(tuple(at.actions), at.outcome * (1 - 2 * side))


def play_pairs(
    game: Game, champion: Player, gnugo: GnuGo, openings: Sequence[Sequence[int]]
) -> list[list[Played]]:
    """Play two games from each opening, the champion as black and as white; return both lists."""
    games: list[list[Played]] = [[], []]
    with Console().stage("match", 0, 0, 2 * len(openings), "games") as progress:
        for opening in openings:
            for side in (0, 1):
                games[side].append(play(game, champion, gnugo, side, opening))
                progress.update(
                    sum(map(len, games)), won=sum(each.outcome > 0 for each in games[0] + games[1])
                )
    return games


def parse() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_champion(parser, "go5")
    parser.add_argument("--games", type=int, default=100)
    parser.add_argument(
        "--simulations", type=int, default=400, help="simulations of the champion before each move"
    )
    parser.add_argument("--level", type=int, default=10, help="level of GNU Go, from 1 to 10")
    parser.add_argument(
        "--opening", type=int, default=2, help="random plies at the beginning of each pair of games"
    )
    parser.add_argument("--seed", type=int, default=1, help="seed of the openings and of GNU Go")
    add_search(parser)
    arguments = parser.parse_args()
    if arguments.games < 2 or arguments.games % 2:
        raise UserError(
            f"--games {arguments.games} must be even and at least 2, for colours are swapped in pairs."
        )
    if arguments.simulations < 1 or arguments.opening < 0 or not 1 <= arguments.level <= 10:
        raise UserError("--simulations must be at least 1, --opening at least 0 and --level from 1 to 10.")
    return arguments


def main() -> None:
    """Play and print the results, one line for each number."""
    arguments = parse()
    if PROGRAM is None:
        raise UserError("GNU Go is not installed; apt-get install gnugo installs it.")
    with one_thread_per_worker():
        trained = load_champion(arguments, 1, num_simulations=arguments.simulations)
        game = trained.game
        if game.name != "go" or game.options["superko"] != "positional":
            plays = f"{game.name} {game.options or ''}".strip()
            raise UserError(f"GNU Go plays Go with positional superko here; {arguments.run} plays {plays}.")
        champion = PvMcts(game, trained.inferences[0], trained.search, leaves=FEW_ROWS)
        options = (
            "--level",
            str(arguments.level),
            "--seed",
            str(arguments.seed),
            "--capture-all-dead",
            "--never-resign",
        )
        openings = draw_openings(
            game, arguments.opening, arguments.games // 2, np.random.SeedSequence(arguments.seed)
        )
        with GnuGo(game.options["size"], *options) as gnugo:
            gnugo.ask(f"komi {game.options['komi']}")
            games = play_pairs(game, champion, gnugo, openings)
    print(
        f"{title(arguments, trained)}, {arguments.simulations} simulations a move, against GNU Go at level "
        f"{arguments.level}"
    )
    for side, colour in enumerate(COLOURS):
        print(f"as {colour}: ", end="")
        print(results_text(count(games[side]), "wins"))
        print(f"{colour}_wins={count(games[side])['wins']}")


if __name__ == "__main__":
    with one_sentence():
        main()
