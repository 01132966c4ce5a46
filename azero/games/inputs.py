"""What a network sees of many states at once, and which moves are allowed there.

Letters: B positions, A actions, C H W planes, S state words.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from azero.games.game import rules_at


@njit(cache=True, nogil=True)
def write_inputs(addresses: np.ndarray, states: np.ndarray, planes: np.ndarray, legal: np.ndarray) -> None:
    """Write planes [B, C, H, W] and legal mask [B, A] of each of states [B, S]; further rows are left alone.

    addresses: `Game.rule_addresses`.
    """
    rules = rules_at(addresses)
    for row in range(states.shape[0]):
        rules.planes(states[row], planes[row])
        rules.legal_mask(states[row], legal[row])
