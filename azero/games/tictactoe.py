"""Tic-tac-toe: three in a row on 3 x 3.

0 1 2      action a = cell a = bit a of a word
3 4 5
6 7 8      state words: [0] stones of the player to move, [1] stones of the opponent
"""

from __future__ import annotations

import numpy as np
from numba import njit

from azero.games import game as interface
from azero.games.game import Game, Rules
from azero.games.kit.bits import popcount
from azero.games.kit.board import (
    FIRST,
    SECOND,
    Board,
    check_turns,
    marks_of_words,
    numbers,
    square_symmetries,
    words_of_marks,
)
from azero.games.kit.ends import InLine

CELLS = 9
FULL = np.uint64(0b111_111_111)
LINES = np.array(
    [
        0b000_000_111,
        0b000_111_000,
        0b111_000_000,
        0b001_001_001,
        0b010_010_010,
        0b100_100_100,
        0b100_010_001,
        0b001_010_100,
    ],
    np.uint64,
)
ONE = np.uint64(1)


@njit(cache=True)
def has_line(stones):
    for line in LINES:
        if stones & line == line:
            return True
    return False


@njit(cache=True)
def parity(stones):
    """Return 1 for an odd number of stones, else 0; it folds halves onto each other until one bit is left."""
    stones ^= stones >> np.uint64(8)
    stones ^= stones >> np.uint64(4)
    stones ^= stones >> np.uint64(2)
    stones ^= stones >> ONE
    return np.int64(stones & ONE)


@interface.rule(interface.INITIAL)
def initial(state):
    state[0] = 0
    state[1] = 0


@interface.rule(interface.STEP)
def step(state, action, successor):
    successor[0] = state[1]
    successor[1] = state[0] | (ONE << np.uint64(action))


@interface.rule(interface.LEGAL_MASK)
def legal_mask(state, mask):
    empty = FULL & ~(state[0] | state[1])
    for cell in range(CELLS):
        mask[cell] = empty & ONE != 0
        empty >>= ONE


@interface.rule(interface.IS_TERMINAL)
def is_terminal(state):
    return (state[0] | state[1]) == FULL or has_line(state[1])


@interface.rule(interface.OUTCOME)
def outcome(state):
    return -1.0 if has_line(state[1]) else 0.0  # only the last mover can have a line


@interface.rule(interface.TO_PLAY)
def to_play(state):
    return parity(state[0] | state[1])


@interface.rule(interface.PLIES_LEFT)
def plies_left(state):
    return CELLS - popcount(state[0] | state[1])


@interface.rule(interface.WRITE_PLANES)
def planes(state, out):
    for side in range(2):
        stones = state[side]
        for row in range(3):
            for column in range(3):
                out[side, row, column] = np.float32(stones & ONE)
                stones >>= ONE


@interface.rule(interface.EVALUATION_KEY)
def evaluation_key(state, key):
    key[0] = state[0]
    key[1] = state[1]


marks = marks_of_words(3, 3, to_play=lambda state: int(parity(state[0] | state[1])))


def format_state(state: np.ndarray) -> str:
    """Return the board with X for the first player and O for the second, beside it the cells' numbers."""
    rows = [" ".join(".XO"[mark] for mark in row) for row in marks(state)]
    return "\n".join(f" {row}    {3 * at} {3 * at + 1} {3 * at + 2}" for at, row in enumerate(rows))


def set_up(marks: np.ndarray, to_play: int) -> np.ndarray:
    """Return the state of a position, see `Game.set_up`."""
    check_turns(marks, to_play)
    own, other = words_of_marks(marks, FIRST + to_play), words_of_marks(marks, SECOND - to_play)
    if has_line(own[0]):
        raise ValueError("the game was over before the last move")
    return np.array([own[0], other[0]], np.uint64)


def make_game() -> Game:
    """Return tic-tac-toe; it has no options."""
    symmetries = square_symmetries(3)
    return Game(
        name="tictactoe",
        num_actions=CELLS,
        planes_shape=(2, 3, 3),
        state_words=2,
        key_words=2,
        max_plies=CELLS,
        rules=Rules(
            *(initial, step, legal_mask, is_terminal, outcome, to_play, planes, evaluation_key),
            plies_left=plies_left,
        ),
        action_symmetries=symmetries,
        cell_symmetries=symmetries,
        format_state=format_state,
        action_name=str,
        set_up=set_up,
        board=Board(
            *("squares", numbers(3), numbers(3), marks, lambda _state, action: action),
            players=("X", "O"),
            stones="drawn",
            winning_cells=InLine(marks, 3),
        ),
    )
