"""How GTP writes the moves, colours and boards of azero's games.

A cell is written as in Go: a letter without I, and a number that counts from the bottom. Othello and Hex are
written as their own programs do it, GRhino and HexGui: all letters, and numbers from the top. GoGui knows
only Go's way and draws A1 at the bottom left: Othello stands upside down there, and Hex, whose hexagons
would not fit, is written in Go's way once GoGui has asked for the board's shape. A move that puts no piece on
a cell of its own, such as a pass, has azero's name for it; so has every move of a game without a board of
cells, and of one where moves go from a cell to a cell, whose board has azero's names, too.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path

import numpy as np

from azero.config.schema import UserError
from azero.games.game import Game
from azero.games.kit.board import NO_CELL, letters, numbers, owner_of

LETTERS = tuple(letter.upper() for letter in letters(26, skip="i"))
COLOURS = ("black", "white")  # the player who moves first in the game, and the other
PASS = "pass"
FROM_TOP = ("hex", "othello")
SWAP = "swap-pieces"  # as it is written; SWAPS are read too
SWAPS = (SWAP, "swap-sides", "swap")
CELL = re.compile("[a-z][0-9]+")  # what looks like the name of a cell, in small letters
MARKS = (".", "X", "O")  # by whose piece it is
NO_POINT = "?"


def parse_colour(text: str) -> int:
    """Return 0 for black and 1 for white; UserError: it is neither."""
    for side, colour in enumerate(COLOURS):
        if text.lower() in (colour, colour[0]):
            return side
    raise UserError(f"syntax error: {text[:20]} is not a color, b or w")


def is_pass(text: str) -> bool:
    """Return whether a move is a pass."""
    return text.lower() == PASS


class Moves:
    """The moves and the board of one game as GTP writes them."""

    def __init__(self, game: Game, for_gogui: bool = False) -> None:
        self.game, self.board = game, game.board
        self.from_top = game.name in FROM_TOP and not (game.name == "hex" and for_gogui)
        self.moves = self.board is not None and self.board.from_of is not None  # from a cell to a cell
        if self.board and not self.moves:
            rows, columns = len(self.board.rows), len(self.board.columns)
            labels = tuple(map(str.upper, letters(columns))) if self.from_top else LETTERS[:columns]
            numbered = numbers(rows)[:: 1 if self.from_top else -1]
            self.board = replace(self.board, columns=labels, rows=numbered) if columns <= 25 else None

    @property
    def size(self) -> tuple[int, int]:
        """Columns and rows of the board; (0, 0) without one."""
        return (len(self.board.columns), len(self.board.rows)) if self.board else (0, 0)

    @property
    def game_id(self) -> str:
        """The game's name for GoGui: a capital and small letters."""
        return "".join(filter(str.isalpha, Path(self.game.name).stem)).capitalize() or "Game"

    def texts(self, state: np.ndarray, actions: Sequence[int]) -> list[str]:
        """Return how these actions, which are legal at a state, are written."""
        names = [self.game.action_name(state, action) for action in actions]
        board = self.board
        if board is None or self.moves:
            return names
        if self.game.name == "hex":
            return [board.cell_name(a) if a < math.prod(self.size) else SWAP for a in actions]
        cells = [board.cell_of(state, action) for action in actions]
        return [
            name if cell == NO_CELL or cells.count(cell) > 1 else board.cell_name(cell)
            for name, cell in zip(names, cells, strict=True)
        ]

    def text(self, state: np.ndarray, action: int) -> str:
        """Return how a legal action is written."""
        legal = self.game.legal_actions(state)
        return self.texts(state, legal)[legal.index(action)]

    def line_texts(self, state: np.ndarray, actions: Sequence[int]) -> list[str]:
        """Return how actions that are played one after the other are written."""
        found = []
        for action in actions:
            found.append(self.text(state, action))
            state = self.game.step(state, action)
        return found

    def parse(self, text: str, state: np.ndarray, legal: Sequence[int]) -> int:
        """Return the legal action that a text means; azero's own names count if they do not look like cells.

        Raises:
            UserError: there is none.
        """
        action = self.known(state, legal).get(text.lower())
        if action is None:
            raise UserError(f"illegal move: {text[:40]}")
        return action

    def known(self, state: np.ndarray, legal: Sequence[int]) -> dict[str, int]:
        """Return the legal actions by every name that is read, in small letters."""
        known = dict(zip((name.lower() for name in self.texts(state, legal)), legal, strict=True))
        for action in legal:
            if not CELL.fullmatch(name := self.game.action_name(state, action).lower()):
                known.setdefault(name, action)
        if SWAP in known:
            known |= dict.fromkeys(SWAPS, known[SWAP])
        return known

    @cached_property
    def vertices(self) -> frozenset[str]:
        """What a client may name as a move in some position, in small letters: also a pass."""
        actions = range(self.game.num_actions) if self.game.fixed_names else ()
        names = {self.game.action_name(self.game.initial_state(), action).lower() for action in actions}
        if self.board:
            names = self.cells() | {name for name in names if not CELL.fullmatch(name)}
        return frozenset(names | {PASS} | set(SWAPS if self.game.name == "hex" else ()))

    def cells(self) -> set[str]:
        """Return the names of all cells in small letters; none without a board."""
        columns, rows = self.size
        return {self.board.cell_name(cell).lower() for cell in range(columns * rows)} if self.board else set()

    def pass_action(self, state: np.ndarray, legal: Sequence[int]) -> int | None:
        """Return the legal pass of a state, None if there is none."""
        return next((action for action in legal if self.game.action_name(state, action) == PASS), None)

    def rows(self, state: np.ndarray) -> list[str]:
        """Return the board for GoGui, a square from row N down: X, O, "." and "?" where there is no cell."""
        if self.board is None:
            raise UserError("this game has no board of cells")
        columns, rows = self.size
        size = max(columns, rows)
        lines = [[NO_POINT] * size for _ in range(size - rows)]
        for marks in self.board.marks(state)[:: -1 if self.from_top else 1].tolist():
            shown = [MARKS[owner_of(mark)] for mark in marks]
            lines.append(shown + [NO_POINT] * (size - columns))
        return [" ".join(line) for line in lines]

    def show(self, state: np.ndarray) -> str:
        """Return the position as text."""
        if self.board is None:
            return self.game.format_state(state)
        return self.board.text(state)
