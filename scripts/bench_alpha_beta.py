"""Alpha-beta on one core: positions a second for each game, and how well iterative deepening keeps its time.

    python scripts/bench_alpha_beta.py

A node is a position that was reached by a move and searched, valued or found in the table: those at the depth limit and at the
end of the game count, the looks for a move that wins at once do not. Positions are those of random games.
"""

from __future__ import annotations

import argparse
import time
from typing import Any, NamedTuple

import numpy as np

from azero.games import make_game
from azero.games.game import Game
from azero.players import make_player
from azero.players.iterative_deepening import IterativeDeepening

GAMES: list[tuple[str, dict[str, Any], str]] = [  # name, options, evaluation
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


class Times(NamedTuple):
    """How long moves took, beside what they were allowed."""

    median: float  # overrun over the limit; negative where a move took less
    worst: float
    early: int  # moves that ended at once because the result was exact or there was no choice


def random_positions(game: Game, count: int, seed: int) -> list[np.ndarray]:
    """Unfinished positions of random games, one in three."""
    rng, states, ply = np.random.default_rng(seed), list[np.ndarray](), 0
    state = game.initial_state()
    while len(states) < count:
        if ply % 3 == 0:
            states.append(state)
        state, ply = game.step(state, int(rng.choice(game.legal_actions(state)))), ply + 1
        if game.is_terminal(state):
            state = game.initial_state()
    return states


def deepening(game: Game, seconds: float, evaluation: str) -> IterativeDeepening:
    """The player that is measured."""
    player = make_player("iterative_deepening", game, seconds=seconds, evaluation=evaluation)
    assert isinstance(player, IterativeDeepening)
    return player


def nodes_per_second(game: Game, evaluation: str = "", seconds: float = 0.2, positions: int = 20, seed: int = 1) -> float:
    """Nodes a second of iterative deepening over so many positions."""
    player = deepening(game, seconds, evaluation)
    found = [player.analyse(state) for state in random_positions(game, positions, seed)]
    return sum(each.nodes for each in found) / sum(each.seconds for each in found)


def time_kept(game: Game, evaluation: str = "", seconds: float = 0.1, moves: int = 200, seed: int = 1) -> Times:
    """The overrun of so many moves as a share of the limit, by a clock outside the player."""
    player = deepening(game, seconds, evaluation)
    taken = []
    for state in random_positions(game, moves, seed):
        begin = time.perf_counter()
        player.choose(state[None], np.zeros(1, np.int64), np.zeros(1, np.int64))
        taken.append(time.perf_counter() - begin)
    used = np.array([each for each in taken if each >= 0.95 * seconds])
    if not len(used):
        return Times(-1.0, -1.0, len(taken))
    return Times(float(np.median(used)) / seconds - 1.0, float(used.max()) / seconds - 1.0, len(taken) - len(used))


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--moves", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=0.1)
    arguments = parser.parse_args()
    for name, options, evaluation in GAMES:
        speed = nodes_per_second(make_game(name, **options), evaluation)
        print(f"{name} {options or ''} {evaluation or 'no evaluation'}: {speed / 1e6:.2f} M nodes/s", flush=True)
    for name, evaluation in (("connect_four", "lines"), ("othello", "squares"), ("gomoku", "lines")):
        times = time_kept(make_game(name), evaluation, arguments.seconds, arguments.moves)
        print(
            f"{name} {evaluation}, {arguments.seconds:g} s a move: overrun median {times.median:+.1%}, worst {times.worst:+.1%} "
            f"of {arguments.moves - times.early} moves; {times.early} ended early",
            flush=True,
        )


if __name__ == "__main__":
    main()
