"""The board of a game as people see it, for every game whose positions are marks on cells.

Letters: H rows, W columns. Cells are numbered row by row from the top left.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from string import ascii_lowercase
from typing import Any, Literal

import numpy as np

from azero.games.kit.bits import cells_of, words_needed

# Marks of a cell: empty, a piece of the player who makes the first move of the game, a piece of the other
EMPTY, FIRST, SECOND = 0, 1, 2
NO_CELL = -1


@dataclass(frozen=True)
class Board:
    """How to draw a game's positions.

    Attributes:
        kind: where pieces stand: in squares, on crossings of lines, or in hexagons. Each row of hexagons is
            half a cell right of the row above.
        columns: W labels from left to right.
        rows: H labels from top to bottom.
        marks: returns the cells of a state, [H, W] int8 of EMPTY, FIRST and SECOND.
        cell_of: returns for (state, action) the cell where the action puts its piece, NO_CELL for a pass and
            the like.
        symbols: EMPTY, FIRST and SECOND in text.
        goals: what each player must do where that differs, such as "connect top and bottom".
    """

    kind: Literal["squares", "crossings", "hexagons"]
    columns: tuple[str, ...]
    rows: tuple[str, ...]
    marks: Callable[[np.ndarray], np.ndarray]
    cell_of: Callable[[np.ndarray, int], int]
    symbols: tuple[str, str, str] = (".", "X", "O")
    goals: tuple[str, str] = ("", "")

    def described(self) -> dict[str, Any]:
        """Return kind, columns, rows, symbols and goals for JSON."""
        kept = {name: list(getattr(self, name)) for name in ("columns", "rows", "symbols", "goals")}
        return {"kind": self.kind, **kept}

    def cell_name(self, cell: int) -> str:
        """Return the column and the row of a cell."""
        return self.columns[cell % len(self.columns)] + self.rows[cell // len(self.columns)]

    def mark(self, text: str, state: np.ndarray, cell: int) -> str:
        """Return the text of a position with one cell in brackets, if `text` writes its row alike."""
        if max(map(len, self.symbols)) > 1:
            return text
        row, column = divmod(cell, len(self.columns))
        width, lines = max(map(len, self.columns)), text.split("\n")
        cells = " ".join(self.symbols[mark].rjust(width) for mark in self.marks(state)[row])
        at = (1 + width) * (1 + column) - 1
        marked = f" {cells} "[: at - 1] + f"({cells[at - 1]})" + f" {cells} "[at + 2 :]
        if row < len(lines):
            lines[row] = f"{lines[row]} ".replace(f" {cells} ", marked, 1).rstrip()
        return "\n".join(lines)

    def text(self, state: np.ndarray) -> str:
        """Return the position as text, with coordinates on the left and below."""
        margin = max(map(len, self.rows))
        width = max(map(len, self.columns))
        slant = 1 if self.kind == "hexagons" else 0
        lines = []
        for row, (label, marks) in enumerate(zip(self.rows, self.marks(state), strict=True)):
            cells = " ".join(self.symbols[mark].rjust(width) for mark in marks)
            lines.append(f"{' ' * (slant * row)}{label.rjust(margin)} {cells}")
        below = " ".join(label.rjust(width) for label in self.columns)
        lines.append(" " * (slant * len(self.rows) + margin + 1) + below)
        return "\n".join(lines)


def marks_of_words(
    height: int, width: int, first_word: int = 0, to_play: Callable[[np.ndarray], int] | None = None
) -> Callable[[np.ndarray], np.ndarray]:
    """Return a function for `Board.marks`: from word `first_word` on, a state holds two sets of cells.

    With `to_play` (0 or 1 for a state) the first set is of the player to move, else of the first player.
    """
    cells, words = height * width, words_needed(height * width)

    def marks(state: np.ndarray) -> np.ndarray:
        sets = [cells_of(state[first_word + side * words :][:words], cells) for side in (0, 1)]
        first = to_play(state) if to_play else 0
        return (FIRST * sets[first] + SECOND * sets[1 - first]).reshape(height, width)

    return marks


def letters(count: int, skip: str = "") -> tuple[str, ...]:
    """Return the first labels a, b, c, …, z, aa, ab, …, without letters in `skip`."""
    alphabet = [letter for letter in ascii_lowercase if letter not in skip]
    labels = (label for length in itertools.count(1) for label in itertools.product(alphabet, repeat=length))
    return tuple("".join(label) for label in itertools.islice(labels, count))


def numbers(count: int) -> tuple[str, ...]:
    """Return the labels 1, 2, …, `count`."""
    return tuple(str(number) for number in range(1, count + 1))


def square_symmetries(size: int) -> np.ndarray:
    """Return the eight symmetries of a square board, [8, size * size].

    Symmetry k maps cell c to `[k, c]`. Row 0 is the identity.
    """
    cells = np.arange(size * size).reshape(size, size)
    turned = [np.rot90(board, turns).ravel() for board in (cells, cells.T) for turns in range(4)]
    return np.array([np.argsort(symmetry) for symmetry in turned])


def rectangle_symmetries(height: int, width: int) -> np.ndarray:
    """Return the symmetries of a board, [symmetries, H * W]: eight of a square, four of another rectangle."""
    if height == width:
        return square_symmetries(height)
    cells = np.arange(height * width).reshape(height, width)
    turned = [cells, cells[:, ::-1], cells[::-1], cells[::-1, ::-1]]
    return np.array([np.argsort(symmetry.ravel()) for symmetry in turned])


def with_pass(symmetries: np.ndarray) -> np.ndarray:
    """Return symmetries of actions: one for each cell and a last one, the pass, which stays in place."""
    kept = np.full((len(symmetries), 1), symmetries.shape[1])
    return np.concatenate([symmetries, kept], axis=1)
