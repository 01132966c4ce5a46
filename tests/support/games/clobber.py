"""Clobber on 3 x 4: a stone moves onto a neighbour of the other side and takes it. Who cannot move has lost.

A move is two actions of the same player, each the name of a cell: choose a stone, then choose where it goes.
State words: [0] stones of the player to move, [1] of the other, [2] `to_play`, [3] the chosen cell + 1, or 0.
"""

import numpy as np
from numba import njit

from azero.games import game as interface
from azero.games.kit.bits import clear_bit, has_bit, set_bit
from azero.games.kit.board import Board, letters, numbers, rectangle_symmetries

ROWS, COLUMNS = 3, 4
CELLS = ROWS * COLUMNS
START = np.uint64(0b0101_1010_0101)  # cells of the first player: as on a chessboard


@njit(cache=True)
def can_go(state, start, goal):
    """Return whether the stone on one cell may take the one on another."""
    down, right = abs(start // COLUMNS - goal // COLUMNS), abs(start % COLUMNS - goal % COLUMNS)
    return down + right == 1 and has_bit(state[0], start) and has_bit(state[1], goal)


@njit(cache=True)
def can_leave(state, start):
    """Return whether the stone on a cell may take any."""
    for goal in range(CELLS):  # noqa: SIM110  Numba compiles loops
        if can_go(state, start, goal):
            return True
    return False


@interface.rule(interface.INITIAL)
def initial(state):
    state[0] = START
    state[1] = ~START & np.uint64((1 << CELLS) - 1)
    state[2] = state[3] = 0


@interface.rule(interface.STEP)
def step(state, action, successor):
    if state[3] == 0:  # choose a stone: the same player goes on
        successor[0] = state[0]
        successor[1] = state[1]
        successor[2] = state[2]
        successor[3] = action + 1
    else:
        successor[0] = clear_bit(state[1], action)
        successor[1] = set_bit(clear_bit(state[0], int(state[3]) - 1), action)
        successor[2] = 1 - int(state[2])
        successor[3] = 0


@interface.rule(interface.LEGAL_MASK)
def legal_mask(state, mask):
    for cell in range(CELLS):
        if state[3] == 0:
            mask[cell] = can_leave(state, cell)
        else:
            mask[cell] = can_go(state, int(state[3]) - 1, cell)


@interface.rule(interface.IS_TERMINAL)
def is_terminal(state):
    for cell in range(CELLS):  # noqa: SIM110
        if can_leave(state, cell):
            return False
    return True


@interface.rule(interface.OUTCOME)
def outcome(state):
    return -1.0


@interface.rule(interface.TO_PLAY)
def to_play(state):
    return np.int64(state[2])


@interface.rule(interface.WRITE_PLANES)
def planes(state, out):
    for cell in range(CELLS):
        row, column = cell // COLUMNS, cell % COLUMNS
        out[0, row, column] = np.float32(has_bit(state[0], cell))
        out[1, row, column] = np.float32(has_bit(state[1], cell))
        out[2, row, column] = np.float32(int(state[3]) == cell + 1)


@interface.rule(interface.EVALUATION_KEY)
def evaluation_key(state, key):
    key[0] = state[0]
    key[1] = state[1]
    key[2] = state[3]


def marks(state):
    first, second = (state[0], state[1]) if state[2] == 0 else (state[1], state[0])
    cells = [1 if has_bit(first, cell) else 2 if has_bit(second, cell) else 0 for cell in range(CELLS)]
    return np.array(cells, np.int8).reshape(ROWS, COLUMNS)


def make_game():
    board = Board("squares", letters(COLUMNS), numbers(ROWS)[::-1], marks, lambda _state, action: action)
    rules = interface.Rules(initial, step, legal_mask, is_terminal, outcome, to_play, planes, evaluation_key)
    symmetries = rectangle_symmetries(ROWS, COLUMNS)[:1]  # the others exchange the sides at the start
    return interface.Game(
        name="clobber",
        num_actions=CELLS,
        planes_shape=(3, ROWS, COLUMNS),
        state_words=4,
        key_words=3,
        max_plies=2 * CELLS,
        rules=rules,
        action_symmetries=symmetries,
        cell_symmetries=symmetries,
        format_state=board.text,
        action_name=board.cell_name,
        board=board,
    )
