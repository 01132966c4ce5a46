"""Connect Four and Gomoku: the lines that a side can still complete, weighted by its stones in them.

Letters: W words of a board of cells.

A line is `connect` places in a row. An open line holds no stone of the opponent. It counts 1 with one own
stone and four times as much with each further stone. Lines are bits of words, indexed by their first place,
so 64 lines are examined at once: five words count the stones of each line in binary.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numba import njit

from azero.games.game import Game
from azero.games.kit.bits import WORD_BITS, popcount, words_needed, words_of
from azero.heuristics import heuristic, squashed

NONE = np.uint64(0)
EACH_FURTHER = 4.0


@njit(cache=True)
def moved_word(state: np.ndarray, first_word: int, width: int, word: int, distance: int) -> Any:
    """Return one word of the set at `first_word` of a state, after moving all cells `distance` bits down."""
    source, bits = word + distance // WORD_BITS, distance % WORD_BITS
    moved = state[first_word + source] >> np.uint64(bits) if source < width else NONE
    if bits > 0 and source + 1 < width:
        moved |= state[first_word + source + 1] << np.uint64(WORD_BITS - bits)
    return moved


@njit(cache=True)
def count_open(
    lines: Any, ones: Any, twos: Any, fours: Any, eights: Any, sixteens: Any, connect: int
) -> float:
    """Return the worth of open lines (a word); the other words hold the digits of their stone counts."""
    worth, weight = 0.0, 1.0
    for stones in range(1, connect):
        having = (
            lines
            & (ones if stones & 1 else ~ones)
            & (twos if stones & 2 else ~twos)
            & (fours if stones & 4 else ~fours)
        )
        having &= (eights if stones & 8 else ~eights) & (sixteens if stones & 16 else ~sixteens)
        worth += weight * popcount(np.uint64(having))
        weight *= EACH_FURTHER
    return worth


@njit(cache=True)
def worth_of_lines(
    state: np.ndarray,
    own: int,
    other: int,
    width: int,
    starts: np.ndarray,
    distances: np.ndarray,
    connect: int,
) -> float:
    """Return the worth of one side's open lines.

    Args:
        state: [S] uint64.
        own: the word where this side's stones begin.
        other: the word where the opponent's begin.
        width: W.
        starts: [directions, W] uint64, the first places of lines.
        distances: [directions], bits from one place of a line to the next.
        connect: places in a line.
    """
    worth = 0.0
    for direction in range(starts.shape[0]):
        for word in range(width):
            lines = starts[direction, word]
            ones, twos, fours, eights, sixteens = NONE, NONE, NONE, NONE, NONE
            for place in range(connect):
                distance = place * distances[direction]
                lines &= ~moved_word(state, other, width, word, distance)
                carry = moved_word(state, own, width, word, distance)
                ones, carry = ones ^ carry, ones & carry
                twos, carry = twos ^ carry, twos & carry
                fours, carry = fours ^ carry, fours & carry
                eights, carry = eights ^ carry, eights & carry
                sixteens ^= carry
            worth += count_open(lines, ones, twos, fours, eights, sixteens, connect)
    return worth


def line_table(
    bits: dict[tuple[int, int], int], directions: Sequence[tuple[int, int]], connect: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return `starts` and `distances` of a board with these bits; along each direction the bits rise."""
    width = words_needed(max(bits.values()) + 1)
    starts, distances = [], []
    for down, right in directions:
        ends = {place: (place[0] + (connect - 1) * down, place[1] + (connect - 1) * right) for place in bits}
        lines = [place for place, end in ends.items() if end in bits]
        starts.append(words_of((bits[place] for place in lines), width))
        distances.append(bits[lines[0][0] + down, lines[0][1] + right] - bits[lines[0]] if lines else 0)
    return np.array(starts, np.uint64), np.array(distances)


def places_of(game: Game) -> tuple[dict[tuple[int, int], int], tuple[tuple[int, int], ...]]:
    """Return the bit of each place (row, column) and four directions along which the bits rise."""
    rows, columns = game.options["rows"], game.options["columns"]
    every = [(row, column) for row in range(rows) for column in range(columns)]
    if game.name == "connect_four":  # rows are counted from below
        bits = {(row, column): column * (rows + 1) + row for row, column in every}
        return bits, ((1, 0), (-1, 1), (0, 1), (1, 1))
    bits = {(row, column): row * columns + column for row, column in every}
    return bits, ((0, 1), (1, -1), (1, 0), (1, 1))


def make(game: Game) -> Any:
    """Return the lead in open lines; a lead of one line that lacks a single stone is worth one half."""
    connect = game.options["connect"]
    starts, distances = line_table(*places_of(game), connect)
    width = starts.shape[1]
    scale = EACH_FURTHER ** (connect - 2)

    @heuristic
    def lines(state: np.ndarray) -> float:
        own = worth_of_lines(state, 0, width, width, starts, distances, connect)
        other = worth_of_lines(state, width, 0, width, starts, distances, connect)
        return squashed(own - other, scale)

    return lines
