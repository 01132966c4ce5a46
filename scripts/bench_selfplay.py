"""How fast is self-play, end to end? A whole stage of a game in a folder of its own, as the loop runs it.

    python scripts/bench_selfplay.py  # Connect Four, 6 x 64, 32 simulations a move, no cache
    python scripts/bench_selfplay.py --game tictactoe --network 4x32 --simulations 20
    python scripts/bench_selfplay.py --cache 65536 --rounds 1 selfplay.games=100  # any setting

A stage's time is all of it: reading the champion, choosing and making its inference, playing until the last
game ends, writing. Beside it stands the steady state, the waves whose batch was full, and *pure inference*:
the stage's own inference objects, in as many threads, on the same batch shape, with nothing else to do. What
Numba compiles is compiled before. Medians of the rounds.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import operator
import resource
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any
from unittest import mock

import numpy as np
from standard import standard

from azero.cli.hydra_program import compose, one_sentence
from azero.config.schema import Config
from azero.games import make_game
from azero.games.game import Game
from azero.network.choosing import choose_inference
from azero.network.inference import Inference, InferenceChoice
from azero.network.torch_inference import one_thread_per_worker
from azero.process.signals import StopSignal
from azero.report.reporter import Reporter
from azero.run.run import Run
from azero.search.counters import WorkerStats
from azero.stages import backend, initialize, selfplay
from azero.stages import warm_up as compile_ahead
from azero.stages.backend import positions_to_time
from azero.workers import selfplay as playing
from azero.workers.threads import play_games

PURE_SECONDS = 2.0


@dataclass(frozen=True)
class Round:
    """One stage, and the network alone behind it.

    Attributes:
        seconds: the whole stage.
        start: of them, before the first game.
        choice: of these, the choice of the inference, which a run makes once.
        end: of them, after the last game.
        stats: of all workers together.
        workers: how many there were.
        pure: evaluations a second of pure inference.
        inference: the choice in words, such as "torch bf16 on cpu, batches of 64".
    """

    seconds: float
    start: float
    choice: float
    end: float
    stats: WorkerStats
    workers: int
    pure: float
    inference: str

    @property
    def simulations(self) -> float:
        """A second, whole stage."""
        return self.stats.simulations / self.seconds

    @property
    def evaluations(self) -> float:
        """A second, whole stage."""
        return self.stats.evaluations / self.seconds

    @property
    def later(self) -> float:
        """Evaluations a second of a later stage of the run, whose inference is chosen."""
        return self.stats.evaluations / (self.seconds - self.choice)

    @property
    def positions(self) -> float:
        """Plies a second, whole stage."""
        return self.stats.plies / self.seconds

    @property
    def games(self) -> float:
        """A second, whole stage."""
        return self.stats.games / self.seconds

    @property
    def steady(self) -> float:
        """Evaluations a second of all workers in waves whose batch was full; 0 without one."""
        return self.workers * self.stats.full_evaluations / max(self.stats.full_seconds, 1e-9)

    @property
    def inference_share(self) -> float:
        """Of the workers' time, from the stage's beginning to its end."""
        return self.stats.inference_seconds / (self.workers * self.seconds)

    @property
    def search_share(self) -> float:
        """Tree, rules and records, likewise."""
        return (self.stats.seconds - self.stats.inference_seconds) / (self.workers * self.seconds)

    @property
    def rest_share(self) -> float:
        """What is left: before and after the games, and workers that have no game while another has."""
        return 1.0 - self.inference_share - self.search_share

    @property
    def fill(self) -> float:
        """Share of the rows of all batches that carried a leaf."""
        return self.stats.evaluations / max(self.stats.rows, 1)

    @property
    def hits(self) -> float:
        """Share of evaluations asked for that were remembered."""
        return self.stats.cache_found / max(self.stats.cache_asked, 1)


def play_round(config: Config) -> Round:
    """Begin a run in a temporary folder and play its first stage of self-play."""
    caught: list[tuple[Sequence[Inference], WorkerStats, float, float]] = []
    chose: list[float] = []

    def timed(*of: Any) -> InferenceChoice:
        began = time.perf_counter()
        choice = choose_inference(*of)
        chose.append(time.perf_counter() - began)
        return choice

    def watched(game: Game, inferences: Sequence[Inference], *rest: Any) -> Any:
        first = time.perf_counter()
        played = play_games(game, inferences, *rest)
        caught.append((inferences, played[1], first, time.perf_counter()))
        return played

    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        config = replace(config, checkpoints=f"{folder}/checkpoints", data=f"{folder}/data")
        with (
            StopSignal() as stop,
            Run.open(config, "bench", "bench_selfplay") as run,
            Reporter.open(run) as report,
        ):
            initialize.run_stage(config, run, report, stop)
            with (
                mock.patch.object(playing, "play_games", watched),
                mock.patch.object(backend, "choose_inference", timed),
            ):
                begin = time.perf_counter()
                selfplay.run_stage(config, run, report, stop)
                end = time.perf_counter()
            choice = run.state.inference or {}
    inferences, stats, first, last = caught[0]
    planes = positions_to_time(
        make_game(config.game.name, **config.game.options), inferences[0].batch_size, config.seed
    )
    words = "{backend} {precision} on {device}, batches of {batch_size}".format_map(choice)
    pure = pure_inference(inferences, planes, PURE_SECONDS)
    return Round(end - begin, first - begin, sum(chose), end - last, stats, len(inferences), pure, words)


def pure_inference(inferences: Sequence[Inference], planes: np.ndarray, seconds: float) -> float:
    """Evaluations a second of several inferences, each in a thread of its own, that do nothing else."""
    calls = [0] * len(inferences)
    ready = threading.Barrier(len(inferences) + 1)

    def run(k: int) -> None:
        inferences[k].infer(planes)
        ready.wait()
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            inferences[k].infer(planes)
            calls[k] += 1

    with one_thread_per_worker():
        threads = [threading.Thread(target=run, args=(k,), daemon=True) for k in range(len(inferences))]
        for thread in threads:
            thread.start()
        ready.wait()
        begin = time.perf_counter()
        for thread in threads:
            thread.join()
    return sum(calls) * len(planes) / (time.perf_counter() - begin)


def warm_up(config: Config) -> None:
    """Compile what a stage needs by playing a small one; wait for a second process that compiles."""
    play_round(replace(config, selfplay=replace(config.selfplay, games=2, concurrent_games=2)))
    for process in compile_ahead.STARTED:
        process.wait()


def peak_memory() -> float:
    """Most GiB that this process has held."""
    return (
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024) / 2**30
    )


def median(rounds: Sequence[Round], figure: Callable[[Round], float]) -> float:
    """Of one figure over the rounds."""
    return statistics.median(map(figure, rounds))


def table(rounds: Sequence[Round]) -> str:
    """What is printed: medians over the rounds."""

    def middle(name: str) -> float:
        return median(rounds, operator.attrgetter(name))

    steady_simulations = median(
        rounds, lambda one: one.steady * one.stats.simulations / max(one.stats.evaluations, 1)
    )
    return "\n".join(
        [
            "| a second | whole stage | steady state | pure inference |",
            "| --- | --- | --- | --- |",
            f"| simulations | {middle('simulations'):,.0f} | {steady_simulations:,.0f} | |",
            f"| evaluations | {middle('evaluations'):,.0f} | {middle('steady'):,.0f} | "
            f"{middle('pure'):,.0f} |",
            f"| positions | {middle('positions'):,.1f} | | |",
            f"| games | {middle('games'):,.2f} | | |",
            "",
            f"stage: {middle('seconds'):.2f} s, of them {middle('start'):.2f} before the first game "
            f"({middle('choice'):.2f} to choose the inference) and {middle('end'):.2f} after the last",
            f"of the workers' time: search {middle('search_share'):.1%}, inference "
            f"{middle('inference_share'):.1%}, "
            f"rest {middle('rest_share'):.1%}",
            f"batch fill {middle('fill'):.1%}, cache hits {middle('hits'):.1%}, most memory "
            f"{peak_memory():.2f} GiB",
            "evaluations of the steady state over pure inference: "
            f"{median(rounds, lambda one: one.steady / one.pure):.3f}",
            "evaluations of a later stage, which need not choose, over pure inference: "
            f"{median(rounds, lambda one: one.later / one.pure):.3f}",
            f"evaluations_over_pure_inference={median(rounds, lambda one: one.evaluations / one.pure):.3f}",
            f"simulations_per_second={middle('simulations'):.0f}",
        ]
    )


def network_size(text: str) -> tuple[int, int]:
    """Blocks and channels of a size such as 6x64.

    Raises:
        argparse.ArgumentTypeError: it is none.
    """
    blocks, by, channels = text.partition("x")
    if not (by and blocks.isdigit() and channels.isdigit()):
        raise argparse.ArgumentTypeError(
            f"{text} is no size of a network; write blocks x channels, such as 6x64"
        )
    return int(blocks), int(channels)


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
    parser.add_argument("--simulations", type=int, default=32, help="simulations of a move")
    parser.add_argument("--games", type=int, help="games of the stage; default: those settings")
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument(
        "--concurrent", type=int, default=0, help="games in flight in a worker, the rows of a batch"
    )
    parser.add_argument("--backend", default="auto")
    parser.add_argument("--precision", default="auto")
    parser.add_argument("--cache", type=int, default=0, help="size of a worker's evaluation cache")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("overrides", nargs="*", help="further settings, such as selfplay.opening_fraction=0")
    return parser.parse_intermixed_args(words)


def config_of(arguments: argparse.Namespace) -> Config:
    """The settings that a command line asks for."""
    blocks, channels = arguments.network
    settings = {
        "network.blocks": blocks,
        "network.channels": channels,
        "search.num_simulations": arguments.simulations,
        "selfplay.concurrent_games": arguments.concurrent,
        "workers": arguments.workers,
        "inference.backend": arguments.backend,
        "inference.precision": arguments.precision,
        "inference.cache": arguments.cache,
        "seed": arguments.seed,
    }
    if arguments.games:
        settings["selfplay.games"] = arguments.games
    words = [f"{key}={value}" for key, value in settings.items()]
    return compose(f"game={arguments.game}", *standard(arguments.game), *words, *arguments.overrides)


def title(config: Config, first: Round) -> str:
    """What is measured, in one line."""
    cache = (
        f"{config.inference.cache:,} evaluations remembered a worker"
        if config.inference.cache
        else "cache off"
    )
    return (
        f"{config.game.name}, {config.network.blocks} blocks x {config.network.channels} channels, "
        f"{config.search.num_simulations} simulations a move, {config.selfplay.games:,} games, "
        f"{first.workers} workers, "
        f"{first.inference}, {cache}"
    )


def main() -> None:
    """Print a line a round, then the medians."""
    arguments = parse(sys.argv[1:])
    config = config_of(arguments)
    warm_up(config)
    rounds: list[Round] = []
    for number in range(1, arguments.rounds + 1):
        rounds.append(play_round(config))
        if number == 1:
            print(title(config, rounds[0]))
        last = rounds[-1]
        print(
            f"round {number}: {last.simulations:,.0f} simulations/s in {last.seconds:.1f} s; pure "
            f"{last.pure:,.0f}",
            flush=True,
        )
    print(table(rounds))


if __name__ == "__main__":
    with one_sentence():
        main()
