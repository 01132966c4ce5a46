"""A turn that is left out: a new history in which the other side is to move, where the rules have one."""

from __future__ import annotations

import numpy as np

from azero.games import go
from azero.games.game import Game
from azero.games.playing import GameInProgress

HEX_PLIES = 4  # that a position of Hex counts where black's turn was left out: too late for a swap


def turned(at: GameInProgress, side: int) -> GameInProgress | None:
    """Return a new history that begins here with `side` to move; None: the rules have none.

    In Go nobody has passed then, so a game that was over goes on. In Hex white may begin on the empty
    board, where a client has exchanged the pieces itself; and who moves right after the own swap has
    exchanged the persons: the stone stays as it was before.
    """
    if at.game.name == "go":
        return GameInProgress(at.game, state=go_turn(at.game, at.state, side))
    if at.game.name == "hex":
        has_swapped = at.actions[-1:] == [at.game.options["size"] ** 2]
        state = at.states[-2 if has_swapped else -1].copy()
        if has_swapped or not state[:-1].any():
            state[-1] = HEX_PLIES + side
            return GameInProgress(at.game, state=state)
    return None


def go_turn(game: Game, state: np.ndarray, mover: int) -> np.ndarray:
    """Return a state of Go with the same stones, where `mover` plays the first move of a game."""
    turned = state.copy()
    turned[go.PLY], turned[go.PASSES], turned[go.KO] = mover, 0, game.options["size"] ** 2
    return turned
