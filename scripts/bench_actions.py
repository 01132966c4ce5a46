"""What does an action cost that is not legal? A made-up game with A actions, of which 30 are legal.

    python scripts/bench_actions.py  # time and memory of the tree alone, one core

The game writes its legal moves as a list, and a fake network answers with the logits of legal moves, so
nothing but the search can depend on A. Its states have the 109 words that chess needs for its history.
"""

from __future__ import annotations

import argparse
import statistics
import time

import bench_search
import numpy as np
from numba import njit

from azero.games import game as interface
from azero.games.game import Game, Rules
from azero.search.tree import Tree

ACTIONS = (30, 225, 1225, 4672)
LEGAL, PLIES = 30, 80
ONE, MIX = np.uint64(1), np.uint64(0x9E3779B97F4A7C15)


def make_game(num_actions: int, state_words: int) -> Game:
    """Return a game in which moves only stir the first word of the state."""
    stride = num_actions // LEGAL

    @interface.rule(interface.INITIAL)
    def initial(state: np.ndarray) -> None:
        for word in range(state_words):
            state[word] = np.uint64(word == 0)

    @interface.rule(interface.STEP)
    def step(state: np.ndarray, action: int, successor: np.ndarray) -> None:
        for word in range(state_words):
            successor[word] = state[word]
        successor[0] = (state[0] ^ np.uint64(action + 1)) * MIX + np.uint64(7)
        successor[1] = state[1] + ONE

    @interface.rule(interface.LEGAL_ACTIONS)
    def legal_actions(state: np.ndarray, actions: np.ndarray) -> int:
        shift = np.int64(state[0] & np.uint64(7)) % stride
        for place in range(LEGAL):
            actions[place] = place * stride + shift
        return LEGAL

    @interface.rule(interface.IS_TERMINAL)
    def is_terminal(state: np.ndarray) -> bool:
        return state[1] >= np.uint64(PLIES)

    @interface.rule(interface.OUTCOME)
    def outcome(state: np.ndarray) -> float:
        return 0.0

    @interface.rule(interface.TO_PLAY)
    def to_play(state: np.ndarray) -> int:
        return int(np.int64(state[1] & ONE))

    @interface.rule(interface.WRITE_PLANES)
    def planes(state: np.ndarray, out: np.ndarray) -> None:
        out[0, 0, 0] = 1.0

    @interface.rule(interface.EVALUATION_KEY)
    def evaluation_key(state: np.ndarray, key: np.ndarray) -> None:
        key[0] = state[0]

    rules = Rules(
        *(initial, step, interface.no_legal_mask, is_terminal, outcome, to_play, planes, evaluation_key),
        legal_actions=legal_actions,
    )
    return Game(
        name=f"{num_actions} actions",
        num_actions=num_actions,
        planes_shape=(1, 1, 1),
        state_words=state_words,
        key_words=1,
        max_plies=PLIES,
        rules=rules,
        action_symmetries=np.arange(num_actions)[None],
        cell_symmetries=np.zeros((1, 1), np.int64),
        format_state=str,
        action_name=str,
    )


@njit(cache=True, nogil=True)
def answer(tree: Tree, row_games: np.ndarray, rows: int, logits: np.ndarray, values: np.ndarray) -> None:
    """Write hashes of each leaf's state as its logits [R, LEGAL] and its value [R]."""
    for row in range(rows):
        b = row_games[row]
        mixed = tree.states[b, tree.searches[b].leaf, 0]
        values[row] = (mixed >> np.uint64(48)) / 65536.0 - 0.5
        for place in range(logits.shape[1]):
            mixed = mixed * MIX + ONE
            logits[row, place] = (mixed >> np.uint64(48)) / 65536.0


class Bench(bench_search.Bench):
    """Searches with the logits of legal moves only."""

    def __init__(self, game: Game, num_games: int, num_simulations: int) -> None:
        super().__init__(game, num_games, num_simulations)
        self.logits = np.zeros((num_games, LEGAL), np.float32)
        self.scratch = self.scratch._replace(gathered=True)
        self.network = answer


def main() -> None:
    """Print a row for each number of actions."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--games", type=int, default=64, help="searches at once")
    parser.add_argument("--simulations", type=int, default=160)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--words", type=int, default=109, help="of a state")
    arguments = parser.parse_args()
    benches = [
        Bench(make_game(count, arguments.words), arguments.games, arguments.simulations) for count in ACTIONS
    ]
    seconds: list[list[float]] = [[] for _ in benches]
    for number in range(arguments.rounds + 1):  # one after another, so that a busy machine slows all alike
        for bench, times in zip(benches, seconds, strict=True):
            states = np.stack([bench.game.initial_state()] * arguments.games)
            begin = time.thread_time()
            bench.run(states)
            if number:  # the first one compiles
                times.append(time.thread_time() - begin)
    total = arguments.games * arguments.simulations
    for bench, times in zip(benches, seconds, strict=True):
        each = statistics.median(times) / total * 1e9
        ratio = statistics.median(a / b for a, b in zip(times, seconds[0], strict=True))
        kept = sum(array.nbytes for array in bench.tree) / bench.tree.nodes.size
        times_30 = f"{ratio:.2f} of the first"
        print(f"{bench.game.name:>13}: {each:6.0f} ns a simulation, {times_30}; {kept:6,.0f} bytes a node")


if __name__ == "__main__":
    main()
