"""The transposition table: results of positions, for when other moves lead to the same position.

Letters: E entries, S state words.

An entry is a row of words: the whole state, so that positions are never confused, the value, and a word of
facts. Of a state of more than WHOLE words, such as chess's with its earlier positions, 128 mixed bits are
kept: of a billion positions two have the same with a probability of 10^-21. Each position has two possible
entries (Breuker, Uiterwijk & van den Herik, "Replacement schemes and two-level tables", 1996): the first
keeps the larger search, the second the latest one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from azero.kernels.compiled import kernel, part
from azero.kernels.hashing import hash_from, hash_words
from azero.kernels.words import copy_words, same_words

LOWER, UPPER, EXACT = 1, 2, 3  # bounds: the value is at least, at most, exactly the one stored

# The word of facts, from its lowest bit: the best action plus 1, the bound (0: the entry is empty), whether
# the search was complete, its depth, the number of the search, and how many positions it visited.
ACTION_BITS, DEPTH_BITS, SEARCH_BITS, SIZE_BITS = 16, 14, 7, 24
BOUND_AT = ACTION_BITS
COMPLETE_AT = BOUND_AT + 2
DEPTH_AT = COMPLETE_AT + 1
SEARCH_AT = DEPTH_AT + DEPTH_BITS
SIZE_AT = SEARCH_AT + SEARCH_BITS
MOST_ACTIONS, MOST_PLIES = (1 << ACTION_BITS) - 1, (1 << DEPTH_BITS) - 1
LARGEST_SIZE = (1 << SIZE_BITS) - 1

WHOLE = 16  # words of a state
OTHER = np.uint64(0x9E3779B97F4A7C15)  # where the second hash starts
HALF_WORD = np.uint64(32)
NO_ENTRY = -1


class Table(NamedTuple):
    """E entries, an even number; a table of 0 entries stores nothing."""

    words: np.ndarray  # [E, K + 2] uint64: key, value, facts; the key is the state, or two hashes of it
    values: np.ndarray  # [E, K + 2] float64: the same memory, for the values


def make_table(entries: int, state_words: int) -> Table:
    """Return an empty table of `entries` entries, rounded down to an even number."""
    key_words = state_words if state_words <= WHOLE else 2
    words = np.zeros((entries // 2 * 2, key_words + 2), np.uint64)
    return Table(words, words.view(np.float64))


@part
def facts_of(words, entry):
    """Return the word of facts of an entry; 0 if it is empty."""
    return words[entry, words.shape[1] - 1]


@part
def field(facts, place, bits):
    """Return a number from the word of facts."""
    return np.int64((facts >> np.uint64(place)) & np.uint64((1 << bits) - 1))


@part
def is_complete(facts):
    """Return whether the search of an entry never met the depth limit."""
    return (facts >> np.uint64(COMPLETE_AT)) & np.uint64(1) != 0


@part
def is_whole(words, state):
    """Return whether entries hold whole states."""
    return words.shape[1] == state.shape[0] + 2


@part
def hashes_of(words, state):
    """Return the two hashes of a state, the second only where entries hold it."""
    return hash_words(state), OTHER if is_whole(words, state) else hash_from(state, OTHER)


@kernel
def first_entry(words, hashes):
    """Return the first of a state's two entries: the upper half of its hash, scaled to the table's size."""
    pairs = np.uint64(words.shape[0] // 2)
    return 2 * np.int64(((hashes[0] >> HALF_WORD) * pairs) >> HALF_WORD)


@part
def holds(words, entry, state, hashes):
    """Return whether an entry belongs to a state."""
    if facts_of(words, entry) == 0:
        return False
    if is_whole(words, state):
        return same_words(words[entry], state)
    return words[entry, 0] == hashes[0] and words[entry, 1] == hashes[1]


@kernel
def find_entry(words, state):
    """Return the entry of a state, or NO_ENTRY."""
    if words.shape[0] == 0:
        return NO_ENTRY
    hashes = hashes_of(words, state)
    first = first_entry(words, hashes)
    for entry in range(first, first + 2):
        if holds(words, entry, state, hashes):
            return entry
    return NO_ENTRY


@part
def is_usable(facts, left):
    """Return whether an entry counts at `left` plies: it has that depth, or is complete and shallower."""
    depth = field(facts, DEPTH_AT, DEPTH_BITS)
    return depth == left or (is_complete(facts) and depth < left)


@part
def settles(facts, value, alpha, beta):
    """Return whether an entry's value is enough for a search with this window."""
    bound = field(facts, BOUND_AT, 2)
    return bound == EXACT or (bound == LOWER and value >= beta) or (bound == UPPER and value <= alpha)


@kernel
def store(table, state, value, action, bound, complete, depth, number, size):
    """Store the result of a state in search `number` after `size` positions; action is -1 for none."""
    words = table.words
    number, size = number & ((1 << SEARCH_BITS) - 1), min(size, LARGEST_SIZE)
    hashes = hashes_of(words, state)
    first = first_entry(words, hashes)
    entry = first + 1
    kept = facts_of(words, first)
    is_smaller = field(kept, SIZE_AT, SIZE_BITS) <= size or field(kept, SEARCH_AT, SEARCH_BITS) != number
    if holds(words, first, state, hashes) or (is_smaller and not holds(words, entry, state, hashes)):
        entry = first
    facts = (action + 1) | (bound << BOUND_AT) | (np.int64(complete) << COMPLETE_AT) | (depth << DEPTH_AT)
    facts |= (number << SEARCH_AT) | (size << SIZE_AT)
    if is_whole(words, state):
        copy_words(state, words[entry, :-2])
    else:
        words[entry, 0], words[entry, 1] = hashes
    table.values[entry, words.shape[1] - 2] = value
    words[entry, words.shape[1] - 1] = np.uint64(facts)
