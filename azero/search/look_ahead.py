"""One ply ahead: the positions behind every move, for players that judge positions.

Letters: B positions, A actions, S state words.
"""

from __future__ import annotations

import numpy as np

from azero.games.game import rules_at
from azero.search.kernels import kernel

UNKNOWN = -np.inf  # the value of an action that may not be played


@kernel
def look_ahead(addresses, states, banned, values, successors, places, signs):
    """Step every legal action of states [B, S] that is not banned [B, A]; returns how many positions the network must judge.

    values [B, A] float64, written: exact where the game is over, for the player to move before; UNKNOWN elsewhere.
    successors [B * A, S] uint64, written: the positions that are not over; places [B * A] int64: where in `values`, row by row,
    each belongs; signs [B * A] float64: -1 where the other side is to play there.
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
