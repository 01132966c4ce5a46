"""Counting bits, for rules that keep boards as words. LLVM turns both loops into one instruction each."""

from __future__ import annotations

import numpy as np
from numba import njit

ONE = np.uint64(1)


@njit(cache=True)
def popcount(word):
    """Return how many bits of a uint64 are set."""
    count = 0
    while word:
        word &= word - ONE
        count += 1
    return count


@njit(cache=True)
def lowest_bit(word):
    """Return the place of the lowest set bit of a uint64, 64 if there is none."""
    return popcount((word & (~word + ONE)) - ONE)
