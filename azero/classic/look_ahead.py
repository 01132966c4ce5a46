"""One ply ahead: the positions after every move, for players that judge positions.

Letters: B positions, A actions, S state words.
"""

from __future__ import annotations

import numpy as np

from azero.games.game import rules_at
from azero.games.legal import Legal, list_allowed, list_legal
from azero.kernels.compiled import borrowed, kernel

UNKNOWN = -np.inf  # the value of an action that is illegal, banned or not looked at


@kernel
def count_moves(addresses: np.ndarray, states: np.ndarray, legal: Legal) -> int:
    """Return the number of legal moves in states [B, S] together; none in finished games. legal: scratch."""
    rules = rules_at(addresses)
    states, legal = borrowed(states), borrowed(legal)
    total = 0
    for row in range(states.shape[0]):
        if not rules.is_terminal(states[row]):
            total += list_legal(rules, states[row], legal)
    return total


@kernel
def look_ahead(
    addresses: np.ndarray,
    states: np.ndarray,
    banned: np.ndarray,
    legal: Legal,
    values: np.ndarray,
    successors: np.ndarray,
    places: np.ndarray,
    signs: np.ndarray,
) -> int:
    """Play every legal action that is not banned; return the number of positions to evaluate.

    Args:
        addresses, states, banned: the game's `rule_addresses`, [B, S] and [B, A].
        legal: scratch.
        values: [B, A], written: the outcome for the player who moves if the game is over, else UNKNOWN.
        successors: [M, S], written: the positions that are not over. M: as many as `count_moves` returns.
        places: [M], written: the index of each of these positions in `values`, row by row.
        signs: [M], written: -1 if the opponent is to play in it, else 1.
    """
    rules = rules_at(addresses)
    states, banned, legal, successors = (
        borrowed(states),
        borrowed(banned),
        borrowed(legal),
        borrowed(successors),
    )
    num_actions = banned.shape[1]
    count = 0
    for row in range(states.shape[0]):
        for action in range(num_actions):
            values[row, action] = UNKNOWN
        if rules.is_terminal(states[row]):
            continue
        for place in range(list_allowed(rules, states[row], legal, banned[row])):
            action = legal.actions[place]
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
