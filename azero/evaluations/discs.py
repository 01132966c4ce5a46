"""Othello: the difference of discs, as beginners count it and as a cut-off search is scored by material."""

from __future__ import annotations

from typing import Any

from azero.evaluations import evaluation
from azero.games.bits import popcount
from azero.games.game import Game


def make(game: Game) -> Any:
    """Return own discs minus the other's, over one more than the board has cells."""
    cells = game.options["size"] ** 2

    @evaluation
    def discs(state):
        return (popcount(state[0]) - popcount(state[1])) / (cells + 1)

    return discs
