"""Othello and chess: what the pieces can do.

Othello: the difference in legal moves. Early in the game, moves matter more than discs.

Chess: the lead in material, and a tenth of a pawn for each cell that a knight, a bishop, a rook or a queen
reaches, whatever pins or checks say. A piece that has nowhere to go is worth less.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from azero.games.game import Game
from azero.games.kit.bits import lowest_bit, popcount
from azero.games.kit.piece_moves import (
    KINGS,
    KNIGHT,
    KNIGHTS,
    ONE,
    OTHER,
    OWN,
    PAWNS,
    ZERO,
    line_cells,
    make_table,
)
from azero.games.othello import find_moves
from azero.heuristics import heuristic, squashed
from azero.heuristics.material import HALF, WORTH, lead_in_pieces

TENTHS = 10  # of a pawn


@njit(cache=True)
def cells_reached(state: np.ndarray, table: np.ndarray, side: int) -> int:
    """Return how many cells the knights, bishops, rooks and queens of a side reach; side: OWN or OTHER."""
    occupied, free = state[OWN] | state[OTHER], ~state[side]
    count, rest = 0, state[side] & ~(state[PAWNS] | state[KINGS])
    while rest != ZERO:
        cell = lowest_bit(rest)
        knight = (state[KNIGHTS] >> np.uint64(cell)) & ONE
        cells = table[cell, KNIGHT] if knight else line_cells(state, table, cell, occupied)
        count += popcount(cells & free)
        rest &= rest - ONE
    return count


def make(game: Game) -> Any:
    """Return the lead of the mover.

    At Othello it is own moves minus the opponent's, divided by their sum plus one; the opponent's moves are
    those it would have if it were to play in the same position. At chess a lead of a knight is worth a half.
    """
    if game.name == "chess":
        table = make_table(game.planes_shape[1])

        @heuristic
        def activity(state: np.ndarray) -> float:
            lead = cells_reached(state, table, OWN) - cells_reached(state, table, OTHER)
            return squashed(lead_in_pieces(state, WORTH) * TENTHS + lead, HALF * TENTHS)

        return activity

    size = game.options["size"]
    board = (1 << size * size) - 1
    inner = sum(1 << cell for cell in range(size * size) if 0 < cell % size < size - 1)

    @heuristic
    def mobility(state: np.ndarray) -> float:
        own = popcount(state[2])
        other = popcount(np.uint64(find_moves(state[1], state[0], np.uint64(board), np.uint64(inner), size)))
        return (own - other) / (own + other + 1)

    return mobility
