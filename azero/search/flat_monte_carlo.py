"""Flat Monte Carlo, also called primitive Monte Carlo: random rollouts from every legal move, and no tree.

Letters: B positions, A actions, S state words.
"""

from __future__ import annotations

import numpy as np

from azero.games.game import rules_at
from azero.search.kernels import borrowed, kernel
from azero.search.rollouts import rollout


@kernel
def share_rollouts(addresses, board, judge, state, banned, total, stream, successor, reward_sums, rollout_counts):
    """Roll out the legal moves of a state [S] that are not banned [A] until they share `total` rollouts equally.

    What does not divide goes to the first moves, one each. Called again with a larger total, it goes on where it was.

    reward_sums [A] float64, for the player to move, and rollout_counts [A] int64: added to; zeros at first.
    successor: scratch, [S]. stream [2] advances.
    """
    rules = rules_at(addresses)
    board, state, stream, successor = borrowed(board), borrowed(state), borrowed(stream), borrowed(successor)
    moves = np.zeros(banned.shape[0], np.int64)
    rules.legal_mask(state, board.legal)
    count = 0
    for action in range(banned.shape[0]):
        moves[count] = action  # overwritten by the next unless legal
        count += board.legal[action] and not banned[action]
    first_moves = rules.to_play(state) == 0
    for place in range(count):
        action = moves[place]
        share = total // count + (place < total % count)
        rules.step(state, action, successor)
        for _ in range(rollout_counts[action], share):
            reward = rollout(rules, successor, judge, board, stream)
            reward_sums[action] += reward if first_moves else 1.0 - reward
        rollout_counts[action] = share


@kernel
def best_mean(reward_sums, rollout_counts):
    """The action [A] of the best mean reward, the first of equals, among those that have rollouts."""
    best, best_mean = -1, -1.0
    for action in range(rollout_counts.shape[0]):
        if rollout_counts[action] > 0:
            mean = reward_sums[action] / rollout_counts[action]
            best = action if mean > best_mean else best
            best_mean = max(mean, best_mean)
    return best
