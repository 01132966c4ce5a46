"""A game for tests in which players move twice in a row: three in a row on 3 x 3.

The first turn is one stone, every later turn two stones.

    0 1 2      action a = cell a = bit a of a word
    3 4 5
    6 7 8      state words: [0] stones of the first player, [1] stones of the second

Players by ply: 0 1 1 0 0 1 1 0 0. Who completes a line with the first stone of a turn is still to play, so
that outcome is +1.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from azero.games import game as interface
from azero.games.game import Game, Rules
from azero.games.kit.board import square_symmetries
from azero.games.tictactoe import CELLS, FULL, ONE, has_line


@njit
def count_stones(stones):
    count = 0
    while stones:
        stones &= stones - ONE
        count += 1
    return count


@njit
def mover(state):
    return ((count_stones(state[0] | state[1]) + 1) // 2) & 1


@interface.rule(interface.INITIAL)
def initial(state):
    state[0] = 0
    state[1] = 0


@interface.rule(interface.STEP)
def step(state, action, successor):
    side = mover(state)
    successor[1 - side] = state[1 - side]
    successor[side] = state[side] | (ONE << np.uint64(action))


@interface.rule(interface.LEGAL_MASK)
def legal_mask(state, mask):
    empty = FULL & ~(state[0] | state[1])
    for cell in range(CELLS):
        mask[cell] = (empty >> np.uint64(cell)) & ONE != 0


@interface.rule(interface.IS_TERMINAL)
def is_terminal(state):
    return (state[0] | state[1]) == FULL or has_line(state[0]) or has_line(state[1])


@interface.rule(interface.OUTCOME)
def outcome(state):
    side = mover(state)
    if has_line(state[side]):
        return 1.0
    return -1.0 if has_line(state[1 - side]) else 0.0


@interface.rule(interface.TO_PLAY)
def to_play(state):
    return mover(state)


@interface.rule(interface.PLIES_LEFT)
def plies_left(state):
    return CELLS - count_stones(state[0] | state[1])


@interface.rule(interface.WRITE_PLANES)
def planes(state, out):
    side = mover(state)
    for cell in range(CELLS):
        out[0, cell // 3, cell % 3] = np.float32((state[side] >> np.uint64(cell)) & ONE)
        out[1, cell // 3, cell % 3] = np.float32((state[1 - side] >> np.uint64(cell)) & ONE)


@interface.rule(interface.EVALUATION_KEY)
def evaluation_key(state, key):
    side = mover(state)
    key[0] = state[side]
    key[1] = state[1 - side]


def format_state(state: np.ndarray) -> str:
    """The board with X for the first player, O for the second."""
    marks = [
        "X" if int(state[0]) >> c & 1 else "O" if int(state[1]) >> c & 1 else str(c) for c in range(CELLS)
    ]
    return "\n".join(" ".join(marks[row : row + 3]) for row in (0, 3, 6))


def make_game() -> Game:
    """The game; it has no options."""
    symmetries = square_symmetries(3)
    return Game(
        name="double_move",
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
    )
