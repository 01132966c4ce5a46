"""How does a champion of Go do against GNU Go? A match from random openings, colours swapped in pairs.

    python scripts/against_gnugo.py --run go5                       100 games, 400 simulations a move, GNU Go at level 10
    python scripts/against_gnugo.py --run go9 --level 5 --opening 4

GNU Go plays by the same rules: area scoring, positional superko, no suicide, the game's komi; it takes dead stones off before it
passes, for here they count as alive, and never resigns. It needs GNU Go (apt-get install gnugo). The champion plays the move of
its search, without noise, on one core.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from champions import Played, add_champion, add_search, count, load_champion, tell, title

from azero.command_line import one_sentence
from azero.config import UserError
from azero.games.game import Game
from azero.monitoring.console import Console
from azero.network.torch_inference import one_thread_a_lane
from azero.openings import draw_openings
from azero.players import Player
from azero.players.pv_mcts import PvMcts
from azero.search.repetition import History
from azero.trained import FEW_ROWS

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from gnugo import COLOURS, PROGRAM, GnuGo

ONLY_GAME = np.zeros(1, np.int64)


def play(game: Game, champion: Player, gnugo: GnuGo, side: int, opening: Sequence[int]) -> Played:
    """A game in which the champion is player `side`, 0 for black, after an opening."""
    actions = {game.action_name(action): action for action in range(game.num_actions)}
    state, past, moves = game.initial_state(), History(game, 1), list[int]()
    gnugo.ask("clear_board")
    champion.new_games(np.zeros(1, np.uint64))
    while not game.is_terminal(state):
        mover, ply = game.to_play(state), len(moves)
        if ply >= len(opening) and mover != side:
            action = actions[gnugo.ask(f"genmove {COLOURS[mover]}")]
        else:
            banned = past.banned(ONLY_GAME, state[None])
            chosen = ply >= len(opening)
            action = int(champion.choose(state[None], ONLY_GAME, np.array([ply]), banned)[0]) if chosen else opening[ply]
            gnugo.ask(f"play {COLOURS[mover]} {game.action_name(action)}")
        past.add(ONLY_GAME, state[None])
        moves.append(action)
        state = game.step(state, action)
    return Played(tuple(moves), game.first_outcome(state) * (1 - 2 * side))


def play_pairs(game: Game, champion: Player, gnugo: GnuGo, openings: Sequence[Sequence[int]]) -> list[list[Played]]:
    """From each opening a game with the champion as black and one as white. Returns both kinds."""
    games: list[list[Played]] = [[], []]
    with Console().stage("match", 0, 0, 2 * len(openings), "games") as progress:
        for opening in openings:
            for side in (0, 1):
                games[side].append(play(game, champion, gnugo, side, opening))
                progress.update(sum(map(len, games)), won=sum(each.outcome > 0 for each in games[0] + games[1]))
    return games


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_champion(parser, "go5")
    parser.add_argument("--games", type=int, default=100)
    parser.add_argument("--simulations", type=int, default=400, help="of the champion, for each move")
    parser.add_argument("--level", type=int, default=10, help="of GNU Go, from 1 to 10")
    parser.add_argument("--opening", type=int, default=2, help="random plies at the beginning of each pair of games")
    parser.add_argument("--seed", type=int, default=1, help="of the openings, and of GNU Go")
    add_search(parser)
    arguments = parser.parse_args()
    if arguments.games < 2 or arguments.games % 2:
        raise UserError(f"--games {arguments.games} must be even and at least 2, for colours are swapped in pairs.")
    if arguments.simulations < 1 or arguments.opening < 0 or not 1 <= arguments.level <= 10:
        raise UserError("--simulations must be at least 1, --opening at least 0 and --level from 1 to 10.")
    return arguments


def main() -> None:
    """Play, tell, then a line for each figure."""
    arguments = parse()
    if PROGRAM is None:
        raise UserError("GNU Go is not installed; apt-get install gnugo installs it.")
    with one_thread_a_lane():
        trained = load_champion(arguments, 1, num_simulations=arguments.simulations)
        game = trained.game
        if game.name != "go" or game.options["superko"] != "positional":
            plays = f"{game.name} {game.options or ''}".strip()
            raise UserError(f"GNU Go plays Go with positional superko here; {arguments.run} plays {plays}.")
        champion = PvMcts(game, trained.inferences[0], trained.search, leaves=FEW_ROWS)
        options = ("--level", str(arguments.level), "--seed", str(arguments.seed), "--capture-all-dead", "--never-resign")
        openings = draw_openings(game, arguments.opening, arguments.games // 2, np.random.SeedSequence(arguments.seed))
        with GnuGo(game.options["size"], *options) as gnugo:
            gnugo.ask(f"komi {game.options['komi']}")
            games = play_pairs(game, champion, gnugo, openings)
    print(f"{title(arguments, trained)}, {arguments.simulations} simulations a move, against GNU Go at level {arguments.level}")
    for side, colour in enumerate(COLOURS):
        print(f"as {colour}: ", end="")
        tell(count(games[side]), "wins")
        print(f"{colour}_wins={count(games[side])['wins']}")


if __name__ == "__main__":
    with one_sentence():
        main()
