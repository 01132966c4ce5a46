"""The board of a game as people see it: one text and one picture for every game whose positions are marks on cells.

Letters: H rows, W columns. Cells are numbered row by row from the top left.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

EMPTY, FIRST, SECOND = 0, 1, 2  # a cell's mark: nothing, a piece of the player who moves first in the game, of the other
NO_CELL = -1


@dataclass(frozen=True)
class Board:
    """How a game's positions are drawn.

    Attributes:
        kind: pieces stand in squares, on the crossings of lines, or in hexagons, each row half a cell right of the one above.
        columns: W labels from left to right.
        rows: H labels from top to bottom.
        marks: a state's cells, [H, W] int8 of EMPTY, FIRST and SECOND.
        cell_of: (state, action) to the cell where the action puts its piece in that state, NO_CELL for a pass and its like.
        symbols: in text, what stands for EMPTY, FIRST and SECOND.
    """

    kind: Literal["squares", "crossings", "hexagons"]
    columns: tuple[str, ...]
    rows: tuple[str, ...]
    marks: Callable[[np.ndarray], np.ndarray]
    cell_of: Callable[[np.ndarray, int], int]
    symbols: tuple[str, str, str] = (".", "X", "O")

    def text(self, state: np.ndarray) -> str:
        """The position as text, with coordinates on the left and below."""
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


def letters(count: int, skip: str = "") -> tuple[str, ...]:
    """The first labels a, b, c, ... without those in `skip`."""
    return tuple(letter for letter in "abcdefghijklmnopqrstuvwxyz" if letter not in skip)[:count]


def numbers(count: int) -> tuple[str, ...]:
    """The labels 1, 2, ..., `count`."""
    return tuple(str(number) for number in range(1, count + 1))


def square_symmetries(size: int) -> np.ndarray:
    """The eight symmetries of a square board, [8, size * size]: row k takes cell c to `row[c]`; row 0 is the identity."""
    cells = np.arange(size * size).reshape(size, size)
    turned = [np.rot90(board, turns).ravel() for board in (cells, cells.T) for turns in range(4)]
    return np.array([np.argsort(symmetry) for symmetry in turned])


def rectangle_symmetries(height: int, width: int) -> np.ndarray:
    """The symmetries of a board: eight of a square, else the four that keep its sides, [symmetries, H * W]."""
    if height == width:
        return square_symmetries(height)
    cells = np.arange(height * width).reshape(height, width)
    turned = [cells, cells[:, ::-1], cells[::-1], cells[::-1, ::-1]]
    return np.array([np.argsort(symmetry.ravel()) for symmetry in turned])


def with_pass(symmetries: np.ndarray) -> np.ndarray:
    """Symmetries of cells as symmetries of actions: one action a cell, and a last one that every symmetry keeps."""
    kept = np.full((len(symmetries), 1), symmetries.shape[1])
    return np.concatenate([symmetries, kept], axis=1)
