"""Othello: weighted squares. A corner can never be lost, and the squares beside an empty corner give it away.

Weights on 8 x 8; each quarter mirrors the first:

    100 -25  10   5  ..
    -25 -50  -3  -3  ..
     10  -3   1   1  ..
      5  -3   1   1  ..

The squares beside a corner (-25 and -50) count only while the corner is empty.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from azero.games.game import Game
from azero.games.kit.bits import popcount
from azero.heuristics import heuristic, squashed

CORNER = 100
QUARTER = np.array([[100, -25, 10, 5], [-25, -50, -3, -3], [10, -3, 1, 1], [5, -3, 1, 1]])
NONE = np.uint64(0)


def weight_groups(size: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the squares of each weight: weights [groups] int64 and squares [groups] uint64."""
    near = np.minimum(np.arange(size), np.arange(size)[::-1])
    weights = QUARTER[near[:, None], near[None, :]].ravel()
    kinds = np.unique(weights)
    squares = [sum(1 << int(cell) for cell in np.flatnonzero(weights == kind)) for kind in kinds]
    return kinds, np.array(squares, np.uint64)


def corner_groups(size: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the corners [4] and the three squares beside each [4], uint64."""
    last = size - 1
    corners, beside = [], []
    for row, column in ((0, 0), (0, last), (last, 0), (last, last)):
        down, right = 1 if row == 0 else -1, 1 if column == 0 else -1
        corners.append(1 << row * size + column)
        near = ((row + down, column), (row, column + right), (row + down, column + right))
        beside.append(sum(1 << r * size + c for r, c in near))
    return np.array(corners, np.uint64), np.array(beside, np.uint64)


@njit(cache=True)
def lead_in_squares(
    own: Any, other: Any, weights: np.ndarray, squares: np.ndarray, corners: np.ndarray, beside: np.ndarray
) -> int:
    """Return the weights of own discs minus the opponent's; squares beside a taken corner count 0."""
    idle = NONE
    for corner in range(4):
        if (own | other) & corners[corner]:
            idle |= beside[corner]
    lead = 0
    for kind in range(weights.shape[0]):
        counted = squares[kind] & ~idle
        lead += weights[kind] * (popcount(own & counted) - popcount(other & counted))
    return lead


def make(game: Game) -> Any:
    """Return the lead in weighted squares; a lead of one corner is worth one half."""
    weights, squares = weight_groups(game.options["size"])
    corners, beside = corner_groups(game.options["size"])

    @heuristic
    def squares_value(state: np.ndarray) -> float:
        return squashed(lead_in_squares(state[0], state[1], weights, squares, corners, beside), CORNER)

    return squares_value
