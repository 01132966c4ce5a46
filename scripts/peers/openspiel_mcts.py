"""How fast is OpenSpiel's Python MCTS with a network of azero's behind it?

    python scripts/peers/openspiel_mcts.py --processes 2  # in its own environment, see compare.py

Whole games, both sides search before every move, by the PUCT rule and without the solver, which would end
searches early. The network is azero's residual network with its batch norms folded, in torch, one position at
a time, because that is what the search asks for; a position's answer serves both its value and its priors.
Each process computes on one core.
"""

from __future__ import annotations

import argparse
import multiprocessing
import statistics
import time
from typing import Any

import numpy as np
import pyspiel
import torch
from open_spiel.python.algorithms import mcts

from azero.config.schema import NetworkConfig
from azero.network.folded import FoldedNetwork
from azero.network.model import Network

GAMES = {"connect_four": "connect_four", "tictactoe": "tic_tac_toe"}


class Evaluator(mcts.Evaluator):
    """The network as OpenSpiel's search asks for it."""

    def __init__(self, game: Any, blocks: int, channels: int) -> None:
        self.shape = tuple(game.observation_tensor_shape())
        network = Network(
            NetworkConfig(blocks=blocks, channels=channels), self.shape, game.num_distinct_actions()
        )
        self.network = FoldedNetwork(network.eval()).eval()
        self.known: dict[str, tuple[np.ndarray, float]] = {}

    def infer(self, state: Any) -> tuple[np.ndarray, float]:
        """Return all actions' probabilities and the value for the player to move; cached in `known`."""
        key = state.history_str()
        if key not in self.known:
            planes = np.array(state.observation_tensor(), np.float32).reshape(1, *self.shape)
            logits, value = self.network(torch.from_numpy(planes))
            self.known[key] = logits[0].softmax(0).numpy(), float(value[0])
        return self.known[key]

    def evaluate(self, state: Any) -> np.ndarray:
        """The value for each of the two players."""
        value = self.infer(state)[1]
        return np.array([value, -value] if state.current_player() == 0 else [-value, value])

    def prior(self, state: Any) -> list[tuple[int, float]]:
        """(action, probability) of each legal move."""
        policy, legal = self.infer(state)[0], state.legal_actions()
        total = policy[legal].sum()
        return [(action, policy[action] / total) for action in legal]


def play(name: str, blocks: int, channels: int, simulations: int, seconds: float, seed: int) -> float:
    """Return simulations a second of one process over at least `seconds`."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    rng = np.random.RandomState(seed)  # the kind that OpenSpiel takes
    game = pyspiel.load_game(GAMES[name])
    evaluator = Evaluator(game, blocks, channels)
    bot = mcts.MCTSBot(
        game,
        1.25,
        simulations,
        evaluator,
        False,
        rng,
        mcts.SearchNode.puct_value,
        dirichlet_noise=(0.25, 1.0),
    )
    state = game.new_initial_state()
    with torch.inference_mode():
        evaluator.evaluate(state)
        moves, begin = 0, time.perf_counter()
        while time.perf_counter() - begin < seconds:
            evaluator.known.clear()
            root = bot.mcts_search(state)
            visits = np.array([child.explore_count for child in root.children])
            state.apply_action(root.children[rng.choice(len(visits), p=visits / visits.sum())].action)
            moves += 1
            if state.is_terminal():
                state = game.new_initial_state()
    return moves * simulations / (time.perf_counter() - begin)


def main() -> None:
    """Print a line a round, then the median over rounds of all processes together."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--game", default="connect_four", choices=sorted(GAMES))
    parser.add_argument("--network", default="6x64", help="blocks x channels")
    parser.add_argument("--simulations", type=int, default=32, help="simulations of a move")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=5.0, help="least seconds of a round")
    arguments = parser.parse_args()
    blocks, channels = map(int, arguments.network.split("x"))
    rates = []
    with multiprocessing.get_context("spawn").Pool(arguments.processes) as pool:
        pool.starmap(
            play,
            [(arguments.game, blocks, channels, 2, 0.1, k) for k in range(arguments.processes)],
            chunksize=1,
        )
        for number in range(arguments.rounds):
            settings = (arguments.game, blocks, channels, arguments.simulations, arguments.seconds)
            rates.append(
                sum(pool.starmap(play, [(*settings, k) for k in range(arguments.processes)], chunksize=1))
            )
            print(f"round {number + 1}: {rates[-1]:,.0f} simulations/s", flush=True)
    print(f"simulations_per_second={statistics.median(rates):.0f}")


if __name__ == "__main__":
    main()
