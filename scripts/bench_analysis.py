"""How many positions a second does `azero analysis` search, together and one after the other?

    python scripts/bench_analysis.py connect_four  # a run with a champion
    python scripts/bench_analysis.py connect_four --visits 300 --positions 64 --rounds 3

The positions are of random play. Both ways find the same visits, which is checked.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace

import numpy as np

from azero.champion.load import load_for_one_game
from azero.config.schema import Config
from azero.players.pv_mcts import PvMcts, chosen_kind
from azero.protocols.positions import Position, SideBySide


def search(
    player: PvMcts, states: list[np.ndarray], visits: int, at_once: int
) -> tuple[float, list[list[int]], SideBySide]:
    """Return the seconds of all searches, the visits of the roots, and what searched."""
    side_by_side, found = SideBySide(player, at_once), list[list[int]]()
    began = time.perf_counter()
    for start in range(0, len(states), at_once):
        positions = [Position(player, state, None, visits) for state in states[start : start + at_once]]
        while left := [position for position in positions if not position.done]:
            side_by_side.wave(left)
        found += [each.searches.tree.edges["child_visits"][0, 0].tolist() for each in positions]
    return time.perf_counter() - began, found, side_by_side


def main() -> None:
    """Print positions a second, evaluations and rows of both ways."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("run")
    parser.add_argument("--visits", type=int, default=300)
    parser.add_argument("--positions", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--checkpoints", default="checkpoints")
    asked = parser.parse_args()
    game, inference, settings = load_for_one_game(Config(checkpoints=asked.checkpoints), asked.run)
    player = PvMcts(game, inference, replace(chosen_kind(settings, None, True), num_simulations=asked.visits))
    rng, states = np.random.default_rng(1), list[np.ndarray]()
    state = game.initial_state()
    while len(states) < asked.positions:
        states.append(state)
        state = game.step(state, int(rng.choice(game.legal_actions(state))))
        state = game.initial_state() if game.is_terminal(state) else state
    search(player, states[:2], asked.visits, 2)  # compiles
    for _ in range(asked.rounds):
        alone = search(player, states, asked.visits, 1)
        together = search(player, states, asked.visits, asked.positions)
        assert alone[1] == together[1], "the searches differ"
        for title, (seconds, _found, side_by_side) in (("one by one", alone), ("together", together)):
            stats = side_by_side.stats
            rate, share = asked.positions / seconds, stats.inference_seconds / seconds
            counts = f"{stats.evaluations:,} evaluations in {stats.rows:,} rows"
            print(f"{title:<10} {rate:8.1f} positions/s, {counts}, {share:.0%} of the time in the network")


if __name__ == "__main__":
    main()
