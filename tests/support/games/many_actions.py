"""Breakthrough on 9 rows x 8 columns, for tests: 5,184 actions, pairs of cells, of which thirty are legal.

It writes its legal moves as a list only. Both sides have two rows of pieces. A piece moves one row on:
straight onto an empty cell, or slanting onto one without an own piece. Who reaches the last row has won.

Action = cell it leaves * CELLS + cell it enters. State words: [0], [1] pieces of the first player (below,
moves up), [2], [3] of the second, [4] `to_play`; a word has 36 cells.
"""

import numpy as np
from numba import njit

from azero.games import game as interface
from azero.games.kit.bits import clear_bit, has_bit, set_bit
from azero.games.kit.board import Board, letters, numbers

ROWS, COLUMNS = 9, 8
CELLS = ROWS * COLUMNS
HALF = CELLS // 2  # cells of a word
TWO_ROWS = (1 << 2 * COLUMNS) - 1
LAST_ROWS = (0, ROWS - 1)  # of either player


@njit(cache=True)
def has_piece(state, side, cell):
    return has_bit(state[2 * side + cell // HALF], cell % HALF)


@interface.rule(interface.INITIAL)
def initial(state):
    state[0] = state[3] = state[4] = 0
    state[1] = np.uint64(TWO_ROWS << (HALF - 2 * COLUMNS))
    state[2] = np.uint64(TWO_ROWS)


@interface.rule(interface.STEP)
def step(state, action, successor):
    for word in range(4):
        successor[word] = state[word]
    mover, start, goal = np.int64(state[4]), action // CELLS, action % CELLS
    left, entered = 2 * mover + start // HALF, 2 * mover + goal // HALF
    taken = 2 * (1 - mover) + goal // HALF
    successor[left] = clear_bit(successor[left], start % HALF)
    successor[entered] = set_bit(successor[entered], goal % HALF)
    successor[taken] = clear_bit(successor[taken], goal % HALF)
    successor[4] = 1 - mover


@interface.rule(interface.LEGAL_ACTIONS)
def legal_actions(state, actions):
    mover, count = np.int64(state[4]), 0
    for start in range(CELLS):
        row = start // COLUMNS + (1 if mover == 1 else -1)
        if not has_piece(state, mover, start) or row < 0 or row >= ROWS:
            continue
        for column in range(max(0, start % COLUMNS - 1), min(COLUMNS, start % COLUMNS + 2)):
            goal = row * COLUMNS + column
            straight = column == start % COLUMNS
            if not has_piece(state, mover, goal) and not (straight and has_piece(state, 1 - mover, goal)):
                actions[count] = start * CELLS + goal
                count += 1
    return count


@interface.rule(interface.IS_TERMINAL)
def is_terminal(state):
    mover = np.int64(state[4])
    if state[2 * mover] == 0 and state[2 * mover + 1] == 0:
        return True
    for column in range(COLUMNS):
        if has_piece(state, 1 - mover, LAST_ROWS[1 - mover] * COLUMNS + column):
            return True
    return False


@interface.rule(interface.OUTCOME)
def outcome(state):
    return -1.0


@interface.rule(interface.TO_PLAY)
def to_play(state):
    return np.int64(state[4])


@interface.rule(interface.WRITE_PLANES)
def planes(state, out):
    mover = np.int64(state[4])
    for cell in range(CELLS):
        row, column = cell // COLUMNS, cell % COLUMNS
        out[0, row, column] = np.float32(has_piece(state, mover, cell))
        out[1, row, column] = np.float32(has_piece(state, 1 - mover, cell))
        out[2, row, column] = np.float32(mover)


@interface.rule(interface.EVALUATION_KEY)
def evaluation_key(state, key):
    for word in range(5):
        key[word] = state[word]


def marks(state):
    cells = [has_piece(state, 0, cell) + 2 * has_piece(state, 1, cell) for cell in range(CELLS)]
    return np.array(cells, np.int8).reshape(ROWS, COLUMNS)


def mirrored(cells):
    """The mirror image of cells, left and right exchanged."""
    return cells // COLUMNS * COLUMNS + COLUMNS - 1 - cells % COLUMNS


def make_game():
    board = Board(
        "squares", letters(COLUMNS), numbers(ROWS)[::-1], marks, lambda _state, action: action % CELLS
    )
    rules = interface.Rules(
        *(initial, step, interface.no_legal_mask, is_terminal, outcome, to_play, planes, evaluation_key),
        legal_actions=legal_actions,
    )
    actions, cells = np.arange(CELLS * CELLS), np.arange(CELLS)
    turned = mirrored(actions // CELLS) * CELLS + mirrored(actions % CELLS)
    return interface.Game(
        name="many_actions",
        num_actions=CELLS * CELLS,
        planes_shape=(3, ROWS, COLUMNS),
        state_words=5,
        key_words=5,
        max_plies=4 * COLUMNS * (ROWS - 2),
        rules=rules,
        action_symmetries=np.stack([actions, turned]),
        cell_symmetries=np.stack([cells, mirrored(cells)]),
        format_state=board.text,
        action_name=lambda action: board.cell_name(action // CELLS) + board.cell_name(action % CELLS),
        board=board,
    )
