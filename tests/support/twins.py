"""Games whose legal moves are written the other way."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numba import cfunc, njit

from azero.games import game as interface
from azero.games.game import Game


def other_way(game: Game) -> Game:
    """Return the same game with a mask in place of its list of legal moves, or the reverse."""
    return masked(game) if game.lists_moves else listed(game)


def listed(game: Game) -> Game:
    """Return the same game with a list of legal moves in place of its mask."""
    write_mask: Any = njit(game.rules.plain().legal_mask)
    size = game.num_actions

    @cfunc(interface.LEGAL_ACTIONS)
    def legal_actions(state: np.ndarray, actions: np.ndarray) -> int:
        mask = np.empty(size, np.bool_)
        write_mask(state, mask)
        count = 0
        for action in range(size):
            if mask[action]:
                actions[count] = action
                count += 1
        return count

    rules = game.rules._replace(legal_mask=interface.no_legal_mask, legal_actions=legal_actions)
    return replace(game, rules=rules)


def masked(game: Game) -> Game:
    """Return the same game with a mask of legal moves in place of its list."""
    list_moves: Any = njit(game.rules.plain().legal_actions)
    size = game.num_actions

    @cfunc(interface.LEGAL_MASK)
    def legal_mask(state: np.ndarray, mask: np.ndarray) -> None:
        actions = np.empty(size, np.int32)
        for action in range(size):
            mask[action] = False
        for place in range(list_moves(state, actions)):
            mask[actions[place]] = True

    rules = game.rules._replace(legal_mask=legal_mask, legal_actions=interface.no_legal_actions)
    return replace(game, rules=rules)
