"""Connect Four: stones fall down columns, and `connect` of them in a row win.

rows x columns = 6 x 7, bit = column * (rows + 1) + height:

     5 12 19 26 33 40 47     the bits above, 6 13 20 ..., stay empty, so no line wraps into the next column
     4 11 18 25 32 39 46
     3 10 17 24 31 38 45     action a = drop a stone into column a
     2  9 16 23 30 37 44
     1  8 15 22 29 36 43     state words: [0] stones of the player to move, [1] stones of the opponent
     0  7 14 21 28 35 42
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numba import njit

from azero.config.reading import whole_number
from azero.config.schema import UserError, setting
from azero.games import game as interface
from azero.games.game import Game, Rules
from azero.games.kit.bits import WORD_BITS, cells_of, popcount
from azero.games.kit.board import (
    EMPTY,
    FIRST,
    NO_CELL,
    SECOND,
    Board,
    check_turns,
    numbers,
    words_of_marks,
)
from azero.games.kit.ends import InLine
from azero.games.kit.options import GameOptions

ONE = np.uint64(1)


@njit(cache=True)
def has_line(stones, directions, connect):
    """Return whether `connect` stones are in a row.

    directions: distances in bits between neighbours on a line.
    """
    for direction in directions:
        line, length = stones, 1
        # Each set bit begins a line of `length`; two lines make one of up to twice that
        while length < connect:
            more = min(length, connect - length)
            line &= line >> np.uint64(more * direction)
            length += more
        if line:
            return True
    return False


def directions_of(rows: int, connect: int) -> tuple[int, ...]:
    """Return up, along the row, and both diagonals, if a line of that direction fits into a word."""
    height = rows + 1
    return tuple(way for way in (1, height - 1, height, height + 1) if (connect - 1) * way < WORD_BITS)


def make_rules(rows: int, columns: int, connect: int) -> Rules:
    """Return the rules for one size of board."""
    height, directions = rows + 1, directions_of(rows, connect)
    top_row = sum(1 << (column * height + rows - 1) for column in range(columns))

    @interface.rule(interface.INITIAL)
    def initial(state):
        state[0] = 0
        state[1] = 0

    @interface.rule(interface.STEP)
    def step(state, action, successor):
        stones = state[0] | state[1]
        # The addition carries over the column's stones to the first free cell
        above = stones + (ONE << np.uint64(action * height))
        successor[0] = state[1]
        successor[1] = state[0] | (above & ~stones)

    @interface.rule(interface.LEGAL_MASK)
    def legal_mask(state, mask):
        free = ~(state[0] | state[1]) & np.uint64(top_row)
        for column in range(columns):
            mask[column] = (free >> np.uint64(column * height + rows - 1)) & ONE != 0

    @interface.rule(interface.IS_TERMINAL)
    def is_terminal(state):
        full = (state[0] | state[1]) & np.uint64(top_row) == np.uint64(top_row)
        return full or has_line(state[1], directions, connect)

    @interface.rule(interface.OUTCOME)
    def outcome(state):
        return -1.0 if has_line(state[1], directions, connect) else 0.0  # only the last mover can have a line

    @interface.rule(interface.TO_PLAY)
    def to_play(state):
        return popcount(state[0] | state[1]) & 1

    @interface.rule(interface.WRITE_PLANES)
    def planes(state, out):
        for side in range(2):
            for row in range(rows):
                for column in range(columns):
                    bit = np.uint64(column * height + rows - 1 - row)
                    out[side, row, column] = (state[side] >> bit) & ONE

    @interface.rule(interface.EVALUATION_KEY)
    def evaluation_key(state, key):
        key[0] = state[0]
        key[1] = state[1]

    @interface.rule(interface.PLIES_LEFT)
    def plies_left(state):
        return rows * columns - popcount(state[0] | state[1])

    return Rules(
        *(initial, step, legal_mask, is_terminal, outcome, to_play, planes, evaluation_key),
        plies_left=plies_left,
    )


def make_board(rows: int, columns: int, connect: int) -> Board:
    """Return how to draw the game."""

    bits = np.arange(columns) * (rows + 1) + np.arange(rows)[::-1, None]  # [rows, columns]

    def marks(state: np.ndarray) -> np.ndarray:
        own, other = cells_of(state[:1], WORD_BITS)[bits], cells_of(state[1:], WORD_BITS)[bits]
        return own + 2 * other if (own + other).sum() % 2 == 0 else other + 2 * own

    def cell_of(state: np.ndarray, action: int) -> int:
        free = np.flatnonzero(marks(state)[:, action] == 0)
        return int(free[-1]) * columns + action if len(free) else NO_CELL

    labels = numbers(columns), tuple(reversed(numbers(rows)))
    return Board("squares", *labels, marks, cell_of, winning_cells=InLine(marks, connect))


def make_set_up(rows: int, connect: int) -> Callable[[np.ndarray, int], np.ndarray]:
    """Return `Game.set_up`."""
    directions = directions_of(rows, connect)

    def set_up(marks: np.ndarray, to_play: int) -> np.ndarray:
        check_turns(marks, to_play)
        if ((marks[:-1] != EMPTY) & (marks[1:] == EMPTY)).any():
            raise ValueError("a stone hangs in the air")
        above = np.pad(marks, ((1, 0), (0, 0)))  # the bit above each column
        upward = np.ascontiguousarray(above[::-1].T)
        own, other = words_of_marks(upward, FIRST + to_play)[0], words_of_marks(upward, SECOND - to_play)[0]
        if has_line(own, directions, connect):
            raise ValueError("the game was over before the last move")
        return np.array([own, other], np.uint64)

    return set_up


@dataclass(frozen=True)
class Options(GameOptions):
    """Options of Connect Four."""

    rows: int = setting(6, "Height of the board. (rows + 1) * columns is at most 64.", between=(1, 31))
    columns: int = setting(7, "Width of the board.", between=(1, 32))
    connect: int = setting(
        4, "Stones in a row that win, at most the longer side of the board.", between=(2, 32)
    )


def make_game(options: Options = Options()) -> Game:
    """Return Connect Four; UserError: options that do not go together."""
    rows, columns, connect = options.rows, options.columns, options.connect
    if (rows + 1) * columns > WORD_BITS:
        raise UserError(
            f"{options.typed('rows')} and {options.typed('columns')} are too many; "
            f"(rows + 1) * columns must be at most {WORD_BITS}."
        )
    whole_number(f"{options.prefix}connect", connect, 2, max(2, rows, columns))
    cells = np.arange(rows * columns).reshape(rows, columns)
    actions = np.arange(columns)
    board = make_board(rows, columns, connect)
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
        set_up=make_set_up(rows, connect),
        options=options.values(),
        board=board,
    )
