"""How fast are the classical players, and do they keep their time?

    python scripts/bench_players.py                  everything
    python scripts/bench_players.py rollouts         simulations a second of UCT, beside OpenSpiel's C++ MCTS
    python scripts/bench_players.py limits           how long players take that are given a time for each move

Rollouts: whole games, both sides search before every move, one rollout is one simulation, one core. Rounds are interleaved, so
that each compares speeds of the same minute; medians are printed, and the ratio is the median of the rounds' ratios. OpenSpiel
searches without its solver, which would end searches early. With several rollouts a leaf a search descends its tree less often.

Limits: every move of some games of Connect Four is timed from outside.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from azero.games import make_game
from azero.games.game import Game
from azero.players import MODULES, Player, make_player

SECTIONS = ("rollouts", "limits")
OPENSPIEL = {"tictactoe": "tic_tac_toe", "connect_four": "connect_four", "othello": "othello"}
ROLLOUTS_A_LEAF = 8  # of the column that spares descents
TIMED = ("uct", "flat_monte_carlo", "iterative_deepening")


def play(game: Game, player: Player, seed: int, think: Callable[[np.ndarray, int], int]) -> int:
    """Play one game, `think` choosing each move from a state and a ply; returns the plies."""
    player.new_games(np.array([seed], np.uint64))
    state, ply = game.initial_state(), 0
    while not game.is_terminal(state):
        state = game.step(state, think(state, ply))
        ply += 1
    return ply


def our_rate(game: Game, player: Player, num_simulations: int, seconds: float, seed: int) -> float:
    """Simulations a second of a player over whole games, at least for so many seconds."""

    def think(state: np.ndarray, ply: int) -> int:
        return int(player.choose(state[None], np.zeros(1, np.int64), np.array([ply]))[0])

    moves, begin = 0, time.perf_counter()
    while time.perf_counter() - begin < seconds:
        moves += play(game, player, seed + moves, think)
    return moves * num_simulations / (time.perf_counter() - begin)


def openspiel_rate(name: str, num_simulations: int, seconds: float, seed: int) -> float:
    """The same of OpenSpiel's C++ MCTS: one random rollout a leaf, simulations as its root counts them."""
    import pyspiel

    game = pyspiel.load_game(name)
    simulations, begin = 0, time.perf_counter()
    while time.perf_counter() - begin < seconds:
        rollouts = pyspiel.RandomRolloutEvaluator(1, seed + simulations)
        megabytes, solve, verbose = 1000, False, False
        bot = pyspiel.MCTSBot(game, rollouts, 2**0.5, num_simulations, megabytes, solve, seed + simulations, verbose)
        state = game.new_initial_state()
        while not state.is_terminal():
            root = bot.mcts_search(state)
            simulations += root.explore_count
            state.apply_action(root.best_child().action)
    return simulations / (time.perf_counter() - begin)


def bench_rollouts(rounds: int, seconds: float, num_simulations: int) -> list[str]:
    """Print a table; returns the lines that a program reads."""
    try:
        import pyspiel  # noqa: F401
    except ImportError:
        print("OpenSpiel is not installed (extra openspiel), so nothing is compared.")
        return []
    print(f"million simulations a second, {num_simulations} a move, whole games, medians of {rounds} rounds, one core")
    print(f"game            OpenSpiel   uct    ratio   uct, {ROLLOUTS_A_LEAF} rollouts a leaf   ratio")
    figures = []
    for name, theirs in OPENSPIEL.items():
        game = make_game(name)
        players = [make_player("uct", game, num_simulations=num_simulations, rollouts=k) for k in (1, ROLLOUTS_A_LEAF)]
        for player in players:
            our_rate(game, player, num_simulations, 0.0, 0)  # compiles
        rates = np.array(
            [
                [
                    openspiel_rate(theirs, num_simulations, seconds, turn),
                    *(our_rate(game, player, num_simulations, seconds, turn) for player in players),
                ]
                for turn in range(rounds)
            ]
        )
        other, single, several = np.median(rates, axis=0) / 1e6
        one, many = np.median(rates[:, 1:] / rates[:, :1], axis=0)
        print(f"{name:13s} {other:11.4f} {single:5.2f} {one:7.1f}x {several:26.2f} {many:6.1f}x", flush=True)
        figures += [f"{name}_ratio={one:.2f}", f"{name}_ratio_leaf_parallel={many:.2f}"]
    return figures


def bench_limits(moves: int, seconds: float) -> list[str]:
    """Print how long moves take that have a limit; returns the lines that a program reads."""
    print(f"milliseconds for a move of {seconds * 1e3:.0f} ms, {moves} moves of Connect Four")
    print("player                 median   worst   worst over the limit")
    game, figures = make_game("connect_four"), []
    for name in (timed for timed in TIMED if timed in MODULES):
        player, took = make_player(name, game, seconds=seconds), list[float]()

        def think(state: np.ndarray, ply: int, player: Any = player, took: list[float] = took) -> int:
            begin = time.perf_counter()
            action = int(player.choose(state[None], np.zeros(1, np.int64), np.array([ply]))[0])
            took.append(time.perf_counter() - begin)
            return action

        while len(took) < moves:
            play(game, player, len(took), think)
        median, worst = statistics.median(took[:moves]), max(took[:moves])
        print(f"{name:20s} {median * 1e3:8.1f} {worst * 1e3:7.1f} {worst / seconds - 1:+11.1%}", flush=True)
        figures += [f"{name}_median_over_limit={median / seconds - 1:.4f}", f"{name}_worst_over_limit={worst / seconds - 1:.4f}"]
    return figures


def main() -> None:
    """Print the tables asked for, then a line for each figure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sections", nargs="*", metavar="section", choices=[*SECTIONS, []], help=", ".join(SECTIONS))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.0, help="of each measurement in a round")
    parser.add_argument("--simulations", type=int, default=1000, help="for each move")
    parser.add_argument("--moves", type=int, default=200, help="that are timed")
    parser.add_argument("--limit", type=float, default=0.1, help="seconds for each of them")
    arguments = parser.parse_args()
    figures = []
    if "rollouts" in (arguments.sections or SECTIONS):
        figures += bench_rollouts(arguments.rounds, arguments.seconds, arguments.simulations)
    if "limits" in (arguments.sections or SECTIONS):
        figures += bench_limits(arguments.moves, arguments.limit)
    print(*figures, sep="\n")


if __name__ == "__main__":
    main()
