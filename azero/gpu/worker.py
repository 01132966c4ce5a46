"""The host of a GPU's games: it hands out numbers, collects what has ended, and keeps the stats.

Between two looks the GPU plays WAVES waves by itself. A game that ends waits half as many, on average, of the
hundreds that it takes.

When the last games of a cycle leave places empty, games of the next cycle begin there. Those under way at the
end wait in a file between two of their moves. How far they are follows from counts of waves, never from time,
as long as no `minutes=` end the run.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from azero.config.schema import SearchConfig
from azero.games.game import Game
from azero.games.repetition import dead_end
from azero.gpu.places import Place, place_in
from azero.gpu.play import BAD_ANSWER, DEAD_END
from azero.network.inference import bad_answers
from azero.process.signals import StopSignal
from azero.replay.examples import GameRecord
from azero.report.live import BOARDS
from azero.search.algorithm import sound_for
from azero.search.counters import WorkerStats
from azero.search.dead_end import check_dead_end
from azero.workers.games import FINISHED, FULL, STUCK, Worker, make_worker, with_more_room
from azero.workers.threads import GameQueue, record_of, worker_of

WAVES = 16
COLLECTED = 1024  # games that are copied from the GPU at once
ROOM = ("status", "target_actions", "target_weights")  # what `with_more_room` changes


class Machine(Protocol):
    """Many places and a network that answers all of them at once: a GPU (`card.Card`), or a test's stand-in.

    Attributes:
        size: B.
        places: the machine's arrays.
        title: of the network.
    """

    size: int
    places: Place
    title: str

    def use(self) -> None:
        """Let the calling thread use this machine from now on."""
        ...

    def begin(self, chosen: np.ndarray, seeds: np.ndarray) -> None:
        """Begin a game in each of the `chosen` [any] places from its seed, [any] uint64."""
        ...

    def resume(self, games: Worker) -> None:
        """Go on with games in the first places; their policy targets have the room that places have."""
        ...

    def waves(self, count: int) -> None:
        """Begin to play on, `count` times: all games to their next leaf, the network, its answers."""
        ...

    def wait(self) -> None:
        """Wait until all that has begun is done."""
        ...

    def read(self, array: Any) -> np.ndarray:
        """Return a copy of one of its arrays."""
        ...

    def read_places(self, record: Any, chosen: np.ndarray) -> Any:
        """Return a record of `places`, such as the tree, of the `chosen` [any] ones, in NumPy's memory."""
        ...

    def write(self, array: Any, values: np.ndarray) -> Any:
        """Give an array new values, perhaps of another shape; return the array to be used from now on."""
        ...


class GpuWorker:
    """The games of one GPU, a `threads.GameWorker`.

    Attributes:
        own: the number from which on games are of the next cycle.
        waiting: games that go on, the first ones of the queue.
        ahead: games of the next cycle, finished or under way, when the stage has ended.
    """

    def __init__(self, game: Game, machine: Machine, search: SearchConfig) -> None:
        """Begin nothing yet; `search` is the run's."""
        self.game, self.machine, self.proves = game, machine, sound_for(search, game).solver
        self.own: float = math.inf
        self.waiting: Sequence[GameRecord] = ()
        self.ahead = list[GameRecord]()
        self.numbers = np.full(machine.size, -1)  # of the games; -1 where none is
        self.stats, self.ended = WorkerStats(), math.inf
        self.tried = np.zeros(3, np.int64)  # `counts` before the first game
        self.collected: list[tuple[np.ndarray, Worker]] = []  # numbers and places, not handed over yet
        self.in_flight = 0  # simulations of games under way, at the last look
        self.shown: list[dict[str, Any]] = []  # games under way, at the last look

    def compile(self) -> None:
        """Launch everything once, before games are handed out. The game that it begins is nobody's."""
        self.machine.use()
        self.machine.resume(make_worker(self.game, 1))
        self.machine.begin(np.zeros(1, np.int64), np.zeros(1, np.uint64))
        self.machine.waves(1)
        self.machine.wait()
        self.tried = self.counts()

    def play(self, queue: GameQueue, seeds: np.ndarray, stop: StopSignal) -> None:
        """Play games of the queue until those of this cycle have ended or a stop is requested."""
        self.machine.use()
        self.resume(queue)
        self.begin_next(np.flatnonzero(self.numbers < 0), queue, seeds)
        try:
            self.play_on(queue, seeds, stop)
        finally:
            self.hand_over(queue)
        if not self.plays_own().any():
            self.keep_ahead(queue)
        counts = self.counts() - self.tried
        self.stats.evaluations, self.stats.cache_asked, self.stats.cache_found = counts.tolist()
        self.ended = time.perf_counter()

    def play_on(self, queue: GameQueue, seeds: np.ndarray, stop: StopSignal) -> None:
        """Play until no game of this cycle is left; what has ended is handed over while the GPU plays on."""
        while not (stop.requested or queue.abandoned) and self.plays_own().any():
            began = time.perf_counter()
            self.machine.waves(WAVES)
            self.hand_over(queue)
            self.machine.wait()
            status = self.machine.read(self.machine.places.worker.status)[:, 0]
            self.refuse(status)
            if (status == FULL).any():
                self.make_room()
            finished = np.flatnonzero((status == FINISHED) & (self.numbers >= 0))
            self.collect(finished)
            if not stop.requested and len(finished):
                self.begin_next(finished, queue, seeds)
            self.look()
            self.stats.seconds += time.perf_counter() - began
            self.stats.rows += WAVES * self.machine.size

    def plays_own(self) -> np.ndarray:
        """Return which places have a game of this cycle, [B] bool."""
        return (self.numbers >= 0) & (self.numbers < self.own)

    def resume(self, queue: GameQueue) -> None:
        """Go on with the waiting games, in the first places."""
        if self.waiting and len(numbers := queue.take(len(self.waiting))):
            games = worker_of(self.game, self.waiting[: len(numbers)])
            while self.machine.places.worker.target_actions.shape[2] < games.target_actions.shape[1]:
                self.make_room()
            self.machine.resume(games)
            self.numbers[: len(numbers)] = numbers

    def keep_ahead(self, queue: GameQueue) -> None:
        """Keep the games of the next cycle that are under way and have made a move."""
        others = np.flatnonzero(self.numbers >= self.own)
        searches = self.machine.read(self.machine.places.worker.searches)[others, 0]
        self.collect(others[searches > 0])
        self.hand_over(queue)
        self.in_flight = 0  # the stats have them now

    def begin_next(self, chosen: np.ndarray, queue: GameQueue, seeds: np.ndarray) -> None:
        """Begin the next games in those places [any], as far as there are any left."""
        numbers = queue.take(len(chosen))
        if len(numbers):
            self.machine.begin(chosen[: len(numbers)], seeds[numbers])
            self.numbers[chosen[: len(numbers)]] = numbers

    def collect(self, chosen: np.ndarray) -> None:
        """Copy the games of those places [any] from the GPU, and leave the places empty."""
        for first in range(0, len(chosen), COLLECTED):
            some = chosen[first : first + COLLECTED]
            worker = self.machine.read_places(self.machine.places.worker, some)
            self.collected.append((self.numbers[some], worker))
        self.numbers[chosen] = -1

    def hand_over(self, queue: GameQueue) -> None:
        """Hand the collected games of this cycle to the queue; keep those of the next one."""
        collected, self.collected = self.collected, []
        for numbers, worker in collected:
            for row, number in enumerate(numbers.tolist()):
                mine = place_in(worker, row)
                record = record_of(mine, 0, number, self.proves)
                if record.stream is None:
                    self.stats.games += 1
                    self.stats.plies += len(record.actions)
                self.stats.simulations += int(mine.simulations[0])
                self.stats.searches += int(mine.searches[0])
                if number < self.own:
                    queue.finish(record)
                else:
                    self.ahead.append(record)

    def make_room(self) -> None:
        """Give all places twice the room for targets; games that are FULL play on."""
        machine, worker = self.machine, self.machine.places.worker
        copies = {name: machine.read(getattr(worker, name)) for name in ROOM}
        grown = with_more_room(worker._replace(**copies))
        written = {name: machine.write(getattr(worker, name), getattr(grown, name)) for name in ROOM}
        machine.places = machine.places._replace(worker=worker._replace(**written))

    def look(self) -> None:
        """Note how far the games under way are, and the moves of a few."""
        worker, few = self.machine.places.worker, np.flatnonzero(self.plays_own())[:BOARDS]
        self.in_flight = int(self.machine.read(worker.simulations)[self.numbers >= 0].sum())
        plies, actions = self.machine.read_places((worker.ply, worker.actions), few)
        self.shown = [
            {"number": int(number), "moves": moves[0, : ply[0]].tolist()}
            for number, ply, moves in zip(self.numbers[few], plies, actions, strict=True)
        ]

    def counts(self) -> np.ndarray:
        """Return evaluations, positions asked of the caches, and found there, of all places, [3] int64."""
        places = self.machine.places
        evaluations = self.machine.read(places.evaluations).sum()
        return np.array([evaluations, *self.machine.read(places.cache.counts).sum(axis=0)])

    def refuse(self, status: np.ndarray) -> None:
        """Raise the error of a game that cannot go on, if there is one among status [B]."""
        if (status == BAD_ANSWER).any():
            raise bad_answers(self.machine.title)
        for place in np.flatnonzero((status == STUCK) | (status == DEAD_END))[:1]:
            both = self.machine.places.tree, self.machine.places.worker
            tree, worker = place_in(self.machine.read_places(both, np.array([place])), 0)
            played = worker.actions[0, : worker.ply[0]]
            if status[place] == STUCK:
                raise dead_end(self.game, played, repeats=True)
            check_dead_end(self.game, tree, 0, played)

    def simulations_made(self) -> int:
        """Return the simulations in finished games and, but for searches under way, in those in flight."""
        return self.stats.simulations + self.in_flight

    def game_in_flight(self, place: int) -> dict[str, Any] | None:
        """Return number and moves of a game at the last look, for `LiveFile`; None beyond a few."""
        return self.shown[place] if place < len(self.shown) else None
