"""Chess and Breakthrough: the pieces of each side by their worth.

In chess a pawn is worth 1, a knight or a bishop 3, a rook 5, a queen 9. In Breakthrough a pawn is worth more
near its goal, and on its first row, which it guards. On 8 x 8:

    rows to the goal    1    2    3    4    5    6    7
    worth of a pawn    36   26   22   20   20   20   29
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from azero.games.game import Game
from azero.games.kit.bits import popcount
from azero.heuristics import heuristic, squashed

# Chess: word of a state with all pieces of a kind, of both sides, and what one of them is worth
PAWNS = 2
WORTH = np.array([1, 3, 3, 5, 9])  # pawns, knights, bishops, rooks, queens, in the order of the words
HALF = 3.0  # a lead of so much is worth one half

# Breakthrough: worth of a pawn near its goal, one row away and more; farther away; on its first row
NEAR, FAR, AT_HOME = (36, 26, 22), 20, 29
HALF_IN_PAWNS = 60.0
ONE = np.uint64(1)


@njit(cache=True)
def lead_in_pieces(state: np.ndarray, worth: np.ndarray) -> int:
    """Return the worth of own pieces minus that of the opponent's, at chess."""
    lead = 0
    for kind in range(worth.shape[0]):
        pieces = state[PAWNS + kind]
        lead += worth[kind] * (popcount(state[0] & pieces) - popcount(state[1] & pieces))
    return lead


@njit(cache=True)
def lead_in_pawns(state: np.ndarray, worth: np.ndarray, columns: int) -> int:
    """Return the worth of own pawns minus that of the opponent's; worth [H]: by rows to the goal."""
    rows, lead = worth.shape[0], 0
    row = (ONE << np.uint64(columns)) - ONE
    for away in range(rows):
        own = (state[0] >> np.uint64(away * columns)) & row
        other = (state[1] >> np.uint64((rows - 1 - away) * columns)) & row
        lead += worth[away] * (popcount(own) - popcount(other))
    return lead


def worth_by_distance(rows: int) -> np.ndarray:
    """Return what a pawn of Breakthrough is worth 0, 1, …, `rows` - 1 rows away from its goal, [H]."""
    worth = np.full(rows, FAR)
    worth[1 : 1 + len(NEAR)] = NEAR[: rows - 1]
    worth[-1] = AT_HOME
    return worth


def make(game: Game) -> Any:
    """Return the lead in material; at chess a lead of a knight is worth one half, else one of three pawns."""
    if game.name == "breakthrough":
        columns, by_distance = game.options["columns"], worth_by_distance(game.options["rows"])

        @heuristic
        def pawns(state: np.ndarray) -> float:
            return squashed(lead_in_pawns(state, by_distance, columns), HALF_IN_PAWNS)

        return pawns

    @heuristic
    def material(state: np.ndarray) -> float:
        return squashed(lead_in_pieces(state, WORTH), HALF)

    return material
