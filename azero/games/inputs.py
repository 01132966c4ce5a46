"""The network's input for many states at once, and their legal moves.

Letters: B positions, A actions, C H W planes, S state words.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from azero.games.game import Game, rules_at


@njit(cache=True, nogil=True)
def write_inputs(addresses: np.ndarray, states: np.ndarray, planes: np.ndarray, legal: np.ndarray) -> None:
    """Write planes [B, C, H, W] and legal mask [B, A] of states [B, S]; leave further rows as they are.

    addresses: `Game.rule_addresses`.
    """
    rules = rules_at(addresses)
    for row in range(states.shape[0]):
        rules.planes(states[row], planes[row])
        rules.legal_mask(states[row], legal[row])


def encode(game: Game, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the network's input for some states, and their legal moves.

    Args:
        game: the rules.
        states: [N, S] uint64.

    Returns:
        (planes [N, C, H, W] float32, legal_mask [N, A] bool).
    """
    planes = np.empty((len(states), *game.planes_shape), np.float32)
    legal_mask = np.empty((len(states), game.num_actions), np.bool_)
    write_inputs(game.rule_addresses, np.ascontiguousarray(states, np.uint64), planes, legal_mask)
    return planes, legal_mask
