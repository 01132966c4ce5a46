"""Sets of cells on a square grid, for games with chains and liberties.

Letters: W words of a board of cells.

A board of cells is a tuple of W words, which the compiler keeps in registers. Cells are counted row by row
from the top left. Cell c is bit c % 64 of word c // 64.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from azero.games.kit.bits import lowest_bit, popcount, words_needed, words_of

ZERO = np.uint64(0)
ONE = np.uint64(1)
WORD_BITS = np.uint64(64)
Board = tuple[Any, ...]  # W words, uint64


class Grid(NamedTuple):
    """Constants of one size of board."""

    size: np.uint64
    cells: tuple[np.uint64, ...]  # the board of all cells
    not_left: tuple[np.uint64, ...]  # the cells that have a cell on their left
    not_right: tuple[np.uint64, ...]


def make_grid(size: int) -> Grid:
    """Return the grid of size x size cells."""
    cells = range(size * size)
    insides = (
        cells,
        [cell for cell in cells if cell % size > 0],
        [cell for cell in cells if cell % size < size - 1],
    )
    boards = (tuple(map(np.uint64, words_of(inside, words_needed(len(cells))))) for inside in insides)
    return Grid(np.uint64(size), *boards)


@njit(cache=True)
def push(board: Board, word: Any) -> Board:
    """Drop a board's first word and append one: W pushes make a new board."""
    return (*board[1:], word)


@njit(cache=True)
def only_cell(cell: int, grid: Grid) -> Board:
    """Return the board of one cell."""
    board = grid.cells
    for word in range(len(board)):
        board = push(board, ONE << np.uint64(cell & 63) if cell >> 6 == word else ZERO)
    return board


@njit(cache=True)
def union(one: Board, other: Board) -> Board:
    board = one
    for word in range(len(one)):
        board = push(board, one[word] | other[word])
    return board


@njit(cache=True)
def common(one: Board, other: Board) -> Board:
    board = one
    for word in range(len(one)):
        board = push(board, one[word] & other[word])
    return board


@njit(cache=True)
def without(one: Board, other: Board) -> Board:
    board = one
    for word in range(len(one)):
        board = push(board, one[word] & ~other[word])
    return board


@njit(cache=True)
def same(one: Board, other: Board) -> bool:
    differing = ZERO
    for word in range(len(one)):
        differing |= one[word] ^ other[word]
    return differing == ZERO


@njit(cache=True)
def any_cell(board: Board) -> bool:
    bits = ZERO
    for word in range(len(board)):
        bits |= board[word]
    return bits != ZERO


@njit(cache=True)
def count(board: Board) -> int:
    cells = 0
    for word in range(len(board)):
        cells += popcount(board[word])
    return cells


@njit(cache=True)
def first_cell(board: Board) -> int:
    """Return the lowest cell of a board that is not empty."""
    for word in range(len(board)):
        if board[word] != ZERO:
            return 64 * word + lowest_bit(board[word])
    return 0


@njit(cache=True)
def neighbours(board: Board, grid: Grid) -> Board:
    """Return the cells beside those of a board.

    Bits after the last cell may be set; every caller masks the result.
    """
    beside = board
    for word in range(len(board)):
        here = board[word]
        bits = ((here & grid.not_right[word]) << ONE) | ((here & grid.not_left[word]) >> ONE)
        bits |= (here << grid.size) | (here >> grid.size)
        if word > 0:
            before = board[word - 1]
            bits |= ((before & grid.not_right[word - 1]) >> (WORD_BITS - ONE)) | (
                before >> (WORD_BITS - grid.size)
            )
        if word + 1 < len(board):
            after = board[word + 1]
            bits |= ((after & grid.not_left[word + 1]) << (WORD_BITS - ONE)) | (
                after << (WORD_BITS - grid.size)
            )
        beside = push(beside, bits)
    return beside


@njit(cache=True)
def flood(seeds: Board, within: Board, grid: Grid) -> Board:
    """Return the seeds and all cells of `within` connected to them."""
    reached = seeds
    while True:
        wider = union(reached, common(neighbours(reached, grid), within))
        if same(wider, reached):
            return reached
        reached = wider


@njit(cache=True)
def chain_in_atari(stone: Board, stones: Board, empty: Board, grid: Grid) -> Board:
    """Return the chain of a stone if it has exactly one liberty, else an empty board."""
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
def chains_in_atari(some: Board, stones: Board, empty: Board, grid: Grid) -> Board:
    """Return those chains of the stones `some` that have exactly one liberty."""
    found = without(some, some)
    while any_cell(some):
        stone = only_cell(first_cell(some), grid)
        chain = chain_in_atari(stone, stones, empty, grid)
        found = union(found, chain)
        some = without(some, union(stone, chain))
    return found
