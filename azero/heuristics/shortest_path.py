"""Hex: the stones that each side still needs on its shortest path from edge to edge.

Letters: W words of a board of cells. Boards are tuples of W words, as in `games/grid.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from azero.games.game import Game
from azero.games.hex import edge_table
from azero.games.kit.grid import (
    WORD_BITS,
    Grid,
    any_cell,
    common,
    make_grid,
    neighbours,
    push,
    same,
    union,
    without,
)
from azero.heuristics import heuristic

ONE = np.uint64(1)


@njit(cache=True)
def read_board(state: np.ndarray, first_word: int, grid: Grid) -> Any:
    """Return the set of cells that begins at word `first_word` of a state."""
    board = grid.cells
    for word in range(len(board)):
        board = push(board, state[first_word + word])
    return board


@njit(cache=True)
def hex_neighbours(board: Any, grid: Grid) -> Any:
    """Return the six neighbours of a board's cells: four as on a grid, above right, and below left."""
    beside = neighbours(board, grid)
    distance = grid.size - ONE
    diagonal = board
    for word in range(len(board)):
        bits = ((board[word] & grid.not_left[word]) << distance) | (
            (board[word] & grid.not_right[word]) >> distance
        )
        if word > 0:
            bits |= (board[word - 1] & grid.not_left[word - 1]) >> (WORD_BITS - distance)
        if word + 1 < len(board):
            bits |= (board[word + 1] & grid.not_right[word + 1]) << (WORD_BITS - distance)
        diagonal = push(diagonal, bits)
    return union(beside, diagonal)


@njit(cache=True)
def with_chains(reached: Any, stones: Any, grid: Grid) -> Any:
    """Return the cells reached and all stones connected to them."""
    while True:
        wider = union(reached, common(hex_neighbours(reached, grid), stones))
        if same(wider, reached):
            return reached
        reached = wider


@njit(cache=True)
def stones_missing(own: Any, other: Any, near: Any, far: Any, grid: Grid) -> int:
    """Return the fewest stones that connect two edges; round k reaches what k stones connect to `near`."""
    open_cells = without(grid.cells, other)
    reached = with_chains(common(near, own), own, grid)
    missing = 0
    while not any_cell(common(reached, far)):
        beside = union(hex_neighbours(reached, grid), near)
        reached = with_chains(union(reached, common(beside, open_cells)), own, grid)
        missing += 1
    return missing


@njit(cache=True)
def lead_in_stones(state: np.ndarray, edges: Any, grid: Grid) -> int:
    """Return how many more stones the second player needs than the first."""
    width = len(grid.cells)
    first, second = read_board(state, 0, grid), read_board(state, width, grid)
    of_second = stones_missing(second, first, edges[1][0], edges[1][1], grid)
    return of_second - stones_missing(first, second, edges[0][0], edges[0][1], grid)


def make(game: Game) -> Any:
    """Return how many more stones the opponent needs, divided by the board's size plus one."""
    size = game.options["size"]
    grid = make_grid(size)
    status = 4 * len(grid.cells)
    edges = tuple(tuple(tuple(edge) for edge in pair) for pair in edge_table(size, len(grid.cells)))

    @heuristic
    def shortest_path(state: np.ndarray) -> float:
        lead = lead_in_stones(state, edges, grid)
        return (-lead if state[status] & ONE else lead) / (size + 1)

    return shortest_path
