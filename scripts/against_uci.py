"""How does a champion do against a UCI engine? A match from random openings, colours swapped in pairs.

    python scripts/against_uci.py --run gardner --engine fairy-stockfish --go "depth 5"
    python scripts/against_uci.py --run chess --engine stockfish --go "movetime 100" \\
        --option UCI_LimitStrength=true --option UCI_Elo=1350

azero's rules are the referee. The champion plays the move of its search, without noise, on one core.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence

import numpy as np
from champions import add_champion, add_search, load_champion, title
from uci_games import Crashed, Engine, begin_engines

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

COLOURS = ("white", "black")
LONGEST = 600.0  # seconds in which the engine must move


def play(game: Game, champion: Player, engine: Engine, go: str, side: int, opening: Sequence[int]) -> Played:
    """Play a game after an opening; the champion is player `side`, 0 for the first."""
    at = GameInProgress(game, opening)
    first = "startpos" if game.write_position is None else f"fen {game.text(at.states[0])}"
    engine.new_game()
    champion.new_games(np.zeros(1, np.uint64))
    while not at.is_over:
        if at.to_play == side:
            at.play(move_of(champion, at))
            continue
        engine.send(f"position {first} moves {' '.join(at.moves)}")
        engine.send(f"go {go}")
        answer = engine.wait_for("bestmove", LONGEST)[-1].split()
        if len(answer) < 2:
            raise UserError(f"the engine {engine.command!r} answers bestmove without a move.")
        at.play_moves(answer[1:2])
    assert at.outcome is not None
    return Played(tuple(at.actions), at.outcome * (1 - 2 * side))


def parse() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_champion(parser, "gardner")
    parser.add_argument("--engine", default="fairy-stockfish", help="command of the engine")
    parser.add_argument("--go", default="depth 5", help="what the engine gets after go")
    parser.add_argument("--option", action="append", default=[], help="NAME=VALUE for the engine; repeatable")
    parser.add_argument("--games", type=int, default=200)
    parser.add_argument(
        "--simulations", type=int, default=400, help="simulations of the champion before each move"
    )
    parser.add_argument(
        "--opening", type=int, default=2, help="random plies at the beginning of each pair of games"
    )
    parser.add_argument("--seed", type=int, default=1, help="seed of the openings")
    add_search(parser)
    arguments = parser.parse_args()
    if arguments.games < 2 or arguments.games % 2:
        raise UserError(f"--games {arguments.games} must be even and at least 2, for colours are swapped.")
    if arguments.simulations < 1 or arguments.opening < 0:
        raise UserError("--simulations must be at least 1 and --opening at least 0.")
    for option in arguments.option:
        if not re.fullmatch("[^=]+=.*", option):
            raise UserError(f"--option {option} must be NAME=VALUE.")
    return arguments


def main() -> None:
    """Play and print the results, one line for each number."""
    arguments = parse()
    with one_thread_per_worker():
        trained = load_champion(arguments, 1, num_simulations=arguments.simulations)
        game = trained.game
        champion = PvMcts(game, trained.inferences[0], trained.search, leaves=FEW_ROWS)
        seeds = np.random.SeedSequence(arguments.seed)
        openings = draw_openings(game, arguments.opening, arguments.games // 2, seeds)
        (engine,) = begin_engines([arguments.engine], game)
        for option in arguments.option:
            name, _, value = option.partition("=")
            engine.send(f"setoption name {name} value {value}")
        games: list[list[Played]] = [[], []]
        with Console().stage("match", 0, 0, 2 * len(openings), "games") as progress:
            for opening in openings:
                for side in (0, 1):
                    games[side].append(play(game, champion, engine, arguments.go, side, opening))
                    both = games[0] + games[1]
                    score = sum(1 + each.outcome for each in both) / (2 * len(both))
                    progress.update(len(both), score=score)
        engine.send("quit")
    print(f"{title(arguments, trained)}, {arguments.simulations} simulations a move, against", end=" ")
    print(f"{arguments.engine} {' '.join(arguments.option)} with go {arguments.go}")
    for side, colour in enumerate(COLOURS):
        print(f"as {colour}: {results_text(count(games[side]), 'wins')}")
    points = sum(1 + each.outcome for side in games for each in side) / 2
    print(f"score_percent={100 * points / arguments.games:.1f}")


if __name__ == "__main__":
    with one_sentence():
        try:
            main()
        except Crashed as crash:
            raise UserError(f"the engine has ended, or does not answer: {crash}.") from crash
