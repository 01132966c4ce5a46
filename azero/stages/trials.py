"""Short trials of a recipe: what `azero estimate` multiplies.

A trial is a stage of a temporary run's first cycle. One that takes too long is stopped.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from typing import NamedTuple

import numpy as np

from azero.cluster.match import worth_sending
from azero.config.schema import ClusterConfig, Config, UserError
from azero.games import make_game
from azero.games.game import Game
from azero.kernels.compiling import CompileTimer
from azero.network.inference import InferenceChoice
from azero.network.model import unpack_network
from azero.process.signals import Stopped, StopSignal
from azero.report.console import Progress
from azero.report.forecast import HALF, Merging, Pace, merging_of
from azero.report.reporter import NullReporter
from azero.run.run import Run
from azero.run.state import StageName
from azero.stages import initialize
from azero.stages.backend import batch_rows, ensure_choice
from azero.stages.registry import stage_named
from azero.truth.known import last_metric
from azero.workers.matches import match_search
from azero.workers.memory import memory_in_use
from azero.workers.selfplay import worker_count

SELFPLAY_SECONDS, CLUSTER_SECONDS, TRAIN_SECONDS, MATCH_SECONDS = 20.0, 10.0, 6.0, 6.0
LENGTH_SECONDS, LENGTH_GAMES, LENGTH_ROWS = 30.0, 32, 16  # of games that show how long games are
FEW_SIMULATIONS = 8  # a move of these; with one, the games of Connect Four are twice as long as with 24
FEW_STEPS = 60  # of training, where the games are not a whole cycle's
MOMENTS = {"sgd": 1, "adam": 2, "adamw": 2}  # numbers that the optimizer keeps for each weight
FIRST_TICKS = 4  # updates of a stage that do not count, because libraries load


class Timer(NullReporter):
    """Watches one stage, and stops it after some seconds of work.

    Attributes:
        progress: of the stage; its work began at `started`, after compiling and first use.
        total: steps or games that are to be done.
        seconds: that the whole stage took, without compiling and first use; None if it was stopped.
        scalars: what it reported of the cycle, by tag.
        said: its messages.
    """

    def __init__(self, most: float) -> None:
        super().__init__()
        self.most, self.stopping, self.compiling = most, StopSignal(), CompileTimer()
        self.began, self.ticks = time.monotonic(), list[float]()
        self.entered = self.began  # when the stage had read its files
        self.made: list[tuple[float, float]] = []  # the time and the simulations so far
        self.progress, self.total = Progress(), 1.0
        self.seconds: float | None = None
        self.scalars: dict[str, float] = {}
        self.said: list[str] = []

    @contextlib.contextmanager
    def stage(self, name: str, cycle: int, cycles: int, total: float, unit: str) -> Iterator[Progress]:
        """Watch the progress of a stage."""
        with super().stage(name, cycle, cycles, total, unit) as self.progress:
            self.total, self.progress.observe, self.entered = total, self.look, time.monotonic()
            yield self.progress

    def look(self) -> None:
        """Note the time of an update, and stop the stage if its time is over."""
        self.ticks.append(time.monotonic())
        worked = self.ticks[-1] - self.progress.started
        if rate := float(self.progress.stats.get("simulations_per_second", 0.0)):
            # a cluster's rate counts the time in which its workers start
            seconds = self.ticks[-1] - self.entered if "nodes" in self.progress.stats else worked
            self.made.append((self.ticks[-1], rate * seconds))
        passed = worked - self.compiling.seconds
        self.stopping.requested |= passed > self.most and len(self.ticks) > FIRST_TICKS

    def cycle_scalars(self, cycle: int, scalars: Mapping[str, float]) -> None:
        """Keep stats of the cycle."""
        self.scalars |= scalars

    def message(self, text: str) -> None:
        """Keep a message."""
        self.said.append(text)

    @property
    def start(self) -> float:
        """Seconds until the work began."""
        return self.progress.started - self.began

    def each(self) -> float:
        """Return the seconds of one step: of a whole stage its share, else the median between updates."""
        if self.seconds is not None:
            return self.seconds / self.total
        return float(np.median(np.diff(self.ticks[FIRST_TICKS - 1 :])))

    def simulations(self) -> float:
        """Return the simulations per second in the second half of the work: the cache fills in the first."""
        times, made = np.array([(self.progress.started, 0.0), *self.made]).T
        # from the last update of the first half: between two updates at the end there may be no time
        half = max(0, int(np.searchsorted(times, (times[0] + times[-1]) / 2, "right")) - 1)
        return max(1e-9, float((made[-1] - made[half]) / (times[-1] - times[half])))


class ClusterSpeed(NamedTuple):
    """What a cluster does with a recipe."""

    machines: int
    workers: int
    simulations: float  # per second, of all workers together
    selfplay: float  # seconds of a cycle's games
    prepare: float  # seconds from the beginning of a stage until a worker searches
    match: bool  # whether the workers play the match too
    said: list[str]  # sentences about workers that were lost or refused


class Trial:
    """The first cycle of a recipe, stage by stage.

    Attributes:
        config, game, choice: the settings, the rules, and how the network is computed.
        start: seconds until a run can play: the first network, the choice of a backend, and compiling.
        shards: the games to measure with, from `source`; `whole` if they are a cycle's.
        plies: searched plies of a game.
        workers, simulations: threads that play here, and their simulations per second.
        cluster: what the workers of a cluster do; None without one.
        pace: of the run.
        game_bytes, network_bytes: of a game and of a network on the disk.
        memory: bytes that the trials had in use.
    """

    def __init__(self, config: Config, run: Run) -> None:
        """Make the first network, choose how it is computed, and see how long games are.

        Args:
            config: the recipe's settings, with the folders of the run.
            run: opened for work, and empty.

        Raises:
            UserError: the recipe cannot run here, or no game ended in time.
        """
        begin = time.monotonic()
        self.config, self.run = config, run
        self.alone = replace(config, cluster=ClusterConfig(), cycles=1)  # so no game of a second one begins
        self.game: Game = make_game(config.game.name, **config.game.options)
        initialize.run_stage(config, run, NullReporter(), StopSignal())
        first = run.read_champion()
        network = unpack_network(first, "first network").network
        self.choice: InferenceChoice = ensure_choice(run, config, self.game, network, NullReporter())
        self.workers = worker_count(config, config.selfplay.games, self.choice)
        moments = MOMENTS.get(config.train.optimizer, 2) if config.train.keep_optimizer else 0
        self.network_bytes = len(first) * (1 + moments + bool(config.train.ema_decay))
        self.cluster: ClusterSpeed | None = None
        self.start = self.play_quickly() - begin

    def play_quickly(self) -> float:
        """Play games with few simulations a move, in small batches. Return when the first search began."""
        run, config = self.run, self.config
        few = min(FEW_SIMULATIONS, config.search.num_simulations)
        selfplay = replace(config.selfplay, games=LENGTH_GAMES, concurrent_games=LENGTH_ROWS)
        quick = replace(self.alone, search=replace(config.search, num_simulations=few), selfplay=selfplay)
        small = replace(self.choice, batch_size=LENGTH_ROWS, batches=())
        run.commit(replace(run.state, inference=asdict(small)))
        timer = self.timed(StageName.SELFPLAY, quick, LENGTH_SECONDS)
        run.commit(replace(run.state, inference=asdict(self.choice)))
        self.shards, self.whole = run.state.shards or run.state.partial, False
        self.source = f"of the first network's games with at most {few} simulations a move"
        if not self.shards:
            what = f"No game of {self.game.name} ended within {LENGTH_SECONDS:g} s"
            raise UserError(f"{what}; choose a smaller network.")
        return timer.progress.started

    def measure(self, plies: float | None, progress: Progress) -> None:
        """Time all parts of a cycle.

        Args:
            plies: searched plies of a game where they are known.
            progress: of 10 steps.
        """
        progress.update(2, now="self-play")
        played = self.play(self.alone, SELFPLAY_SECONDS)
        self.plies, self.simulations = plies or self.examples / self.games, played.simulations()
        selfplay = self.selfplay_seconds(played, self.workers)
        if self.config.cluster.address:
            progress.update(4, now="the workers of the cluster")
            self.cluster = self.play_on_cluster()
            selfplay = self.cluster.selfplay
        size = sum(self.run.paths.of(shard.file).stat().st_size for shard in self.shards)
        self.game_bytes = self.plies * size / self.examples
        progress.update(5, now="training")
        step, merging = self.train()
        progress.update(7, now="the match")
        match = self.match_seconds()
        progress.update(9, now="measuring the champion")
        examples, correctness = self.config.selfplay.games * self.plies, self.correctness()
        self.pace = Pace(selfplay, examples, merging, step, match, correctness, self.config.cluster.overlap)
        self.memory = memory_in_use()
        progress.update(10, now="done")

    def timed(self, stage: StageName, config: Config, seconds: float) -> Timer:
        """Run a stage from its beginning, for at most some seconds of work."""
        run, timer = self.run, Timer(seconds)
        run.commit(replace(run.state, cycle=0, stage=stage, partial=[]))
        with timer.compiling, contextlib.suppress(Stopped):
            stage_named(stage).run(config, run, timer, timer.stopping)
            began = timer.entered if stage == StageName.TRAIN else timer.began  # reading the window counts
            first_use = timer.work_began(stage, began) - began
            lost = max(first_use, timer.compiling.seconds)
            timer.seconds = max(0.0, time.monotonic() - timer.began - lost)
        return timer

    def play(self, config: Config, seconds: float) -> Timer:
        """Play the games of the first cycle; if all end in time, they are measured with."""
        before = self.shards  # named in the state, or their files would be written over
        self.run.commit(replace(self.run.state, shards=before))
        timer = self.timed(StageName.SELFPLAY, config, seconds)
        if timer.seconds is not None:
            self.shards, self.whole = self.run.state.shards[len(before) :], True
            self.source = "of the first network's games"
        return timer

    def selfplay_seconds(self, played: Timer, workers: int) -> float:
        """Return the seconds of a self-play stage, going by a trial of it with these workers."""
        games, simulations = self.config.selfplay.games, self.config.search.num_simulations
        if played.seconds is not None:
            return played.seconds * self.plies * self.games / self.examples
        places = min(games, workers * batch_rows(self.config))
        tail = places / 4  # as games end at the end of the stage, batches are smaller and less efficient
        return (games + tail) * self.plies * simulations / played.simulations()

    def play_on_cluster(self) -> ClusterSpeed:
        """Let the workers of the cluster play, once to start them and once to time them."""
        first, played = (self.play(self.config, CLUSTER_SECONDS) for _ in range(2))
        self.start, stats = first.start, played.progress.stats
        machines, workers = int(stats["nodes"]), int(stats["workers"])
        seconds = played.start + self.selfplay_seconds(played, workers)
        match = worth_sending(self.config, self.game)
        said = [text for text in first.said + played.said if text.startswith("Worker ")]
        return ClusterSpeed(machines, workers, played.simulations(), seconds, played.start, match, said)

    def train(self) -> tuple[float, Merging]:
        """Train the first candidate. Return the seconds of a step, and how many examples merging leaves."""
        train = self.config.train
        if not self.whole:  # too few games for the steps of a cycle
            train = replace(train, epochs=FEW_STEPS * train.batch_size / self.examples, max_uses=0)
        self.run.commit(replace(self.run.state, shards=self.shards))
        timer = self.timed(StageName.TRAIN, replace(self.alone, train=train), TRAIN_SECONDS)
        if not train.merge_equal:
            return timer.each(), Merging()
        seen = min(float(self.examples), train.window)
        half = seen / 2, timer.scalars[HALF]
        left = timer.scalars.get("replay/trained_examples")  # None if training was stopped
        return timer.each(), merging_of(*half, *(half if left is None else (seen, left)))

    def match_seconds(self) -> float:
        """Return the seconds of the first cycle's matches; of long ones at the speed of self-play."""
        evaluate, there = self.config.evaluate, self.cluster
        if not evaluate.games and not evaluate.anchor_games:
            return 0.0
        timer = self.timed(StageName.EVALUATE, self.config, MATCH_SECONDS)
        prepare, speed = 0.0, self.simulations
        if there and there.match:
            prepare, speed = there.prepare, there.simulations
        if timer.seconds is not None:
            return prepare + timer.seconds
        return prepare + timer.total * self.plies * match_search(self.config).num_simulations / speed

    def correctness(self) -> float:
        """Return the seconds to measure a champion, the game being solved; 0 where nothing is measured."""
        if not last_metric(self.config):
            return 0.0
        from azero.stages.measure import report_cycle

        for _ in range(2):
            begin = time.monotonic()
            report_cycle(self.config, self.run.name, 1, NullReporter())
        return time.monotonic() - begin

    @property
    def examples(self) -> int:
        """The examples that the games of the trial give."""
        return sum(shard.examples for shard in self.shards)

    @property
    def games(self) -> int:
        """The games of the trial."""
        return sum(shard.games for shard in self.shards)
