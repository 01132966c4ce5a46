"""Sets of cells on a square grid, for games of chains and liberties.

Letters: W words of a board of cells.

A board of cells is a tuple of W words, so that the compiler keeps it in registers. Cells are counted row by row from the top
left; cell c is bit c % 64 of word c // 64.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from azero.games.bits import lowest_bit, popcount, words_needed, words_of

ZERO = np.uint64(0)
ONE = np.uint64(1)
WORD_BITS = np.uint64(64)


class Grid(NamedTuple):
    """What is fixed for one size of board."""

    size: np.uint64
    cells: tuple[np.uint64, ...]  # the board of all cells
    not_left: tuple[np.uint64, ...]  # of those that have a cell on their left
    not_right: tuple[np.uint64, ...]


def make_grid(size: int) -> Grid:
    """The grid of size x size cells."""
    cells = range(size * size)
    insides = (cells, [cell for cell in cells if cell % size > 0], [cell for cell in cells if cell % size < size - 1])
    boards = (tuple(map(np.uint64, words_of(inside, words_needed(len(cells))))) for inside in insides)
    return Grid(np.uint64(size), *boards)


@njit(cache=True)
def push(board, word):
    """The board with its first word dropped and a last one added: W pushes make a new board."""
    return (*board[1:], word)


@njit(cache=True)
def only_cell(cell, grid):
    """The board of one cell."""
    board = grid.cells
    for word in range(len(board)):
        board = push(board, ONE << np.uint64(cell & 63) if cell >> 6 == word else ZERO)
    return board


@njit(cache=True)
def union(one, other):
    board = one
    for word in range(len(one)):
        board = push(board, one[word] | other[word])
    return board


@njit(cache=True)
def common(one, other):
    board = one
    for word in range(len(one)):
        board = push(board, one[word] & other[word])
    return board


@njit(cache=True)
def without(one, other):
    board = one
    for word in range(len(one)):
        board = push(board, one[word] & ~other[word])
    return board


@njit(cache=True)
def same(one, other):
    differing = ZERO
    for word in range(len(one)):
        differing |= one[word] ^ other[word]
    return differing == ZERO


@njit(cache=True)
def any_cell(board):
    bits = ZERO
    for word in range(len(board)):
        bits |= board[word]
    return bits != ZERO


@njit(cache=True)
def count(board):
    cells = 0
    for word in range(len(board)):
        cells += popcount(board[word])
    return cells


@njit(cache=True)
def first_cell(board):
    """The lowest cell of a board that has any."""
    for word in range(len(board)):
        if board[word] != ZERO:
            return 64 * word + lowest_bit(board[word])
    return 0


@njit(cache=True)
def neighbours(board, grid):
    """The cells beside those of a board. Bits after the last cell may be set too: every caller takes some cells of them only."""
    beside = board
    for word in range(len(board)):
        here = board[word]
        bits = ((here & grid.not_right[word]) << ONE) | ((here & grid.not_left[word]) >> ONE)
        bits |= (here << grid.size) | (here >> grid.size)
        if word > 0:
            before = board[word - 1]
            bits |= ((before & grid.not_right[word - 1]) >> (WORD_BITS - ONE)) | (before >> (WORD_BITS - grid.size))
        if word + 1 < len(board):
            after = board[word + 1]
            bits |= ((after & grid.not_left[word + 1]) << (WORD_BITS - ONE)) | (after << (WORD_BITS - grid.size))
        beside = push(beside, bits)
    return beside


@njit(cache=True)
def flood(seeds, within, grid):
    """The seeds and all cells of `within` that are joined to them."""
    reached = seeds
    while True:
        wider = union(reached, common(neighbours(reached, grid), within))
        if same(wider, reached):
            return reached
        reached = wider


@njit(cache=True)
def chain_in_atari(stone, stones, empty, grid):
    """The chain of a stone if it has exactly one liberty, else an empty board. A second liberty ends the look at once."""
    chain = stone
    while True:
        beside = neighbours(chain, grid)
        if count(common(beside, empty)) > 1:
            return without(chain, chain)
        wider = union(chain, common(beside, stones))
        if same(wider, chain):
            return chain
        chain = wider


@njit(cache=True)
def chains_in_atari(some, stones, empty, grid):
    """Those chains of some of the stones that have exactly one liberty."""
    found = without(some, some)
    while any_cell(some):
        stone = only_cell(first_cell(some), grid)
        chain = chain_in_atari(stone, stones, empty, grid)
        found = union(found, chain)
        some = without(some, union(stone, chain))
    return found
