"""One random stream for each game a player plays, so that a game's moves depend on its own seed and on no other game."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np


class GameStreams:
    """The streams of games 0 .. G - 1."""

    def __init__(self) -> None:
        self.words = np.zeros((0, 2), np.uint64)  # [G, 2] (seed, counter), see azero/search/random_stream.py

    def start(self, seeds: np.ndarray) -> None:
        """Begin new games: game g draws from ``seeds[g]``."""
        self.words = np.zeros((len(seeds), 2), np.uint64)
        self.words[:, 0] = seeds

    @contextmanager
    def of(self, games: np.ndarray) -> Iterator[np.ndarray]:
        """Lend the streams of ``games`` [B] as an array [B, 2] and keep how far they were drawn.

        Raises:
            ValueError: a game was not begun with `new_games`.
        """
        if len(games) and int(games.max()) >= len(self.words):
            raise ValueError(f"game {int(games.max())} has no seed; call new_games with a seed for every game first")
        streams = self.words[games]
        yield streams
        self.words[games] = streams


class Drawing:
    """What all players have that draw: a stream of their own for each game."""

    deterministic = False

    def __init__(self) -> None:
        self.streams = GameStreams()

    def new_games(self, seeds: np.ndarray) -> None:
        """Begin games whose randomness comes from ``seeds`` [G] uint64."""
        self.streams.start(seeds)


class MostVisited(Drawing):
    """What all players have that play the most visited move of a search, the first of equals."""

    def choose(self, states: np.ndarray, games: np.ndarray, plies: np.ndarray, banned: np.ndarray | None = None) -> np.ndarray:
        """Return the most visited move for each of states [B, S]."""
        return self.visit_counts(states, games, banned).argmax(axis=1)

    def visit_counts(self, states: np.ndarray, games: np.ndarray, banned: np.ndarray | None = None) -> np.ndarray:
        """Search each of states [B, S] and return how often each action was visited, [B, A] int64."""
        raise NotImplementedError
