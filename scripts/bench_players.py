"""How fast are the classical players, and do they keep their time?

    python scripts/bench_players.py  # everything
    python scripts/bench_players.py rollouts  # simulations a second of UCT, beside OpenSpiel's C++ MCTS
    python scripts/bench_players.py nodes  # positions a second of alpha-beta
    python scripts/bench_players.py limits  # how long players take that are given a time for each move

Rollouts: whole games, both sides search before every move, one rollout is one simulation, one core. Rounds
are interleaved, so that each compares speeds of the same minute; medians are printed, and the ratio is the
median of the rounds' ratios. OpenSpiel searches without its solver, which would end searches early. With
several rollouts a leaf a search descends its tree less often.

Nodes: iterative deepening on positions of random games, one core. A node is a position that was reached by a
move and searched, valued or found in the table: those at the depth limit and at the end of the game count,
the looks for a move that wins at once do not.

Limits: every move is timed from outside, until enough moves have used their limit up. Moves that end early,
because there is no choice or the result is known, are counted apart. `pv_mcts` has an untrained network of
6 x 64.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from azero.cli.hydra_program import one_sentence
from azero.config.schema import UserError
from azero.games import make_game
from azero.games.game import Game
from azero.players import Player, make_player
from azero.players.iterative_deepening import IterativeDeepening

SECTIONS = ("rollouts", "nodes", "limits")
OPENSPIEL = {"tictactoe": "tic_tac_toe", "connect_four": "connect_four", "othello": "othello"}
ROLLOUTS_A_LEAF = 8  # of the column that spares descents
TIMED = ("uct", "flat_monte_carlo", "iterative_deepening", "perfect", "pv_mcts")
USED_UP = 0.95  # of its limit: a move that ends sooner had no choice, or a known result
ALPHA_BETA: list[tuple[str, dict[str, Any], str]] = [  # name, options, heuristic
    ("tictactoe", {}, ""),
    ("connect_four", {}, ""),
    ("connect_four", {}, "lines"),
    ("othello", {"size": 6}, "squares"),
    ("othello", {}, "squares"),
    ("othello", {}, "mobility"),
    ("go", {"size": 9}, ""),
    ("gomoku", {"rows": 9, "columns": 9}, "lines"),
    ("gomoku", {}, "lines"),
    ("hex", {"size": 7}, "shortest_path"),
    ("hex", {"size": 11}, "shortest_path"),
]


def play(game: Game, player: Player, seed: int, think: Callable[[np.ndarray, int], int]) -> int:
    """Play one game, `think` choosing each move from a state and a ply; returns the plies."""
    player.new_games(np.array([seed], np.uint64))
    state, ply = game.initial_state(), 0
    while not game.is_terminal(state):
        state = game.step(state, think(state, ply))
        ply += 1
    return ply


def our_rate(game: Game, player: Player, num_simulations: int, seconds: float, seed: int) -> float:
    """Return simulations a second of a player over whole games, for at least `seconds`."""

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
        bot = pyspiel.MCTSBot(
            game, rollouts, 2**0.5, num_simulations, megabytes, solve, seed + simulations, verbose
        )
        state = game.new_initial_state()
        while not state.is_terminal():
            root = bot.mcts_search(state)
            simulations += root.explore_count
            state.apply_action(root.best_child().action)
    return simulations / (time.perf_counter() - begin)


def bench_rollouts(rounds: int, seconds: float, num_simulations: int) -> list[str]:
    """Print a table; return the lines that a program reads."""
    try:
        import pyspiel  # noqa: F401
    except ImportError:
        print("OpenSpiel is not installed (extra openspiel), so nothing is compared.")
        return []
    print(
        f"million simulations a second, {num_simulations} a move, whole games, medians of {rounds} rounds, "
        "one core"
    )
    print(f"game            OpenSpiel   uct    ratio   uct, {ROLLOUTS_A_LEAF} rollouts a leaf   ratio")
    stats = []
    for name, theirs in OPENSPIEL.items():
        game = make_game(name)
        players = [
            make_player("uct", game, num_simulations=num_simulations, rollouts=k)
            for k in (1, ROLLOUTS_A_LEAF)
        ]
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
        stats += [f"{name}_ratio={one:.2f}", f"{name}_ratio_leaf_parallel={many:.2f}"]
    return stats


def random_positions(game: Game, seed: int) -> Iterator[np.ndarray]:
    """Unfinished positions of random games, one in three, without end."""
    rng, ply = np.random.default_rng(seed), 0
    state = game.initial_state()
    while True:
        if ply % 3 == 0:
            yield state
        state, ply = game.step(state, int(rng.choice(game.legal_actions(state)))), ply + 1
        if game.is_terminal(state):
            state = game.initial_state()


def bench_nodes(seconds: float, positions: int = 20) -> list[str]:
    """Print positions a second of alpha-beta for each game; return the lines that a program reads."""
    print("million nodes a second of alpha-beta, one core")
    stats = []
    for name, options, heuristic in ALPHA_BETA:
        game = make_game(name, **options)
        player = make_player("iterative_deepening", game, seconds=seconds / 5, heuristic=heuristic)
        assert isinstance(player, IterativeDeepening)
        found = [player.analyse(state) for state in itertools.islice(random_positions(game, 1), positions)]
        speed = sum(each.nodes for each in found) / sum(each.seconds for each in found) / 1e6
        title = "_".join([name, *(str(value) for value in options.values()), heuristic or "plain"])
        print(f"{title:30s} {speed:6.2f}", flush=True)
        stats.append(f"nodes_{title}={speed:.3f}")
    return stats


def timed_player(name: str, game: Game, seconds: float) -> Player:
    """A player that has so long for a move."""
    if name == "iterative_deepening":
        return make_player(name, game, seconds=seconds, heuristic="lines")
    if name != "pv_mcts":
        return make_player(name, game, seconds=seconds)
    from azero.champion.load import FEW_ROWS
    from azero.config.schema import NetworkConfig
    from azero.network.backends import make_inferences
    from azero.network.inference import InferenceChoice
    from azero.network.model import build_network

    network = build_network(NetworkConfig(blocks=6, channels=64), game, seed=1)
    (inference,) = make_inferences(network, game, InferenceChoice("torch", "fp32", FEW_ROWS, "cpu", 0.0), 1)
    return make_player(name, game, inference=inference, seconds=seconds)


def time_moves(player: Player, game: Game, moves: int, seconds: float) -> tuple[list[float], int]:
    """Return the delays of moves that used their limit, as shares of it, and the number that ended early."""
    late, early, nothing = list[float](), 0, np.zeros(1, np.int64)
    player.new_games(np.zeros(1, np.uint64))
    for state in random_positions(game, 1):
        begin = time.perf_counter()
        player.choose(state[None], nothing, nothing)
        taken = (time.perf_counter() - begin) / seconds
        if taken < USED_UP:
            early += 1
        else:
            late.append(taken - 1)
        if len(late) >= moves:
            break
    return late, early


def bench_limits(moves: int, seconds: float) -> list[str]:
    """Print how long moves take that have a limit; return the lines that a program reads."""
    print(
        f"time of a move beside its limit of {seconds * 1e3:.0f} ms, {moves} moves of Connect Four that "
        "used it up"
    )
    print("player                 median     worst   ended early (apart)")
    game, stats = make_game("connect_four"), list[str]()
    for name in TIMED:
        late, early = time_moves(timed_player(name, game, seconds), game, moves, seconds)
        median, worst = statistics.median(late), max(late)
        print(f"{name:20s} {median:+8.1%} {worst:+9.1%} {early:8d}", flush=True)
        stats += [f"{name}_median_over_limit={median:.4f}", f"{name}_worst_over_limit={worst:.4f}"]
    return stats


def main() -> None:
    """Print the tables asked for, then a line for each figure."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "sections", nargs="*", metavar="section", choices=[*SECTIONS, []], help=", ".join(SECTIONS)
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.0, help="seconds of a measurement in a round")
    parser.add_argument("--simulations", type=int, default=1000, help="simulations of a move")
    parser.add_argument("--moves", type=int, default=200, help="timed moves")
    parser.add_argument("--limit", type=float, default=0.1, help="seconds of a timed move")
    arguments = parser.parse_args()
    if arguments.moves < 1 or not arguments.limit > 0.0:
        raise UserError(
            f"--moves {arguments.moves} of --limit {arguments.limit:g} seconds: both must be above 0."
        )
    stats = []
    if "rollouts" in (arguments.sections or SECTIONS):
        stats += bench_rollouts(arguments.rounds, arguments.seconds, arguments.simulations)
    if "nodes" in (arguments.sections or SECTIONS):
        stats += bench_nodes(arguments.seconds)
    if "limits" in (arguments.sections or SECTIONS):
        stats += bench_limits(arguments.moves, arguments.limit)
    print(*stats, sep="\n")


if __name__ == "__main__":
    with one_sentence():
        main()
