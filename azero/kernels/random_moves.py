"""A uniformly random move of a legal mask.

A legal mask is written into the bytes of words, eight to a word, so that counting and finding need no loop
over actions.
"""

from __future__ import annotations

import numpy as np

from azero.games.kit.bits import popcount
from azero.kernels.compiled import kernel
from azero.kernels.random_stream import next_below

ACTIONS_A_WORD = 8
LOWEST_BITS = np.uint64(0x0101010101010101)
HIGHEST_BITS = np.uint64(0x8080808080808080)


@kernel
def pick_legal(words: np.ndarray, stream: np.ndarray) -> int:
    """Return one of the legal actions, all equally likely; -1 if there is none. words: [ceil(A / 8)] uint64.

    The k-th set byte of a word is found at once: multiplied by LOWEST_BITS, byte i holds how many of the
    bytes 0 .. i are set, and the k-th set byte comes after all bytes that hold at most k.
    """
    count = 0
    for word in words:
        count += popcount(word)
    if count == 0:
        return -1
    wanted = next_below(stream, count)
    place, before, seen = 0, 0, 0
    for word in words:  # no branches: one that nobody can predict costs more than the other words
        seen += popcount(word)
        place += seen <= wanted
        before = seen if seen <= wanted else before
    running = words[place] * LOWEST_BITS
    at_most = ((np.uint64(wanted - before) * LOWEST_BITS | HIGHEST_BITS) - running) & HIGHEST_BITS
    return place * ACTIONS_A_WORD + popcount(at_most)
