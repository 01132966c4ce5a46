"""Hex on n x n: the first player connects top and bottom, the second left and right; exactly one succeeds.

bit = cell = row * n + column, 64 cells to a word, W words to a set. Each row is half a cell right of the row
above, so the neighbours of (r, c) are (r-1, c) (r-1, c+1) (r, c-1) (r, c+1) (r+1, c-1) (r+1, c):

    1 0 1 2            state words: [0, W)     stones of the first player
     2 3 4 5                        [W, 2 W)   stones of the second player
      3 6 7 8                       [2 W, 3 W) the first player's stones connected to the top
        a b c                       [3 W, 4 W) the second player's stones connected to the left
                                    [4 W]      plies played, plus WON if the last move connected both sides

A move is written column and row, a1 at the top left. With `swap` the second player may answer the first move
by taking it over: the stone changes its owner and is mirrored, (r, c) to (c, r). That equals exchanging the
players' sides.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numba import njit

from azero.config.schema import setting
from azero.games import game as interface
from azero.games.game import Game, Rules
from azero.games.kit.bits import WORD_BITS, list_bits, lowest_bit, popcount, words_needed, words_of
from azero.games.kit.board import (
    EMPTY,
    FIRST,
    NO_CELL,
    SECOND,
    Board,
    check_turns,
    letters,
    marks_of_words,
    numbers,
)
from azero.games.kit.ends import Chain
from azero.games.kit.options import GameOptions

ONE = np.uint64(1)
WON = np.uint64(1 << 16)


@njit(cache=True)
def touches(words, first_word, cells):
    """Return whether the set that begins at word `first_word` of a state shares a cell with `cells` [W]."""
    for word in range(cells.shape[0]):
        if words[first_word + word] & cells[word]:
            return True
    return False


@njit(cache=True)
def add_cell(words, first_word, cell):
    """Add a cell to the set that begins at word `first_word`."""
    words[first_word + cell // WORD_BITS] |= ONE << np.uint64(cell % WORD_BITS)


@njit(cache=True)
def join(words, stones, joined, neighbours):
    """Extend the set at word `joined` to all stones, from word `stones` on, that are connected to it."""
    grown = True
    while grown:
        grown = False
        for word in range(neighbours.shape[1]):
            rest = words[stones + word] & ~words[joined + word]
            while rest:
                cell = word * WORD_BITS + lowest_bit(rest)
                rest &= rest - ONE
                if touches(words, joined, neighbours[cell]):
                    add_cell(words, joined, cell)
                    grown = True


@njit(cache=True)
def place_stone(words, side, cell, neighbours, edges):
    """Place a stone and return whether it connects the two edges of that side, `edges[side]` [2, W]."""
    width = neighbours.shape[1]
    stones, joined = side * width, (2 + side) * width
    add_cell(words, stones, cell)
    on_first_edge = (edges[side, 0, cell // WORD_BITS] >> np.uint64(cell % WORD_BITS)) & ONE != 0
    if not on_first_edge and not touches(words, joined, neighbours[cell]):
        return False
    add_cell(words, joined, cell)
    join(words, stones, joined, neighbours)
    return touches(words, joined, edges[side, 1])


def neighbour_table(size: int, width: int) -> np.ndarray:
    """Return the neighbours of each cell, [cells, W] uint64."""
    table = []
    for row in range(size):
        for column in range(size):
            near = [
                (row + down, column + right)
                for down, right in ((-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0))
            ]
            table.append(words_of([r * size + c for r, c in near if 0 <= r < size and 0 <= c < size], width))
    return np.array(table, np.uint64)


def edge_table(size: int, width: int) -> np.ndarray:
    """Return the edges, [2, 2, W] uint64: top, bottom for the first player, left, right for the second."""
    top, left = list(range(size)), list(range(0, size * size, size))
    bottom, right = [cell + size * (size - 1) for cell in top], [cell + size - 1 for cell in left]
    return np.array(
        [[words_of(edge, width) for edge in pair] for pair in ((top, bottom), (left, right))], np.uint64
    )


def make_rules(size: int, swap: bool) -> Rules:
    """Return the rules for one size of board."""
    cells = size * size
    width = words_needed(cells)
    status = 4 * width
    neighbours, edges = neighbour_table(size, width), edge_table(size, width)

    @interface.rule(interface.INITIAL)
    def initial(state):
        for word in range(status + 1):
            state[word] = 0

    @interface.rule(interface.STEP)
    def step(state, action, successor):
        side = np.int64(state[status] & ONE)
        for word in range(status):
            successor[word] = state[word]
        if action == cells:
            first = 0
            while not state[first]:
                first += 1
            stone = first * WORD_BITS + lowest_bit(state[first])
            for word in range(status):
                successor[word] = 0
            action = stone % size * size + stone // size
        won = place_stone(successor, side, action, neighbours, edges)
        successor[status] = (state[status] + ONE) | (WON if won else np.uint64(0))

    @interface.rule(interface.LEGAL_ACTIONS)
    def legal_actions(state, actions):
        count = 0
        for word in range(width):
            free = ~(state[word] | state[width + word])
            left = cells - word * WORD_BITS
            if left < WORD_BITS:
                free &= (ONE << np.uint64(left)) - ONE
            count = list_bits(free, word * WORD_BITS, actions, count)
        if swap and state[status] == ONE:
            actions[count] = cells
            count += 1
        return count

    @interface.rule(interface.IS_TERMINAL)
    def is_terminal(state):
        return state[status] >= WON

    @interface.rule(interface.OUTCOME)
    def outcome(state):
        return -1.0  # the last mover has connected its edges

    @interface.rule(interface.TO_PLAY)
    def to_play(state):
        return np.int64(state[status] & ONE)

    @interface.rule(interface.WRITE_PLANES)
    def planes(state, out):
        mover = np.int64(state[status] & ONE)
        for row in range(size):
            for column in range(size):
                cell = row * size + column
                word, bit = cell // WORD_BITS, np.uint64(cell % WORD_BITS)
                out[mover, row, column] = (state[word] >> bit) & ONE
                out[1 - mover, row, column] = (state[width + word] >> bit) & ONE
                out[2, row, column] = mover

    @interface.rule(interface.EVALUATION_KEY)
    def evaluation_key(state, key):
        for word in range(2 * width):
            key[word] = state[word]
        key[2 * width] = state[status] & ONE

    @interface.rule(interface.PLIES_LEFT)
    def plies_left(state):
        left = cells + (1 if swap and state[status] <= ONE else 0)
        for word in range(2 * width):
            left -= popcount(state[word])
        return left

    return Rules(
        *(initial, step, interface.no_legal_mask, is_terminal, outcome, to_play, planes, evaluation_key),
        plies_left=plies_left,
        legal_actions=legal_actions,
    )


def make_board(size: int) -> Board:
    """Return how to draw the game."""
    marks = marks_of_words(size, size)

    def cell_of(state: np.ndarray, action: int) -> int:
        if action < size * size:
            return action
        placed = np.flatnonzero(marks(state))
        return int(placed[0]) % size * size + int(placed[0]) // size if len(placed) else NO_CELL

    goals = ("connect top and bottom", "connect left and right")
    return Board(
        *("hexagons", letters(size), numbers(size), marks, cell_of),
        goals=goals,
        players=("Black", "White"),
        stones="classic",
        winning_cells=Chain(marks),
        words={"swap": "Swap: take Black's stone"},
    )


def make_set_up(size: int, swap: bool) -> Callable[[np.ndarray, int], np.ndarray]:
    """Return `Game.set_up`."""
    width = words_needed(size * size)
    neighbours, edges = neighbour_table(size, width), edge_table(size, width)

    def set_up(marks: np.ndarray, to_play: int) -> np.ndarray:
        swapped = swap and (marks == FIRST).sum() - (marks == SECOND).sum() == to_play - 1
        if not swapped:
            check_turns(marks, to_play)
        state, won = np.zeros(4 * width + 1, np.uint64), [False, False]
        for side in (0, 1):
            for cell in np.flatnonzero(marks == FIRST + side).tolist():
                won[side] |= bool(place_stone(state, side, cell, neighbours, edges))
        if won[to_play]:
            raise ValueError("the game was over before the last move")
        plies = int((marks != EMPTY).sum()) + swapped
        state[4 * width] = np.uint64(plies) | (WON if won[1 - to_play] else np.uint64(0))
        return state

    return set_up


@dataclass(frozen=True)
class Options(GameOptions):
    """Options of Hex."""

    size: int = setting(7, "Rows and columns.", between=(1, 19))
    swap: bool = setting(False, "Whether the second player may take over the first move.")


def make_game(options: Options = Options()) -> Game:
    """Return Hex."""
    size, swap = options.size, options.swap
    cells = size * size
    width = words_needed(cells)
    board = make_board(size)
    actions, turned = np.arange(cells + swap), np.arange(cells)[::-1]
    half_turn = np.append(turned, cells) if swap else turned
    return Game(
        name="hex",
        num_actions=cells + swap,
        planes_shape=(3, size, size),
        state_words=4 * width + 1,
        key_words=2 * width + 1,
        max_plies=cells + swap,
        rules=make_rules(size, swap),
        action_symmetries=np.stack([actions, half_turn]),
        cell_symmetries=np.stack([np.arange(cells), turned]),
        format_state=board.text,
        action_name=lambda action: board.cell_name(action) if action < cells else "swap",
        set_up=make_set_up(size, swap),
        options=options.values(),
        board=board,
    )
