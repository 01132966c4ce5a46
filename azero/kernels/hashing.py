"""One hash for the tables of the search: well-mixed bits of some words."""

from __future__ import annotations

import numpy as np

from azero.kernels.compiled import kernel, part

MIX_1, MIX_2, SHIFT = (
    np.uint64(0xBF58476D1CE4E5B9),
    np.uint64(0x94D049BB133111EB),
    np.uint64(31),
)  # splitmix64's finalizer


@kernel
def hash_words(words: np.ndarray) -> np.uint64:
    """64 well-mixed bits of words [W] uint64."""
    return hash_from(words, np.uint64(0))


def table_size(entries: int) -> int:
    """Return the entries of a table for so many at least: a power of two, or 0 for none."""
    return 1 << (entries - 1).bit_length() if entries > 0 else 0


@kernel
def entry_of(words: np.ndarray, size: int) -> np.int64:
    """Return the entry of words [W] uint64 in a table of that size, a power of two."""
    return np.int64(hash_words(words) & np.uint64(size - 1))


@part
def hash_from(words: np.ndarray, start: np.uint64) -> np.uint64:
    """64 well-mixed bits of words [W] uint64, others for each `start`."""
    mixed = start
    for word in words:
        mixed = (mixed ^ word) * MIX_1
        mixed = (mixed ^ (mixed >> SHIFT)) * MIX_2
        mixed ^= mixed >> SHIFT
    return mixed
