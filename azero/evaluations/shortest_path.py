"""Hex: how many stones each side still lacks on its shortest path from edge to edge.

Letters: W words of a board of cells. Boards are tuples of W words, as in `games/grid.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from azero.evaluations import evaluation
from azero.games.game import Game
from azero.games.grid import WORD_BITS, any_cell, common, make_grid, neighbours, push, same, union, without
from azero.games.hex import edge_table

ONE = np.uint64(1)


@njit(cache=True)
def read_board(state, first_word, grid):
    """The set of cells that begins at word `first_word` of a state."""
    board = grid.cells
    for word in range(len(board)):
        board = push(board, state[first_word + word])
    return board


@njit(cache=True)
def hex_neighbours(board, grid):
    """The cells beside those of a board: four as on a square grid, and those above to the right and below to the left."""
    beside = neighbours(board, grid)
    distance = grid.size - ONE
    diagonal = board
    for word in range(len(board)):
        bits = ((board[word] & grid.not_left[word]) << distance) | ((board[word] & grid.not_right[word]) >> distance)
        if word > 0:
            bits |= (board[word - 1] & grid.not_left[word - 1]) >> (WORD_BITS - distance)
        if word + 1 < len(board):
            bits |= (board[word + 1] & grid.not_right[word + 1]) << (WORD_BITS - distance)
        diagonal = push(diagonal, bits)
    return union(beside, diagonal)


@njit(cache=True)
def with_chains(reached, stones, grid):
    """The cells reached, and all stones that are joined to them."""
    while True:
        wider = union(reached, common(hex_neighbours(reached, grid), stones))
        if same(wider, reached):
            return reached
        reached = wider


@njit(cache=True)
def stones_missing(own, other, near, far, grid):
    """The fewest stones that would join two edges. Round k reaches all cells that k stones join to the near edge."""
    open_cells = without(grid.cells, other)
    reached = with_chains(common(near, own), own, grid)
    missing = 0
    while not any_cell(common(reached, far)):
        beside = union(hex_neighbours(reached, grid), near)
        reached = with_chains(union(reached, common(beside, open_cells)), own, grid)
        missing += 1
    return missing


@njit(cache=True)
def lead_in_stones(state, edges, grid):
    """How many stones more the second player lacks than the first."""
    width = len(grid.cells)
    first, second = read_board(state, 0, grid), read_board(state, width, grid)
    of_second = stones_missing(second, first, edges[1][0], edges[1][1], grid)
    return of_second - stones_missing(first, second, edges[0][0], edges[0][1], grid)


def make(game: Game) -> Any:
    """Return how many stones more the other side lacks, over one more than a whole row has."""
    size = game.options["size"]
    grid = make_grid(size)
    status = 4 * len(grid.cells)
    edges = tuple(tuple(tuple(edge) for edge in pair) for pair in edge_table(size, len(grid.cells)))

    @evaluation
    def shortest_path(state):
        lead = lead_in_stones(state, edges, grid)
        return (-lead if state[status] & ONE else lead) / (size + 1)

    return shortest_path
