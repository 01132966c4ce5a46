"""A game for tests: tic-tac-toe whose states hold other words, [0] the mover's stones, [1] all stones.

A stone of the opponent is the exclusive or of two bits.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numba import njit

from azero.games import game as interface
from azero.games import tictactoe as plain
from azero.games.game import Game, Rules
from azero.games.kit.bits import cells_of

base = plain.make_game()
initial, step_of, mask_of, end_of, outcome_of, mover_of, planes_of, key_of, *_ = (
    njit(rule) for rule in base.rules.plain()
)


@njit
def pair(state):
    return state[0], state[0] ^ state[1]


@interface.rule(interface.STEP)
def step(state, action, successor):
    step_of(pair(state), action, successor)
    successor[1] |= successor[0]


@interface.rule(interface.LEGAL_MASK)
def legal_mask(state, mask):
    mask_of(pair(state), mask)


@interface.rule(interface.IS_TERMINAL)
def is_terminal(state):
    return end_of(pair(state))


@interface.rule(interface.OUTCOME)
def outcome(state):
    return outcome_of(pair(state))


@interface.rule(interface.TO_PLAY)
def to_play(state):
    return mover_of(pair(state))


@interface.rule(interface.WRITE_PLANES)
def planes(state, out):
    planes_of(pair(state), out)


@interface.rule(interface.EVALUATION_KEY)
def evaluation_key(state, key):
    key_of(pair(state), key)


def marks(state: np.ndarray) -> np.ndarray:
    """Return the marks, as `Board.marks` does."""
    own = cells_of(state[:1], plain.CELLS).reshape(3, 3)
    other = cells_of(state[:1] ^ state[1:], plain.CELLS).reshape(3, 3)
    return own + 2 * other if (own + other).sum() % 2 == 0 else other + 2 * own


def make_game() -> Game:
    """The game; it has no options."""
    assert base.board is not None
    rules = Rules(base.rules.initial, step, legal_mask, is_terminal, outcome, to_play, planes, evaluation_key)
    return replace(base, name="all_stones", rules=rules, board=replace(base.board, marks=marks))
