"""Gomoku and other m,n,k-games: `connect` or more stones in a row win, on rows x columns crossings.

bit = cell = row * columns + column, from the top left; 64 cells to a word, W words to a side.

    3  0  1  2         state words: [0, W)   stones of the player to move
    2  3  4  5                      [W, 2 W) stones of the opponent
    1  6  7  8                      [2 W]    plies played, plus LINE if the opponent has a line
       a  b  c         a move is written column and row, a1 at the bottom left
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numba import njit

from azero.config.reading import whole_number
from azero.config.schema import setting
from azero.games import game as interface
from azero.games.game import Game, Rules
from azero.games.kit.bits import WORD_BITS, words_needed
from azero.games.kit.board import (
    EMPTY,
    FIRST,
    SECOND,
    Board,
    check_turns,
    letters,
    marks_of_words,
    numbers,
    rectangle_symmetries,
    words_of_marks,
)
from azero.games.kit.ends import InLine
from azero.games.kit.options import GameOptions

ONE = np.uint64(1)
LINE = np.uint64(1 << 16)


@njit(cache=True)
def has_stone(words, first_word, cell):
    """Return whether the side whose stones begin at word `first_word` has one on a cell."""
    return (words[first_word + cell // WORD_BITS] >> np.uint64(cell % WORD_BITS)) & ONE != 0


@njit(cache=True)
def run_length(words, first_word, cell, down, right, rows, columns):
    """Return the number of stones that follow a cell without a gap in one direction."""
    row, column = cell // columns + down, cell % columns + right
    length = 0
    while 0 <= row < rows and 0 <= column < columns and has_stone(words, first_word, row * columns + column):
        length += 1
        row += down
        column += right
    return length


@njit(cache=True)
def makes_line(words, first_word, cell, rows, columns, connect):
    """Return whether the stone on a cell is in a line of at least `connect`."""
    for down, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
        before = run_length(words, first_word, cell, -down, -right, rows, columns)
        after = run_length(words, first_word, cell, down, right, rows, columns)
        if before + 1 + after >= connect:
            return True
    return False


def make_rules(rows: int, columns: int, connect: int) -> Rules:
    """Return the rules for one size of board."""
    cells = rows * columns
    side_words = words_needed(cells)
    status = 2 * side_words

    @interface.rule(interface.INITIAL)
    def initial(state):
        for word in range(status + 1):
            state[word] = 0

    @interface.rule(interface.STEP)
    def step(state, action, successor):
        for word in range(side_words):
            successor[word] = state[side_words + word]
            successor[side_words + word] = state[word]
        successor[side_words + action // WORD_BITS] |= ONE << np.uint64(action % WORD_BITS)
        line = LINE if makes_line(successor, side_words, action, rows, columns, connect) else np.uint64(0)
        successor[status] = (state[status] + ONE) | line

    @interface.rule(interface.LEGAL_MASK)
    def legal_mask(state, mask):
        for word in range(side_words):
            free = ~(state[word] | state[side_words + word])
            first_cell = word * WORD_BITS
            for bit in range(min(WORD_BITS, cells - first_cell)):
                mask[first_cell + bit] = (free >> np.uint64(bit)) & ONE != 0

    @interface.rule(interface.IS_TERMINAL)
    def is_terminal(state):
        return state[status] >= np.uint64(cells)  # LINE is larger than any number of cells

    @interface.rule(interface.OUTCOME)
    def outcome(state):
        return -1.0 if state[status] & LINE else 0.0  # only the last mover can have a line

    @interface.rule(interface.TO_PLAY)
    def to_play(state):
        return np.int64(state[status] & ONE)

    @interface.rule(interface.WRITE_PLANES)
    def planes(state, out):
        for side in range(2):
            for row in range(rows):
                for column in range(columns):
                    out[side, row, column] = has_stone(state, side * side_words, row * columns + column)

    @interface.rule(interface.EVALUATION_KEY)
    def evaluation_key(state, key):
        for word in range(status):
            key[word] = state[word]

    @interface.rule(interface.PLIES_LEFT)
    def plies_left(state):
        return cells - np.int64(state[status] & (LINE - ONE))

    return Rules(
        *(initial, step, legal_mask, is_terminal, outcome, to_play, planes, evaluation_key),
        plies_left=plies_left,
    )


def make_set_up(rows: int, columns: int, connect: int) -> Callable[[np.ndarray, int], np.ndarray]:
    """Return `Game.set_up`."""

    def set_up(marks: np.ndarray, to_play: int) -> np.ndarray:
        check_turns(marks, to_play)
        own, other = words_of_marks(marks, FIRST + to_play), words_of_marks(marks, SECOND - to_play)
        state = np.concatenate([own, other, [np.uint64((marks != EMPTY).sum())]])
        lines = [
            any(makes_line(side, 0, cell, rows, columns, connect) for cell in np.flatnonzero(marks == mark))
            for side, mark in ((own, FIRST + to_play), (other, SECOND - to_play))
        ]
        if lines[0]:
            raise ValueError("the game was over before the last move")
        if lines[1]:
            state[-1] |= LINE
        return state

    return set_up


@dataclass(frozen=True)
class Options(GameOptions):
    """Options of Gomoku and other m,n,k-games."""

    rows: int = setting(15, "Height of the board.", between=(1, 25))
    columns: int = setting(15, "Width of the board.", between=(1, 25))
    connect: int = setting(
        5, "Stones in a row that win, at most the longer side of the board.", between=(2, 25)
    )


def make_game(options: Options = Options()) -> Game:
    """Return Gomoku or another m,n,k-game; UserError: `connect` is longer than the board."""
    rows, columns, connect = options.rows, options.columns, options.connect
    whole_number(f"{options.prefix}connect", connect, 2, max(2, rows, columns))
    marks = marks_of_words(rows, columns, to_play=lambda state: int(state[-1]) & 1)
    board = Board(
        *("crossings", letters(columns), numbers(rows)[::-1], marks, lambda _state, action: action),
        players=("Black", "White"),
        winning_cells=InLine(marks, connect),
    )
    symmetries = rectangle_symmetries(rows, columns)
    side_words = words_needed(rows * columns)
    return Game(
        name="gomoku",
        num_actions=rows * columns,
        planes_shape=(2, rows, columns),
        state_words=2 * side_words + 1,
        key_words=2 * side_words,
        max_plies=rows * columns,
        rules=make_rules(rows, columns, connect),
        action_symmetries=symmetries,
        cell_symmetries=symmetries,
        format_state=board.text,
        action_name=board.cell_name,
        set_up=make_set_up(rows, columns, connect),
        options=options.values(),
        board=board,
    )
