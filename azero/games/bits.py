"""Bits, for rules that keep boards as words: cell c of a set is bit c % 64 of word c // 64.

LLVM turns the loops of the first two functions into one instruction each.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numba import njit

ONE = np.uint64(1)
WORD_BITS = 64


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


def words_needed(cells: int) -> int:
    """How many words hold a set of so many cells."""
    return -(-cells // WORD_BITS)


def words_of(cells: Iterable[int], width: int) -> list[int]:
    """A set of cells as `width` words."""
    whole = sum(1 << cell for cell in cells)
    return [whole >> WORD_BITS * word & (1 << WORD_BITS) - 1 for word in range(width)]


def cells_of(words: np.ndarray, cells: int) -> np.ndarray:
    """[cells] int8: 1 where the set of cells in words [W] uint64 has one."""
    in_order = np.ascontiguousarray(words, np.dtype("<u8")).view(np.uint8)
    return np.unpackbits(in_order, bitorder="little")[:cells].astype(np.int8)
