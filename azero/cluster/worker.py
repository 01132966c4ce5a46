"""A worker: a process that plays the chunks that a head sends, in the threads of `azero.workers`.

The head calls the methods of `WorkerProcess`, through Ray or directly. It plays as one machine does: the same
workers, caches and random streams; only the numbers of the games come from elsewhere.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import os
import platform
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

import azero
from azero.cluster.chunks import CHUNK_GAMES, Answer, Chunk, answer_of
from azero.cluster.kinds import MATCH, SELFPLAY, Kind
from azero.config.schema import Config, UserError
from azero.games import make_game, rules_digest
from azero.games.game import Game
from azero.match.lockstep import MatchGame
from azero.network.backends import make_inferences, obstacle
from azero.network.inference import Inference, InferenceChoice
from azero.network.model import unpack_network
from azero.network.torch_inference import one_thread_per_worker
from azero.process import seeds
from azero.process.kernel_cache import sources_digest
from azero.process.seeds import game_seeds
from azero.process.signals import StopSignal
from azero.replay.examples import GameRecord
from azero.search.counters import WorkerStats
from azero.workers.matches import MatchWorker, Sharing, make_players, match_choice, match_seeds
from azero.workers.threads import GameQueue, SelfplayWorker, WorkerThreads, make_workers

STAGES = itertools.count(1)  # stages of this process, each with a number of its own
FIXED_POSITIONS = 64  # that every worker must evaluate alike
GAMES_A_PLACE = 3  # that a worker holds, for each game that its threads play at once
END_SECONDS = 30.0  # that threads get to end their wave in hand


@dataclass(frozen=True)
class Terms:
    """What workers must know of a stage. The head sends it once a cycle and node.

    Attributes:
        stage: a number that only this stage has, so that late messages of an earlier one are dropped.
        config: the run's, with the cycle's share of openings.
        cycle: under way, counted from 1.
        network: the champion, as `pack_network` writes it.
        candidate: the same of the candidate, for a match of (candidate, champion); empty for self-play.
        choice: how the network is computed.
        planes: [N, C, H, W] float32, the fixed positions to compare with.
    """

    stage: int
    config: Config
    cycle: int
    network: bytes
    choice: InferenceChoice
    planes: np.ndarray
    candidate: bytes = b""

    @property
    def size(self) -> int:
        """Bytes of what is large: the networks and the positions."""
        return len(self.network) + len(self.candidate) + self.planes.nbytes

    @property
    def kind(self) -> Kind:
        """What is played."""
        return MATCH if self.candidate else SELFPLAY


@dataclass(frozen=True)
class Greeting:
    """What a worker says of itself.

    Attributes:
        process: the process's id on its machine.
        version: azero's version and a digest of the sources that games depend on.
        tokens: whether its cluster asks for tokens.
        ready: the stage that it is ready for.
        digest: of all networks' answers to the fixed positions.
        rules: digest of the file of rules; "" for a game of azero.
        room: the most chunks that it takes at once.
    """

    process: int
    version: str
    tokens: bool
    ready: int
    digest: str
    rules: str
    room: int


@dataclass(frozen=True)
class Order:
    """What the head asks for.

    Attributes:
        stage: see `Terms`.
        chunks: to play.
        needless: numbers of chunks that need not be begun any more.
        last: no game is begun any more; those under way are finished.
        seconds: the longest time until the worker reports, with or without a finished chunk.
    """

    stage: int
    chunks: Sequence[Chunk] = ()
    needless: Sequence[int] = ()
    last: bool = False
    seconds: float = 1.0


@dataclass(frozen=True)
class Report:
    """What a worker has done since its last report.

    Attributes:
        answers: finished chunks; after the end also those of which only some games are finished.
        stats: of all threads since the stage began.
        simulations: made in the stage, those of games in flight too.
        game_seconds: mean time of a game.
        ended: whether it plays nothing any more.
        failure: what went wrong in a thread; "" if nothing did.
    """

    answers: Sequence[Answer]
    stats: WorkerStats
    simulations: int
    game_seconds: float
    ended: bool
    failure: str


class Numbers(Iterator[int]):
    """Numbers of games in the order in which they came; goes on after more have been added."""

    def __init__(self) -> None:
        self.left: deque[int] = deque()

    def __length_hint__(self) -> int:
        """Return how many there are now."""
        return len(self.left)

    def __next__(self) -> int:
        """Return the next number, or stop if there is none now."""
        if not self.left:
            raise StopIteration
        return self.left.popleft()


class ChunkQueue(GameQueue):
    """Hands out the games of chunks that come while it is in use, and collects them chunk by chunk.

    Attributes:
        chunks: those under way, by number.
        news: set when the head should hear something.
    """

    def __init__(self, game_name: str, kind: Kind = SELFPLAY) -> None:
        self.stock, self.begins_with = Numbers(), dict[int, np.ndarray]()
        super().__init__(self.stock, openings=self.begins_with)
        self.game_name, self.kind = game_name, kind
        self.chunks: dict[int, Chunk] = {}
        self.chunk_of: dict[int, int] = {}  # by game
        self.played: dict[int, list[Any]] = {}  # by chunk
        self.whole: list[int] = []  # chunks whose games are all finished
        self.finished = 0
        self.closed = False
        self.news = threading.Event()
        self.changed = threading.Condition(self.lock)

    @property
    def refilled(self) -> bool:
        """Whether there are numbers now."""
        return bool(self.stock.left)

    @property
    def game_seconds(self) -> float:
        """Mean seconds of the finished games; 0 before one has ended."""
        return self.played_seconds / max(1, self.finished)

    def wait(self) -> bool:
        """Wait until numbers are added; return False when the queue has ended."""
        with self.changed:
            self.changed.wait_for(lambda: self.closed or self.abandoned or self.stock.left)
            return not (self.closed or self.abandoned)

    def add(self, chunks: Sequence[Chunk], needless: Sequence[int] = ()) -> None:
        """Add chunks, and drop the games of others that have not begun."""
        with self.changed:
            for number in needless:
                if chunk := self.chunks.get(number):
                    self.needless.update(chunk.games)
                    if not set(chunk.games) - set(self.stock.left):
                        self._forget(chunk)
            for chunk in chunks:
                self.chunks[chunk.number] = chunk
                self.chunk_of |= dict.fromkeys(chunk.games, chunk.number)
                self.begins_with.update(chunk.openings)
                self.stock.left.extend(chunk.games)
            self.changed.notify_all()

    def _forget(self, chunk: Chunk) -> None:
        unwanted = set(chunk.games)
        self.stock.left = deque(game for game in self.stock.left if game not in unwanted)
        self.chunks.pop(chunk.number)

    def finish(self, record: GameRecord | MatchGame) -> None:
        """Keep a game that has ended."""
        with self.lock:
            self.finished += 1
            self.played_seconds += time.perf_counter() - self.begun.pop(record.number)
            number = self.chunk_of.pop(record.number)
            played = self.played.setdefault(number, [])
            played.append(record)
            if len(played) == len(self.chunks[number].games):
                self.whole.append(number)
                self.news.set()

    def close(self) -> None:
        """Begin no game any more."""
        with self.changed:
            self.stock.left.clear()
            self.closed = True
            self.changed.notify_all()

    def collect(self, all_of_them: bool) -> list[Answer]:
        """Return finished chunks once, and if `all_of_them` also chunks of which some games are finished."""
        with self.lock:
            self.news.clear()
            numbers = [*self.whole, *(set(self.played) - set(self.whole) if all_of_them else ())]
            self.whole = []
            taken = [(self.chunks.pop(number), self.played.pop(number)) for number in numbers]
        return [answer_of(chunk, records, self.game_name, self.kind) for chunk, records in taken]


@dataclass
class Play:
    """A stage under way in a worker.

    Attributes:
        terms: of the stage.
        queue: what is to be played.
        workers: who plays it, each in a thread of its own.
        seeds: of all games of the stage.
        room: the most chunks that it takes at once.
        digest: of all networks' answers to the fixed positions.
    """

    terms: Terms
    queue: ChunkQueue
    workers: Sequence[SelfplayWorker | MatchWorker]
    seeds: np.ndarray
    room: int
    digest: str
    stop: StopSignal = field(default_factory=StopSignal)
    began: float = field(default_factory=time.perf_counter)
    threads: WorkerThreads | None = None

    def start(self) -> None:
        """Let the threads wait for chunks."""
        with one_thread_per_worker():
            self.threads = WorkerThreads(self.workers, self.queue, self.seeds, self.stop)
        threading.Thread(target=self.watch, daemon=True).start()

    def watch(self) -> None:
        """Report the end of all threads at once."""
        assert self.threads is not None
        for thread in self.threads.threads:
            thread.join()
        self.queue.news.set()

    @property
    def ended(self) -> bool:
        """Whether no thread plays any more."""
        return self.threads is not None and not any(each.is_alive() for each in self.threads.threads)

    def end(self) -> None:
        """End the threads after the wave in hand, and wait for that."""
        self.stop.requested = True
        self.queue.close()
        until = time.perf_counter() + END_SECONDS
        for thread in self.threads.threads if self.threads else ():
            thread.join(max(0.0, until - time.perf_counter()))

    def report(self) -> Report:
        """Return what has been finished since the last report."""
        ended, failures = self.ended, self.threads.failures if self.threads else []
        stats, seconds = WorkerStats(), time.perf_counter() - self.began
        for worker in self.workers:
            done = worker.stats
            stats.add(replace(done, idle_seconds=max(0.0, worker.threads * seconds - done.seconds)))
        return Report(
            answers=self.queue.collect(ended and not failures),  # a failure condemns whole chunks
            stats=stats,
            simulations=sum(worker.simulations_made() for worker in self.workers),
            game_seconds=self.queue.game_seconds,
            ended=ended,
            failure=described(failures[0]) if failures else "",
        )


class WorkerProcess:
    """Plays for one head. Its methods may run in several threads at once."""

    def __init__(self, threads: int) -> None:
        """Play in that many threads."""
        self.threads = threads
        self.play: Play | None = None

    def begin(self, terms: Terms) -> Greeting:
        """End what is under way, and prepare for a stage.

        Raises:
            UserError: the network, the backend or enough memory is missing here.
        """
        if self.play is not None:
            self.play.end()
            self.play = None
        if missing := obstacle(terms.choice.backend, terms.choice.precision, terms.choice.device):
            raise UserError(missing)
        game = make_game(terms.config.game.name, **terms.config.game.options)
        with one_thread_per_worker():
            play = (match_of if terms.candidate else selfplay_of)(terms, game, self.threads)
        play.start()
        self.play = play
        return Greeting(
            process=os.getpid(),
            version=own_version(),
            tokens=os.environ.get("RAY_AUTH_MODE") == "token",
            ready=terms.stage,
            digest=play.digest,
            rules=rules_digest(terms.config.game.name),
            room=play.room,
        )

    def exchange(self, order: Order) -> Report | None:
        """Take an order, wait for news, and report; None if another stage is under way."""
        play = self.play
        if play is None or play.terms.stage != order.stage:
            return None
        play.queue.add(order.chunks, order.needless)
        if order.last:
            play.queue.close()
        play.queue.news.wait(order.seconds)
        return play.report()

    def interrupt(self, stage: int) -> None:
        """End the games under way; the exchange that waits reports what is finished."""
        play = self.play
        if play is not None and play.terms.stage == stage:
            play.end()
            play.queue.news.set()


def selfplay_of(terms: Terms, game: Game, threads: int) -> Play:
    """Return the self-play of a stage, a worker for each thread."""
    config, choice = terms.config, terms.choice
    champion = unpack_network(terms.network, "champion", game).network
    inferences = make_inferences(champion, game, choice, threads)
    return Play(
        terms,
        ChunkQueue(game.name),
        make_workers(game, inferences, config),
        game_seeds(config.seed, terms.cycle, seeds.SELFPLAY, config.selfplay.games),
        room_for(threads, choice.batch_size),
        positions_digest(inferences[0], terms.planes, choice),
    )


def match_of(terms: Terms, game: Game, threads: int) -> Play:
    """Return the match of a stage: a table for each two threads, one for each network, as on one machine.

    All games of a round may come here; the head has checked that they fit into its own memory.
    """
    config, networks = terms.config, (terms.candidate, terms.network)
    pairs = config.evaluate.games // 2
    tables = max(1, min(threads // 2, pairs))
    sharing = Sharing(tables)
    workers = [
        MatchWorker(
            game, make_players(config, networks, game, terms.choice), min(2, threads), sharing=sharing
        )
        for _ in range(tables)
    ]
    inferences = [player.inference for player in workers[0].players]
    return Play(
        terms,
        ChunkQueue(game.name, MATCH),
        workers,
        match_seeds(config, terms.cycle),
        pairs,
        match_digest(inferences, terms.planes, terms.choice, config),
    )


def match_digest(
    inferences: Sequence[Inference], planes: np.ndarray, choice: InferenceChoice, config: Config
) -> str:
    """Return the digest of both networks' answers in the batches of a match; see `positions_digest`."""
    used = match_choice(choice, config.evaluate.games)
    return "".join(positions_digest(inference, planes, used) for inference in inferences)


def room_for(threads: int, rows: int) -> int:
    """Return the chunks that keep threads busy: GAMES_A_PLACE times what they play at once, and one more.

    A chunk is in hand until its longest game ends, and more must wait while the head answers. With twice the
    games self-play lost 7 percent against threads alone, with three times 5; with 5 / 4 of them 32.
    """
    return -(-GAMES_A_PLACE * threads * rows // CHUNK_GAMES) + 1


def positions_digest(inference: Inference, planes: np.ndarray, choice: InferenceChoice) -> str:
    """Return one digest of the network's answers to planes [N, C, H, W] in every size of batch in use."""
    digest = hashlib.sha256()
    for size in choice.batches:
        for start in range(0, len(planes), size):
            batch = np.ascontiguousarray(np.resize(planes[start : start + size], (size, *planes.shape[1:])))
            for answer in inference.infer(batch):
                digest.update(np.ascontiguousarray(answer, np.float32).tobytes())
    return digest.hexdigest()


@functools.cache  # the sources that count are those that this process has loaded
def own_version() -> str:
    """Return azero's version, a digest of the sources that games depend on, and Python's version."""
    python = ".".join(platform.python_version_tuple()[:2])
    return f"azero {azero.__version__} ({sources_digest()}), Python {python}"


def described(failure: BaseException) -> str:
    """Return an error as one line."""
    text = (str(failure).strip().splitlines() or ["no reason given"])[0]
    return text if isinstance(failure, UserError) else f"{type(failure).__name__}: {text}"
