"""Attempts to make a training step faster, each compared with today's step, in bf16 on all cores.

    python scripts/experiments/training_attempts.py  # Connect Four, 6 blocks x 64 channels, batches of 256
    python scripts/experiments/training_attempts.py --compile  # with torch.compile, needs a C++ compiler

Two attempts are bounds and no way to train: without batch norm the network is another one, and two shards
that exchange no gradients are two networks. What even they do not gain, fusing batch norm or training in
parallel cannot.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from bench_train import examples_for

from azero.cli.hydra_program import one_sentence
from azero.config.schema import NetworkConfig, TrainConfig
from azero.games import make_game
from azero.games.game import Game
from azero.network.model import Network, build_network
from azero.network.torch_inference import torch_threads
from azero.process.machine import cores
from azero.training.batches import Batch, draw_batch, load_data
from azero.training.losses import policy_loss_of, stats_of
from azero.training.optimizers import bare_step
from azero.training.trainer import Ledger, Trainer

BATCH, LR = 256, 0.001


class Attempt(Trainer):
    """A trainer in bf16 with a batch of its own."""

    def __init__(self, network: Network, game: Game, size: int = BATCH) -> None:
        super().__init__(network, TrainConfig(precision="bf16", batch_size=size), "cpu", None)
        self.batch = draw_batch(
            load_data(examples_for(game, size), game, "cpu"), game, torch.arange(size), None
        )
        self.ledger = Ledger(1_000_000, "cpu")
        self.pool = None  # the batch in one piece

    def once(self) -> None:
        """One step on its batch."""
        self.step(self.batch, LR, self.ledger)


class PureBf16(Attempt):
    """Weights, gradients and moments kept in bf16, so that nothing is cast."""

    def __init__(self, network: Network, game: Game) -> None:
        super().__init__(network, game)
        self.network.bfloat16()

    def losses(self, network: Network, batch: Batch) -> tuple[Tensor, dict[str, Tensor]]:
        """As a trainer's, without autocast."""
        output, value = (answer.float() for answer in network(batch.planes.bfloat16()))
        policy_loss, log_policy = policy_loss_of(output, batch, self.config, self.linear)
        value_loss = functional.mse_loss(value, batch.value_target)
        return policy_loss + value_loss, stats_of(batch, log_policy, value.detach())


def without_batch_norm(network: Network, game: Game) -> Attempt:
    """Every batch norm replaced by nothing."""
    attempt = Attempt(network, game)
    for module in list(attempt.network.modules()):
        for name, child in list(module.named_children()):
            if isinstance(child, nn.BatchNorm2d):
                setattr(module, name, nn.Identity())
    attempt.parameters = list(attempt.network.parameters())
    attempt.optimizer = torch.optim.AdamW(attempt.parameters, fused=True)
    attempt.update = bare_step(attempt.optimizer)
    return attempt


def compiled(network: Network, game: Game) -> Attempt:
    """The network through torch.compile; its first step compiles."""
    attempt = Attempt(network, game)
    attempt.network.outputs = torch.compile(attempt.network.outputs)  # type: ignore[method-assign]
    return attempt


def side_by_side(steps: list[Callable[[], None]]) -> Callable[[], None]:
    """A step of each in a thread of its own."""

    def run() -> None:
        threads = [threading.Thread(target=step) for step in steps]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    return run


def rate(step: Callable[[], None], size: int, threads: int, rounds: int) -> float:
    """Median examples a second; the first two steps prepare."""
    taken = []
    with torch_threads(threads):
        for _ in range(rounds + 2):
            begin = time.perf_counter()
            step()
            taken.append(time.perf_counter() - begin)
    return size / statistics.median(taken[2:])


def main() -> None:
    """Print a row an attempt."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--blocks", type=int, default=6)
    parser.add_argument("--channels", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--compile", action="store_true")
    arguments = parser.parse_args()
    game = make_game("connect_four")
    network = build_network(NetworkConfig(blocks=arguments.blocks, channels=arguments.channels), game, seed=1)
    all_cores = cores()
    shards = [Attempt(network, game, BATCH // all_cores).once for _ in range(all_cores)]
    attempts: list[tuple[str, Callable[[], None], int, int]] = [
        ("as it is", Attempt(network, game).once, BATCH, all_cores),
        ("batches twice as large", Attempt(network, game, 2 * BATCH).once, 2 * BATCH, all_cores),
        ("weights kept in bf16", PureBf16(network, game).once, BATCH, all_cores),
        ("no batch norm (a bound)", without_batch_norm(network, game).once, BATCH, all_cores),
        (
            "a shard for each core, no exchange (a bound)",
            side_by_side(shards),
            BATCH // all_cores * all_cores,
            1,
        ),
    ]
    if arguments.compile:
        attempts.append(("torch.compile", compiled(network, game).once, BATCH, all_cores))
    print("| attempt | examples/s | over as it is |")
    print("| --- | --- | --- |")
    plain = 0.0
    for name, step, size, threads in attempts:
        found = rate(step, size, threads, arguments.rounds)
        plain = plain or found
        print(f"| {name} | {found:,.0f} | {found / plain:.2f} |", flush=True)


if __name__ == "__main__":
    with one_sentence():
        main()
