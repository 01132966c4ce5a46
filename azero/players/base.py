"""The bases of players: how they think about one game, and where their random numbers come from.

Letters: B positions, G games, A actions, S state words.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

from azero.games.game import Game
from azero.games.playing import GameInProgress
from azero.players import Report, ThinkingPlayer, Thought, ban_table, move_of, never
from azero.players.growing import LOOK_SECONDS, REPORT_SECONDS, Reports


class Thinking(ThinkingPlayer):
    """The base of all players, which makes a `ThinkingPlayer` of what `choose` does.

    Attributes:
        seconds: for each move; 0: no limit.
        pause: `choose` calls it between two pieces of work and, if it returns True, ends with what was found
            so far; None: there is nothing to ask.
        most: simulations or plies of the thought under way; 0: the player's own number.
    """

    seconds = 0.0
    pause: Callable[[], bool] | None = None
    takes_most = False
    most = 0

    def think(
        self,
        at: GameInProgress,
        seconds: float = 0.0,
        stopping: Callable[[], bool] = never,
        report: Report | None = None,
        most: int = 0,
    ) -> Thought:
        """Return the move in a game that is not over; see `ThinkingPlayer`."""
        own_seconds, reports = self.seconds, Reports(report, REPORT_SECONDS)
        look = time.perf_counter() + LOOK_SECONDS

        def pause() -> bool:
            nonlocal look
            now = time.perf_counter()
            if now < look:
                return False
            look = now + LOOK_SECONDS
            reports.look(self.read)
            return stopping()

        self.seconds, self.pause, self.most = seconds or own_seconds, pause, most
        try:
            action = move_of(self, at)
        finally:
            self.seconds, self.pause, self.most = own_seconds, None, 0
        found = (self.read() or Thought(action))._replace(best=action)
        if report and found.moves:
            report(found)
        return found

    def at_most(self, own: int) -> int:
        """Return the simulations or plies of a search: `own`, or what `think` allows if that is less."""
        return min(own, self.most or own)

    def read(self) -> Thought | None:
        """Return what the latest search has found; None: nothing yet, or nothing that can be shown."""
        return None


class Deterministic(Thinking):
    """The base of all players that draw no random numbers."""

    deterministic = True

    def new_games(self, seeds: np.ndarray) -> None:
        """Begin games; nothing is random."""


class Drawing(Thinking):
    """The base of all players that draw random numbers; a game's moves depend only on its own seed."""

    deterministic = False

    def __init__(self, name: str, game: Game) -> None:
        self.name, self.game = name, game
        self.words = np.zeros((0, 2), np.uint64)  # [G, 2] (seed, counter), see azero/kernels/random_stream.py

    def new_games(self, seeds: np.ndarray) -> None:
        """Begin games with ``seeds`` [G] uint64."""
        self.words = np.zeros((len(seeds), 2), np.uint64)
        self.words[:, 0] = seeds

    @contextmanager
    def streams(self, games: np.ndarray) -> Iterator[np.ndarray]:
        """Yield the random streams of ``games`` [B] as an array [B, 2]; keep its state afterwards.

        Raises:
            ValueError: a game has no seed.
        """
        if len(games) and int(games.max()) >= len(self.words):
            raise ValueError(
                f"game {int(games.max())} has no seed; call new_games with a seed for every game first"
            )
        streams = self.words[games]
        yield streams
        self.words[games] = streams

    def choose(
        self, states: np.ndarray, games: np.ndarray, plies: np.ndarray, banned: np.ndarray | None = None
    ) -> np.ndarray:
        """Return a move for each of states [B, S]."""
        with self.streams(games) as streams:
            return self.moves(np.ascontiguousarray(states), ban_table(self.game, states, banned), streams)

    def moves(self, states: np.ndarray, banned: np.ndarray, streams: np.ndarray) -> np.ndarray:
        """Return a move, [B] int64, for each of states [B, S], not banned [B, A]; streams [B, 2] advance."""
        raise NotImplementedError


class MostVisited(Drawing):
    """The base of all players that play the most visited move of a search; of equal moves the first."""

    def moves(self, states: np.ndarray, banned: np.ndarray, streams: np.ndarray) -> np.ndarray:
        """Return the most visited move for each of states [B, S]."""
        return np.array(self.search(states, banned, streams).argmax(axis=1), np.int64)

    def visit_counts(
        self, states: np.ndarray, games: np.ndarray, banned: np.ndarray | None = None
    ) -> np.ndarray:
        """Search each of states [B, S]; return the visits of each action, [B, A] int64."""
        with self.streams(games) as streams:
            return self.search(np.ascontiguousarray(states), ban_table(self.game, states, banned), streams)

    def search(self, states: np.ndarray, banned: np.ndarray, streams: np.ndarray) -> np.ndarray:
        """Search each of states [B, S] without its banned moves [B, A]; return the visits [B, A] int64."""
        raise NotImplementedError
