"""Rollouts: random play from a position to the end of the game, or for so many plies and then a glance at what was reached.

Letters: A actions, S state words.

Rewards lie in [0, 1], 1 for a win and 0.5 for a draw, and are meant for player 0, who moves first in the game: so whoever sums
them need not know whose turn it was.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from azero.evaluations import evaluate_at
from azero.search.kernels import kernel, part
from azero.search.random_moves import mask_words, pick_legal

NO_EVALUATION = 0


class Judge(NamedTuple):
    """How far a rollout goes, and who says what it is worth if the game is not over by then."""

    depth: int  # plies at most
    evaluation: int  # address of an evaluation, or NO_EVALUATION: then an unfinished game counts as a draw


class Board(NamedTuple):
    """What a rollout writes to and nobody reads afterwards."""

    here: np.ndarray  # [S] uint64
    there: np.ndarray  # [S] uint64
    legal: np.ndarray  # [A] bool
    legal_words: np.ndarray  # [ceil(A / 8)] uint64: the same bytes, eight to a word


@kernel
def new_board(num_actions, state_words):
    """Room for rollouts, one after another."""
    words = mask_words(num_actions)
    return Board(np.zeros(state_words, np.uint64), np.zeros(state_words, np.uint64), words.view(np.bool_)[:num_actions], words)


@part
def turned(value, to_play):
    """The reward for player 0 of a value in [-1, 1] for the player to move."""
    return 0.5 + 0.5 * value if to_play == 0 else 0.5 - 0.5 * value


@part
def end_reward(rules, state):
    """The reward of a terminal state."""
    return turned(rules.outcome(state), rules.to_play(state))


@part
def cut_reward(rules, judge, state):
    """The reward of a state at which a rollout stopped before the end."""
    if judge.evaluation == NO_EVALUATION:
        return 0.5
    return turned(evaluate_at(judge.evaluation)(state), rules.to_play(state))


@part
def rollout(rules, start, judge, board, stream):
    """Play random moves from `start` and return the reward. board and stream: borrowed."""
    here, there = board.here, board.there
    for word in range(start.shape[0]):  # Numba's assignment of rows costs seconds of compilation
        here[word] = start[word]
    plies = 0
    over = rules.is_terminal(here)
    while not over and plies < judge.depth:
        rules.legal_mask(here, board.legal)
        rules.step(here, pick_legal(board.legal_words, stream), there)
        here, there = there, here
        plies += 1
        over = rules.is_terminal(here)
    return end_reward(rules, here) if over else cut_reward(rules, judge, here)
