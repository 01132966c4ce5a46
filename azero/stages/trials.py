"""Short trials of a recipe on this machine: what `azero.estimate` calculates with.

They use the run's own code, the recipe's untrained network, its search and its settings, in a temporary run.
"""

from __future__ import annotations

import contextlib
import operator
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from azero.config.schema import Config
from azero.games import make_game
from azero.games.game import Game
from azero.network.backends import make_inferences
from azero.network.inference import InferenceChoice, resolve_device
from azero.network.model import Network, pack_network, unpack_network
from azero.network.torch_inference import one_thread_per_worker
from azero.process import seeds
from azero.replay.examples import Examples, GameRecord, examples_of, merge_equal
from azero.replay.shards import dump_games
from azero.report.forecast import Merging, merging_of
from azero.report.reporter import NullReporter
from azero.run.run import Run, StopSignal
from azero.stages import initialize
from azero.stages.backend import ensure_choice
from azero.training.fit import fit
from azero.truth.known import last_metric
from azero.workers.matches import (
    MatchWorker,
    make_openings,
    make_players,
    match_seeds,
    match_workers,
    play_here,
)
from azero.workers.memory import memory_in_use
from azero.workers.threads import GameQueue, SelfplayWorker, WorkerThreads, make_workers

TRAIN_STEPS = 60  # the most that are timed
MOMENTS = {"sgd": 1, "adam": 2, "adamw": 2}  # numbers that the optimizer keeps for each weight


def is_over(passed: float, seconds: float, measured: bool) -> bool:
    """Return whether a trial ends after `passed` seconds: it has ten times as long to measure anything."""
    return passed > seconds * (1 if measured else 10)


class Enough(Exception):
    """A trial has measured what it can in its time."""


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


@dataclass(frozen=True)
class MatchSpeed:
    """The speed of the match.

    Attributes:
        start: seconds until its networks are ready.
        plies: per second, at full speed.
        seconds: of all its games; nan if they did not end in time.
    """

    start: float
    plies: float
    seconds: float


@dataclass(frozen=True)
class Training:
    """The cost of training.

    Attributes:
        step: seconds of one step.
        window_example: seconds to merge and encode one example of the window.
        merging: how many examples merging leaves.
        candidate: bytes of the network's file, with the optimizer's moments if they are kept.
        memory: bytes that training adds beside the window and keeps.
    """

    step: float
    window_example: float
    merging: Merging
    candidate: int
    memory: int


class Trial:
    """A run in a folder of its own, and its timings."""

    def __init__(self, config: Config, folder: Path) -> None:
        """Begin the run: make the first network and choose how it is computed.

        Raises:
            UserError: the recipe cannot run here.
        """
        config = replace(config, checkpoints=str(folder), data=str(folder / "data"))
        self.config = config = replace(config, run="estimate", init_from=None)
        self.game: Game = make_game(config.game.name, **config.game.options)
        with Run.open(config, "estimate", "azero.estimate") as run:
            initialize.run_stage(config, run, NullReporter(), StopSignal())
            self.first = run.read_champion()
            self.network: Network = unpack_network(self.first, "first network").network
            self.choice: InferenceChoice = ensure_choice(run, config, self.game, self.network, NullReporter())

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
        half = next(count for count in counts if count[0] >= (counts[0][0] + counts[-1][0]) / 2)
        if half is counts[-1] or len(queue.records) == games:
            half = counts[0]
        took, simulations, evaluations, plies = np.subtract(counts[-1], half).tolist()
        return Speed(
            simulations / max(took, 1e-9),
            evaluations / max(took, 1e-9),
            plies / max(took, 1e-9),
            queue.in_order(),
            end - begin,
            len(queue.records) == games,
        )

    def counts(self, workers: Sequence[SelfplayWorker]) -> tuple[float, float, float, float]:
        """Return the time, simulations, evaluations and plies so far; a search under way counts in part."""
        simulations = sum(worker.simulations_made() for worker in workers)
        evaluations = sum(worker.stats.evaluations for worker in workers)
        searches = sum(worker.searches_made() for worker in workers)
        return time.perf_counter(), simulations, evaluations, searches

    def train(self, records: Sequence[GameRecord], seconds: float) -> Training:
        """Train on some games, for at most `seconds`."""
        config = self.config.train
        examples = examples_of(records, ends_of=self.game if self.config.network.occupation else None)
        begin = time.perf_counter()
        left = merge_equal(examples) if config.merge_equal else examples
        merging_seconds = time.perf_counter() - begin
        merging = merging_by_halves(examples) if config.merge_equal else Merging()
        count = max(len(left.states), config.batch_size)
        enough = left.each(lambda column: np.resize(column, (count, *column.shape[1:])))
        ticks, held = list[float](), [memory_in_use()]

        def tick(done: int, steps: int, stats: dict[str, float]) -> None:
            ticks.append(time.perf_counter())
            held.append(memory_in_use())
            if ticks[-1] - begin > seconds and done > 1:
                raise Enough

        begin = time.perf_counter()
        try:
            device, seed = resolve_device(self.config.device), self.config.seed
            result = fit(self.network, enough, self.game, config, seed, device, tick, steps=TRAIN_STEPS)
            moments, unseen = result.optimizer_state if config.keep_optimizer else None, 0
        except Enough:
            weights = sum(parameter.nbytes for parameter in self.network.parameters())
            moments, unseen = None, MOMENTS[config.optimizer] * weights if config.keep_optimizer else 0
        training = self.network if config.ema_decay else None
        candidate = pack_network(self.network, game=self.game, optimizer_state=moments, training=training)
        encoding_seconds = max(0.0, ticks[0] - begin) / len(enough.states) / 2
        return Training(
            step=float(np.median(np.diff(ticks[min(3, len(ticks) - 2) :]))),
            window_example=merging_seconds / len(examples.states) + encoding_seconds,
            merging=merging,
            candidate=len(candidate) + unseen,
            memory=max(held) - held[0],
        )

    def match(self, seconds: float, games: int) -> MatchSpeed:
        """Play the first network against itself within some seconds; the speed is that of the first half."""
        self.play_match(2, seconds)  # compiles
        before = time.perf_counter()
        played, whole = self.play_match(games, seconds)
        (begin, _), (end, _) = played[0], played[-1]
        middle, moves = next(count for count in played if count[0] >= (begin + end) / 2)
        plies = moves / max(middle - begin, 1e-9)
        return MatchSpeed(begin - before, plies, end - begin if whole else float("nan"))

    def play_match(self, games: int, seconds: float) -> tuple[list[tuple[float, int]], bool]:
        """Return time and moves after each turn of a player, and whether all games ended."""
        config = replace(self.config, evaluate=replace(self.config.evaluate, games=games))
        played: list[tuple[float, int]] = []
        with one_thread_per_worker():
            players = make_players(config, (self.first, self.first), self.game, self.choice)
            worker = MatchWorker(self.game, players, match_workers(config, self.choice))
            openings, game_seeds = make_openings(config, self.game, 1), match_seeds(config, 1)
            played.append((time.perf_counter(), 0))
            numbers, ended = range(min(games, len(game_seeds))), [0]

            def look(finished: int) -> None:
                moves = sum(seat.moves for seat in worker.table.seats) if worker.table else 0
                played.append((time.perf_counter(), moves))
                ended[0] = finished
                if played[-1][0] - played[0][0] > seconds:
                    raise Enough

            with contextlib.suppress(Enough):
                play_here(worker, numbers, openings, game_seeds, StopSignal(), look)
        return played, ended[0] == len(numbers)

    def correctness(self) -> float:
        """Return the seconds to measure a champion, the game being solved; 0 where nothing is measured."""
        if not last_metric(self.config):
            return 0.0
        from azero.stages.measure import report_cycle

        for _ in range(2):
            begin = time.perf_counter()
            report_cycle(self.config, "estimate", 1, NullReporter())
        return time.perf_counter() - begin

    def shard_bytes(self, records: Sequence[GameRecord]) -> float:
        """Return the bytes of one game on the disk."""
        return len(dump_games(records, self.game.name)) / len(records)


def merging_by_halves(examples: Examples) -> Merging:
    """Return how many examples merging leaves of a quarter of them, of half, and of all."""
    count, points = len(examples.states), list[tuple[float, float]]()
    for end in (count // 4, count // 2, count):
        if end:
            part = examples.each(operator.itemgetter(slice(end)))
            points.append((float(end), float(len(merge_equal(part).states))))
    return merging_of(*points)
