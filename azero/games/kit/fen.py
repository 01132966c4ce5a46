"""Positions of chess as FEN, Forsyth-Edwards Notation, on boards of any size.

    rnbqkbnr/pppp1ppp/8/4p3/4P3/8/PPPP1PPP/RNBQKBNR w KQkq - 0 2

Six fields: rows from the top, the side to move, rights to castle, the cell on which a pawn can be taken in
passing, plies since a capture or a pawn's move, and the number of the move. The last two may be missing.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

from azero.config.schema import UserError
from azero.games.kit.board import letters

LETTERS = "pnbrqk"
SYMBOLS = (".", *(letter for kind in LETTERS for letter in (kind.upper(), kind)))  # of the marks of `Board`
RIGHTS = "KQkq"
SIDES = "wb"
MOST_NUMBERS = 5  # digits of a clock or of a move's number


class Fen(NamedTuple):
    """A position as FEN says it."""

    marks: np.ndarray  # [n, n] int8, as `Board.marks`
    mover: int  # 0: White
    rights: str  # of KQkq
    passing: str  # a cell, or -
    clock: int
    number: int

    @property
    def plies(self) -> int:
        """Return the plies before the position."""
        return 2 * (self.number - 1) + self.mover


def bad(text: str, why: str) -> UserError:
    """Return the error of a text that is no position."""
    return UserError(f"{text!r} is not a position: {why}.")


def counted(count: int, what: str) -> str:
    """Return such as "1 king" or "2 kings"."""
    return f"{count} {what}{'s' * (count != 1)}"


def read_rows(text: str, field: str, size: int) -> np.ndarray:
    """Return the marks [n, n] int8 of the first field of a FEN."""
    rows = field.split("/")
    if len(rows) != size:
        raise bad(text, f"it has {counted(len(rows), 'row')} of {size}")
    marks = np.zeros((size, size), np.int8)
    for number, row in enumerate(rows):
        column = 0
        for sign in row:
            if sign in "123456789":
                column += int(sign)
            elif sign in SYMBOLS[1:]:
                if column < size:
                    marks[number, column] = SYMBOLS.index(sign)
                column += 1
            else:
                raise bad(text, f"{sign!r} is not a piece")
        if column != size:
            raise bad(text, f"row {row!r} does not have {size} cells")
    return marks


def read_number(text: str, field: str, name: str) -> int:
    """Return a number of a FEN."""
    if not (field.isascii() and field.isdecimal() and len(field) <= MOST_NUMBERS):
        raise bad(text, f"{name} {field!r} is not a number")
    return int(field)


def read_fen(text: str, size: int) -> Fen:
    """Return what a FEN says, without a look at whether it can be.

    Raises:
        UserError: it is not a FEN of a board of this size.
    """
    fields = text.split()
    if not 4 <= len(fields) <= 6:
        raise bad(text, f"it has {counted(len(fields), 'field')}, and FEN has 4 to 6")
    side, rights, passing = fields[1:4]
    if side not in tuple(SIDES):
        raise bad(text, f"the side to move is {side!r}, not w or b")
    if rights != "-" and (len(set(rights)) != len(rights) or not set(rights) <= set(RIGHTS)):
        raise bad(text, f"the rights to castle are {rights!r}, not some of KQkq or -")
    columns, row = letters(size), size - 2 if side == "w" else 3
    if passing != "-" and passing not in [f"{column}{row}" for column in columns]:
        raise bad(
            text, f"{passing!r} is not a cell on which {'White' if side == 'w' else 'Black'} takes in passing"
        )
    clock, number = [*fields[4:], *("0", "1")[len(fields) - 4 :]]
    marks = read_rows(text, fields[0], size)
    return Fen(
        marks,
        SIDES.index(side),
        rights.replace("-", ""),
        passing,
        read_number(text, clock, "the clock"),
        max(1, read_number(text, number, "the move")),
    )


def write_fen(position: Fen) -> str:
    """Return a position as FEN."""
    rows = []
    for marks in position.marks:
        row = "".join(SYMBOLS[mark] for mark in marks)
        rows.append(re.sub(r"\.+", lambda gap: str(len(gap[0])), row))
    side = SIDES[position.mover]
    rights = "".join(right for right in RIGHTS if right in position.rights) or "-"
    return f"{'/'.join(rows)} {side} {rights} {position.passing} {position.clock} {position.number}"


def check_pieces(text: str, position: Fen, kinds: str) -> None:
    """Refuse pieces that cannot stand so in a game; kinds: the letters of the pieces that the game has.

    Raises:
        UserError: it says what is wrong.
    """
    marks, size = position.marks, len(position.marks)
    for side, name in enumerate(("White", "Black")):
        own = [SYMBOLS[mark].lower() for mark in marks.ravel() if mark and (mark - 1) % 2 == side]
        if own.count("k") != 1:
            raise bad(text, f"{name} has {counted(own.count('k'), 'king')}")
        if own.count("p") > size or len(own) > 2 * size:
            pawns, pieces = counted(own.count("p"), "pawn"), counted(len(own), "piece")
            raise bad(text, f"{name} has {pawns} and {pieces}, more than a game begins with")
        for letter in own:
            if letter not in kinds:
                raise bad(text, f"this form of chess has no piece {letter!r}")
    kings = [divmod(int(np.flatnonzero(marks == SYMBOLS.index(king))[0]), size) for king in "Kk"]
    if max(abs(one - other) for one, other in zip(*kings, strict=True)) == 1:
        raise bad(text, "the kings stand side by side")
    if {"P", "p"} & {SYMBOLS[mark] for mark in marks[[0, -1]].ravel()}:
        raise bad(text, "a pawn stands on the first or the last row")


def check_fields(text: str, position: Fen, whole: bool) -> None:
    """Refuse rights that the pieces do not allow; whole: whether there are castling and taking in passing.

    Raises:
        UserError: it says what is wrong.
    """
    marks = position.marks
    if (position.rights or position.passing != "-") and not whole:
        raise bad(text, "this form of chess has no castling and no taking in passing")
    for right in position.rights:
        row = [SYMBOLS[mark] for mark in marks[-1 if right.isupper() else 0]]
        king, rook = ("K", "R") if right.isupper() else ("k", "r")
        if row[4] != king or row[7 if right in "Kk" else 0] != rook:
            raise bad(text, f"the king or the rook of {right} is not in its place")
    if position.passing != "-":
        column = [SYMBOLS[mark] for mark in marks[:, ord(position.passing[0]) - ord("a")]]
        (first, cell, pawn), symbol = ((1, 2, 3), "p") if position.mover == 0 else ((6, 5, 4), "P")
        if column[pawn] != symbol or column[cell] != "." or column[first] != ".":
            raise bad(text, f"no pawn can have passed {position.passing}")
