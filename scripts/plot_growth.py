"""Plot the cost of self-play: simulations a second by games at once, simulations, board and workers.

    python scripts/plot_growth.py  # the table, and docs/lab/growth.png
    python scripts/plot_growth.py --quick  # a point or two of each, no picture

Each point plays with random weights for a few seconds, the cache off, and counts all simulations made, also
those of games that have not ended; starting and compiling are not timed. One thing varies at a time, from 256
games at once and 32 simulations a move of Connect Four in as many workers as there are cores. Medians of the
rounds.
"""

from __future__ import annotations

import argparse
import importlib.util
import itertools
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from bench_selfplay import network_size

from azero.cli.hydra_program import one_sentence
from azero.config.schema import Config, InferenceConfig, NetworkConfig, SearchConfig, SelfplayConfig
from azero.games import make_game
from azero.games.game import Game
from azero.network.backends import make_inferences
from azero.network.choosing import choose_inference
from azero.network.model import build_network
from azero.network.torch_inference import one_thread_per_worker
from azero.process.machine import cores
from azero.process.seeds import SELFPLAY, game_seeds
from azero.process.signals import StopSignal
from azero.stages.backend import positions_to_time
from azero.workers import threads as workers
from azero.workers.threads import GameQueue, SelfplayWorker

PICTURE = Path(__file__).resolve().parent.parent / "docs" / "lab" / "growth.png"
GAMES_AT_ONCE, SIMULATIONS = 256, 32


class Point(NamedTuple):
    """One thing to measure: `value` of what `panel` varies; the rest is what it is played with."""

    panel: str
    value: int
    game: str = "connect_four"
    size: int = 0  # of a board that has one
    games_at_once: int = GAMES_AT_ONCE
    simulations: int = SIMULATIONS
    workers: int = 0  # 0: one a core


def points(quick: bool) -> list[Point]:
    """All that is measured, panel by panel."""
    games, simulations, sizes = [16, 64, 256, 1024, 4096], [8, 32, 128, 400, 800], [5, 7, 9, 11]
    workers = sorted({1, 2, cores(), *(count for count in (4, 8, 16) if count <= cores())})
    if quick:
        games, simulations, sizes, workers = games[:2], simulations[:2], sizes[:1], workers[:1]
    return [
        *(Point("games at once", value, games_at_once=value) for value in games),
        *(Point("simulations a move", value, simulations=value) for value in simulations),
        *(Point("side of a Hex board", value, game="hex", size=value) for value in sizes),
        *(Point("workers", value, workers=value) for value in workers),
    ]


def make_workers(point: Point, size: tuple[int, int], game: Game) -> list[SelfplayWorker]:
    """Return workers that share the point's games, each with the same random network."""
    count = point.workers or cores()
    rows = max(1, point.games_at_once // count)
    network = build_network(NetworkConfig(*size), game, seed=1)
    choice = choose_inference(
        network, game, InferenceConfig(), "auto", rows, positions_to_time(game, rows, seed=1)
    )
    search = SearchConfig(num_simulations=point.simulations)
    config = Config(
        search=search, selfplay=SelfplayConfig(concurrent_games=rows), inference=InferenceConfig(cache=0)
    )
    return workers.make_workers(game, make_inferences(network, game, choice, count), config)


def rate(point: Point, size: tuple[int, int], seconds: float) -> float:
    """Simulations a second of all workers together."""
    game = make_game(point.game, **({"size": point.size} if point.size else {}))
    playing = make_workers(point, size, game)
    seeds = game_seeds(1, 1, SELFPLAY, 100_000)
    queue, stop = GameQueue(iter(itertools.cycle(range(len(seeds))))), StopSignal()
    with one_thread_per_worker():
        begin = time.perf_counter()
        with workers.WorkerThreads(playing, queue, seeds, stop) as threads:
            threads.play_on(seconds)
            stop.requested = True  # workers end after the wave in hand
    return sum(worker.simulations_made() for worker in playing) / (time.perf_counter() - begin)


def table(measured: Sequence[tuple[Point, float]]) -> str:
    """A line a point."""
    lines = ["| varies | value | simulations/s |", "| --- | --- | --- |"]
    return "\n".join(
        [*lines, *(f"| {point.panel} | {point.value} | {found:,.0f} |" for point, found in measured)]
    )


def draw(measured: Sequence[tuple[Point, float]], title: str, path: Path) -> None:
    """A panel for each thing that varies."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    panels = list(dict.fromkeys(point.panel for point, _ in measured))
    figure, grid = pyplot.subplots(2, 2, figsize=(8, 5.6), layout="constrained")
    for axes, panel in zip(grid.flat, panels, strict=True):
        drawn = [(point.value, found) for point, found in measured if point.panel == panel]
        values = [value for value, _ in drawn]
        axes.plot(values, [found / 1000 for _, found in drawn], marker="o", markersize=4)
        if values[-1] / values[0] > 10:
            axes.set_xscale("log", base=2)
        axes.set_xticks(values, [str(value) for value in values])
        axes.set_ylim(bottom=0)
        axes.set_xlabel(panel)
        axes.set_ylabel("thousand simulations a second")
    figure.suptitle(title)
    figure.savefig(path, dpi=110)
    pyplot.close(figure)


def parse(words: Sequence[str]) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--network", type=network_size, default=(4, 32), help="blocks x channels", metavar="4x32"
    )
    parser.add_argument("--seconds", type=float, default=3.0, help="seconds of a point")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--picture", type=Path, default=PICTURE)
    return parser.parse_args(words)


def main() -> int:
    """Print the table, draw the picture; the exit status."""
    arguments = parse(sys.argv[1:])
    if not arguments.quick and importlib.util.find_spec("matplotlib") is None:
        print(
            'azero: the picture is drawn by matplotlib; pip install "azero[plots]" installs it.',
            file=sys.stderr,
        )
        return 2
    wanted = points(arguments.quick)
    rate(Point("to compile", 0, games_at_once=2, simulations=2), (1, 4), 0.1)
    rounds = [
        [rate(point, arguments.network, arguments.seconds) for point in wanted]
        for _ in range(arguments.rounds)
    ]
    measured = [
        (point, statistics.median(found))
        for point, found in zip(wanted, zip(*rounds, strict=True), strict=True)
    ]
    blocks, channels = arguments.network
    usual = f"{GAMES_AT_ONCE} games at once and {SIMULATIONS} simulations a move unless said"
    title = f"{blocks} blocks x {channels} channels, {usual}"
    print(f"{title}\n\n{table(measured)}")
    if not arguments.quick:
        draw(measured, title, arguments.picture)
        print(f"\nthe picture is {arguments.picture}")
    return 0


if __name__ == "__main__":
    with one_sentence():
        sys.exit(main())
