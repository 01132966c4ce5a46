"""Bits, for rules that keep boards as words: cell c of a set is bit c % 64 of word c // 64.

The compiler turns `popcount` and `lowest_bit` into one machine instruction each.

`bit`, `has_bit`, `set_bit` and `clear_bit` are plain Python where plain Python calls them, so words stay
`uint64`. A function of your own under `@njit` returns a plain integer there, and `~` of that is negative.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numba import njit
from numba.extending import register_jitable

from azero.process import kernel_cache  # noqa: F401  before the first function is compiled

ONE = np.uint64(1)
WORD_BITS = 64


@register_jitable
def bit(place: Any) -> Any:
    """Return the word in which only that bit is set, of the bits 0 to 63."""
    return ONE << np.uint64(place)


@register_jitable
def has_bit(word: Any, place: Any) -> Any:
    """Return whether that bit of a word is set."""
    return (np.uint64(word) >> np.uint64(place)) & ONE != np.uint64(0)


@register_jitable
def set_bit(word: Any, place: Any) -> Any:
    """Return the word with that bit set."""
    return np.uint64(word) | bit(place)


@register_jitable
def clear_bit(word: Any, place: Any) -> Any:
    """Return the word without that bit."""
    return np.uint64(word) & ~bit(place)


@njit(cache=True)
def popcount(word: Any) -> Any:
    """Return the number of set bits of a uint64."""
    count = 0
    while word:
        word &= word - ONE
        count += 1
    return count


@njit(cache=True)
def lowest_bit(word: Any) -> Any:
    """Return the index of the lowest set bit of a uint64, or 64 if no bit is set."""
    return popcount((word & (~word + ONE)) - ONE)


@register_jitable
def list_bits(word: Any, first: int, actions: np.ndarray, count: int) -> int:
    """Write `first` plus the index of each set bit of a uint64, rising, into actions [A] from `count` on.

    Return the count with them.
    """
    while word:
        actions[count] = first + lowest_bit(word)
        count += 1
        word &= word - ONE
    return count


def words_needed(cells: int) -> int:
    """Return the number of words that a set of `cells` cells needs."""
    return -(-cells // WORD_BITS)


def words_of(cells: Iterable[int], width: int) -> list[int]:
    """Return a set of cells as `width` words."""
    whole = sum(1 << cell for cell in cells)
    return [whole >> WORD_BITS * word & (1 << WORD_BITS) - 1 for word in range(width)]


def cells_of(words: np.ndarray, cells: int) -> np.ndarray:
    """Return a set of cells, words [W] uint64, as an array [cells] int8 of 0 and 1."""
    in_order = np.ascontiguousarray(words, np.dtype("<u8")).view(np.uint8)
    return np.unpackbits(in_order, bitorder="little")[:cells].astype(np.int8)
