"""Checks of what people see of a game: a state as text, and the board with its labels, marks and cells.

Letters: H rows, W columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, get_args, get_type_hints

import numpy as np

from azero.games.game import Game
from azero.games.kit.board import EMPTY, FIGURES, NO_CELL, SECOND, Board
from azero.games.laws.views import ENOUGH

ELSEWHERE = 0.25  # share of moves whose cell stays as it is although other cells change


def board_faults(board: Board) -> Iterator[str]:
    """Yield what is wrong with a board whatever the state."""
    kinds = get_args(get_type_hints(Board)["kind"])
    if board.kind not in kinds:
        yield f"board.kind is {board.kind!r}; it must be one of {', '.join(kinds)}"
    for name in ("columns", "rows"):
        labels = getattr(board, name)
        if not is_texts(labels) or not all(map(str.strip, labels)):
            yield f"board.{name} must be a tuple of labels, none of them empty"
        elif len(set(labels)) < len(labels):
            yield f"board.{name} has the same label twice"
    if not is_texts(board.figures) or not set(board.figures) <= set(FIGURES):
        yield f"board.figures must be a tuple of some of {', '.join(FIGURES)}"
    elif len(set(board.figures)) < len(board.figures):
        yield f"board.figures is {board.figures}, so two kinds of pieces look alike"
    elif not is_texts(board.symbols) or len(board.symbols) != last_mark(board) + 1 or not all(board.symbols):
        count = "three texts" if len(board.figures) == 1 else f"{last_mark(board) + 1} texts"
        each = "; more kinds need board.figures" if len(board.figures) == 1 else ", for each of board.figures"
        yield f"board.symbols must be {count}: of an empty cell, of the first player, of the second{each}"
    if not is_texts(board.goals) or len(board.goals) != SECOND:
        yield "board.goals must be two texts, which may be empty"
    if board.players is not None and (not is_texts(board.players) or len(board.players) != SECOND):
        yield "board.players must be two texts, what the players are called"
    if board.stones not in (looks := get_args(get_type_hints(Board)["stones"])):
        yield f"board.stones is {board.stones!r}; it must be one of {', '.join(looks)}"


def last_mark(board: Board) -> int:
    """Return the highest mark of a board: each kind of pieces has one for either player."""
    return SECOND * len(board.figures)


def is_texts(value: Any) -> bool:
    """Return whether a value is a tuple of texts with at least one."""
    return isinstance(value, tuple) and bool(value) and all(isinstance(each, str) for each in value)


def text_fault(game: Game, state: np.ndarray) -> str:
    """Return what is wrong with a state as text; "" if nothing is."""
    given = state.copy()
    text = game.format_state(given)
    if not isinstance(text, str) or not text.strip():
        return "format_state returns no text"
    return "format_state changed the state it was given" if not np.array_equal(given, state) else ""


def marks_fault(board: Board, state: np.ndarray) -> str:
    """Return what is wrong with a state's marks; "" if nothing is."""
    given, shape = state.copy(), (len(board.rows), len(board.columns))
    marks = board.marks(given)
    if not isinstance(marks, np.ndarray) or marks.shape != shape:
        what = f"an array of shape {marks.shape}" if isinstance(marks, np.ndarray) else type(marks).__name__
        return f"board.marks returns {what}; rows and columns need an array of shape {shape}"
    if marks.dtype.kind not in "iu" or marks.min() < EMPTY or marks.max() > last_mark(board):
        more = f", up to {last_mark(board)} for board.figures" if len(board.figures) > 1 else ""
        return f"board.marks must hold whole numbers: 0 empty, 1 first player, 2 second player{more}"
    return "board.marks changed the state it was given" if not np.array_equal(given, state) else ""


def cells_fault(board: Board, name: str, cells: Sequence[Any]) -> str:
    """Return what is wrong with cells that a function of the board returns; "" if nothing is."""
    last = len(board.rows) * len(board.columns) - 1
    if all(isinstance(cell, int | np.integer) and NO_CELL <= cell <= last for cell in cells):
        return ""
    return f"board.{name} returns neither a cell from 0 to {last} nor NO_CELL"


def of_actions_fault(
    board: Board, name: str, of: Callable[..., Any], state: np.ndarray, actions: Sequence[int]
) -> str:
    """Return what is wrong with the cells of some actions, legal or not; "" if nothing is."""
    return cells_fault(board, name, [of(state.copy(), action) for action in actions])


def winning_fault(board: Board, state: np.ndarray) -> str:
    """Return what is wrong with the winning cells of a final state; "" if nothing is."""
    assert board.winning_cells is not None
    cells = list(board.winning_cells(state.copy()))
    if len(set(cells)) < len(cells) or NO_CELL in cells:
        return "board.winning_cells must return cells, each once"
    return cells_fault(board, "winning_cells", cells)


def score_fault(board: Board, state: np.ndarray) -> str:
    """Return what is wrong with the count of a state in words; "" if nothing is."""
    assert board.score_text is not None
    text = board.score_text(state.copy())
    return "" if isinstance(text, str) else f"board.score_text returns {text!r}, not a text"


def territory_fault(board: Board, state: np.ndarray) -> str:
    """Return what is wrong with the territory of a final state; "" if nothing is."""
    assert board.territory is not None
    owners, shape = np.asarray(board.territory(state.copy())), (len(board.rows), len(board.columns))
    if (
        owners.shape == shape
        and owners.dtype.kind in "iu"
        and EMPTY <= owners.min() <= owners.max() <= SECOND
    ):
        return ""
    return (
        f"board.territory must return an array of shape {shape} of 0 nobody, 1 first player, 2 second player"
    )


class Cells:
    """Counts moves after which the marks differ, but not on the cell of the move."""

    def __init__(self) -> None:
        self.moves, self.elsewhere = 0, 0
        self.shown: tuple[np.ndarray, np.ndarray] | None = None  # the first of those moves

    def add(self, board: Board, before: np.ndarray, action: int, after: np.ndarray) -> None:
        """Count a move from one state to another."""
        cell, changed = board.cell_of(before.copy(), action), board.marks(before) != board.marks(after)
        if cell == NO_CELL or not changed.any():
            return
        self.moves += 1
        if not changed.ravel()[cell]:
            self.elsewhere += 1
            self.shown = self.shown or (before, after)

    def fault(self) -> str:
        """Return what is wrong with the cells of all moves together; "" if nothing is."""
        if self.elsewhere < max(ENOUGH, ELSEWHERE * self.moves):
            return ""
        return "board.cell_of names a cell that the move leaves as it is, while the marks of others change"


Fault = Callable[[], str]


def state_faults(game: Game, state: np.ndarray, actions: Sequence[int]) -> Iterator[tuple[str, Fault]]:
    """Yield (what is called, the check of it) for a state and some actions."""
    if board := game.board:
        yield "board.marks", lambda: marks_fault(board, state)
        for name in ("cell_of", "from_of"):  # of actions, legal or not
            if (of := getattr(board, name)) is not None:
                yield f"board.{name}", partial(of_actions_fault, board, name, of, state, actions)
        if (alert := board.alert) is not None:
            yield "board.alert", lambda: cells_fault(board, "alert", [alert(state.copy())])
        if board.score_text is not None:
            yield "board.score_text", lambda: score_fault(board, state)
        for name, fault in (("winning_cells", winning_fault), ("territory", territory_fault)):
            if getattr(board, name) is not None and game.is_terminal(state):
                yield f"board.{name}", partial(fault, board, state)
    yield "format_state", lambda: text_fault(game, state)  # last, because it may fail by the marks
