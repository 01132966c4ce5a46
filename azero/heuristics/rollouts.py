"""Any game: the mean outcome of random games from the position, the same games for the same position."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import cfunc, njit

from azero.games.game import Game, rules_at
from azero.heuristics import HEURISTIC
from azero.kernels.hashing import hash_words
from azero.kernels.random_moves import mask_words, pick_legal

ROLLOUTS = 16


@njit(cache=True, nogil=True)
def mean_of_rollouts(
    addresses: np.ndarray, state: np.ndarray, num_actions: int, max_plies: int, num_rollouts: int
) -> float:
    """Return the sum of outcomes for the player to move over `num_rollouts` + 1, so it never reaches 1.

    A rollout that is not over after `max_plies`, or has no legal move, counts as a draw.
    """
    rules = rules_at(addresses)
    words = mask_words(num_actions)
    legal = words.view(np.bool_)[:num_actions]
    stream = np.zeros(2, np.uint64)
    stream[0] = hash_words(state)
    here, there = np.empty_like(state), np.empty_like(state)
    mover, total = rules.to_play(state), 0.0
    for _ in range(num_rollouts):
        here[:] = state
        plies = 0
        over = rules.is_terminal(here)
        while not over and plies < max_plies:
            rules.legal_mask(here, legal)
            action = pick_legal(words, stream)
            if action < 0:
                break
            rules.step(here, action, there)
            here, there = there, here
            plies += 1
            over = rules.is_terminal(here)
        outcome = rules.outcome(here) if over else 0.0
        total += outcome if rules.to_play(here) == mover else -outcome
    return total / (num_rollouts + 1)


def make(game: Game) -> Any:
    """Return the mean of ROLLOUTS random games.

    It is compiled anew in every process, because it contains the addresses of this process's rules.
    """
    addresses, num_actions, max_plies = game.rule_addresses, game.num_actions, game.max_plies

    @cfunc(HEURISTIC)
    def rollouts(state: np.ndarray) -> float:
        return mean_of_rollouts(addresses, state, num_actions, max_plies, ROLLOUTS)

    return rollouts
