"""Othello: the difference in discs, the material count."""

from __future__ import annotations

from typing import Any

import numpy as np

from azero.games.game import Game
from azero.games.kit.bits import popcount
from azero.heuristics import heuristic


def make(game: Game) -> Any:
    """Return own discs minus the opponent's, divided by the number of cells plus one."""
    cells = game.options["size"] ** 2

    @heuristic
    def discs(state: np.ndarray) -> float:
        return (popcount(state[0]) - popcount(state[1])) / (cells + 1)

    return discs
