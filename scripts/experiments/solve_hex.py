"""Which first moves of small Hex win? A solver independent of azero's rules and searches.

    python scripts/experiments/solve_hex.py --size 5  # two minutes on one core; 4 takes a moment

It prints the map as `azero/truth/hex_openings.py` has it. Cells are bits, row by row; the first player joins
top and bottom. What was solved is remembered; moves are tried first that leave the mover the shortest way to
go and the opponent the longest. A move after which the opponent needs one stone only is never tried, for it
loses.
"""

from __future__ import annotations

import argparse
from typing import NamedTuple

import numpy as np
from numba import boolean, int64, njit

TABLE_BITS = 25
NO_WAY = 99


class Board(NamedTuple):
    """Sets of cells of one size of board."""

    size: int
    cells: int
    not_left: int  # all but the first column
    not_right: int  # all but the last
    top: int
    bottom: int
    left: int
    right: int


def make_board(size: int) -> Board:
    """The board of a size."""
    cells, top = (1 << size * size) - 1, (1 << size) - 1
    left = sum(1 << row * size for row in range(size))
    right = left << (size - 1)
    return Board(size, cells, cells & ~left, cells & ~right, top, top << size * (size - 1), left, right)


@njit
def neighbours(board, cells):
    """All cells that touch one of the cells."""
    size = board.size
    straight = (
        (cells >> size) | (cells << size) | ((cells >> 1) & board.not_right) | ((cells << 1) & board.not_left)
    )
    slanted = ((cells >> (size - 1)) & board.not_left) | ((cells << (size - 1)) & board.not_right)
    return (straight | slanted) & board.cells


@njit
def joined(board, reached, own):
    """The reached cells and all own stones linked to them."""
    grown = reached | (neighbours(board, reached) & own)
    while grown != reached:
        reached = grown
        grown = reached | (neighbours(board, reached) & own)
    return reached


@njit
def stones_to_go(board, own, other, start, end):
    """The fewest stones that a side still needs to join two edges; NO_WAY where it cannot any more."""
    free, stones = board.cells & ~other, 0
    reached = joined(board, start & own, own)
    border = (start | neighbours(board, reached)) & free & ~reached
    while border and not reached & end:
        stones += 1
        reached = joined(board, reached | border, own)
        border = neighbours(board, reached) & free & ~reached
    return stones if reached & end else NO_WAY


@njit
def place_in(table, own, other):
    """Where a position stands in the table."""
    mixed = (np.uint64(own) * np.uint64(0x9E3779B97F4A7C15)) ^ (
        np.uint64(other) * np.uint64(0xC2B2AE3D27D4EB4F)
    )
    mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    return int64((mixed ^ (mixed >> np.uint64(32))) & np.uint64(len(table) - 1))


@njit
def list_moves(board, own, other, first, moves):
    """Write the moves worth trying, best first. Returns how many, or -1 where one wins at once."""
    rows, columns = (board.top, board.bottom), (board.left, board.right)
    mine, theirs = (rows, columns) if first else (columns, rows)
    scores, count = np.empty(len(moves), np.int64), 0
    for cell in range(board.size * board.size):
        if (own | other) >> cell & 1:
            continue
        after = own | (1 << cell)
        my_way = stones_to_go(board, after, other, mine[0], mine[1])
        if my_way == 0:
            return -1
        their_way = stones_to_go(board, other, after, theirs[0], theirs[1])
        if their_way == 1:
            continue
        row, column = cell // board.size, cell % board.size
        from_centre = abs(2 * row - board.size + 1) + abs(2 * column - board.size + 1)
        score, place = (my_way - their_way) * 64 + from_centre, count
        while place > 0 and scores[place - 1] > score:
            scores[place], moves[place] = scores[place - 1], moves[place - 1]
            place -= 1
        scores[place], moves[place] = score, cell
        count += 1
    return count


@njit(boolean(*[int64] * 8, int64, int64, boolean, int64[:]))
def mover_wins(size, cells, not_left, not_right, top, bottom, left, right, own, other, first, table):
    """Whether the mover, who owns the stones `own`, wins; `first`: it joins top and bottom."""
    board = Board(size, cells, not_left, not_right, top, bottom, left, right)
    key, place = (own << size * size) | other, place_in(table, own, other)
    if table[place] >> 1 == key:
        return table[place] & 1 == 1
    moves = np.empty(size * size, np.int64)
    count = list_moves(board, own, other, first, moves)
    won = count < 0
    for k in range(count):
        if not won:
            won = not mover_wins(
                size,
                cells,
                not_left,
                not_right,
                top,
                bottom,
                left,
                right,
                other,
                own | (1 << moves[k]),
                not first,
                table,
            )
    table[place] = (key << 1) | won
    return won


def main() -> None:
    """Print the map row by row."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--size", type=int, default=5, choices=(2, 3, 4, 5))
    size = parser.parse_args().size
    board, table = make_board(size), np.full(1 << TABLE_BITS, -1, np.int64)
    half = (size * size + 1) // 2  # the rest is the same, turned by half
    values = [not mover_wins(*board, 0, 1 << cell, False, table) for cell in reversed(range(half))][::-1]
    figures = "".join("01"[value] for value in [*values, *values[: size * size - half][::-1]])
    print(" ".join(figures[start : start + size] for start in range(0, size * size, size)))


if __name__ == "__main__":
    main()
