"""The evaluation cache: the network's answers by position.

Letters: E entries, K key words, A actions. The key is what planes and legal mask read, so a hit is the exact
evaluation and never changes a game. A cache belongs to one network and one worker.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from azero.kernels.compiled import kernel
from azero.kernels.hashing import hash_words
from azero.kernels.words import copy_words, same_words

PROBES = 4  # entries looked at; when all hold other positions, the first is replaced


class EvaluationCache(NamedTuple):
    """A bounded hash table with open addressing. E is a power of two, or 0 for no cache."""

    used: np.ndarray  # [E] bool
    keys: np.ndarray  # [E, K] uint64
    prior: np.ndarray  # [E, A] float32, as in the tree
    value: np.ndarray  # [E] float32, for the player to move
    counts: np.ndarray  # [2] int64: positions asked for, found


def make_cache(entries: int, key_words: int, num_actions: int) -> EvaluationCache:
    """Return an empty cache of at least `entries` entries, rounded up to a power of two.

    0 makes one that never hits.
    """
    size = 1 << (entries - 1).bit_length() if entries > 0 else 0
    return EvaluationCache(
        used=np.zeros(size, np.bool_),
        keys=np.zeros((size, key_words), np.uint64),
        prior=np.zeros((size, num_actions), np.float32),
        value=np.zeros(size, np.float32),
        counts=np.zeros(2, np.int64),
    )


@kernel
def first_entry(cache, key):
    """Return the entry at which the search for a key begins."""
    return np.int64(hash_words(key) & np.uint64(cache.used.shape[0] - 1))


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
    first = first_entry(cache, key)
    for probe in range(PROBES):
        entry = (first + probe) & (size - 1)
        if holds(cache, entry, key):
            cache.counts[1] += 1
            return entry
    return -1


@kernel
def remember(cache, key, prior, value):
    """Store an evaluation."""
    size = cache.used.shape[0]
    if size == 0:
        return
    first = first_entry(cache, key)
    target = first
    for probe in range(PROBES):
        entry = (first + probe) & (size - 1)
        if not cache.used[entry] or holds(cache, entry, key):
            target = entry
            break
    cache.used[target] = True
    cache.value[target] = value
    copy_words(key, cache.keys[target])
    copy_words(prior, cache.prior[target])
