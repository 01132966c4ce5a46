"""Chess on 8 x 8, Gardner's chess on 5 x 5 and Los Alamos chess on 6 x 6: checkmate wins.

A state is seen from its mover, who moves towards row 0. 8 x 8, bit = cell:

     0  1  2  3  4  5  6  7      state words: [0, 8)    cells of the mover, the opponent, pawns, knights,
     8  9 10 11 12 13 14 15                             bishops, rooks, queens, kings
    16 17 18 19 20 21 22 23                   [8]       flags
    24 25 26 27 28 29 30 31                   [9, 11)   pieces that give check, pieces that are pinned
    32 33 34 35 36 37 38 39                   [11, 111) a key of each position since the last capture
    40 41 42 43 44 45 46 47                             or pawn's move, for repetition; then 0
    48 49 50 51 52 53 54 55
    56 57 58 59 60 61 62 63      flags: castling (4 bits: the mover's short and long, the opponent's),
                                        file + 1 of a pawn that can be taken in passing (4), clock (8),
                                        earlier occurrences of the position (2), end (2), plies

Action = from * moves + move. The moves of a cell are 8 directions x (n - 1) distances, 8 jumps of a knight,
and the promotions to less than a queen. Castling is a king's move over two cells. Draws are stalemate,
material that cannot mate, 100 plies without a capture or a pawn's move, the third occurrence of a position,
and the ply `max_plies`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from string import ascii_lowercase
from typing import NamedTuple

import numpy as np

from azero.config.schema import UserError, setting
from azero.games import game as interface
from azero.games.game import Game, Rules
from azero.games.kit.bits import bit, cells_of, has_bit, lowest_bit
from azero.games.kit.board import FIGURES, NO_CELL, Board, letters, numbers
from azero.games.kit.fen import (
    LETTERS,
    SYMBOLS,
    Fen,
    bad,
    check_fields,
    check_pieces,
    read_fen,
    write_fen,
)
from azero.games.kit.options import GameOptions
from azero.games.kit.piece_moves import (
    BISHOPS,
    CHECKERS,
    FLAGS,
    KINGS,
    KNIGHTS,
    MIRROR,
    ONE,
    OTHER,
    OWN,
    PAWNS,
    PIECE_KEYS,
    QUEENS,
    ROOKS,
    ChessShape,
    make_table,
    numbers_of,
    offsets_of,
    steps_of,
)
from azero.games.kit.piece_play import (
    CLOCK,
    CLOCK_END,
    END,
    LOST,
    PASSING,
    PLY,
    SEEN,
    STATE_WORDS,
    finish,
    list_moves,
    play,
    write_planes,
)
from azero.games.kit.san import read_san, san

MAX_PLIES = 512
PLANES = 20
RIGHTS = ("KQkq", "kqKQ")  # to castle, in the order of the flags, by who moves


def make_rules(shape: ChessShape, start: np.ndarray, max_plies: int) -> Rules:
    """Return the rules for one form of chess; start: its first state."""
    size = shape.size
    table = make_table(size)
    offsets, numbers = offsets_of(shape), numbers_of(shape)

    @interface.rule(interface.INITIAL)
    def initial(state):
        for word in range(STATE_WORDS):
            state[word] = start[word]

    @interface.rule(interface.STEP)
    def step(state, action, successor):
        play(state, action, successor, table, offsets, shape, max_plies)

    @interface.rule(interface.LEGAL_ACTIONS)
    def legal_actions(state, actions):
        return list_moves(state, table, numbers, shape, actions)

    @interface.rule(interface.IS_TERMINAL)
    def is_terminal(state):
        return (state[FLAGS] >> END) & np.uint64(3) != 0

    @interface.rule(interface.OUTCOME)
    def outcome(state):
        return -1.0 if (state[FLAGS] >> END) & LOST else 0.0

    @interface.rule(interface.TO_PLAY)
    def to_play(state):
        return np.int64((state[FLAGS] >> PLY) & ONE)

    @interface.rule(interface.WRITE_PLANES)
    def planes(state, out):
        write_planes(state, size, out)

    @interface.rule(interface.EVALUATION_KEY)
    def evaluation_key(state, key):
        for word in range(KINGS):
            key[word] = state[word]
        side = (state[FLAGS] >> PLY) & ONE
        key[KINGS] = (state[FLAGS] & np.uint64((1 << 18) - 1)) | (side << END)

    return Rules(
        *(initial, step, interface.no_legal_mask, is_terminal, outcome, to_play, planes, evaluation_key),
        legal_actions=legal_actions,
    )


class Form(NamedTuple):
    """One form of chess."""

    shape: ChessShape
    start: str  # FEN


FORMS = {
    "standard": Form(
        ChessShape(8, 73, (KNIGHTS, BISHOPS, ROOKS), True),
        "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
    ),
    "gardner": Form(
        ChessShape(5, 49, (KNIGHTS, BISHOPS, ROOKS), False), "rnbqk/ppppp/5/PPPPP/RNBQK w - - 0 1"
    ),
    "losalamos": Form(
        ChessShape(6, 54, (KNIGHTS, ROOKS), False), "rnqknr/pppppp/6/6/PPPPPP/RNQKNR w - - 0 1"
    ),
}


def state_of(position: Fen, shape: ChessShape, max_plies: int) -> np.ndarray:
    """Return the state of a position, [S] uint64; its earlier positions are unknown."""
    state, table = np.zeros(STATE_WORDS, np.uint64), make_table(shape.size)
    mover, key = position.mover, 0
    for place, mark in enumerate(position.marks.ravel().tolist()):
        if mark:
            kind, side = divmod(mark - 1, 2)
            cell = bit(int(table[place, MIRROR]) if mover else place)
            state[PAWNS + kind] |= cell
            state[OWN if side == mover else OTHER] |= cell
            key ^= int(table[place, PIECE_KEYS + 6 * side + kind])
    flags = sum(1 << number for number, right in enumerate(RIGHTS[mover]) if right in position.rights)
    file = 0 if position.passing == "-" else ascii_lowercase.index(position.passing[0]) + 1
    flags |= file << int(PASSING) | min(position.clock, CLOCK_END) << int(CLOCK) | position.plies << int(PLY)
    finish(state, table, shape, np.uint64(flags), np.uint64(key), max_plies)
    return state


def plies_of(state: np.ndarray) -> int:
    """Return the plies before a state."""
    return int(state[FLAGS] >> PLY)


def from_first_plies(state: np.ndarray) -> np.ndarray:
    """Return a state, [S] uint64, as if its game had begun just before; the positions before it stay."""
    renumbered = state.copy()
    below = (ONE << PLY) - ONE
    renumbered[FLAGS] &= below | (ONE << PLY)  # the lowest bit of the plies says who moves
    return renumbered


def read_position(text: str, variant: str = "standard", max_plies: int = MAX_PLIES) -> np.ndarray:
    """Return the state that a FEN describes, [S] uint64; its earlier positions are unknown.

    A position after the end of the longest game counts as an early one: it is there to be played.

    Raises:
        UserError: the text is not a FEN of a position that can be.
    """
    shape = FORMS[variant].shape
    position = read_fen(text, shape.size)
    check_pieces(text, position, "p" + "".join(LETTERS[piece - PAWNS] for piece in shape.pieces) + "qk")
    check_fields(text, position, whole=shape.long_step)
    if position.plies >= max_plies:
        position = position._replace(number=1)
    if position.plies >= max_plies:
        raise bad(text, f"it comes after {position.plies} plies, and the game ends at max_plies={max_plies}")
    waiting = state_of(
        position._replace(mover=1 - position.mover, rights="", passing="-"), shape, max_plies + 1
    )
    if waiting[CHECKERS]:
        raise bad(text, "the side that has just moved is in check")
    return state_of(position, shape, max_plies)


def describe(state: np.ndarray, size: int) -> Fen:
    """Return what FEN says of a state."""
    flags = int(state[FLAGS])
    mover, file, plies = flags >> int(PLY) & 1, flags >> int(PASSING) & 15, flags >> int(PLY)
    own, other = (cells_of(state[side : side + 1], size * size) for side in (OWN, OTHER))
    marks = np.zeros(size * size, np.int8)
    for kind in range(6):
        here = cells_of(state[PAWNS + kind : PAWNS + kind + 1], size * size)
        marks += here * (own * (1 + 2 * kind + mover) + other * (2 + 2 * kind - mover))
    drawn = marks.reshape(size, size)
    return Fen(
        marks=drawn[::-1] if mover else drawn,
        mover=mover,
        rights="".join(right for number, right in enumerate(RIGHTS[mover]) if flags >> number & 1),
        passing=f"{ascii_lowercase[file - 1]}{3 if mover else size - 2}" if file else "-",
        clock=flags >> int(CLOCK) & 255,
        number=plies // 2 + 1,
    )


def write_position(state: np.ndarray, variant: str = "standard") -> str:
    """Return a state as FEN; the cell of taking in passing is there if such a move is legal."""
    return write_fen(describe(state, FORMS[variant].shape.size))


class Squares(NamedTuple):
    """The cells of an action as drawn; a cell is None outside the board."""

    start: int
    to: int | None


def squares_of(shape: ChessShape) -> Callable[[np.ndarray, int], Squares]:
    """Return the function that returns the cells of (state, action)."""
    size, steps = shape.size, steps_of(shape)

    def squares(state: np.ndarray, action: int) -> Squares:
        cell, move = divmod(action, shape.moves)
        row, column = divmod(cell, size)
        down, right = steps[move]
        if int(state[FLAGS]) >> int(PLY) & 1:
            row, down = size - 1 - row, -down
        inside = 0 <= row + down < size and 0 <= column + right < size
        return Squares(row * size + column, (row + down) * size + column + right if inside else None)

    return squares


def ending(state: np.ndarray, can_move: bool, max_plies: int) -> str:
    """Return how a game has ended, in words that can follow "White wins" or "A draw"; "" before its end."""
    flags = int(state[FLAGS])
    end = flags >> int(END) & 3
    if not end:
        return ""
    if end & int(LOST):
        return "by checkmate"
    if not can_move:
        return "by stalemate"
    if flags >> int(SEEN) & 3 >= 2:
        return "by repetition"
    if flags >> int(CLOCK) & 255 >= CLOCK_END:
        return "by the fifty-move rule"
    return "by the game's length" if plies_of(state) >= max_plies else "by lack of material"


def make_board(shape: ChessShape, score_text: Callable[[np.ndarray], str]) -> Board:
    """Return how to draw the game."""
    size, squares = shape.size, squares_of(shape)

    def cell_of(state: np.ndarray, action: int) -> int:
        to = squares(state, action).to
        return NO_CELL if to is None else to

    def alert(state: np.ndarray) -> int:
        """Return the cell of a king in check, or NO_CELL."""
        if not state[CHECKERS]:
            return NO_CELL
        return squares(state, int(lowest_bit(state[KINGS] & state[OWN])) * shape.moves).start

    return Board(
        "squares",
        letters(size),
        tuple(reversed(numbers(size))),
        lambda state: describe(state, size).marks,
        cell_of,
        symbols=SYMBOLS,
        from_of=lambda state, action: squares(state, action).start,
        figures=FIGURES[1:],
        alert=alert,
        players=("White", "Black"),
        score_text=score_text,
    )


def namer(board: Board, shape: ChessShape) -> Callable[[np.ndarray, int], str]:
    """Return `action_name`: from and to, then the letter of a promoted piece, as e7e8q."""
    squares, words = squares_of(shape), offsets_of(shape)[1]

    def action_name(state: np.ndarray, action: int) -> str:
        cell, move = divmod(action, shape.moves)
        start, to = squares(state, action)
        if to is None:
            return f"{board.cell_name(start)}+{move}"  # leads off the board, so it is never legal
        promotes = (
            cell < 2 * shape.size
            and move < shape.moves - 3 * len(shape.pieces)
            and to // shape.size in (0, shape.size - 1)
        )
        piece = int(words[move]) or (
            QUEENS if promotes and has_bit(state[PAWNS] & state[OWN], cell) else PAWNS
        )
        return board.cell_name(start) + board.cell_name(to) + LETTERS[piece - PAWNS].replace("p", "")

    return action_name


@dataclass(frozen=True)
class Options(GameOptions):
    """Options of chess."""

    variant: str = setting(
        "standard", "8 x 8, Gardner's chess on 5 x 5, or Los Alamos chess on 6 x 6.", choices=tuple(FORMS)
    )
    start: str = setting("", "The first position as FEN; empty: the variant's own.")
    max_plies: int = setting(
        512, "A longer game is a draw. Plies count from move 1 of a FEN.", between=(1, 9999)
    )


def make_game(options: Options = Options()) -> Game:
    """Return a form of chess; UserError: the first position cannot be."""
    variant, max_plies = options.variant, options.max_plies
    shape, size = FORMS[variant].shape, FORMS[variant].shape.size
    first = read_position(options.start or FORMS[variant].start, variant, max_plies)
    if first[FLAGS] >> PLY & ONE:
        raise UserError(f"{options.typed('start')} has Black to move; give a position with White to move.")
    if (first[FLAGS] >> END) & np.uint64(3):
        raise UserError(f"{options.typed('start')} is the end of a game; give a position to play from.")
    board = make_board(shape, lambda state: ending(state, bool(game.legal_actions(state)), max_plies))

    def read_action(state: np.ndarray, text: str) -> int:
        """Return the legal action that a text names as SAN; ValueError: there is not one."""
        action = read_san(game, state, text)
        if action is None:
            example = game.legal_actions(state)[-1]
            both = f"{game.move_text(state, example)} or {game.action_name(state, example)}"
            raise ValueError(f"{text!r} is not a move of chess here; moves are written {both}.")
        return action

    @lru_cache(maxsize=2**13)  # an analysis asks for the same moves ten times a second
    def written(words: bytes, action: int) -> str:
        return san(game, np.frombuffer(words, np.uint64).copy(), action)

    game = Game(
        name="chess",
        num_actions=size * size * shape.moves,
        planes_shape=(PLANES, size, size),
        state_words=STATE_WORDS,
        key_words=KINGS + 1,
        max_plies=max_plies,
        rules=make_rules(shape, first, max_plies),
        action_symmetries=np.arange(size * size * shape.moves)[None],
        cell_symmetries=np.arange(size * size)[None],
        format_state=board.text,
        action_name=namer(board, shape),
        options=options.values(),
        board=board,
        read_action=read_action,
        write_action=lambda state, action: written(state.tobytes(), action),
        write_position=partial(write_position, variant=variant),
        read_position=partial(read_position, variant=variant, max_plies=max_plies),
        steps=tuple(zip(steps_of(shape), offsets_of(shape)[1].tolist(), strict=True)),
    )
    return game
