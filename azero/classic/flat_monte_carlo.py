"""Flat Monte Carlo, also called primitive Monte Carlo: random rollouts of every legal move, without a tree.

Letters: B positions, A actions, S state words.
"""

from __future__ import annotations

import numpy as np

from azero.classic.rollouts import Judge, Room, rollout
from azero.games.game import rules_at
from azero.games.legal import list_allowed
from azero.kernels.compiled import borrowed, kernel


@kernel
def share_rollouts(
    addresses: np.ndarray,
    room: Room,
    judge: Judge,
    state: np.ndarray,
    banned: np.ndarray,
    moves: np.ndarray,
    begin: int,
    most: int,
    stream: np.ndarray,
    reward_sums: np.ndarray,
    rollout_counts: np.ndarray,
) -> None:
    """Roll out the moves of a state [S], not terminal, in turn: `most` rollouts after `begin` earlier ones.

    So they share any number equally, and the first moves get the remainder. It leaves out banned moves [A]
    and adds to reward_sums [A], for the player to move, and to rollout_counts [A].
    moves: scratch, [A] int32.
    """
    rules = rules_at(addresses)
    room, state, stream, moves = borrowed(room), borrowed(state), borrowed(stream), borrowed(moves)
    count = list_allowed(rules, state, room.moves, banned)
    for place in range(count):
        moves[place] = room.moves.actions[place]
    first_moves = rules.to_play(state) == 0
    for number in range(begin, begin + most):
        action = np.int64(moves[number % count])
        rules.step(state, action, room.start)
        reward = rollout(rules, room.start, judge, room, stream)
        reward_sums[action] += reward if first_moves else 1.0 - reward
        rollout_counts[action] += 1


@kernel
def best_mean(reward_sums: np.ndarray, rollout_counts: np.ndarray) -> int:
    """Return the first action of the best mean reward among those with rollouts."""
    best, best_mean = -1, -1.0
    for action in range(rollout_counts.shape[0]):
        if rollout_counts[action] > 0:
            mean = reward_sums[action] / rollout_counts[action]
            best = action if mean > best_mean else best
            best_mean = max(mean, best_mean)
    return best
