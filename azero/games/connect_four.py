"""Connect Four: stones fall down columns, and so many in a row win.

rows x columns = 6 x 7, bit = column * (rows + 1) + height:

    5 12 19 26 33 40 47      the bits above, 6 13 20 ..., stay empty, so that no line wraps into the next column
    4 11 18 25 32 39 46
    3 10 17 24 31 38 45      action a = drop a stone into column a
    2  9 16 23 30 37 44
    1  8 15 22 29 36 43      state words: [0] stones of the player to move, [1] stones of the other
    0  7 14 21 28 35 42
"""

from __future__ import annotations

import numpy as np
from numba import njit

from azero.config import UserError
from azero.games import game as interface
from azero.games.bits import WORD_BITS, popcount
from azero.games.board import NO_CELL, Board, numbers
from azero.games.game import Game, Rules
from azero.games.options import whole_number

ONE = np.uint64(1)


@njit(cache=True)
def has_line(stones, directions, connect):
    """Tell whether `connect` stones stand in a row; directions: distances in bits of neighbours along a line."""
    for direction in directions:
        line, length = stones, 1
        while length < connect:  # a bit that is left begins a line of `length`; two of those make one of up to twice as many
            more = min(length, connect - length)
            line &= line >> np.uint64(more * direction)
            length += more
        if line:
            return True
    return False


def make_rules(rows: int, columns: int, connect: int) -> Rules:
    """The rules for one size of board."""
    height = rows + 1
    # Up, along the row, and the diagonals, as far as so long a line fits into a word.
    directions = tuple(way for way in (1, height - 1, height, height + 1) if (connect - 1) * way < WORD_BITS)
    top_row = sum(1 << (column * height + rows - 1) for column in range(columns))

    @interface.rule(interface.INITIAL)
    def initial(state):
        state[0] = 0
        state[1] = 0

    @interface.rule(interface.STEP)
    def step(state, action, successor):
        stones = state[0] | state[1]
        above = stones + (ONE << np.uint64(action * height))  # carries over the column's stones to the first free cell
        successor[0] = state[1]
        successor[1] = state[0] | (above & ~stones)

    @interface.rule(interface.LEGAL_MASK)
    def legal_mask(state, mask):
        free = ~(state[0] | state[1]) & np.uint64(top_row)
        for column in range(columns):
            mask[column] = (free >> np.uint64(column * height + rows - 1)) & ONE != 0

    @interface.rule(interface.IS_TERMINAL)
    def is_terminal(state):
        return (state[0] | state[1]) & np.uint64(top_row) == np.uint64(top_row) or has_line(state[1], directions, connect)

    @interface.rule(interface.OUTCOME)
    def outcome(state):
        return -1.0 if has_line(state[1], directions, connect) else 0.0  # only the side that has just moved can own a line

    @interface.rule(interface.TO_PLAY)
    def to_play(state):
        return popcount(state[0] | state[1]) & 1

    @interface.rule(interface.WRITE_PLANES)
    def planes(state, out):
        for side in range(2):
            for row in range(rows):
                for column in range(columns):
                    out[side, row, column] = (state[side] >> np.uint64(column * height + rows - 1 - row)) & ONE

    @interface.rule(interface.EVALUATION_KEY)
    def evaluation_key(state, key):
        key[0] = state[0]
        key[1] = state[1]

    return Rules(initial, step, legal_mask, is_terminal, outcome, to_play, planes, evaluation_key)


def make_board(rows: int, columns: int) -> Board:
    """How the game is drawn."""

    def marks(state: np.ndarray) -> np.ndarray:
        mover, other = int(state[0]), int(state[1])
        first, second = (mover, other) if (mover | other).bit_count() % 2 == 0 else (other, mover)
        bits = [[column * (rows + 1) + rows - 1 - row for column in range(columns)] for row in range(rows)]
        return np.array([[(first >> bit & 1) + 2 * (second >> bit & 1) for bit in row] for row in bits], np.int8)

    def cell_of(state: np.ndarray, action: int) -> int:
        free = np.flatnonzero(marks(state)[:, action] == 0)
        return int(free[-1]) * columns + action if len(free) else NO_CELL

    return Board("squares", numbers(columns), tuple(reversed(numbers(rows))), marks, cell_of)


def make_game(rows: int = 6, columns: int = 7, connect: int = 4) -> Game:
    """Connect Four.

    Args:
        rows: height of the board, at least 1.
        columns: width of the board, at least 1; (rows + 1) * columns is at most 64.
        connect: stones in a row that win, from 2 to the longer side of the board.

    Raises:
        UserError: a value out of range.
    """
    whole_number("rows", rows, 1, 31)
    whole_number("columns", columns, 1, 32)
    if (rows + 1) * columns > WORD_BITS:
        raise UserError(
            f"game.options: {rows} rows x {columns} columns are too many; (rows + 1) * columns may be {WORD_BITS} at most."
        )
    whole_number("connect", connect, 2, max(2, rows, columns))
    cells = np.arange(rows * columns).reshape(rows, columns)
    actions = np.arange(columns)
    board = make_board(rows, columns)
    return Game(
        name="connect_four",
        num_actions=columns,
        planes_shape=(2, rows, columns),
        state_words=2,
        key_words=2,
        max_plies=rows * columns,
        rules=make_rules(rows, columns, connect),
        action_symmetries=np.stack([actions, actions[::-1]]),
        cell_symmetries=np.stack([cells.ravel(), cells[:, ::-1].ravel()]),
        format_state=board.text,
        action_name=lambda action: str(action + 1),
        options={"rows": rows, "columns": columns, "connect": connect},
        board=board,
    )
