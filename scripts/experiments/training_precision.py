"""Does bf16 learn as well as fp32? Both fit exact values of tic-tac-toe from the same first weights.

    python scripts/experiments/training_precision.py  # 4 blocks x 64 channels, three seeds

Every unfinished position is an example: the policy target is uniform over the moves that keep the exact
value, the value target is that value. Told is the share of positions whose favourite move of the raw network
keeps the value, and the value's mean error.
"""

from __future__ import annotations

import argparse
import statistics

import numpy as np
import torch

from azero.classic.solve import solve
from azero.cli.hydra_program import one_sentence
from azero.config.schema import NetworkConfig, TrainConfig
from azero.games import make_game
from azero.games.game import Game
from azero.games.inputs import encode
from azero.network.model import Network, build_network
from azero.replay.examples import Examples, targets_of
from azero.training.fit import fit


def exact_examples(game: Game) -> Examples:
    """Every unfinished position with the truth as its targets."""
    solution = solve(game)
    rows = solution.unfinished
    values = solution.action_value[rows]
    best = (values == np.nanmax(values, axis=1, keepdims=True)).astype(np.float32)
    value = solution.value[rows].astype(np.float32)
    policy = best / best.sum(axis=1, keepdims=True)
    draw = (value == 0).astype(np.float32)
    return Examples(
        solution.states[rows],
        *targets_of(policy),
        value,
        draw,
        np.empty((len(value), 0), np.float32),
    )


@torch.inference_mode()
def judged(network: Network, examples: Examples, game: Game) -> tuple[float, float]:
    """Share of positions whose favourite legal move keeps the value; mean error of the value."""
    planes, legal = encode(game, examples.states)
    policy, value = network(torch.from_numpy(planes))
    favourite = policy.masked_fill(~torch.from_numpy(legal), -np.inf).argmax(1).numpy()
    keeps = (examples.target_actions == favourite[:, None]) & (examples.target_weights > 0)
    return float(keeps.any(axis=1).mean()), float(np.abs(value.numpy() - examples.value_target).mean())


def main() -> None:
    """Print a row for each precision and number of passes."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--blocks", type=int, default=4)
    parser.add_argument("--channels", type=int, default=64)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epochs", type=float, nargs="+", default=[2, 8])
    arguments = parser.parse_args()
    game = make_game("tictactoe")
    examples = exact_examples(game)
    print("| passes | precision | keeps the value, by seed | mean | error of the value | s |")
    print("| --- | --- | --- | --- | --- | --- |")
    for epochs in arguments.epochs:
        for precision in ("fp32", "bf16"):
            config = TrainConfig(
                epochs=epochs,
                lr=0.006,
                schedule="cosine",
                warmup_steps=10,
                clip_norm=1.0,
                precision=precision,
            )
            found, seconds = [], 0.0
            for seed in range(1, arguments.seeds + 1):
                network = build_network(
                    NetworkConfig(blocks=arguments.blocks, channels=arguments.channels), game, seed
                )
                result = fit(network, examples, game, config, seed, "cpu")
                seconds += result.seconds
                found.append(judged(result.network, examples, game))
            shares, errors = zip(*found, strict=True)
            listed, mean = ", ".join(f"{share:.2%}" for share in shares), statistics.mean(shares)
            error = f"{statistics.mean(errors):.4f}"
            print(
                f"| {epochs:g} | {precision} | {listed} | {mean:.2%} | {error} | {seconds:.1f} |", flush=True
            )


if __name__ == "__main__":
    with one_sentence():
        main()
