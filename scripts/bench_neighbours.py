"""How does a stage fare beside other programs? Its slowdown, divided by that of a probe under the same load.

    python scripts/bench_neighbours.py  # Connect Four's recipe beside 0, 1 and 4 busy processes

A neighbour is a process that computes without end on the same cores. The probe has as many threads as the
stage, and they never wait for each other: it loses what is fair. A ratio of 1 means that the stage loses no
more than that. Stage and probe take turns of `--seconds` each within a round; medians of the rounds.
"""

from __future__ import annotations

import argparse
import contextlib
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count

import numpy as np
import torch
from bench_train import Bench, Way, examples_for
from numba import njit

from azero.cli.hydra_program import compose, one_sentence
from azero.config.schema import Config
from azero.games import make_game
from azero.games.game import Game
from azero.network.backends import make_inferences
from azero.network.inference import Inference, InferenceChoice
from azero.network.model import Network, build_network
from azero.network.torch_inference import one_thread_per_worker
from azero.process.machine import cores
from azero.process.signals import StopSignal
from azero.report.console import Progress
from azero.stages.backend import positions_to_time
from azero.training.batches import draw_batch, load_data
from azero.training.shards import shard_count
from azero.training.trainer import resolve_precision
from azero.workers.threads import GameQueue, play_games

NEIGHBOURS = (0, 1, 4)
Rate = Callable[[float], float]  # works for so many seconds and returns units a second


@njit(nogil=True)
def turn(rounds: int) -> int:
    """Compute for about a millisecond."""
    value = 1
    for step in range(rounds):
        value = (value * 6364136223846793005 + step) & 0xFFFFFFFF
    return value


def in_threads(threads: int, call: Callable[[int], object]) -> Rate:
    """Return the rate at which so many threads make calls of their own; each is given its number."""

    def work(number: int, until: float) -> int:
        calls = 0
        while time.perf_counter() < until:
            call(number)
            calls += 1
        return calls

    def rate(seconds: float) -> float:
        until = time.perf_counter() + seconds
        with ThreadPoolExecutor(threads) as pool:
            return sum(pool.map(work, range(threads), [until] * threads)) / seconds

    return rate


def training(config: Config, game: Game, network: Network) -> tuple[int, Rate]:
    """Return the threads that train, and the rate of steps."""
    threads = min(cores(), shard_count(network, config.train.batch_size, "cpu"))
    precision = resolve_precision(config.train.precision, "cpu", network.config.channels)
    size = config.train.batch_size
    data = load_data(examples_for(game, size), game, "cpu")
    batch = draw_batch(data, game, torch.arange(size), None)
    bench = Bench(Way(precision, threads, True), network, config, batch, "cpu")

    def rate(seconds: float) -> float:
        begin, steps = time.perf_counter(), 0
        while time.perf_counter() < begin + seconds:
            steps += len(bench.seconds())
        return steps / (time.perf_counter() - begin)

    return threads, rate


def inference(game: Game, inferences: list[Inference]) -> tuple[int, Rate]:
    """Return the threads that evaluate, and the rate of batches."""
    planes = positions_to_time(game, inferences[0].batch_size, seed=1)
    return len(inferences), in_threads(len(inferences), lambda number: inferences[number].infer(planes))


class StopAt(StopSignal):
    """Asks for the end when the time is up."""

    def __init__(self, seconds: float) -> None:
        self.end = time.perf_counter() + seconds
        super().__init__()

    @property
    def requested(self) -> bool:
        """Whether the time is up."""
        return time.perf_counter() >= self.end

    @requested.setter
    def requested(self, value: bool) -> None:
        pass


def self_play(config: Config, game: Game, inferences: list[Inference]) -> tuple[int, Rate]:
    """Return the workers that play, and the rate of evaluations."""
    seeds = np.arange(1_000_000, dtype=np.uint64)

    def rate(seconds: float) -> float:
        with one_thread_per_worker():
            queue, stop = GameQueue(count()), StopAt(seconds)
            _, stats = play_games(game, inferences, config, queue, seeds, Progress(), stop)
        return stats.evaluations / seconds

    return len(inferences), rate


@contextlib.contextmanager
def neighbours(number: int) -> Iterator[None]:
    """Keep so many other processes busy."""
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(number)]
    try:
        time.sleep(0.2 if busy else 0)
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


def measure(rate: Rate, probe: Rate, seconds: float, rounds: int) -> dict[int, tuple[float, float]]:
    """Return the median rates of stage and probe by number of neighbours."""
    rate(seconds / 2)  # first uses
    probe(seconds / 2)
    taken: dict[int, list[tuple[float, float]]] = {number: [] for number in NEIGHBOURS}
    for _ in range(rounds):
        for number in NEIGHBOURS:
            with neighbours(number):
                taken[number].append((rate(seconds), probe(seconds)))
    return {
        number: (statistics.median(a for a, _ in pairs), statistics.median(b for _, b in pairs))
        for number, pairs in taken.items()
    }


def main() -> None:
    """Measure each stage and print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=4.0, help="a turn of a stage or of the probe")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("overrides", nargs="*", help="settings; default: game=connect_four's recipe")
    arguments = parser.parse_intermixed_args()
    config = compose(*(arguments.overrides or ["experiment=connect_four"]), "device=cpu")
    game = make_game(config.game.name, **config.game.options)
    network = build_network(config.network, game, seed=1)
    choice = InferenceChoice("torch", "fp32", 64, "cpu", 0.0)
    inferences = make_inferences(network, game, choice, cores())
    stages = {
        "training": training(config, game, network),
        "inference": inference(game, inferences),
        "self-play": self_play(config, game, inferences),
    }
    print(f"{game.name}, {config.network.blocks} x {config.network.channels}, {cores()} cores\n")
    print("| stage | threads | neighbours | a second | slower | probe slower | ratio |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name, (threads, rate) in stages.items():
        probe = in_threads(threads, lambda number: turn(1_000_000))
        found = measure(rate, probe, arguments.seconds, arguments.rounds)
        alone, fair = found[0]
        for number, (own, others) in found.items():
            slower, expected = alone / own, fair / others
            print(
                f"| {name} | {threads} | {number} | {own:,.2f} | {slower:.2f} x | {expected:.2f} x "
                f"| {slower / expected:.2f} |",
                flush=True,
            )


if __name__ == "__main__":
    with one_sentence():
        main()
