"""Othello: the difference in legal moves. Early in the game, moves matter more than discs."""

from __future__ import annotations

from typing import Any

import numpy as np

from azero.games.game import Game
from azero.games.kit.bits import popcount
from azero.games.othello import find_moves
from azero.heuristics import heuristic


def make(game: Game) -> Any:
    """Return own moves minus the opponent's, divided by their sum plus one.

    The opponent's moves are those it would have if it were to play in the same position.
    """
    size = game.options["size"]
    board = (1 << size * size) - 1
    inner = sum(1 << cell for cell in range(size * size) if 0 < cell % size < size - 1)

    @heuristic
    def mobility(state: np.ndarray) -> float:
        own = popcount(state[2])
        other = popcount(np.uint64(find_moves(state[1], state[0], np.uint64(board), np.uint64(inner), size)))
        return (own - other) / (own + other + 1)

    return mobility
