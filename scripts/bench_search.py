"""How fast is the search alone? A fake network answers: select, expand, backup, rules and planes are timed.

    python scripts/bench_search.py  # nanoseconds a simulation, one core
    python scripts/bench_search.py --signature  # an integer over visit counts at fixed positions

The fake network's answer is a hash of the position, the same on every machine. The signature changes exactly
when the search does something else; a change that only makes it faster or tidier leaves it as it is.
"""

from __future__ import annotations

import argparse
import statistics
import time

import numpy as np
from numba import njit

from azero.cli.hydra_program import one_sentence
from azero.config.schema import SearchConfig
from azero.games import make_game
from azero.games.game import Game
from azero.search.cache import cache_of
from azero.search.mcts import receive_evaluations, search_wave, write_rows
from azero.search.puct import make_puct
from azero.search.scratch import make_scratch
from azero.search.searches import start_searches
from azero.search.tree import NO_LEAF, ROOT, nodes_needed, trees_of, visits_of

MIX = np.uint64(0x9E3779B97F4A7C15)
TO_UNIT = 1.0 / 2**16


@njit(cache=True, nogil=True, error_model="numpy")
def fake_network(tree, row_games, rows, logits, values):
    """Write logits [R, A] in [0, 1) and values [R] in [-0.5, 0.5), hashes of each leaf's state over 2**16."""
    for row in range(rows):
        b = row_games[row]
        mixed = np.uint64(1)
        for word in tree.states[b, tree.searches[b].leaf]:
            mixed = (mixed ^ word) * MIX
            mixed ^= mixed >> np.uint64(29)
        values[row] = np.float32((mixed >> np.uint64(48)) * TO_UNIT - 0.5)
        for action in range(logits.shape[1]):
            mixed = mixed * MIX + np.uint64(1)
            logits[row, action] = np.float32((mixed >> np.uint64(48)) * TO_UNIT)


def random_positions(game: Game, count: int, seed: int) -> np.ndarray:
    """[count, S] uint64: unfinished positions of random play."""
    rng = np.random.default_rng(seed)
    states: list[np.ndarray] = []
    while len(states) < count:
        state = game.initial_state()
        while not game.is_terminal(state) and len(states) < count:
            states.append(state)
            state = game.step(state, int(rng.choice(game.legal_actions(state))))
    return np.array(states)


class Bench:
    """Searches of many positions at once with the fake network."""

    def __init__(self, game: Game, num_games: int, num_simulations: int) -> None:
        search = SearchConfig(num_simulations=num_simulations, tree_reuse=False)
        self.game, self.num_simulations = game, num_simulations
        self.puct = make_puct(search, num_games, game.num_actions)
        num_nodes = nodes_needed(num_simulations, False)
        self.tree = trees_of(game, num_games, num_nodes)
        self.scratch = make_scratch(game, num_nodes)
        self.cache = cache_of(game, 0)
        self.planes = np.zeros((num_games, *game.planes_shape), np.float32)
        self.row_games = np.zeros(num_games, np.int64)
        self.logits = np.zeros((num_games, game.num_actions), np.float32)
        self.values = np.zeros(num_games, np.float32)
        self.games = np.arange(num_games)
        self.started = np.zeros(num_games, np.bool_)
        self.network = fake_network
        self.elsewhere = 0.0  # processor seconds in planes and fake network

    def run(self, states: np.ndarray) -> int:
        """Search every position to the end. Returns the evaluations used."""
        rules, tree, scratch, evaluations = self.game.rule_addresses, self.tree, self.scratch, 0
        start_searches(
            rules, tree, states, self.games, self.started, self.num_simulations, False, scratch.new_index
        )
        while search_wave(rules, tree, self.cache, self.games, self.puct, scratch.key, None):
            begin = time.thread_time()
            rows = write_rows(rules, tree, self.planes, self.row_games)
            self.network(tree, self.row_games, rows, self.logits, self.values)
            self.elsewhere += time.thread_time() - begin
            answers = self.logits, self.values
            receive_evaluations(rules, tree, self.cache, self.row_games, rows, *answers, scratch)
            evaluations += rows
        assert (tree.searches["leaf"] == NO_LEAF).all()
        return evaluations


def signature(game: Game) -> int:
    """An integer over the root visit counts and values of 256 searches of 64 simulations."""
    bench = Bench(game, 256, 64)
    bench.run(random_positions(game, 256, seed=7))
    counts = visits_of(bench.tree, bench.games, game.num_actions).astype(np.uint64)
    values = (
        np.round(bench.tree.nodes["value_sum"][:, ROOT].astype(np.float64) * 2**10)
        .astype(np.int64)
        .astype(np.uint64)
    )
    mixed = 0
    for number in np.concatenate([counts.ravel(), values]).tolist():
        mixed = ((mixed ^ int(number)) * int(MIX) + 1) % 2**64
    return mixed


def main() -> None:
    """Print the figure asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--game", default="tictactoe")
    parser.add_argument("--games", type=int, default=256, help="searches at once")
    parser.add_argument("--simulations", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--signature", action="store_true", help="print only the integer")
    arguments = parser.parse_args()
    game = make_game(arguments.game)
    if arguments.signature:
        print(signature(game))
        return
    bench = Bench(game, arguments.games, arguments.simulations)
    opening = np.stack([game.initial_state()] * arguments.games)
    mixed = random_positions(game, arguments.games, seed=7)
    for name, states in (("initial position", opening), ("positions of random play", mixed)):
        bench.run(states)
        wall, cpu, tree, evaluations = [], [], [], 0
        for _ in range(arguments.rounds):
            begin, begin_cpu, bench.elsewhere = time.perf_counter(), time.thread_time(), 0.0
            evaluations = bench.run(states)
            wall.append(time.perf_counter() - begin)
            cpu.append(time.thread_time() - begin_cpu)
            tree.append(cpu[-1] - bench.elsewhere)
        total = arguments.games * arguments.simulations
        print(
            f"{name}: {statistics.median(wall) / total * 1e9:.0f} ns a simulation (wall, median of "
            f"{arguments.rounds}; "
            f"min {min(wall) / total * 1e9:.0f}, processor time {statistics.median(cpu) / total * 1e9:.0f}, "
            f"without planes and fake network {statistics.median(tree) / total * 1e9:.0f}), "
            f"{evaluations / total:.2f} evaluations a simulation"
        )
        if name == "initial position":
            headline = statistics.median(wall) / total * 1e9
    print(f"nanoseconds_per_simulation={headline:.0f}")


if __name__ == "__main__":
    with one_sentence():
        main()
