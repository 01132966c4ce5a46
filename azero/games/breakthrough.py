"""Breakthrough: pawns go straight or slanting ahead and take slanting; the first on the last row has won.

Each side begins with two full rows. Cells are numbered from the view of the player to move, who moves up:
the rows are turned over after every ply. 8 x 8, bit = cell = row * columns + column:

      0  1  2  3  4  5  6  7  goal      state words: [0] pawns of the player to move
      8  9 10 11 12 13 14 15                         [1] pawns of the opponent
           . . . . . .                               [2] bit 0: who is to play, bit 1: the game is over
     48 49 50 51 52 53 54 55  own
     56 57 58 59 60 61 62 63  own       action = cell that the pawn leaves * 3 + LEFT, AHEAD or RIGHT

The first player begins at the bottom of the board. A pawn goes ahead only to an empty cell, and slanting to
any cell without an own pawn. A side without pawns has lost. There is always a legal move: the foremost pawn
of a side has no own pawn ahead of it, so with two columns or more it can go slanting.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numba import njit

from azero.config.schema import UserError, setting
from azero.games import game as interface
from azero.games.game import Game, Rules
from azero.games.kit.bits import WORD_BITS, cells_of, has_bit, lowest_bit, popcount, words_of
from azero.games.kit.board import FIRST, NO_CELL, SECOND, Board, letters, numbers
from azero.games.kit.ends import Goal
from azero.games.kit.options import GameOptions

LEFT, AHEAD, RIGHT = range(3)
MOVES = 3  # of a pawn
DIRECTIONS = ("left", "ahead", "right")
ONE = np.uint64(1)
OVER = np.uint64(2)
NONE = np.uint64(0)


@njit(cache=True)
def turned(pawns, rows, columns):
    """Return a set of cells with its rows in the opposite order."""
    row, found = (ONE << np.uint64(columns)) - ONE, NONE
    for _ in range(rows):
        found = (found << np.uint64(columns)) | (pawns & row)
        pawns >>= np.uint64(columns)
    return found


@njit(cache=True)
def find_movers(own, other, not_left, not_right, columns):
    """Return the pawns of `own` that can go left, ahead and right, three sets of cells.

    not_left, not_right: the cells outside the first and the last column.
    """
    width, free = np.uint64(columns), ~own
    left = ((own & not_left) >> (width + ONE)) & free
    ahead = (own >> width) & free & ~other
    right = ((own & not_right) >> (width - ONE)) & free
    return left << (width + ONE), ahead << width, right << (width - ONE)


@njit(cache=True)
def plies_of(pawns, rows, columns):
    """Return how many plies a side's pawns, seen by their own side, can make without reaching the goal.

    A pawn on the goal counts -1.
    """
    row, plies = (ONE << np.uint64(columns)) - ONE, 0
    for distance in range(rows):
        plies += (distance - 1) * popcount(pawns & row)
        pawns >>= np.uint64(columns)
    return plies


def make_rules(rows: int, columns: int) -> Rules:
    """Return the rules for one size of board."""
    cells = rows * columns
    start = sum(1 << cell for cell in range(cells - 2 * columns, cells))
    goal = (1 << columns) - 1
    not_left = sum(1 << cell for cell in range(cells) if cell % columns > 0)
    not_right = sum(1 << cell for cell in range(cells) if cell % columns < columns - 1)

    @interface.rule(interface.INITIAL)
    def initial(state):
        state[0] = np.uint64(start)
        state[1] = np.uint64(turned(np.uint64(start), rows, columns))
        state[2] = 0

    @interface.rule(interface.STEP)
    def step(state, action, successor):
        cell, direction = action // MOVES, action % MOVES
        entered = ONE << np.uint64(cell - columns - 1 + direction)
        own = (state[0] & ~(ONE << np.uint64(cell))) | entered
        other = state[1] & ~entered
        over = OVER if other == 0 or entered & np.uint64(goal) != 0 else NONE
        successor[0] = np.uint64(turned(other, rows, columns))
        successor[1] = np.uint64(turned(own, rows, columns))
        successor[2] = ((state[2] & ONE) ^ ONE) | over

    @interface.rule(interface.LEGAL_ACTIONS)
    def legal_actions(state, actions):
        sides = np.uint64(not_left), np.uint64(not_right)
        left, ahead, right = find_movers(state[0], state[1], sides[0], sides[1], columns)
        pawns, count = np.uint64(left | ahead | right), 0
        # Without branches, an illegal move is overwritten by the next one: the last pawn has a legal one
        while pawns & (pawns - ONE):
            cell = lowest_bit(pawns)
            pawns &= pawns - ONE
            actions[count] = cell * MOVES + LEFT
            count += has_bit(left, cell)
            actions[count] = cell * MOVES + AHEAD
            count += has_bit(ahead, cell)
            actions[count] = cell * MOVES + RIGHT
            count += has_bit(right, cell)
        last = lowest_bit(pawns)
        for direction, movers in ((LEFT, left), (AHEAD, ahead), (RIGHT, right)):
            if has_bit(movers, last):
                actions[count] = last * MOVES + direction
                count += 1
        return count

    @interface.rule(interface.IS_TERMINAL)
    def is_terminal(state):
        return state[2] & OVER != 0

    @interface.rule(interface.OUTCOME)
    def outcome(state):
        return -1.0  # the last mover has reached the goal or taken the last pawn

    @interface.rule(interface.TO_PLAY)
    def to_play(state):
        return np.int64(state[2] & ONE)

    @interface.rule(interface.WRITE_PLANES)
    def planes(state, out):
        for side in range(2):
            for row in range(rows):
                for column in range(columns):
                    out[side, row, column] = (state[side] >> np.uint64(row * columns + column)) & ONE

    @interface.rule(interface.EVALUATION_KEY)
    def evaluation_key(state, key):
        key[0] = state[0]
        key[1] = state[1]

    @interface.rule(interface.PLIES_LEFT)
    def plies_left(state):
        # every ply takes a pawn one row on, and the one that reaches the goal is the last
        other = np.uint64(turned(state[1], rows, columns))
        return 1 + plies_of(state[0], rows, columns) + plies_of(other, rows, columns)

    return Rules(
        *(initial, step, interface.no_legal_mask, is_terminal, outcome, to_play, planes, evaluation_key),
        plies_left=plies_left,
        legal_actions=legal_actions,
    )


def start_of(state: np.ndarray, action: int, rows: int, columns: int) -> int:
    """Return the cell that an action's pawn leaves, numbered as the board is drawn."""
    row, column = divmod(action // MOVES, columns)
    return (rows - 1 - row if int(state[2]) & 1 else row) * columns + column


def goal_of(state: np.ndarray, action: int, rows: int, columns: int) -> int:
    """Return the cell that an action's pawn enters, as the board is drawn; NO_CELL beyond its edge."""
    row, column = divmod(action // MOVES, columns)
    row, column = row - 1, column - 1 + action % MOVES
    if row < 0 or not 0 <= column < columns:
        return NO_CELL
    return (rows - 1 - row if int(state[2]) & 1 else row) * columns + column


def set_up(marks: np.ndarray, mover: int) -> np.ndarray:
    """Return the state of marks [H, W] with player `mover` (0 or 1) to play.

    Raises:
        ValueError: no game has this position; the message says why.
    """
    columns = marks.shape[1]
    seen = marks if mover == 0 else marks[::-1]
    sides = [np.flatnonzero(seen == mark) for mark in ((FIRST, SECOND), (SECOND, FIRST))[mover]]
    if max(map(len, sides)) > 2 * columns:
        raise ValueError(f"each side has at most {2 * columns} pawns")
    own, other = (words_of(side.tolist(), 1)[0] for side in sides)
    goals = (1 << columns) - 1, ((1 << columns) - 1) << marks.size - columns  # as the mover sees them
    if not other or own & goals[0]:
        raise ValueError("the game was over before the last move")
    over = OVER if not own or other & goals[1] else NONE
    return np.array([own, other, np.uint64(mover) | over], np.uint64)


def make_board(rows: int, columns: int) -> Board:
    """Return how to draw the game."""

    def marks(state: np.ndarray) -> np.ndarray:
        own, other = (cells_of(state[side : side + 1], rows * columns) for side in (0, 1))
        mover = int(state[2]) & 1
        first, second = (other, own) if mover else (own, other)
        shown = (FIRST * first + SECOND * second).reshape(rows, columns)
        return shown[::-1] if mover else shown

    return Board(
        "squares",
        letters(columns),
        tuple(reversed(numbers(rows))),
        marks,
        cell_of=lambda state, action: goal_of(state, action, rows, columns),
        symbols=(".", "P", "p"),
        from_of=lambda state, action: start_of(state, action, rows, columns),
        figures=("pawn",),
        players=("White", "Black"),
        winning_cells=Goal(marks),
    )


def make_namer(board: Board) -> Callable[[np.ndarray, int], str]:
    """Return the function that names the actions of a state: where a pawn stands, and where it goes, a2a3.

    A move beyond the edge, which is never legal, is named by its direction, a2-left.
    """
    rows, columns = len(board.rows), len(board.columns)

    def action_name(state: np.ndarray, action: int) -> str:
        start, goal = (of(state, action, rows, columns) for of in (start_of, goal_of))
        entered = f"-{DIRECTIONS[action % MOVES]}" if goal == NO_CELL else board.cell_name(goal)
        return board.cell_name(start) + entered

    return action_name


@dataclass(frozen=True)
class Options(GameOptions):
    """Options of Breakthrough."""

    rows: int = setting(8, "Height of the board. rows * columns is at most 64.", between=(4, 32))
    columns: int = setting(8, "Width of the board.", between=(2, 16))


def make_game(options: Options = Options()) -> Game:
    """Return Breakthrough; UserError: options that do not go together."""
    rows, columns = options.rows, options.columns
    if rows * columns > WORD_BITS:
        raise UserError(
            f"{options.typed('rows')} and {options.typed('columns')} are too many; "
            f"rows * columns must be at most {WORD_BITS}."
        )
    board = make_board(rows, columns)
    cells = np.arange(rows * columns).reshape(rows, columns)
    mirrored = cells[:, ::-1].ravel()
    actions = np.arange(MOVES * rows * columns)
    return Game(
        name="breakthrough",
        num_actions=len(actions),
        planes_shape=(2, rows, columns),
        state_words=3,
        key_words=2,
        max_plies=2 * columns * (2 * rows - 5) + 1,
        rules=make_rules(rows, columns),
        action_symmetries=np.stack([actions, mirrored[actions // MOVES] * MOVES + RIGHT - actions % MOVES]),
        cell_symmetries=np.stack([cells.ravel(), mirrored]),
        format_state=board.text,
        action_name=make_namer(board),
        options=options.values(),
        board=board,
        set_up=set_up,
    )
