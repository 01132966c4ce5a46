"""The moves of chess in compiled code: legal actions, successors, ends, and the network's planes.

Letters: n the size, A actions, S state words. `kit/piece_moves.py` has the words of a state and its table,
`azero/games/chess.py` the flags and the keys.
"""

from __future__ import annotations

import numpy as np

from azero.games.kit import piece_moves as pieces
from azero.games.kit.bits import lowest_bit, popcount
from azero.games.kit.board import NO_CELL
from azero.games.kit.piece_moves import (
    BISHOPS,
    CASTLING_KEYS,
    CHECKERS,
    FLAGS,
    KEEPS,
    KINGS,
    KNIGHTS,
    MIRROR,
    ONE,
    OTHER,
    OWN,
    PASSING_KEYS,
    PAWNS,
    PIECE_KEYS,
    PINNED,
    QUEENS,
    ROOKS,
    ZERO,
)
from azero.process.kernel_cache import shared

KEYS = 11  # the first word of the keys of positions
CLOCK_END = 100  # plies without a capture or a pawn's move, then a draw
STATE_WORDS = KEYS + CLOCK_END
# Flags: the first bit of each field, after 4 bits for castling
PASSING, CLOCK, SEEN, END, PLY = (np.uint64(place) for place in (4, 8, 16, 18, 20))
LOST, DRAWN = np.uint64(1), np.uint64(2)  # END of a game that is over
SHORT, LONG = np.uint64(1), np.uint64(2)  # the mover's rights to castle


@shared
def field(flags, first, width):
    """Return some bits of the flags as an int64."""
    return np.int64((flags >> first) & np.uint64((1 << width) - 1))


@shared
def turned(cells, size):
    """Return a set of cells as the other side sees it."""
    if size == 8:
        cells = ((cells >> np.uint64(8)) & np.uint64(0x00FF00FF00FF00FF)) | (
            (cells & np.uint64(0x00FF00FF00FF00FF)) << np.uint64(8)
        )
        cells = ((cells >> np.uint64(16)) & np.uint64(0x0000FFFF0000FFFF)) | (
            (cells & np.uint64(0x0000FFFF0000FFFF)) << np.uint64(16)
        )
        return (cells >> np.uint64(32)) | (cells << np.uint64(32))
    if size == 6:
        return (
            (cells & np.uint64(0x3F)) << np.uint64(30)
            | (cells & np.uint64(0xFC0)) << np.uint64(18)
            | (cells & np.uint64(0x3F000)) << np.uint64(6)
            | (cells >> np.uint64(6)) & np.uint64(0x3F000)
            | (cells >> np.uint64(18)) & np.uint64(0xFC0)
            | (cells >> np.uint64(30)) & np.uint64(0x3F)
        )
    return (
        (cells & np.uint64(0x1F)) << np.uint64(20)
        | (cells & np.uint64(0x3E0)) << np.uint64(10)
        | (cells & np.uint64(0x7C00))
        | (cells >> np.uint64(10)) & np.uint64(0x3E0)
        | (cells >> np.uint64(20)) & np.uint64(0x1F)
    )


@shared
def castling_cells(state, table, king, steps):
    """Return where the king may castle to; steps: the cells to which it may step."""
    rights = state[FLAGS] & (SHORT | LONG)
    if rights == ZERO or state[CHECKERS] != ZERO:
        return ZERO
    # The king passes a cell that it may step to
    occupied, cells = state[OWN] | state[OTHER], ZERO
    if rights & LONG and (steps >> np.uint64(king - 1)) & ONE:
        free = occupied & (np.uint64(7) << np.uint64(king - 3)) == ZERO
        if free and not pieces.is_attacked(state, table, king - 2, occupied, state[OTHER]):
            cells |= ONE << np.uint64(king - 2)
    if rights & SHORT and (steps >> np.uint64(king + 1)) & ONE:
        free = occupied & (np.uint64(3) << np.uint64(king + 1)) == ZERO
        if free and not pieces.is_attacked(state, table, king + 2, occupied, state[OTHER]):
            cells |= ONE << np.uint64(king + 2)
    return cells


@shared
def list_moves(state, table, numbers, shape, actions):
    """Write the legal actions of a state into actions [A], in rising order. Return how many."""
    own = state[OWN]
    king = lowest_bit(own & state[KINGS])
    allowed = pieces.allowed_cells(state, table, king)
    file = field(state[FLAGS], PASSING, 4)
    count, rest = 0, own
    while rest != ZERO:
        cell = lowest_bit(rest)
        me = rest & (~rest + ONE)
        rest ^= me
        promotes = False
        if me & state[KINGS] != ZERO:
            targets = pieces.king_cells(state, table, king)
            targets |= castling_cells(state, table, king, targets)
        else:
            targets = pieces.piece_cells(state, table, shape, cell) & allowed
            if me & state[PINNED] != ZERO:
                targets &= pieces.pinned_line(table, king, cell)
            if me & state[PAWNS] != ZERO:
                promotes = cell < 2 * shape.size
                if file:
                    targets |= pieces.passing_cell(state, table, shape.size, cell, 2 * shape.size + file - 1)
        first, left = cell * shape.moves, targets
        while left != ZERO:
            actions[count] = first + numbers[cell, lowest_bit(left)]
            count += 1
            left &= left - ONE
        if promotes and targets != ZERO:
            count = add_promotions(shape, cell, targets, actions, count)
    return count


@shared
def add_promotions(shape, cell, targets, actions, count):
    """Write the promotions of a pawn to less than a queen. Return the count with them."""
    action = (cell + 1) * shape.moves - 3 * len(shape.pieces)
    for _ in range(len(shape.pieces)):
        left = targets
        while left != ZERO:
            actions[count] = action + 1 + lowest_bit(left) - (cell - shape.size)
            count += 1
            left &= left - ONE
        action += 3
    return count


@shared
def cannot_mate(state, size):
    """Return whether no series of legal moves can mate.

    So it is with bare kings, with one knight beside them, or with bishops on cells of one colour.
    """
    if (state[PAWNS] | state[ROOKS] | state[QUEENS]) != ZERO:
        return False
    if state[KNIGHTS] != ZERO:
        return popcount(state[OWN] | state[OTHER]) == 3
    colours, bishops = 0, state[BISHOPS]
    while bishops != ZERO:
        cell = lowest_bit(bishops)
        colours |= 1 << ((cell // size + cell % size) & 1)
        bishops &= bishops - ONE
    return colours != 3


@shared
def flag_key(table, flags):
    """Return the part of a position's hash that castling and taking in passing have."""
    return (
        table[np.int64(flags & np.uint64(15)), CASTLING_KEYS] ^ table[field(flags, PASSING, 4), PASSING_KEYS]
    )


@shared
def finish(state, table, shape, flags, key, max_plies):
    """Write what follows from the pieces, the flags as the last move left them, and the hash of the pieces.

    The flags give the file of any pawn that went two cells; it counts only where it can be taken in passing.
    """
    pieces.write_checkers(state, table)
    file = field(flags, PASSING, 4)
    if file and not pieces.can_pass(state, table, shape.size, 2 * shape.size + file - 1):
        flags &= ~(np.uint64(15) << PASSING)
    key ^= flag_key(table, flags)
    clock = field(flags, CLOCK, 8)
    seen = 0
    for earlier in range(clock - 4, -1, -2):
        seen += state[KEYS + earlier] == key
    if clock < CLOCK_END:
        state[KEYS + clock] = key
    if not (flags >> PASSING) & np.uint64(15) and not pieces.can_move(state, table, shape):
        flags |= (LOST if state[CHECKERS] != ZERO else DRAWN) << END
    elif (
        seen >= 2
        or clock >= CLOCK_END
        or np.int64(flags >> PLY) >= max_plies
        or cannot_mate(state, shape.size)
    ):
        flags |= DRAWN << END
    state[FLAGS] = flags | (np.uint64(min(seen, 2)) << SEEN)


@shared
def as_first_sees(table, cell, mover):
    """Return a cell of the mover's view in that of the first player."""
    return np.int64(table[cell, MIRROR]) if mover else cell


@shared
def move_piece(state, successor, cell, to, taken):
    """Write the kinds of pieces after a move; the view stays. Return (kind that moved, kind taken or -1).

    taken: the opponent's piece that goes, as a set.
    """
    me = ONE << np.uint64(cell)
    kind, lost = 0, -1
    for word in range(PAWNS, KINGS + 1):
        cells = state[word]
        has = (cells >> np.uint64(cell)) & ONE
        if has != ZERO:
            kind = word - PAWNS
        if cells & taken != ZERO:
            lost = word - PAWNS
        successor[word] = (cells & ~(me | taken)) | (has << np.uint64(to))
    return kind, lost


@shared
def promote(successor, there, word):
    """Write another kind, a state's word, for the pawn on a cell. Return the kind."""
    successor[PAWNS] ^= there
    successor[word] ^= there
    return word - PAWNS


@shared
def castle(successor, table, king, to, mover):
    """Write the rook's part of castling. Return (its cells, what changes in the key)."""
    start, end = (king + 3, king + 1) if to > king else (king - 4, king - 1)
    moved = (ONE << np.uint64(start)) | (ONE << np.uint64(end))
    successor[ROOKS] ^= moved
    rook = PIECE_KEYS + 6 * mover + ROOKS - PAWNS
    return moved, table[as_first_sees(table, start, mover), rook] ^ table[
        as_first_sees(table, end, mover), rook
    ]


@shared
def play(state, action, successor, table, offsets, shape, max_plies):
    """Write the successor of a state."""
    size = shape.size
    cell, move = action // shape.moves, action % shape.moves
    to = cell + offsets[0, move]
    flags = state[FLAGS]
    there = ONE << np.uint64(to)
    mover = np.int64((flags >> PLY) & ONE)
    clock = field(flags, CLOCK, 8)
    pawn = (state[PAWNS] >> np.uint64(cell)) & ONE != ZERO
    taken, taken_at = there & state[OTHER], to
    if pawn and taken == ZERO and (cell - to) % size != 0:
        taken, taken_at = there << np.uint64(size), to + size
    own, other = (state[OWN] ^ (ONE << np.uint64(cell))) | there, state[OTHER] & ~taken
    kind, lost = move_piece(state, successor, cell, to, taken)
    key = state[KEYS + clock] ^ flag_key(table, flags)
    key ^= table[as_first_sees(table, cell, mover), PIECE_KEYS + 6 * mover + kind]
    if lost >= 0:
        key ^= table[as_first_sees(table, taken_at, mover), PIECE_KEYS + 6 * (1 - mover) + lost]
    file = 0
    if pawn:
        if to < size:
            kind = promote(successor, there, offsets[1, move] if offsets[1, move] else QUEENS)
        elif cell - to == 2 * size:
            file = to % size + 1
    elif kind == KINGS - PAWNS and abs(to - cell) == 2:
        moved, change = castle(successor, table, cell, to, mover)
        own ^= moved
        key ^= change
    key ^= table[as_first_sees(table, to, mover), PIECE_KEYS + 6 * mover + kind]
    for word in range(PAWNS, KINGS + 1):
        successor[word] = turned(successor[word], size)
    successor[OWN], successor[OTHER] = turned(other, size), turned(own, size)
    kept = 0 if pawn or taken != ZERO else clock + 1
    for word in range(KEYS, KEYS + kept):
        successor[word] = state[word]
    for word in range(KEYS + kept, STATE_WORDS):
        successor[word] = ZERO
    rights = flags & table[cell, KEEPS] & table[to, KEEPS]
    rights = ((rights & np.uint64(3)) << np.uint64(2)) | (rights >> np.uint64(2))
    plies = (flags >> PLY) + ONE
    flags = rights | (np.uint64(file) << PASSING) | (np.uint64(kept) << CLOCK) | (plies << PLY)
    finish(successor, table, shape, flags, key, max_plies)


@shared
def write_planes(state, size, out):
    """Write the planes: 6 kinds of the mover, 6 of the opponent, 4 rights to castle and four more.

    Those are the cell of taking in passing, clock / 100, earlier occurrences, and the side to move.
    """
    flags = state[FLAGS]
    passing = 2 * size + field(flags, PASSING, 4) - 1 if field(flags, PASSING, 4) else NO_CELL
    clock, seen = (
        np.float32(field(flags, CLOCK, 8)) / np.float32(CLOCK_END),
        np.float32(field(flags, SEEN, 2)),
    )
    side = np.float32((flags >> PLY) & ONE)
    for row in range(size):
        for column in range(size):
            place = np.uint64(row * size + column)
            for kind in range(6):
                here = state[PAWNS + kind] >> place
                out[kind, row, column] = here & (state[OWN] >> place) & ONE
                out[6 + kind, row, column] = here & (state[OTHER] >> place) & ONE
            for right in range(4):
                out[12 + right, row, column] = (flags >> np.uint64(right)) & ONE
            out[16, row, column] = row * size + column == passing
            out[17, row, column] = clock
            out[18, row, column] = seen
            out[19, row, column] = side
