"""One ply ahead: the positions after every move, for players that judge positions.

Letters: B positions, A actions, S state words.
"""

from __future__ import annotations

import numpy as np

from azero.games.game import rules_at
from azero.kernels.compiled import kernel

UNKNOWN = -np.inf  # the value of an action that is illegal, banned or not looked at


@kernel
def look_ahead(
    addresses: np.ndarray,
    states: np.ndarray,
    banned: np.ndarray,
    values: np.ndarray,
    successors: np.ndarray,
    places: np.ndarray,
    signs: np.ndarray,
) -> int:
    """Play every legal action that is not banned; return the number of positions to evaluate.

    Args:
        addresses, states, banned: the game's `rule_addresses`, [B, S] and [B, A].
        values: [B, A], written: the outcome for the player who moves if the game is over, else UNKNOWN.
        successors: [B * A, S], written: the positions that are not over.
        places: [B * A], written: the index of each of these positions in `values`, row by row.
        signs: [B * A], written: -1 if the opponent is to play in it, else 1.
    """
    rules = rules_at(addresses)
    num_actions = banned.shape[1]
    legal = np.zeros(num_actions, np.bool_)
    count = 0
    for row in range(states.shape[0]):
        rules.legal_mask(states[row], legal)
        for action in range(num_actions):
            values[row, action] = UNKNOWN
            if banned[row, action] or not legal[action]:
                continue
            successor = successors[count]
            rules.step(states[row], action, successor)
            sign = 1.0 if rules.to_play(successor) == rules.to_play(states[row]) else -1.0
            if rules.is_terminal(successor):
                values[row, action] = sign * rules.outcome(successor)
            else:
                places[count] = row * num_actions + action
                signs[count] = sign
                count += 1
    return count
