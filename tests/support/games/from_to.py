"""A race of three pieces a side on 3 x 3: an action is a pair of cells, straight or slanting one row on.

State words: [0] pieces of the first player (row 3, which moves up), [1] of the second (row 1), [2] `to_play`.
Pieces take slanting. Whoever reaches the last row, or cannot be answered, has won.
"""

import numpy as np

from azero.games import game as interface
from azero.games.kit.bits import clear_bit, has_bit, set_bit
from azero.games.kit.board import Board, letters, numbers

SIZE, CELLS = 3, 9
PAIRS = [
    (row * SIZE + column, (row + on) * SIZE + column + side)
    for on in (-1, 1)
    for row in range(SIZE)
    for column in range(SIZE)
    for side in (-1, 0, 1)
    if 0 <= row + on < SIZE and 0 <= column + side < SIZE
]
START, GOAL = (np.array(cells) for cells in zip(*PAIRS, strict=True))
ACTIONS = len(PAIRS)
LAST_ROWS = (np.uint64(0b000_000_111), np.uint64(0b111_000_000))  # of either player


@interface.rule(interface.INITIAL)
def initial(state):
    state[0] = LAST_ROWS[1]
    state[1] = LAST_ROWS[0]
    state[2] = 0


@interface.rule(interface.STEP)
def step(state, action, successor):
    mover = np.int64(state[2])
    successor[mover] = set_bit(clear_bit(state[mover], START[action]), GOAL[action])
    successor[1 - mover] = clear_bit(state[1 - mover], GOAL[action])
    successor[2] = 1 - mover


@interface.rule(interface.LEGAL_MASK)
def legal_mask(state, mask):
    mover = np.int64(state[2])
    for action in range(ACTIONS):
        start, goal = START[action], GOAL[action]
        own = has_bit(state[mover], start) and not has_bit(state[mover], goal)
        slanting = (goal - start) % SIZE != 0
        mask[action] = (
            own and (goal > start) == (mover == 1) and (slanting or not has_bit(state[1 - mover], goal))
        )


@interface.rule(interface.IS_TERMINAL)
def is_terminal(state):
    mover = np.int64(state[2])
    if state[1 - mover] & LAST_ROWS[1 - mover] != 0:
        return True
    for action in range(ACTIONS):
        start, goal = START[action], GOAL[action]
        own = has_bit(state[mover], start) and not has_bit(state[mover], goal)
        free = (goal - start) % SIZE != 0 or not has_bit(state[1 - mover], goal)
        if own and free and (goal > start) == (mover == 1):
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
    mover = np.int64(state[2])
    for cell in range(CELLS):
        out[0, cell // SIZE, cell % SIZE] = np.float32(has_bit(state[mover], cell))
        out[1, cell // SIZE, cell % SIZE] = np.float32(has_bit(state[1 - mover], cell))
        out[2, cell // SIZE, cell % SIZE] = np.float32(mover)


@interface.rule(interface.EVALUATION_KEY)
def evaluation_key(state, key):
    for word in range(3):
        key[word] = state[word]


def marks(state):
    cells = [has_bit(state[0], cell) + 2 * has_bit(state[1], cell) for cell in range(CELLS)]
    return np.array(cells, np.int8).reshape(SIZE, SIZE)


def make_game():
    board = Board(
        "squares",
        letters(SIZE),
        numbers(SIZE),
        marks,
        cell_of=lambda _state, action: int(GOAL[action]),
        symbols=(".", "P", "p"),
        from_of=lambda _state, action: int(START[action]),
        figures=("pawn",),
    )
    rules = interface.Rules(initial, step, legal_mask, is_terminal, outcome, to_play, planes, evaluation_key)
    return interface.Game(
        name="from_to",
        num_actions=ACTIONS,
        planes_shape=(3, SIZE, SIZE),
        state_words=3,
        key_words=3,
        max_plies=4 * SIZE,
        rules=rules,
        action_symmetries=np.arange(ACTIONS)[None],
        cell_symmetries=np.arange(CELLS)[None],
        format_state=board.text,
        action_name=lambda action: board.cell_name(int(START[action])) + board.cell_name(int(GOAL[action])),
        board=board,
    )
