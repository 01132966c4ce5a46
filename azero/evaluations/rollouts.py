"""Any game: the mean outcome of random games from the position. The same position always sees the same random games."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import cfunc, njit

from azero.evaluations import EVALUATE
from azero.games.game import Game, rules_at
from azero.search.hashing import hash_words
from azero.search.random_moves import mask_words, pick_legal

ROLLOUTS = 16


@njit(cache=True, nogil=True)
def mean_of_rollouts(addresses, state, num_actions, num_rollouts):
    """The sum of the outcomes for the player to move over one more than their number, so that it never reaches 1."""
    rules = rules_at(addresses)
    words = mask_words(num_actions)
    legal = words.view(np.bool_)[:num_actions]
    stream = np.zeros(2, np.uint64)
    stream[0] = hash_words(state)
    here, there = np.empty_like(state), np.empty_like(state)
    mover, total = rules.to_play(state), 0.0
    for _ in range(num_rollouts):
        here[:] = state
        while not rules.is_terminal(here):
            rules.legal_mask(here, legal)
            rules.step(here, pick_legal(words, stream), there)
            here, there = there, here
        outcome = rules.outcome(here)
        total += outcome if rules.to_play(here) == mover else -outcome
    return total / (num_rollouts + 1)


def make(game: Game) -> Any:
    """Return the mean of ROLLOUTS random games. Compiled anew in every process, because it holds where this one's rules are."""
    addresses, num_actions = game.rule_addresses, game.num_actions

    @cfunc(EVALUATE)
    def rollouts(state):
        return mean_of_rollouts(addresses, state, num_actions, ROLLOUTS)

    return rollouts
