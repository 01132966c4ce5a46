"""How chess pieces move on a square board of up to 8 x 8, as a table of sets of cells for each size.

Letters: n the size, S state words.

A state is seen from its mover. Cell = row * n + column is bit `cell` of a word. Row 0 is the mover's last
rank, so its pawns move towards lower bits. State words, see `azero/games/chess.py`:

    OWN, OTHER             cells of the mover's pieces, and of the opponent's
    PAWNS ... KINGS        cells of each kind, of both sides
    FLAGS                  castling, en passant, clock and so on
    CHECKERS, PINNED       the opponent's pieces that give check; the mover's that stand between its king
                           and a piece that would
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from azero.games.kit.bits import lowest_bit
from azero.process.kernel_cache import shared

OWN, OTHER, PAWNS, KNIGHTS, BISHOPS, ROOKS, QUEENS, KINGS, FLAGS, CHECKERS, PINNED = range(11)

ZERO, ONE = np.uint64(0), np.uint64(1)
DIRECTIONS = ((-1, -1), (-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0), (1, 1))
TAKING = ((-1, -1), (-1, 1))  # of a pawn
JUMPS = ((-2, -1), (-2, 1), (-1, -2), (-1, 2), (1, -2), (1, 2), (2, -1), (2, 1))
STRAIGHT_WAYS, DIAGONAL_WAYS = (1, 3, 4, 6), (0, 2, 5, 7)  # directions

# Columns of a table [cells, columns] uint64; each holds sets of cells unless it says otherwise
RAYS = 0  # + direction: all cells in that direction; 7 - direction is the opposite one
KNIGHT, KING, PAWN = 8, 9, 10  # what the piece attacks from the cell; a pawn of the mover
STRAIGHT, DIAGONAL = 11, 12  # all cells in straight, in diagonal directions
MIRROR = 13  # the number of the cell as the other side sees it
KEEPS = 14  # the castling rights that are left after a move from or to the cell, 4 bits
BETWEEN = 15  # + other cell: the cells between the two; none if they are not on a line
CASTLING_KEYS = 79  # random words, one for each set of castling rights, in the first 16 rows
PASSING_KEYS = 80  # random words, one for each file + 1 of a pawn that can be taken in passing; row 0: none
PIECE_KEYS = 81  # + 6 * side + kind: random words for a piece on the cell as the first player sees it
COLUMNS = 96
CASTLING_RIGHTS = 15
NOWHERE = -1


class ChessShape(NamedTuple):
    """Constants of one form of chess."""

    size: int
    moves: int  # the actions of a cell: 8 * (n - 1) along lines, 8 jumps, 3 for each piece below a queen
    pieces: tuple[int, ...]  # state words of these pieces, to which a pawn may be promoted
    long_step: bool  # whether a pawn may go two cells from its first row, so that it can be taken in passing


def on_line(size: int, cell: int, way: tuple[int, int]) -> list[int]:
    """Return the cells in a direction, nearest first."""
    row, column, found = cell // size + way[0], cell % size + way[1], []
    while 0 <= row < size and 0 <= column < size:
        found.append(row * size + column)
        row, column = row + way[0], column + way[1]
    return found


@functools.cache
def make_table(size: int) -> np.ndarray:
    """Return the table of a board, [cells, COLUMNS] uint64, read-only."""
    cells = size * size
    table = np.random.default_rng(1).integers(0, 1 << 64, (cells, COLUMNS), np.uint64)
    table[:, :CASTLING_KEYS] = 0
    table[0, PASSING_KEYS] = 0
    for cell in range(cells):
        lines = [on_line(size, cell, way) for way in DIRECTIONS]
        for direction, line in enumerate(lines):
            table[cell, RAYS + direction] = set_of(line)
            for place, other in enumerate(line):
                table[cell, BETWEEN + other] = set_of(line[:place])
        for column, ways in ((STRAIGHT, STRAIGHT_WAYS), (DIAGONAL, DIAGONAL_WAYS)):
            table[cell, column] = set_of(other for way in ways for other in lines[way])
        for column, steps in ((KNIGHT, JUMPS), (KING, DIRECTIONS), (PAWN, TAKING)):
            table[cell, column] = set_of(other for step in steps for other in on_line(size, cell, step)[:1])
        table[cell, MIRROR] = (size - 1 - cell // size) * size + cell % size
    table[:, KEEPS] = CASTLING_RIGHTS
    own, other = size * (size - 1), 0  # where the two first rows begin
    for cell, lost in ((own + 7, 1), (own, 2), (own + 4, 3), (other + 7, 4), (other, 8), (other + 4, 12)):
        if size == 8:
            table[cell, KEEPS] = CASTLING_RIGHTS & ~lost
    table.flags.writeable = False  # as compiled rules have it
    return table


def set_of(cells: Iterable[int]) -> int:
    """Return cells as one word."""
    return sum(1 << cell for cell in cells)


def steps_of(shape: ChessShape) -> list[tuple[int, int]]:
    """Return how far each move of a cell goes, in rows and columns.

    The ways of queens and knights rise by row, then column, so that the moves of a piece rise as the cells
    they lead to do. Then come the promotions to each of `shape.pieces`: to the left, ahead, to the right.
    """
    lines = [(down * far, right * far) for down, right in DIRECTIONS for far in range(1, shape.size)]
    return sorted([*lines, *JUMPS]) + [(-1, right) for _ in shape.pieces for right in (-1, 0, 1)]


def offsets_of(shape: ChessShape) -> np.ndarray:
    """Return how far each move of a cell goes in bits, and the word of a promoted piece, [2, moves] int64.

    The word is 0 for no promotion, or to a queen.
    """
    offsets = [down * shape.size + right for down, right in steps_of(shape)]
    words = [piece for piece in shape.pieces for _ in range(3)]
    return np.array([offsets, [0] * (len(offsets) - len(words)) + words], np.int64)


def numbers_of(shape: ChessShape) -> np.ndarray:
    """Return the move of a cell that leads to another, [cells, cells] int8; NOWHERE if none does."""
    size, cells = shape.size, shape.size**2
    numbers = np.full((cells, cells), NOWHERE, np.int8)
    for number, (down, right) in enumerate(steps_of(shape)[: shape.moves - 3 * len(shape.pieces)]):
        for cell in range(cells):
            row, column = cell // size + down, cell % size + right
            if 0 <= row < size and 0 <= column < size:
                numbers[cell, row * size + column] = number
    return numbers


@shared
def highest_bit(word):
    """Return the index of the highest set bit of a uint64 that is not 0, by one machine instruction."""
    highest = -1
    while word:
        word >>= ONE
        highest += 1
    return highest


@shared
def reach(table, direction, cell, occupied):
    """Return the cells on a line through a cell, as far as and with the first occupied one on each side.

    direction: 0 to 3, towards lower bits. A number with the nearest occupied bits below and above the cell is
    subtracted from another, so that the bits between them are set (the obstruction difference).
    """
    below, above = table[cell, RAYS + direction], table[cell, RAYS + 7 - direction]
    last = ~ZERO << np.uint64(highest_bit((below & occupied) | ONE))
    first = above & occupied
    first &= ~first + ONE
    return (below | above) & (first + first + last)


@shared
def line_cells(state, table, cell, occupied):
    """Return the cells that the bishop, rook or queen on a cell attacks."""
    place = np.uint64(cell)
    cells = ZERO
    if ((state[ROOKS] | state[QUEENS]) >> place) & ONE:
        cells = reach(table, 1, cell, occupied) | reach(table, 3, cell, occupied)
    if ((state[BISHOPS] | state[QUEENS]) >> place) & ONE:
        cells |= reach(table, 0, cell, occupied) | reach(table, 2, cell, occupied)
    return cells


@shared
def is_attacked(state, table, cell, occupied, enemies):
    """Return whether one of `enemies` attacks a cell; occupied: the cells that lines stop at."""
    near = (
        table[cell, KNIGHT] & state[KNIGHTS]
        | table[cell, PAWN] & state[PAWNS]
        | table[cell, KING] & state[KINGS]
    )
    if near & enemies != ZERO:
        return True
    sliders = table[cell, STRAIGHT] & (state[ROOKS] | state[QUEENS])
    sliders |= table[cell, DIAGONAL] & (state[BISHOPS] | state[QUEENS])
    sliders &= enemies
    while sliders != ZERO:
        if table[cell, BETWEEN + lowest_bit(sliders)] & occupied == ZERO:
            return True
        sliders &= sliders - ONE
    return False


@shared
def write_checkers(state, table):
    """Write the words CHECKERS and PINNED of a state."""
    king = lowest_bit(state[OWN] & state[KINGS])
    occupied = state[OWN] | state[OTHER]
    checkers = (table[king, KNIGHT] & state[KNIGHTS] | table[king, PAWN] & state[PAWNS]) & state[OTHER]
    sliders = table[king, STRAIGHT] & (state[ROOKS] | state[QUEENS])
    sliders |= table[king, DIAGONAL] & (state[BISHOPS] | state[QUEENS])
    sliders &= state[OTHER]
    pinned = ZERO
    while sliders != ZERO:
        cell = lowest_bit(sliders)
        between = table[king, BETWEEN + cell] & occupied
        if between == ZERO:
            checkers |= ONE << np.uint64(cell)
        elif between & (between - ONE) == ZERO:
            pinned |= between & state[OWN]
        sliders &= sliders - ONE
    state[CHECKERS] = checkers
    state[PINNED] = pinned


@shared
def allowed_cells(state, table, king):
    """Return the cells that pieces other than the king may move to: all, or those that stop a check."""
    checkers = state[CHECKERS]
    if checkers == ZERO:
        return ~ZERO
    if checkers & (checkers - ONE) != ZERO:
        return ZERO
    return table[king, BETWEEN + lowest_bit(checkers)] | checkers


@shared
def pinned_line(table, king, cell):
    """Return the cells beyond a king in the direction of a cell."""
    for direction in range(8):
        if (table[king, RAYS + direction] >> np.uint64(cell)) & ONE:
            return table[king, RAYS + direction]
    return ZERO


@shared
def pawn_cells(state, table, shape, cell):
    """Return where a pawn may go, checks and taking in passing aside."""
    size = np.uint64(shape.size)
    free = ~(state[OWN] | state[OTHER])
    ahead = ((ONE << np.uint64(cell)) >> size) & free
    cells = table[cell, PAWN] & state[OTHER] | ahead
    if shape.long_step and cell >= shape.size * (shape.size - 2):
        cells |= (ahead >> size) & free
    return cells


@shared
def piece_cells(state, table, shape, cell):
    """Return where a piece other than the king may go, checks and taking in passing aside."""
    place = np.uint64(cell)
    if (state[PAWNS] >> place) & ONE:
        return pawn_cells(state, table, shape, cell)
    if (state[KNIGHTS] >> place) & ONE:
        return table[cell, KNIGHT] & ~state[OWN]
    return line_cells(state, table, cell, state[OWN] | state[OTHER]) & ~state[OWN]


@shared
def may_pass(state, table, size, cell, passing):
    """Return whether the pawn on a cell may take in passing on the cell `passing`."""
    taken = ONE << np.uint64(passing + size)
    king = lowest_bit(state[OWN] & state[KINGS])
    occupied = (state[OWN] | state[OTHER]) ^ taken ^ (ONE << np.uint64(cell)) ^ (ONE << np.uint64(passing))
    return not is_attacked(state, table, king, occupied, state[OTHER] & ~taken)


@shared
def passing_cell(state, table, size, cell, passing):
    """Return the cell `passing` as a set if the pawn on a cell may take in passing there, else no cell."""
    taker = (table[cell, PAWN] >> np.uint64(passing)) & ONE
    if taker and may_pass(state, table, size, cell, passing):
        return ONE << np.uint64(passing)
    return ZERO


@shared
def can_pass(state, table, size, passing):
    """Return whether some pawn may take in passing on the cell `passing`."""
    below = np.uint64(passing + size)  # the pawn that would be taken
    pawns = state[OWN] & state[PAWNS]
    beside = ((ONE << below) << ONE | (ONE << below) >> ONE) & pawns
    while beside != ZERO:
        cell = lowest_bit(beside)
        if passing_cell(state, table, size, cell, passing) != ZERO:
            return True
        beside &= beside - ONE
    return False


@shared
def can_move(state, table, shape):
    """Return whether the mover has a legal move, other than by castling or taking in passing."""
    own = state[OWN]
    free = own & ~state[PINNED]
    occupied = own | state[OTHER]
    if state[CHECKERS] == ZERO and ((free & state[PAWNS]) >> np.uint64(shape.size)) & ~occupied != ZERO:
        return True
    king = lowest_bit(own & state[KINGS])
    allowed = allowed_cells(state, table, king)
    rest = own & ~state[KINGS]
    while rest != ZERO and allowed != ZERO:
        cell = lowest_bit(rest)
        cells = piece_cells(state, table, shape, cell) & allowed
        if (state[PINNED] >> np.uint64(cell)) & ONE:
            cells &= pinned_line(table, king, cell)
        if cells != ZERO:
            return True
        rest &= rest - ONE
    return king_cells(state, table, king) != ZERO


@shared
def king_cells(state, table, king):
    """Return where the king may go in one step."""
    occupied = (state[OWN] | state[OTHER]) & ~(ONE << np.uint64(king))
    cells = table[king, KING] & ~state[OWN]
    safe, rest = cells, cells
    while rest != ZERO:
        cell = lowest_bit(rest)
        if is_attacked(state, table, cell, occupied, state[OTHER]):
            safe ^= ONE << np.uint64(cell)
        rest &= rest - ONE
    return safe
