"""Any game: the mean outcome of random games from the position, the same games for the same position."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import cfunc

from azero.games.game import Game, rules_at
from azero.games.legal import Legal, draw_legal
from azero.heuristics import HEURISTIC
from azero.kernels.compiled import kernel
from azero.kernels.hashing import hash_words
from azero.kernels.random_moves import ACTIONS_A_WORD
from azero.kernels.words import copy_words

ROLLOUTS = 16


@kernel
def mean_of_rollouts(
    addresses: np.ndarray,
    state: np.ndarray,
    max_plies: int,
    num_rollouts: int,
    positions: np.ndarray,
    stream: np.ndarray,
    legal: Legal,
) -> float:
    """Return the sum of outcomes for the player to move over `num_rollouts` + 1, so it never reaches 1.

    A rollout that is not over after `max_plies`, or has no legal move, counts as a draw. positions [2, S],
    stream [2] and legal are scratch.
    """
    rules = rules_at(addresses)
    stream[0], stream[1] = hash_words(state), 0
    here, there = positions[0], positions[1]
    mover, total = rules.to_play(state), 0.0
    for _ in range(num_rollouts):
        copy_words(state, here)
        plies = 0
        over = rules.is_terminal(here)
        while not over and plies < max_plies:
            action = draw_legal(rules, here, legal, stream)
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

    It is compiled anew in every process, because it contains the addresses of this process's rules. It makes
    its scratch at each call: several threads may ask it at once, and a heuristic receives a state only.
    """
    addresses, num_actions, max_plies = game.rule_addresses, game.num_actions, game.max_plies
    num_words, state_words = -(-num_actions // ACTIONS_A_WORD), game.state_words

    @cfunc(HEURISTIC)
    def rollouts(state: np.ndarray) -> float:
        words = np.zeros(num_words, np.uint64)
        legal = Legal(np.zeros(num_actions, np.int32), words.view(np.bool_)[:num_actions], words)
        positions, stream = np.zeros((2, state_words), np.uint64), np.zeros(2, np.uint64)
        return mean_of_rollouts(addresses, state, max_plies, ROLLOUTS, positions, stream, legal)

    return rollouts
