"""Othello on 4 x 4, 6 x 6 or 8 x 8: enclosed lines of the opponent's discs are turned over; most discs win.

8 x 8, bit = cell:                    a move is written column and row, c4; action H * W is the pass

    a  b  c  d  e  f  g  h
 1  0  1  2  3  4  5  6  7            state words: [0] discs of the player to move
 2  8  9 10 11 12 13 14 15                         [1] discs of the opponent
 3 16 17 18 19 20 21 22 23                         [2] moves of the player to move, 0 = it must pass
 4 24 25 26  W  B 29 30 31                         [3] bit 0: who is to play, bit 1: the game is over
 5 32 33 34  B  W 37 38 39
 6 40 41 42 43 44 45 46 47            The first player has black. A pass is legal only when it is forced, and
 7 48 49 50 51 52 53 54 55            the game ends at once when neither side can move.
 8 56 57 58 59 60 61 62 63
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numba import njit

from azero.config.schema import setting
from azero.games import game as interface
from azero.games.game import Game, Rules
from azero.games.kit.bits import list_bits, popcount
from azero.games.kit.board import (
    FIRST,
    NO_CELL,
    SECOND,
    Board,
    letters,
    marks_of_words,
    numbers,
    square_symmetries,
    with_pass,
    words_of_marks,
)
from azero.games.kit.ends import Count
from azero.games.kit.options import GameOptions

ONE = np.uint64(1)
OVER = np.uint64(2)
NONE = np.uint64(0)


@njit(cache=True)
def lines(discs, through, distance, size):
    """Return the discs of `through` in unbroken lines from `discs`: (towards higher, towards lower bits).

    Each round doubles the reach (the parallel prefix of Kogge and Stone), so three rounds reach seven discs.
    """
    up, down = discs, discs
    up_through, down_through = through, through
    for _ in range(2 if size == 4 else 3):
        up |= up_through & (up << distance)
        down |= down_through & (down >> distance)
        up_through &= up_through << distance
        down_through &= down_through >> distance
        distance += distance
    return up & through, down & through


@njit(cache=True)
def find_moves(own, other, board, inner, size):
    """Return the empty cells on which a disc of `own` encloses discs of `other`.

    inner: the cells outside the first and the last column; only these continue a line along a row or
    diagonal.
    """
    moves = NONE
    for step in (1, size - 1, size, size + 1):
        distance = np.uint64(step)
        up, down = lines(own, other if step == size else other & inner, distance, size)
        moves |= (up << distance) | (down >> distance)
    return moves & board & ~(own | other)


@njit(cache=True)
def find_flips(move, own, other, inner, size):
    """Return the discs of `other` that a disc on the cell `move` (one bit) turns over."""
    flips = NONE
    for step in (1, size - 1, size, size + 1):
        distance = np.uint64(step)
        up, down = lines(move, other if step == size else other & inner, distance, size)
        flips |= up if (up << distance) & own else NONE
        flips |= down if (down >> distance) & own else NONE
    return flips


def make_rules(size: int) -> Rules:
    """Return the rules for one size of board."""
    cells = size * size
    board = (1 << cells) - 1
    inner = sum(1 << cell for cell in range(cells) if 0 < cell % size < size - 1)
    half = size // 2
    black = 1 << ((half - 1) * size + half) | 1 << (half * size + half - 1)
    white = 1 << ((half - 1) * (size + 1)) | 1 << (half * (size + 1))

    @interface.rule(interface.INITIAL)
    def initial(state):
        state[0] = np.uint64(black)
        state[1] = np.uint64(white)
        state[2] = find_moves(state[0], state[1], np.uint64(board), np.uint64(inner), size)
        state[3] = 0

    @interface.rule(interface.STEP)
    def step(state, action, successor):
        own, other = state[0], state[1]
        if action < cells:
            move = ONE << np.uint64(action)
            flips = np.uint64(find_flips(move, own, other, np.uint64(inner), size))
            own |= move | flips
            other &= ~flips
        moves = np.uint64(find_moves(other, own, np.uint64(board), np.uint64(inner), size))
        over = NONE
        if moves == 0 and find_moves(own, other, np.uint64(board), np.uint64(inner), size) == 0:
            over = OVER
        successor[0] = other
        successor[1] = own
        successor[2] = moves
        successor[3] = ((state[3] & ONE) ^ ONE) | over

    @interface.rule(interface.LEGAL_ACTIONS)
    def legal_actions(state, actions):
        actions[0] = cells  # a pass, overwritten if there is another move
        return max(1, list_bits(state[2], 0, actions, 0))

    @interface.rule(interface.IS_TERMINAL)
    def is_terminal(state):
        return state[3] & OVER != 0

    @interface.rule(interface.OUTCOME)
    def outcome(state):
        own, other = popcount(state[0]), popcount(state[1])
        return 1.0 if own > other else -1.0 if own < other else 0.0

    @interface.rule(interface.TO_PLAY)
    def to_play(state):
        return np.int64(state[3] & ONE)

    @interface.rule(interface.WRITE_PLANES)
    def planes(state, out):
        for side in range(2):
            for row in range(size):
                for column in range(size):
                    out[side, row, column] = (state[side] >> np.uint64(row * size + column)) & ONE

    @interface.rule(interface.EVALUATION_KEY)
    def evaluation_key(state, key):
        key[0] = state[0]
        key[1] = state[1]

    @interface.rule(interface.PLIES_LEFT)
    def plies_left(state):
        # a pass may come before each disc, but never two in a row
        empty = cells - popcount(state[0] | state[1])
        return 2 * empty - (1 if state[2] else 0)

    return Rules(
        *(initial, step, interface.no_legal_mask, is_terminal, outcome, to_play, planes, evaluation_key),
        plies_left=plies_left,
        legal_actions=legal_actions,
    )


def make_set_up(size: int) -> Callable[[np.ndarray, int], np.ndarray]:
    """Return `Game.set_up`."""
    board = np.uint64((1 << size * size) - 1)
    inner = np.uint64(sum(1 << cell for cell in range(size * size) if 0 < cell % size < size - 1))

    def set_up(marks: np.ndarray, to_play: int) -> np.ndarray:
        own, other = words_of_marks(marks, FIRST + to_play)[0], words_of_marks(marks, SECOND - to_play)[0]
        moves = [np.uint64(find_moves(*sides, board, inner, size)) for sides in ((own, other), (other, own))]
        over = OVER if moves[0] == moves[1] == 0 else NONE
        return np.array([own, other, moves[0], np.uint64(to_play) | over], np.uint64)

    return set_up


@dataclass(frozen=True)
class Options(GameOptions):
    """Options of Othello."""

    size: int = setting(8, "Rows and columns.", choices=(4, 6, 8))


def make_game(options: Options = Options()) -> Game:
    """Return Othello."""
    size = options.size
    cells, half = size * size, size // 2
    marks = marks_of_words(size, size, to_play=lambda state: int(state[3]) & 1)
    board = Board(
        "squares",
        letters(size),
        numbers(size),
        marks,
        cell_of=lambda _state, action: action if action < cells else NO_CELL,
        players=("Black", "White"),
        stones="classic",
        score_text=Count(marks),
    )
    # The four symmetries that keep the first position
    black = {(half - 1) * size + half, half * size + half - 1}
    kept = [row for row in square_symmetries(size) if {int(row[cell]) for cell in black} == black]
    symmetries = np.array(kept)
    return Game(
        name="othello",
        num_actions=cells + 1,
        planes_shape=(2, size, size),
        state_words=4,
        key_words=2,
        max_plies=2 * (cells - 4),
        rules=make_rules(size),
        action_symmetries=with_pass(symmetries),
        cell_symmetries=symmetries,
        format_state=board.text,
        action_name=lambda action: board.cell_name(action) if action < cells else "pass",
        set_up=make_set_up(size),
        options=options.values(),
        board=board,
    )
