"""Moves of chess in standard algebraic notation (SAN): Nf3, exd5, O-O, e8=Q+, Nbd2.

For games whose actions are named by their cells, as e2e4 and e7e8q, on boards of any size.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np

from azero.games.kit.board import Board
from azero.games.kit.fen import SYMBOLS
from azero.games.kit.piece_moves import CHECKERS

SHORT, LONG = "O-O", "O-O-O"
MOVE = re.compile(r"([KQRBN]?)([a-h]?)([1-8]?)[x-]?([a-h][1-8])(?:[=/]?([QRBNqrbn])|\(([QRBN])\))?")
PASSING = re.compile(r"\s*e\.?p\.?$")  # of a pawn that takes in passing, not needed


class Chess(Protocol):
    """What is needed of a game, as `azero.games.game.Game` has it."""

    @property
    def board(self) -> Board | None: ...

    @property
    def action_name(self) -> Callable[..., str]: ...

    def legal_actions(self, state: np.ndarray) -> list[int]: ...

    def step(self, state: np.ndarray, action: int) -> np.ndarray: ...

    def is_terminal(self, state: np.ndarray) -> bool: ...

    def outcome(self, state: np.ndarray) -> float: ...


class AmbiguousMove(ValueError):
    """A text that several legal moves fit."""


class SanMove(NamedTuple):
    """A move in parts; columns, rows and cells by their labels."""

    piece: str  # P N B R Q K
    start: str
    to: str
    promoted: str  # "" or a letter as `piece`
    takes: bool

    @property
    def castles(self) -> str:
        """Return O-O or O-O-O, or "" for another move."""
        way = ord(self.to[0]) - ord(self.start[0])
        return "" if self.piece != "K" or abs(way) != 2 else SHORT if way > 0 else LONG


def parts(game: Chess, state: np.ndarray, action: int, marks: np.ndarray) -> SanMove:
    """Return an action in parts; marks [n, n]: those of the state."""
    assert game.board
    columns, rows = game.board.columns, game.board.rows
    name = game.action_name(state, action)
    start, to, promoted = name[:2], name[2:4], name[4:]
    at, there = (marks[rows.index(cell[1]), columns.index(cell[0])] for cell in (start, to))
    piece = SYMBOLS[at].upper()
    takes = bool(there) or (piece == "P" and start[0] != to[0])
    return SanMove(piece, start, to, promoted.upper(), takes)


def all_moves(game: Chess, state: np.ndarray) -> dict[int, SanMove]:
    """Return the legal actions in parts."""
    assert game.board
    marks = game.board.marks(state)
    return {action: parts(game, state, action, marks) for action in game.legal_actions(state)}


def san(game: Chess, state: np.ndarray, action: int) -> str:
    """Return a legal action in standard algebraic notation."""
    assert game.board
    marks, to = game.board.marks(state), game.board.cell_of(state, action)
    here = [each for each in game.legal_actions(state) if game.board.cell_of(state, each) == to]
    moves = {each: parts(game, state, each, marks) for each in here}
    move, text = moves[action], ""
    if move.castles:
        text = move.castles
    elif move.piece == "P":
        text = f"{move.start[0]}x" * move.takes + move.to + f"={move.promoted}" * bool(move.promoted)
    else:
        text = move.piece + start_shown(move, moves) + "x" * move.takes + move.to
    successor = game.step(state, action)
    if not successor[CHECKERS]:
        return text
    return text + ("#" if game.is_terminal(successor) and game.outcome(successor) < 0 else "+")


def start_shown(move: SanMove, moves: dict[int, SanMove]) -> str:
    """Return as much of a move's first cell as tells it from other moves of equal pieces to the same cell."""
    others = [
        other.start
        for other in moves.values()
        if (other.piece, other.to) == (move.piece, move.to) and other.start != move.start
    ]
    if not others:
        return ""
    if all(start[0] != move.start[0] for start in others):
        return move.start[0]
    if all(start[1] != move.start[1] for start in others):
        return move.start[1]
    return move.start


def read_san(game: Chess, state: np.ndarray, text: str) -> int | None:
    """Return the legal action that a text names, as SAN or as its cells (E2E4); None if there is not one.

    Signs for check and comments (+ # ! ?) and e.p. may be there or not.

    Raises:
        AmbiguousMove: several moves of pieces fit, or a promotion does not name its piece.
    """
    moves = all_moves(game, state)
    text = text.strip()
    written, text = text, PASSING.sub("", text.rstrip("+#!?")).rstrip("+#!?")
    castling = text.upper().replace("0", "O")
    found = MOVE.fullmatch(text)
    promoted = (found[5] or found[6] or "").upper() if found else ""
    fits, promotions = list[int](), list[int]()
    for action, move in moves.items():
        if text.lower() == (move.start + move.to + move.promoted).lower():
            return action
        if move.castles:
            fits += [action] if move.castles == castling else []
        elif found and (found[4], found[1] or "P") == (move.to, move.piece):
            start = (found[2] or move.start[0]) + (found[3] or move.start[1])
            fits += [action] if (start, promoted) == (move.start, move.promoted) else []
            promotions += [action] if start == move.start and move.promoted and not promoted else []
    if len(fits) > 1:
        *names, last = sorted(san(game, state, action) for action in fits)
        raise AmbiguousMove(f"{written!r} is ambiguous: {', '.join(names)} or {last}.")
    if promotions and not fits:
        *names, last = sorted(san(game, state, action).rstrip("+#") for action in promotions)
        raise AmbiguousMove(f"{written!r} does not name the new piece: {', '.join(names)} or {last}.")
    return fits[0] if fits else None
