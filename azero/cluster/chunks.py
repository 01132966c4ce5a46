"""The head's book of a stage: which chunks of games wait, who plays which, and what has come back.

A chunk is a few games with fixed numbers. What is played in a game depends on its number alone, so a chunk
may go to any worker, may be given out again when a worker is lost, and may be played twice. The book knows
nothing of Ray, processes or clocks.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from azero.cluster.kinds import SELFPLAY, Kind
from azero.config.schema import UserError
from azero.run.disk import DamagedFile, digest

CHUNK_GAMES = 8
SUSPECT_DEATHS = 2  # workers lost with a chunk; after that it is played by a worker that has no other
MOST_DEATHS = 3  # workers lost with a game that was all they played
SPARE_GAMES = 3  # of a stage that may be set aside


class Chunk(NamedTuple):
    """Some games of a stage: of self-play, or a pair of a match.

    Attributes:
        number: the chunk's.
        games: their numbers, rising.
        openings: the actions that games of a match begin with, by number.
    """

    number: int
    games: tuple[int, ...]
    openings: Mapping[int, np.ndarray]

    @property
    def size(self) -> int:
        """Bytes of its numbers and openings."""
        return 8 * len(self.games) + sum(opening.nbytes for opening in self.openings.values())

    @property
    def title(self) -> str:
        """Such as "games 8 to 15"."""
        first, last = self.games[0], self.games[-1]
        return f"games {first} to {last}" if last > first else f"game {first}"


class Answer(NamedTuple):
    """What a worker has played of a chunk.

    Attributes:
        chunk: its number.
        data: the finished games in order, as their kind's `dump` writes them.
        digest: SHA-256 of `data`, taken by the worker.
        whole: whether these are all games of the chunk.
    """

    chunk: int
    data: bytes
    digest: str
    whole: bool


class Differing(UserError):
    """Two workers have played the same games differently."""


def answer_of(chunk: Chunk, records: Sequence[Any], game_name: str, kind: Kind = SELFPLAY) -> Answer:
    """Return the answer that holds the finished games of a chunk."""
    data = kind.dump(sorted(records, key=lambda record: record.number), game_name)
    return Answer(chunk.number, data, digest(data), len(records) == len(chunk.games))


def chunks_of(
    numbers: Iterable[int], openings: Mapping[int, np.ndarray] | None = None, size: int = CHUNK_GAMES
) -> list[Chunk]:
    """Return the chunks that hold games: chunk k those of [size * k, size * (k + 1))."""
    openings, grouped = openings or {}, dict[int, list[int]]()
    for number in sorted(numbers):
        grouped.setdefault(number // size, []).append(number)
    return [
        Chunk(k, tuple(games), {number: openings[number] for number in games if number in openings})
        for k, games in grouped.items()
    ]


@dataclass
class Book:
    """The chunks of a stage.

    Attributes:
        chunks: all of them.
        compare: whether a chunk that comes twice must be the same in every byte.
        spare: the most games that may be set aside.
        kind: of the games.
        records: the finished games by number.
        aside: games that are played no more because workers die of them, and why the last one did.
        retries: chunks that were given out again because a worker was lost or its answer was damaged.
        repeats: chunks that came twice.
        received: bytes of answers.
    """

    chunks: Sequence[Chunk]
    compare: bool = True
    spare: int = SPARE_GAMES
    kind: Kind = SELFPLAY
    records: dict[int, Any] = field(default_factory=dict)
    aside: dict[int, str] = field(default_factory=dict)
    retries: int = 0
    repeats: int = 0
    received: int = 0

    def __post_init__(self) -> None:
        """Let every chunk wait."""
        self.by_number = {chunk.number: chunk for chunk in self.chunks}
        self.waiting = deque(self.by_number)
        self.suspects: deque[int] = deque()
        self.holders: dict[int, list[str]] = {}  # of the chunks given out and not finished, oldest first
        self.held: dict[str, list[int]] = {}  # the same by worker
        self.deaths: dict[int, int] = {}  # workers lost with a chunk
        self.alone: dict[int, int] = {}  # those of them that had nothing else
        self.finished: dict[int, tuple[str, str]] = {}  # digest of the first answer, and who gave it
        self.closed = False

    def add(self, chunks: Sequence[Chunk]) -> None:
        """Let more chunks wait, under numbers above those of all others."""
        first = max(self.by_number, default=-1) + 1
        added = {number: chunk._replace(number=number) for number, chunk in enumerate(chunks, first)}
        self.chunks = [*self.chunks, *added.values()]
        self.by_number |= added
        self.waiting.extend(added)

    @property
    def done(self) -> bool:
        """Whether all chunks are finished."""
        return len(self.finished) == len(self.by_number)

    def load_of(self, worker: str) -> int:
        """Return how many unfinished chunks a worker has."""
        return len(self.held.get(worker, ()))

    def take(self, worker: str, room: int, workers: int = 1) -> list[Chunk]:
        """Give chunks to a worker.

        It gets its share of what waits. When nothing waits, a worker without work gets chunks that another
        one still has, the newest first, because those have hardly been begun. A chunk with which
        SUSPECT_DEATHS workers were lost goes to a worker that has no other, and alone.

        Args:
            worker: its name.
            room: the most chunks that it can take.
            workers: how many workers share what waits.
        """
        held = self.held.setdefault(worker, [])
        if any(self.deaths.get(number, 0) >= SUSPECT_DEATHS for number in held):
            return []
        count = min(room, -(-len(self.waiting) // max(1, workers)))
        taken = [self.waiting.popleft() for _ in range(count)]
        if not taken and not held and room > 0:
            if self.suspects:
                taken = [self.suspects.popleft()]
                self.alone.setdefault(taken[0], 0)
            else:
                others = [number for number in reversed(self.holders) if self._may_go_twice(number)]
                taken = others[: min(room, -(-len(others) // 2))]
        for number in taken:
            self.holders.setdefault(number, []).append(worker)
        held += taken
        return [self.by_number[number] for number in taken]

    def _may_go_twice(self, number: int) -> bool:
        return len(self.holders[number]) == 1 and self.deaths.get(number, 0) < SUSPECT_DEATHS

    def finish(self, worker: str, answer: Answer) -> list[str]:
        """Keep what a worker has played. Return the other workers that have the chunk and need not play it.

        An answer that was damaged on its way counts as none, and the chunk waits again.

        Raises:
            Differing: another worker has played the chunk differently; its games are dropped.
            UserError: the data holds no games, or others than the chunk's.
        """
        self.received += len(answer.data)
        number, chunk = answer.chunk, self.by_number[answer.chunk]
        self._release(worker, number)
        if digest(answer.data) != answer.digest:
            self._wait_again(number)
            return []
        if number in self.finished:
            if answer.whole:
                self._compare(worker, answer)
            return []
        records = records_of(chunk, answer, worker, self.kind)
        self.records |= {record.number: record for record in records}
        if not answer.whole:
            self._wait_again(number)
            return []
        self.finished[number] = answer.digest, worker
        others = self.holders.pop(number, [])
        for other in others:
            self.held[other].remove(number)
        return others

    def lose(self, worker: str, reason: str) -> list[int]:
        """Let the chunks of a lost worker wait again. Return the games that are set aside.

        A chunk that was all that the worker had is split into single games. A game with which MOST_DEATHS
        workers were lost that had nothing else is set aside.

        Raises:
            UserError: more games than `spare` are set aside.
        """
        aside = list[int]()
        for number in self.held.pop(worker, []):
            self.holders[number].remove(worker)
            self.deaths[number] = self.deaths.get(number, 0) + 1
            games = self.by_number[number].games
            if number in self.alone:
                self.alone[number] += 1
            if number in self.alone and len(games) > 1:
                self._split(number)
            elif self.alone.get(number) == MOST_DEATHS:
                del self.by_number[number], self.holders[number]
                self.aside[games[0]] = reason
                aside += games
            else:
                self._wait_again(number)
        if len(self.aside) > self.spare:
            numbers = ", ".join(map(str, sorted(self.aside)))
            raise UserError(
                f"Each of the games {numbers} has ended {MOST_DEATHS} workers that played nothing else, the "
                f"last one ({worker}: {reason}); run the same command without cluster.address to see what "
                "fails there."
            )
        return aside

    def _split(self, number: int) -> None:
        """Let the games of a chunk wait one by one."""
        first, chunk = max(self.by_number) + 1, self.by_number.pop(number)
        del self.holders[number]
        for new, game in enumerate(chunk.games, first):
            openings = {game: chunk.openings[game]} if game in chunk.openings else {}
            self.by_number[new] = Chunk(new, (game,), openings)
            self.deaths[new], self.alone[new] = self.deaths[number], self.alone[number]
            self._wait_again(new)

    def close(self) -> None:
        """Give out nothing any more."""
        self.waiting.clear()
        self.suspects.clear()
        self.closed = True

    def in_order(self) -> list[Any]:
        """Return the finished games by number."""
        return [self.records[number] for number in sorted(self.records)]

    def _release(self, worker: str, number: int) -> None:
        if number in self.held.get(worker, ()):
            self.held[worker].remove(number)
            self.holders[number].remove(worker)

    def _wait_again(self, number: int) -> None:
        """Let a chunk wait again unless it is finished, somebody else has it, or the book is closed."""
        if number in self.finished or self.holders.get(number):
            return
        self.holders.pop(number, None)
        if self.closed:
            return
        self.retries += 1
        if self.deaths.get(number, 0) >= SUSPECT_DEATHS:
            self.suspects.append(number)
        else:
            self.waiting.appendleft(number)

    def _compare(self, worker: str, answer: Answer) -> None:
        self.repeats += 1
        known, first = self.finished[answer.chunk]
        if self.compare and known != answer.digest:
            chunk = self.by_number[answer.chunk]
            for game in chunk.games:
                self.records.pop(game, None)
            raise Differing(
                f"Workers {first} and {worker} have played {chunk.title} differently; run the same command "
                "without one of them, or accept it with cluster.mixed=true."
            )


def records_of(chunk: Chunk, answer: Answer, worker: str, kind: Kind = SELFPLAY) -> list[Any]:
    """Return the games of an answer.

    Raises:
        UserError: the data holds no games, or others than the chunk's.
    """
    try:
        records = kind.load(answer.data, f"the answer of worker {worker}")
    except DamagedFile as damage:
        raise UserError(f"Worker {worker} has sent no games ({damage.reason}); stop it.") from damage
    numbers = {record.number for record in records}
    wrong = numbers != set(chunk.games) if answer.whole else not numbers.issubset(chunk.games)
    if wrong or len(numbers) != len(records):
        raise UserError(f"Worker {worker} was asked for {chunk.title} and sent others; stop it.")
    return records
