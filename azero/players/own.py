"""A player of one's own, from a person's Python file: what it answers is checked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from azero.config.schema import UserError
from azero.games.game import Game
from azero.games.own_files import FAILS, explaining
from azero.players import Player, ThinkingPlayer, ban_table
from azero.players.base import Thinking

BASES = "azero.players.base.Deterministic or Drawing"


def make_own(file: str, game: Game, make: Callable[[], Any]) -> ThinkingPlayer:
    """Return the player that a person's file makes. Its `choose` answers with legal moves or a UserError.

    Raises:
        UserError: the file fails, or makes no player.
    """
    with explaining(file, FAILS):
        player = make()
    if not isinstance(player, Thinking) or type(player).choose is Player.choose:
        raise UserError(f"make of {file} must return a player, a subclass of {BASES} with choose.")
    choose = player.choose

    def checked(
        states: np.ndarray, games: np.ndarray, plies: np.ndarray, banned: np.ndarray | None = None
    ) -> np.ndarray:
        with explaining(file, FAILS):
            actions = np.asarray(choose(states, games, plies, banned))
        if actions.shape != (len(states),) or actions.dtype.kind not in "iu":
            raise UserError(f"choose of {file} must return a whole number for each position.")
        for state, action, forbidden in zip(states, actions, ban_table(game, states, banned), strict=True):
            if not (0 <= action < game.num_actions and game.legal_mask(state)[action]) or forbidden[action]:
                raise UserError(f"{file} plays {action}, which is not legal in {game.text(state)}.")
        return actions.astype(np.int64)

    player.choose = checked  # type: ignore[method-assign]
    return player
