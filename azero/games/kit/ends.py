"""How a game has ended: the cells that won, and the count in words.

Functions of a state for `Board.winning_cells` and `Board.score_text`. An exported page runs no Python. It
knows these by their names: `azero/export/static/ends.js` holds their twins.

Letters: H rows, W columns.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from azero.games.kit.board import EMPTY, FIRST, SECOND

Marks = Callable[[np.ndarray], np.ndarray]  # as `Board.marks`
WAYS = ((0, 1), (1, 0), (1, 1), (1, -1))
BESIDE = ((-1, 0), (0, -1), (0, 1), (1, 0))
BESIDE_HEXAGON = (*BESIDE, (-1, 1), (1, -1))


@dataclass(frozen=True)
class InLine:
    """The cells of all lines of `number` or more pieces of one player."""

    marks: Marks
    number: int

    def __call__(self, state: np.ndarray) -> list[int]:
        """Return the cells in rising order."""
        marks, found = self.marks(state), set[int]()
        for (row, column), mark in np.ndenumerate(marks):
            for down, right in WAYS if mark != EMPTY else ():
                ahead = [(row + down * step, column + right * step) for step in range(self.number)]
                if all(is_inside(marks, cell) and marks[cell] == mark for cell in ahead):
                    found |= {one * marks.shape[1] + other for one, other in ahead}
        return sorted(found)


@dataclass(frozen=True)
class Chain:
    """The shortest chain between the edges of a player: top and bottom for the first, left and right."""

    marks: Marks
    number: int = 0

    def __call__(self, state: np.ndarray) -> list[int]:
        """Return the cells of the chain from edge to edge; none if no edges are connected."""
        marks = self.marks(state)
        for owner, seen in ((FIRST, marks), (SECOND, marks.T)):
            if path := shortest_path(seen == owner):
                return [
                    row * marks.shape[1] + column if owner == FIRST else column * marks.shape[1] + row
                    for row, column in path
                ]
        return []


@dataclass(frozen=True)
class Goal:
    """The pieces that have reached the last row: the top one for the first player."""

    marks: Marks
    number: int = 0

    def __call__(self, state: np.ndarray) -> list[int]:
        """Return the cells in rising order."""
        marks = self.marks(state)
        last = (len(marks) - 1) * marks.shape[1]
        first, second = np.flatnonzero(marks[0] == FIRST), np.flatnonzero(marks[-1] == SECOND)
        return [*first.tolist(), *(second + last).tolist()]


@dataclass(frozen=True)
class Count:
    """How many pieces each player has, as "34 : 30"."""

    marks: Marks
    number: int = 0

    def __call__(self, state: np.ndarray) -> str:
        """Return the count of a state."""
        marks = self.marks(state)
        return f"{(marks == FIRST).sum()} : {(marks == SECOND).sum()}"


@dataclass(frozen=True)
class Area:
    """The score of a game whose larger area wins, as "by 3.5 points"; "" before its end.

    number: komi, points for the second player.
    """

    marks: Marks
    number: float
    is_over: Callable[[np.ndarray], bool]

    def __call__(self, state: np.ndarray) -> str:
        """Return how much the leader has more."""
        if not self.is_over(state) or not (lead := abs(self.lead(state))):
            return ""
        return f"by {lead:g} point{'' if lead == 1 else 's'}"

    def lead(self, state: np.ndarray) -> float:
        """Return the first player's area without the second's, and without komi."""
        first, second = self.areas(state)
        return float(first - second) - self.number

    def areas(self, state: np.ndarray) -> tuple[int, int]:
        """Return how many cells each player holds: stones, and empty cells that only theirs surround."""
        owners = self.territory(state) + self.marks(state)
        return int((owners == FIRST).sum()), int((owners == SECOND).sum())

    def territory(self, state: np.ndarray) -> np.ndarray:
        """Return whose each empty cell is, [H, W] of EMPTY (nobody's, or a stone's), FIRST and SECOND."""
        marks = self.marks(state)
        owners, known = np.zeros_like(marks), marks != EMPTY
        for start in zip(*np.nonzero(~known), strict=True):
            if known[start]:
                continue
            region, borders = [start], set[int]()
            known[start] = True
            for cell in region:  # grows meanwhile
                for near in neighbours(marks, cell, BESIDE):
                    if marks[near] != EMPTY:
                        borders.add(int(marks[near]))
                    elif not known[near]:
                        known[near] = True
                        region.append(near)
            if len(borders) == 1:
                owners[tuple(np.transpose(region))] = borders.pop()
        return owners


Cell = tuple[int, int]  # row and column


def is_inside(marks: np.ndarray, cell: Cell) -> bool:
    """Return whether a board has a cell."""
    return 0 <= cell[0] < len(marks) and 0 <= cell[1] < len(marks[0])


def neighbours(marks: np.ndarray, cell: Cell, ways: tuple[Cell, ...]) -> Iterator[Cell]:
    """Yield the cells beside one."""
    beside = ((cell[0] + down, cell[1] + right) for down, right in ways)
    return (each for each in beside if is_inside(marks, each))


def shortest_path(stones: np.ndarray) -> list[Cell]:
    """Return the shortest path of stones [H, W] of hexagons from the first row to the last, or []."""
    before: dict[Cell, Cell | None] = {(0, int(column)): None for column in np.flatnonzero(stones[0])}
    waiting = deque(before)
    while waiting:
        cell: Cell | None = waiting.popleft()
        assert cell is not None
        if cell[0] == len(stones) - 1:
            path = list[Cell]()
            while cell is not None:
                path.append(cell)
                cell = before[cell]
            return path[::-1]
        for near in neighbours(stones, cell, BESIDE_HEXAGON):
            if stones[near] and near not in before:
                before[near] = cell
                waiting.append(near)
    return []
