"""How fast is training? Examples a second of a whole fit, and where its time goes.

    python scripts/bench_train.py  # Connect Four, 6 blocks x 64 channels, batches of 256
    python scripts/bench_train.py --network 5x64 --batch 512 train.optimizer=sgd  # any setting

Steps are timed in fp32 and bf16, on one thread and on all cores, with channels last and first, interleaved,
medians. Beside them stands the share of the machine's peak: three multiply-adds for each one of the forward
pass (the gradient needs as many again for the inputs and for the weights of a layer), over those of a large
matrix product in the same precision on the same threads. The last line is a whole fit, encoding and loader
included, as azero.train would run it here.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from typing import NamedTuple

import numpy as np
import torch
from bench_search import random_positions
from bench_selfplay import network_size
from standard import standard
from torch import nn

from azero.cli.hydra_program import compose, one_sentence
from azero.config.schema import Config
from azero.games import make_game
from azero.games.game import Game
from azero.network.inference import resolve_device
from azero.network.model import Network, build_network
from azero.network.torch_inference import DTYPES, torch_threads
from azero.process.machine import cores
from azero.replay.examples import Examples, targets_of
from azero.training.batches import Batch, draw_batch, load_data
from azero.training.fit import fit
from azero.training.shards import shard_count
from azero.training.trainer import Ledger, Trainer

STEPS = 3  # timed in a row
MATRIX = 2048  # rows and columns of the product that measures the peak
BACKWARD = (
    2  # gradients of a layer's inputs and of its weights cost as many multiply-adds as its output, each
)


class Way(NamedTuple):
    """How steps are computed."""

    precision: str
    threads: int
    channels_last: bool

    def __str__(self) -> str:
        """Such as "bf16, 2 threads, channels last"."""
        layout = "last" if self.channels_last else "first"
        return f"{self.precision}, {plural(self.threads)}, channels {layout}"


def plural(threads: int) -> str:
    """Such as "2 threads"."""
    return f"{threads} thread{'s' * (threads > 1)}"


def multiply_adds(network: Network) -> int:
    """Count multiply-adds of one position: a convolution's weights once a cell, a dense layer's once."""
    cells = network.planes_shape[1] * network.planes_shape[2]
    convolutions = sum(layer.weight.numel() for layer in network.modules() if isinstance(layer, nn.Conv2d))
    return convolutions * cells + sum(
        layer.weight.numel() for layer in network.modules() if isinstance(layer, nn.Linear)
    )


def seconds_of(call: Callable[[], object], device: str) -> float:
    """One call, to its end on the device."""
    begin = time.perf_counter()
    call()
    if device == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - begin


def matrix_peak(precision: str, threads: int, device: str, rounds: int) -> float:
    """Multiply-adds a second of a large matrix product: the best of some rounds."""
    left, right = (torch.ones(MATRIX, MATRIX, dtype=DTYPES[precision], device=device) for _ in range(2))
    with torch_threads(threads):
        return MATRIX**3 / min(seconds_of(lambda: left @ right, device) for _ in range(rounds + 2))


def examples_for(game: Game, count: int, occupation: bool = False) -> Examples:
    """Positions of random play with targets that mean nothing: a step costs the same."""
    rng = np.random.default_rng(1)
    policy = rng.dirichlet(np.ones(game.num_actions), count).astype(np.float32)
    value = rng.choice([-1, 0, 1], count).astype(np.float32)
    states, draw = random_positions(game, count, seed=1), (value == 0).astype(np.float32)
    cells = game.cell_symmetries.shape[1] if occupation else 0
    marks = rng.choice([-1, 0, 1], (count, cells)).astype(np.float32)
    return Examples(states, *targets_of(policy), value, draw, marks)


class Bench:
    """A trainer for one way, and a batch for it."""

    def __init__(self, way: Way, network: Network, config: Config, batch: Batch, device: str) -> None:
        self.way, self.device = way, device
        train = replace(config.train, precision=way.precision)
        self.trainer = Trainer(network, train, device, None, way.threads)
        self.ledger = Ledger(1_000_000, device)
        self.batch, self.lr = batch, config.train.lr
        if not way.channels_last:
            for replica in self.trainer.replicas:
                replica.to(memory_format=torch.contiguous_format)
            self.batch = batch._replace(planes=batch.planes.contiguous())

    def seconds(self) -> list[float]:
        """Return seconds of each of STEPS steps, after an untimed one."""
        with torch_threads(1):
            return [seconds_of(self.step, self.device) for _ in range(STEPS + 1)][1:]

    def step(self) -> None:
        """One step, on the same batch as all others."""
        self.trainer.step(self.batch, self.lr, self.ledger)


def time_steps(benches: list[Bench], rounds: int) -> dict[Way, float]:
    """Median seconds of a step for each way, all ways in each round."""
    taken: dict[Way, list[float]] = {bench.way: [] for bench in benches}
    for bench in benches * rounds:
        taken[bench.way] += bench.seconds()
    return {way: statistics.median(seconds) for way, seconds in taken.items()}


def time_loader(examples: Examples, game: Game, size: int, rounds: int, device: str) -> tuple[float, float]:
    """Seconds to encode an example once, and median seconds to draw one batch with symmetries."""
    load_data(examples.each(lambda column: column[:1]), game, device)  # compiles
    begin = time.perf_counter()
    data = load_data(examples, game, device)
    encoding = (time.perf_counter() - begin) / len(examples.states)
    rng = np.random.default_rng(1)
    taken = []
    for _ in range(rounds + 2):
        rows = torch.from_numpy(rng.integers(len(examples.states), size=size)).to(device)
        which = torch.from_numpy(rng.integers(len(game.action_symmetries), size=size)).to(device)
        taken.append(seconds_of(lambda rows=rows, which=which: draw_batch(data, game, rows, which), device))  # type: ignore[misc]
    return encoding, statistics.median(taken[2:])


def whole_fit(
    network: Network, examples: Examples, game: Game, config: Config, device: str, rounds: int
) -> tuple[str, int, float]:
    """As azero.train would: precision, threads and median examples a second."""
    threads = min(cores(), shard_count(network, config.train.batch_size, device))
    rates = []
    for _ in range(rounds):
        result = fit(network, examples, game, config.train, 1, device)
        rates.append(result.steps * config.train.batch_size / result.seconds)
    return result.precision, threads, statistics.median(rates)


def row(way: Way, seconds: float, size: int, products: int, peak: float) -> str:
    """A line of the table."""
    rate = size / seconds
    share, most = rate * products / peak, peak / products
    return f"| {way} | {seconds * 1e3:.1f} | {rate:,.0f} | {share:.0%} | {most:,.0f} |"


def parse(words: Sequence[str]) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--game", default="connect_four", help="one of conf/game, with the settings of scripts/standard.py"
    )
    parser.add_argument(
        "--network", type=network_size, default=(6, 64), help="blocks x channels", metavar="6x64"
    )
    parser.add_argument("--batch", type=int, help="default: the recipe's")
    parser.add_argument("--examples", type=int, default=8192, help="examples of the whole fit")
    parser.add_argument(
        "--rounds", type=int, default=5, help="whole fits; three times as many steps are timed"
    )
    parser.add_argument("--fit-only", action="store_true", help="print only the last line")
    parser.add_argument("overrides", nargs="*", help="further settings, such as train.precision=fp32")
    return parser.parse_intermixed_args(words)


def config_of(arguments: argparse.Namespace) -> Config:
    """The settings that a command line asks for; one pass over the examples."""
    blocks, channels = arguments.network
    batch = [f"train.batch_size={arguments.batch}"] if arguments.batch else []
    words = [f"network.blocks={blocks}", f"network.channels={channels}", "train.epochs=1", *batch]
    return compose(f"game={arguments.game}", *standard(arguments.game), *words, *arguments.overrides)


def print_steps(
    network: Network, examples: Examples, game: Game, config: Config, device: str, rounds: int
) -> None:
    """Every way's step, and the loader beside it."""
    size, products = config.train.batch_size, (1 + BACKWARD) * multiply_adds(network)
    encoding, drawing = time_loader(examples, game, size, rounds, device)
    batch = draw_batch(load_data(examples, game, device), game, torch.arange(size, device=device), None)
    counts = sorted({1, cores()}) if device == "cpu" else [1]
    ways = [Way(*parts) for parts in product(DTYPES, counts, (True, False))]
    taken = time_steps([Bench(way, network, config, batch, device) for way in ways], rounds)
    print("| step | ms | examples/s | of the matrix peak | examples/s at that peak |")
    print("| --- | --- | --- | --- | --- |")
    for way in ways:
        print(row(way, taken[way], size, products, matrix_peak(way.precision, way.threads, device, rounds)))
    fastest = min(taken.values())
    share = drawing / (drawing + fastest)
    print(f"\nloader: {drawing * 1e3:.2f} ms a batch, {share:.1%} of it and the fastest step together")
    print(f"encoding, once an example: {encoding * 1e6:.2f} microseconds\n")


def main() -> None:
    """Print the table of steps, the loader, and a whole fit."""
    arguments = parse(sys.argv[1:])
    config = config_of(arguments)
    device = resolve_device(config.device)
    game = make_game(config.game.name, **config.game.options)
    network = build_network(config.network, game, seed=1)
    count = max(arguments.examples, config.train.batch_size)
    examples = examples_for(game, count, config.network.occupation)
    size = f"{config.network.blocks} blocks x {config.network.channels} channels"
    print(f"{game.name}, {size}, batches of {config.train.batch_size}, on {device}")
    print(f"{multiply_adds(network) / 1e6:.1f} M multiply-adds a position forward\n")
    if not arguments.fit_only:
        print_steps(network, examples, game, config, device, arguments.rounds)
    precision, threads, rate = whole_fit(network, examples, game, config, device, arguments.rounds)
    print(f"a whole fit in {precision} on {plural(threads)}, median of {arguments.rounds}:")
    print(f"examples_per_second={rate:.0f}")


if __name__ == "__main__":
    with one_sentence():
        main()
