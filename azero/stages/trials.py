"""Short trials of a recipe on this machine: what `azero.estimate` multiplies.

A trial is the first cycle of a temporary run, with the run's own stages. One that takes too long is stopped.
"""

from __future__ import annotations

import contextlib
import operator
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from azero.config.schema import ClusterConfig, Config
from azero.games import make_game
from azero.games.game import Game
from azero.kernels.compiling import CompileTimer
from azero.network.backends import make_inferences
from azero.network.inference import InferenceChoice
from azero.network.model import Network, unpack_network
from azero.network.torch_inference import one_thread_per_worker
from azero.process import seeds
from azero.process.signals import Stopped, StopSignal
from azero.replay.examples import GameRecord, examples_of, merge_equal
from azero.replay.shards import write_games
from azero.report.console import Progress
from azero.report.forecast import Merging, merging_of
from azero.report.reporter import NullReporter
from azero.run.run import Run
from azero.run.state import StageName
from azero.stages import initialize
from azero.stages.backend import ensure_choice
from azero.stages.registry import stage_named
from azero.truth.known import last_metric
from azero.workers.threads import GameQueue, SelfplayWorker, WorkerThreads, make_workers

FIRST_TICKS = 4  # updates of a stage that do not count, because libraries load
FEW_STEPS = 60  # of training, where the games are not a whole cycle's
MOMENTS = {"sgd": 1, "adam": 2, "adamw": 2}  # numbers that the optimizer keeps for each weight


def is_over(passed: float, seconds: float, measured: bool) -> bool:
    """Return whether a trial ends after `passed` seconds: it has ten times as long to measure anything."""
    return passed > seconds * (1 if measured else 10)


@dataclass(frozen=True)
class Speed:
    """The speed of self-play: over the whole stage if it ended in time, else while all places have games.

    Attributes:
        simulations, evaluations, plies: per second, in all workers; plies of openings do not count.
        finished: games that ended, by number.
        seconds: since the workers began.
        whole: whether all games were played.
    """

    simulations: float
    evaluations: float
    plies: float
    finished: list[GameRecord]
    seconds: float
    whole: bool


class Timer(NullReporter):
    """Watches one stage, and stops it after some seconds beside compiling.

    Attributes:
        ticks: the times of its updates.
        total: steps or games that are to be done.
        seconds: that the whole stage took, without compiling and first use; None if it was stopped.
    """

    def __init__(self, most: float) -> None:
        super().__init__()
        self.most, self.stopping, self.compiling = most, StopSignal(), CompileTimer()
        self.ticks: list[float] = []
        self.total, self.began = 1.0, 0.0
        self.seconds: float | None = None

    @contextlib.contextmanager
    def stage(self, name: str, cycle: int, cycles: int, total: float, unit: str) -> Iterator[Progress]:
        """Watch the progress of a stage."""
        progress, self.total, self.began = Progress(), total, time.perf_counter()

        def look() -> None:
            self.ticks.append(time.perf_counter())
            passed = self.ticks[-1] - self.began - self.compiling.seconds
            self.stopping.requested |= passed > self.most and len(self.ticks) > FIRST_TICKS

        progress.observe = look
        yield progress

    def each(self) -> float:
        """Return the median seconds between two updates, or of a stage with few of them its share of each."""
        if self.seconds is not None and len(self.ticks) <= FIRST_TICKS:
            return self.seconds / self.total
        return float(np.median(np.diff(self.ticks[FIRST_TICKS - 1 :])))


class Trial:
    """A run in a folder of its own, and its timings."""

    def __init__(self, config: Config, folder: Path) -> None:
        """Begin the run: make the first network and choose how it is computed.

        Raises:
            UserError: the recipe cannot run here.
        """
        config = replace(config, checkpoints=str(folder), data=str(folder / "data"))
        self.config = config = replace(config, run="estimate", init_from=None)
        self.alone = replace(config, cluster=ClusterConfig())
        self.game: Game = make_game(config.game.name, **config.game.options)
        with self.open() as run:
            initialize.run_stage(config, run, NullReporter(), StopSignal())
            self.first = run.read_champion()
            self.network: Network = unpack_network(self.first, "first network").network
            self.choice: InferenceChoice = ensure_choice(run, config, self.game, self.network, NullReporter())

    def open(self) -> contextlib.AbstractContextManager[Run]:
        """Open the run for work."""
        return Run.open(self.alone, "estimate", "azero.estimate")

    def play(
        self, workers: int, rows: int, seconds: float, games: int, config: Config | None = None
    ) -> Speed:
        """Play games of the first cycle within some seconds; speeds are those of the second half.

        Where a search takes longer than that, it has ten times as long.
        """
        config, choice = config or self.config, self.choice
        if rows != choice.batch_size:
            choice = replace(choice, batch_size=rows, batches=())
        queue, stop = GameQueue(iter(range(games))), StopSignal()
        game_seeds = seeds.game_seeds(config.seed, 1, seeds.SELFPLAY, games)
        with one_thread_per_worker():
            inferences = make_inferences(self.network, self.game, choice, workers)
            playing = make_workers(self.game, inferences, config)
            begin = time.perf_counter()
            counts = [self.counts(playing)]
            with WorkerThreads(playing, queue, game_seeds, stop) as threads:
                for _ in threads.looks(min(0.02, seconds / 50)):
                    if all(worker.ended > counts[-1][0] for worker in playing):
                        counts.append(self.counts(playing))
                    stop.requested = is_over(time.perf_counter() - begin, seconds, len(counts) > 1)
            end = time.perf_counter()
        whole = len(queue.records) == games
        half = next(count for count in counts if count[0] >= (counts[0][0] + counts[-1][0]) / 2)
        since = counts[0] if whole or half is counts[-1] else half
        took, *made = np.subtract(counts[-1], since).tolist()
        simulations, evaluations, plies = (each / max(took, 1e-9) for each in made)
        return Speed(simulations, evaluations, plies, queue.in_order(), end - begin, whole)

    def counts(self, workers: Sequence[SelfplayWorker]) -> tuple[float, float, float, float]:
        """Return the time, simulations, evaluations and plies so far; a search under way counts in part."""
        simulations = sum(worker.simulations_made() for worker in workers)
        evaluations = sum(worker.stats.evaluations for worker in workers)
        searches = sum(worker.searches_made() for worker in workers)
        return time.perf_counter(), simulations, evaluations, searches

    def train(self, records: Sequence[GameRecord], seconds: float, whole: bool) -> Timer:
        """Train the first candidate on a cycle's games, or on some of them, for at most some seconds."""
        if not whole:  # too few for the steps of a cycle
            train = self.config.train
            epochs = FEW_STEPS * train.batch_size / sum(len(record.actions) for record in records)
            self.alone = replace(self.alone, train=replace(train, epochs=epochs, max_uses=0))
        with self.open() as run:
            shards = write_games(run, 1, records, self.game.name)
            run.commit(replace(run.state, shards=shards, stage=StageName.TRAIN))
            return self.timed(run, StageName.TRAIN, seconds)

    def merging(self, records: Sequence[GameRecord]) -> Merging:
        """Return how many examples merging leaves of a quarter of them, of half, and of all."""
        if not self.config.train.merge_equal:
            return Merging()
        examples, points = examples_of(records), list[tuple[float, float]]()
        for end in (len(examples.states) // 4, len(examples.states) // 2, len(examples.states)):
            if end:
                part = examples.each(operator.itemgetter(slice(end)))
                points.append((float(end), float(len(merge_equal(part).states))))
        return merging_of(*points)

    def match(self, seconds: float) -> Timer:
        """Hold the matches of the first cycle, for at most some seconds."""
        with self.open() as run:
            if run.state.candidate is None or run.state.stage == StageName.TRAIN:
                candidate = run.write_network("candidate", 1, self.first)
                run.commit(replace(run.state, candidate=candidate, stage=StageName.EVALUATE))
            return self.timed(run, StageName.EVALUATE, seconds)

    def timed(self, run: Run, stage: StageName, seconds: float) -> Timer:
        """Run a stage for at most some seconds."""
        timer, begin = Timer(seconds), time.perf_counter()
        with timer.compiling, contextlib.suppress(Stopped):
            stage_named(stage).run(self.alone, run, timer, timer.stopping)
            first = timer.ticks[0] - timer.began if stage == StageName.TRAIN else 0.0
            timer.seconds = time.perf_counter() - begin - max(first, timer.compiling.seconds)
        return timer

    def network_bytes(self) -> int:
        """Return the bytes of a network's file, with its average and the moments that are kept."""
        train = self.config.train
        moments = MOMENTS[train.optimizer] if train.keep_optimizer else 0
        return len(self.first) * (1 + moments + bool(train.ema_decay))

    def correctness(self) -> float:
        """Return the seconds to measure a champion, the game being solved; 0 where nothing is measured."""
        if not last_metric(self.config):
            return 0.0
        from azero.stages.measure import report_cycle

        for _ in range(2):
            begin = time.perf_counter()
            report_cycle(self.config, "estimate", 1, NullReporter())
        return time.perf_counter() - begin
