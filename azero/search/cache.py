"""The evaluation cache: the network's answers by position.

Letters: E entries, K key words, M moves. The key is what planes and legal moves read, so a hit is the exact
evaluation and never changes a game. A cache belongs to one network and one worker.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from azero.games.game import Game
from azero.games.legal import legal_room
from azero.kernels.compiled import kernel
from azero.kernels.hashing import entry_of, table_size
from azero.kernels.words import copy_words, same_words
from azero.search.tree import MOVE

PROBES = 4  # entries looked at; when all hold other positions, the first is replaced


class EvaluationCache(NamedTuple):
    """A bounded hash table with open addressing. E is a power of two, or 0 for no cache."""

    used: np.ndarray  # [E] bool
    keys: np.ndarray  # [E, K] uint64
    moves: np.ndarray  # [E, M] MOVE, the legal moves with their logits
    num_moves: np.ndarray  # [E] int32
    value: np.ndarray  # [E] float32, for the player to move
    counts: np.ndarray  # [2] int64: positions asked for, found


def make_cache(entries: int, key_words: int, moves: int) -> EvaluationCache:
    """Return an empty cache of at least `entries` entries, rounded up to a power of two.

    0 makes one that never hits. Positions with more legal moves than `moves` are not kept.
    """
    size = table_size(entries)
    return EvaluationCache(
        used=np.zeros(size, np.bool_),
        keys=np.zeros((size, key_words), np.uint64),
        moves=np.zeros((size, moves), MOVE),
        num_moves=np.zeros(size, np.int32),
        value=np.zeros(size, np.float32),
        counts=np.zeros(2, np.int64),
    )


def cache_of(game: Game, entries: int) -> EvaluationCache:
    """Return an empty cache for the positions of a game, see `make_cache`."""
    return make_cache(entries, game.key_words, legal_room(game))


@kernel
def holds(cache, entry, key):
    """Return whether an entry holds this key."""
    return cache.used[entry] and same_words(cache.keys[entry], key)


@kernel
def find(cache, key):
    """Return the entry of a position, or -1."""
    size = cache.used.shape[0]
    if size == 0:
        return -1
    cache.counts[0] += 1
    first = entry_of(key, size)
    for probe in range(PROBES):
        entry = (first + probe) & (size - 1)
        if holds(cache, entry, key):
            cache.counts[1] += 1
            return entry
    return -1


@kernel
def remember(cache, key, moves, count, value):
    """Store an evaluation: moves [count or more] MOVE, and the value."""
    size = cache.used.shape[0]
    if size == 0 or count > cache.moves.shape[1]:
        return
    first = entry_of(key, size)
    target = first
    for probe in range(PROBES):
        entry = (first + probe) & (size - 1)
        if not cache.used[entry] or holds(cache, entry, key):
            target = entry
            break
    cache.used[target] = True
    cache.value[target] = value
    copy_words(key, cache.keys[target])
    for place in range(count):
        cache.moves[target, place] = moves[place]
    cache.num_moves[target] = count
