"""Othello: who has more moves. Early in the game discs are worth little, and choices much."""

from __future__ import annotations

from typing import Any

import numpy as np

from azero.evaluations import evaluation
from azero.games.bits import popcount
from azero.games.game import Game
from azero.games.othello import find_moves


def make(game: Game) -> Any:
    """Return own moves minus the other's, as if it were to play, over one more than both together."""
    size = game.options["size"]
    board = (1 << size * size) - 1
    inner = sum(1 << cell for cell in range(size * size) if 0 < cell % size < size - 1)

    @evaluation
    def mobility(state):
        own = popcount(state[2])
        other = popcount(np.uint64(find_moves(state[1], state[0], np.uint64(board), np.uint64(inner), size)))
        return (own - other) / (own + other + 1)

    return mobility
