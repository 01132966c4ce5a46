"""Workers: threads that play self-play games with one network, many games in flight in each.

Kernels and inference release the GIL, so two workers use two cores, and on a GPU one worker's tree work hides
behind another's inference. A game depends on its number alone, so neither the count of workers nor an
interruption changes what is played.
"""

from __future__ import annotations

import itertools
import math
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from azero.config.schema import Config, SearchConfig, SelfplayConfig
from azero.games.game import Game
from azero.games.repetition import dead_end
from azero.kernels.compiling import compiled_before
from azero.match.lockstep import MatchGame
from azero.match.openings import read_book
from azero.network.inference import Inference, gathers
from azero.process.machine import cores
from azero.process.signals import StopSignal
from azero.replay.examples import PER_PAIR, PER_PLY, GameRecord
from azero.report.console import Progress
from azero.report.live import BOARDS
from azero.search.algorithm import explaining_search, sound_for
from azero.search.cache import EvaluationCache, cache_of
from azero.search.counters import StageStats, WorkerStats, infer_counted
from azero.search.dead_end import check_dead_end
from azero.search.mcts import LegalRows, receive_evaluations, write_rows
from azero.search.root import Temperature
from azero.workers.games import (
    FINISHED,
    FULL,
    IDLE,
    PLAYING,
    STUCK,
    PlaySettings,
    Worker,
    make_searches,
    make_worker,
    play_wave,
    start_games,
    with_more_room,
)
from azero.workers.memory import check_worker_memory

# Most threads on a GPU. With 10 blocks x 128 channels on an H200 with 16 cores, 4 threads with batches of 512
# made 441,000 evaluations a second, 8 made 614,000, and 14 with batches of 256 fewer than 8 with those.
GPU_WORKERS = 8
BEGUN_TOGETHER = 16  # games that a worker takes at once at its start, so that workers share few games evenly


@dataclass
class GameQueue:
    """Hands out the numbers of games still to be played, to workers in any thread.

    Attributes:
        numbers: those not handed out yet.
        deadline: `time.perf_counter()` at which games should have ended. After the first game, none is handed
            out that would probably end later; those in flight are finished.
        expected_seconds: of a game; the mean of the finished games counts if it is more.
        openings: the actions that games of a match begin with, by number, [plies] int32.
        abandoned: something has failed; workers end after the wave in hand.
        needless: games in flight whose result nobody needs any more.
        records: the finished games, of self-play or of a match, in the order in which they ended.
        begun: `time.perf_counter()` at which games in flight were handed out, by number.
        played_seconds: the sum over the finished games.
    """

    numbers: Iterator[int]
    deadline: float = math.inf
    expected_seconds: float = 0.0
    openings: Mapping[int, np.ndarray] = field(default_factory=dict)
    abandoned: bool = False
    needless: set[int] = field(default_factory=set)
    lock: threading.RLock = field(default_factory=threading.RLock)
    handed_out: int = 0
    records: list[Any] = field(default_factory=list)
    begun: dict[int, float] = field(default_factory=dict)
    played_seconds: float = 0.0

    @property
    def refilled(self) -> bool:
        """Whether a worker with idle places may ask again; never here, where no number is ever added."""
        return False

    def wait(self) -> bool:
        """Wait until numbers are added; return False where the queue has ended, as here when it is empty."""
        return False

    @property
    def game_seconds(self) -> float:
        """Mean seconds of the finished games; 0 before one has ended."""
        return self.played_seconds / max(1, len(self.records))

    def take(self, count: int) -> np.ndarray:
        """Return the next numbers, [count] int64; fewer when games or time run out, or a worker failed."""
        with self.lock:
            now = time.perf_counter()
            late = now + max(self.expected_seconds, self.game_seconds) >= self.deadline
            if self.abandoned or (late and self.handed_out):
                return np.empty(0, np.int64)
            numbers = np.fromiter(itertools.islice(self.numbers, 1 if late else count), np.int64)
            self.handed_out += len(numbers)
            self.begun |= dict.fromkeys(numbers.tolist(), now)
            return numbers

    def finish(self, record: GameRecord | MatchGame) -> None:
        """Keep a game that has ended."""
        with self.lock:
            self.records.append(record)
            self.played_seconds += time.perf_counter() - self.begun.pop(record.number)

    def in_order(self) -> list[Any]:
        """Return the finished games by number."""
        return sorted(self.records, key=lambda record: record.number)


class GameWorker(Protocol):
    """Who plays games of a queue in a thread: of self-play, or of a match."""

    def play(self, queue: GameQueue, seeds: np.ndarray, stop: StopSignal) -> None:
        """Play games of the queue until it is empty or a stop is requested."""
        ...


class SelfPlayer(GameWorker, Protocol):
    """Who plays games of self-play: a thread of the CPU, or a GPU.

    Attributes:
        numbers: of the games in its places, [B]; -1 where none is.
        stats: of its finished games.
        ended: `time.perf_counter()` since when it has nothing to do.
    """

    numbers: np.ndarray
    stats: WorkerStats
    ended: float

    def simulations_made(self) -> int:
        """Return the simulations in finished games and in those in flight, which `stats` does not hold."""
        ...

    def game_in_flight(self, place: int) -> dict[str, Any] | None:
        """Return number and moves of the game in that place, for `LiveFile`; None if there is none."""
        ...


def play_settings(game: Game, search: SearchConfig, selfplay: SelfplayConfig) -> PlaySettings:
    """Return how self-play games are played. Kernels need floats where YAML may give integers.

    Raises:
        UserError: the book cannot be used.
    """
    start, end = float(selfplay.temperature), float(selfplay.temperature_final)
    plies, decay_plies = selfplay.temperature_plies, selfplay.temperature_decay_plies
    return PlaySettings(
        num_simulations=search.num_simulations,
        tree_reuse=search.tree_reuse,
        temperature=Temperature(start, plies, decay_plies, end),
        opening_fraction=float(selfplay.opening_fraction),
        opening_plies=max(1, selfplay.opening_plies),
        book=lines_of(game, selfplay.book),
        book_fraction=float(selfplay.book_fraction),
    )


def lines_of(game: Game, book: str) -> np.ndarray:
    """Return the openings of a file, see `PlaySettings.book`; none without a file.

    Raises:
        UserError: see `read_book`.
    """
    lines = read_book(game, Path(book), "selfplay.book") if book else ()
    rows = np.full((len(lines), max(map(len, lines), default=0)), -1, np.int32)
    for row, line in zip(rows, lines, strict=True):
        row[: len(line)] = line
    return rows


class SelfplayWorker:
    """One thread's games, arrays, and view of the network."""

    def __init__(
        self,
        game: Game,
        inference: Inference,
        search: SearchConfig,
        settings: PlaySettings,
        cache: EvaluationCache,
    ) -> None:
        """Make arrays for as many games as a batch has rows."""
        size, search = inference.batch_size, sound_for(search, game)
        self.game, self.inference, self.settings, self.cache = game, inference, settings, cache
        self.search = search
        searches = make_searches(game, search, size, len(cache.used), gathers(inference))
        self.tree, self.algorithm, self.scratch, self.exact = searches
        self.worker = make_worker(game, size)
        self.legal = LegalRows(game, inference)
        self.planes = np.zeros((size, *game.planes_shape), np.float32)
        self.row_games = np.zeros(size, np.int64)
        self.numbers = np.full(size, -1)  # of the games; -1 where none is, or one is just beginning
        self.stats, self.threads = WorkerStats(), 1
        self.ended = math.inf  # `time.perf_counter()` since when it has nothing to do

    def play(self, queue: GameQueue, seeds: np.ndarray, stop: StopSignal) -> None:
        """Play games of the queue until it is empty or a stop is requested."""
        # Compiled first, because it takes longest; a second process compiles the rest (`stages/warm_up.py`).
        self.wave()
        places = np.arange(len(self.numbers))
        for first in range(0, len(places), BEGUN_TOGETHER):
            self.start_next(places[first : first + BEGUN_TOGETHER], queue, seeds)
        while not (stop.requested or queue.abandoned) and (self.worker.status != IDLE).any():
            begin = time.perf_counter()
            if queue.refilled and len(idle := np.flatnonzero(self.worker.status == IDLE)):
                self.start_next(idle, queue, seeds)
            self.play_on(queue, seeds, stop)
            rows = self.infer_leaves()
            seconds = time.perf_counter() - begin
            self.stats.seconds += seconds
            if rows == len(self.planes):
                self.stats.full_seconds += seconds
                self.stats.full_evaluations += rows
        self.stats.cache_asked, self.stats.cache_found = (int(count) for count in self.cache.counts)
        self.ended = time.perf_counter()

    def play_on(self, queue: GameQueue, seeds: np.ndarray, stop: StopSignal) -> None:
        """Move every game to its next evaluation; games that end are replaced at once, until a stop.

        Where the cache holds every position, games end and begin here to the end of the queue.
        """
        while self.wave():
            if (self.worker.status == FULL).any():
                self.worker = with_more_room(self.worker)
            finished = np.flatnonzero(self.worker.status == FINISHED)
            for place in finished.tolist():
                number = int(self.numbers[place])
                record = record_of(self.worker, place, number, self.search.solver)
                self.stats.games += 1
                self.stats.plies += len(record.actions)
                self.stats.simulations += int(self.worker.simulations[place])
                self.stats.searches += int(self.worker.searches[place])
                queue.finish(record)
            for place in np.flatnonzero(self.worker.status == STUCK).tolist():
                raise dead_end(self.game, self.worker.actions[place, : self.worker.ply[place]], repeats=True)
            if stop.requested or queue.abandoned:
                return
            self.start_next(finished, queue, seeds)

    def wave(self) -> int:
        """Advance every game until it is finished or needs the network. Return how many are finished."""
        games, rules = (self.tree, self.cache, self.worker), self.game.rule_addresses
        with explaining_search(self.search):
            return int(play_wave(rules, *games, self.algorithm, self.settings, self.scratch, self.exact))

    def start_next(self, places: np.ndarray, queue: GameQueue, seeds: np.ndarray) -> None:
        """Begin the next games in those places [any], as far as there are any left."""
        numbers = queue.take(len(places))
        begun = places[: len(numbers)]
        self.worker.status[places[len(numbers) :]] = IDLE
        self.numbers[places] = -1
        rules, games = self.game.rule_addresses, (self.tree, self.worker)
        start_games(rules, *games, begun, seeds[numbers], self.settings, self.scratch)
        self.numbers[begun] = numbers

    def infer_leaves(self) -> int:
        """Send one batch through the network. Return how many of its rows carried a leaf."""
        rules, games = self.game.rule_addresses, self.row_games
        rows = int(write_rows(rules, self.tree, self.planes, games))
        if rows:
            moves = self.legal.of_leaves(self.tree, games, rows)
            logits, values = infer_counted(self.inference, self.planes, rows, self.stats, moves)
            stuck = receive_evaluations(
                rules, self.tree, self.cache, games, rows, logits, values, self.scratch
            )
            check_dead_end(self.game, self.tree, stuck, self.worker.actions[stuck, : self.worker.ply[stuck]])
        return rows

    def simulations_made(self) -> int:
        """Return the simulations in finished games and in those in flight, which `stats` does not hold."""
        playing, begun = self.worker.status == PLAYING, self.under_way()
        return self.stats.simulations + int((self.worker.simulations + begun)[playing].sum())

    def game_in_flight(self, place: int) -> dict[str, Any] | None:
        """Return the number and the moves of the game in that place, for `LiveFile`; None if there is none.

        The worker goes on meanwhile, but a number never comes back to its place: the moves are of the game
        whose number was there before and after they were read.
        """
        number, ply = int(self.numbers[place]), int(self.worker.ply[place])
        moves = self.worker.actions[place, :ply].tolist()
        return {"number": number, "moves": moves} if number >= 0 and self.numbers[place] == number else None

    def searches_made(self) -> float:
        """Return the searches in finished games and in those in flight; one under way counts in part."""
        playing, begun = self.worker.status == PLAYING, self.under_way() / self.settings.num_simulations
        return self.stats.searches + float((self.worker.searches + begun)[playing].sum())

    def under_way(self) -> np.ndarray:
        """Return the simulations made in each game's present search, [B]."""
        return self.settings.num_simulations - self.tree.searches["simulations_left"]


def workers_wanted(config: Config, device: str) -> int:
    """Return the threads that play: as set, else one a core, and on a GPU half the cores, two to eight."""
    automatic = cores() if device == "cpu" else max(2, min(GPU_WORKERS, cores() // 2))
    return config.workers or automatic


def record_of(worker: Worker, place: int, number: int, proves: bool = False) -> GameRecord:
    """Return a copy of the record of the game in that place. If it has not ended, it waits to go on.

    Args:
        worker: the games in flight.
        place, number: of the game.
        proves: whether searches prove values.
    """
    plies, pairs = int(worker.ply[place]), int(worker.targets[place])
    ended = worker.status[place] == FINISHED
    return GameRecord(
        number=number,
        states=worker.states[place, :plies].copy(),
        to_play=worker.to_play[place, :plies].copy(),
        actions=worker.actions[place, :plies].copy(),
        target_counts=worker.target_counts[place, :plies].copy(),
        target_actions=worker.target_actions[place, :pairs].copy(),
        target_weights=worker.target_weights[place, :pairs].copy(),
        root_value=worker.root_value[place, :plies].copy(),
        searched=worker.searched[place, :plies].copy(),
        first_outcome=float(worker.first_outcome[place]) if ended else 0.0,
        proven=worker.proven[place, :plies].copy() if proves else None,
        stream=None if ended else worker.stream[place].copy(),
    )


def worker_of(game: Game, records: Sequence[GameRecord]) -> Worker:
    """Return a worker with games that wait to go on: what `record_of` has taken out of one."""
    worker = make_worker(game, len(records))
    while worker.target_actions.shape[1] < max(len(record.target_actions) for record in records):
        worker = with_more_room(worker)
    for place, record in enumerate(records):
        worker.ply[place], worker.targets[place] = len(record.actions), len(record.target_actions)
        worker.stream[place] = record.stream
        for name in (*PER_PLY, *PER_PAIR, "proven"):
            if (column := getattr(record, name)) is not None:
                getattr(worker, name)[place, : len(column)] = column
    return worker


def make_workers(game: Game, inferences: Sequence[Inference], config: Config) -> list[SelfplayWorker]:
    """Return a worker for each inference, with a cache of its own.

    Raises:
        UserError: they do not fit into memory.
    """
    check_worker_memory(game, [inference.batch_size for inference in inferences], config)
    settings = play_settings(game, config.search, config.selfplay)
    entries = config.inference.cache
    caches = [cache_of(game, entries) for _ in inferences]
    return [
        SelfplayWorker(game, inference, config.search, settings, cache)
        for inference, cache in zip(inferences, caches, strict=True)
    ]


class WorkerThreads:
    """Workers that play games of a queue, each in its own thread, as a context.

    An error in a worker or in the context ends them all. Leaving the context waits until all have ended, and
    raises what went wrong in one of them.
    """

    def __init__(
        self, workers: Sequence[GameWorker], queue: GameQueue, seeds: np.ndarray, stop: StopSignal
    ) -> None:
        """Begin to play; the arguments are those of `SelfplayWorker.play`."""
        self.failures: list[BaseException] = []
        self.queue = queue

        def run(worker: GameWorker) -> None:
            try:
                worker.play(queue, seeds, stop)
                while queue.wait():
                    worker.play(queue, seeds, stop)
            except BaseException as failure:  # raised in the thread that joins
                self.failures.append(failure)
                queue.abandoned = True

        self.threads = [threading.Thread(target=run, args=(worker,), daemon=True) for worker in workers]
        for thread in self.threads:
            thread.start()

    def __enter__(self) -> WorkerThreads:
        """Return the threads, which play already."""
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Wait until all have ended; raises what went wrong in one of them."""
        if kind is not None:
            self.queue.abandoned = True
        for thread in self.threads:
            thread.join()
        if self.failures:
            raise self.failures[0]

    def play_on(self, seconds: float) -> bool:
        """Wait, at most until all have ended. Return whether some still play."""
        until = time.perf_counter() + seconds
        for thread in self.threads:
            thread.join(max(0.0, until - time.perf_counter()))
        return any(thread.is_alive() for thread in self.threads)

    def looks(self, seconds: float) -> Iterator[None]:
        """Yield about every `seconds` while some play, and once more when all have ended."""
        while self.play_on(seconds):
            yield
        yield


def play_games(
    game: Game,
    inferences: Sequence[Inference],
    config: Config,
    queue: GameQueue,
    seeds: np.ndarray,
    progress: Progress,
    stop: StopSignal,
    keep: Callable[[list[GameRecord]], object] = list,
) -> tuple[list[GameRecord], StageStats]:
    """Play the games of a queue, one worker for each inference. Return finished games by number, and stats.

    Args:
        game: the rules.
        inferences: one for each worker.
        config: `search`, `selfplay` and `inference.cache` are read.
        queue: the games; each can be replayed exactly from `seeds[number]`.
        seeds: [games] uint64.
        progress: updated every tenth of a second.
        stop: when requested, workers end after the wave in hand and unfinished games are dropped.
        keep: receives the finished games by number if something fails, before the error is raised again.

    Raises:
        UserError: the workers do not fit into memory.
    """
    workers = make_workers(game, inferences, config)
    return play_with(workers, queue, seeds, progress, stop, keep, compiled_before(config.search.kind))


def play_with(
    workers: Sequence[SelfPlayer],
    queue: GameQueue,
    seeds: np.ndarray,
    progress: Progress,
    stop: StopSignal,
    keep: Callable[[list[GameRecord]], object],
    compiled: bool,
) -> tuple[list[GameRecord], StageStats]:
    """Play the games of a queue with these workers; see `play_games`. compiled: their kernels are."""
    most = max(len(worker.numbers) for worker in workers)
    places = [(worker, place) for place in range(most) for worker in workers if place < len(worker.numbers)]

    def boards() -> list[dict[str, Any]]:
        shown = (worker.game_in_flight(place) for worker, place in places)
        return list(itertools.islice((game for game in shown if game is not None), BOARDS))

    progress.boards = boards
    begin = time.perf_counter()
    starting = "starting" if compiled else "compiling"
    try:
        with WorkerThreads(workers, queue, seeds, stop) as threads:
            for _ in threads.looks(0.1):
                made = sum(worker.simulations_made() for worker in workers)
                if not made:  # compiling does not count
                    begin = time.perf_counter()
                seconds = max(time.perf_counter() - begin, 1e-9)
                progress.update(
                    len(queue.records),
                    doing="" if made else starting,
                    simulations_per_second=made / seconds,  # those of games in flight too
                )
    except BaseException:
        keep(queue.in_order())
        raise
    finally:
        progress.boards = list  # it leads to the workers, whose trees would stay in memory
    stats = stage_stats(workers)
    stats.game_seconds = queue.game_seconds
    return queue.in_order(), stats


def stage_stats(workers: Sequence[SelfPlayer]) -> StageStats:
    """Return what the workers have done until now; those that have ended are idle."""
    now = time.perf_counter()
    return StageStats([replace(each.stats, idle_seconds=max(0.0, now - each.ended)) for each in workers])
