"""The board of a game as people see it, for every game whose positions are marks on cells.

Letters: H rows, W columns. Cells are numbered row by row from the top left.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from string import ascii_lowercase
from typing import Any, Literal

import numpy as np

from azero.games.kit.bits import cells_of, words_needed, words_of
from azero.games.kit.figures import PATHS

# Marks of a cell: empty, a piece of the player who makes the first move of the game, a piece of the other.
# A second kind of pieces has the marks 3 and 4, and so on
EMPTY, FIRST, SECOND = 0, 1, 2
PLAYERS = ("The first player", "The second player")  # of a game that has no names for them
NO_CELL = -1
STONE = "stone"
FIGURES = (STONE, *PATHS)


def owner_of(mark: int) -> int:
    """Return EMPTY, or FIRST or SECOND, whose piece a mark is."""
    return EMPTY if mark == EMPTY else FIRST + (mark - FIRST) % 2


def figure_of(mark: int) -> int:
    """Return the place of a mark in `Board.figures`; the mark is not EMPTY."""
    return (mark - FIRST) // 2


@dataclass(frozen=True)
class Board:
    """How to draw a game's positions.

    Attributes:
        kind: where pieces stand: in squares, on crossings of lines, or in hexagons. Each row of hexagons is
            half a cell right of the row above.
        columns: W labels from left to right.
        rows: H labels from top to bottom.
        marks: returns the cells of a state, [H, W] int8 of EMPTY, FIRST, SECOND, and marks of other kinds.
        cell_of: returns for (state, action) the cell where the action puts its piece, NO_CELL for a pass and
            the like.
        symbols: each mark in text: EMPTY, FIRST, SECOND, …
        goals: what each player must do where that differs, such as "connect top and bottom".
        from_of: returns for (state, action) the cell that the piece leaves, NO_CELL if it comes from outside;
            None if all do.
        figures: how each kind of pieces is drawn: one of FIGURES. Figures other than stones stand on a
            chequered board, those of the first player in white.
        alert: returns for a state a cell to warn of, such as that of a king in check, or NO_CELL.
        players: what the players are called, such as Black and White; None: the first and the second player.
        stones: how stones look: of two colours, black and white, or drawn as X and O. On crossings they are
            black and white always; squares under black and white stones are green.
        winning_cells: returns for a final state the cells that have won, such as a line; none if no cells do.
        score_text: returns for a state its count or end in words that can follow "Black wins", such as
            "34 : 30", "by 3.5 points" or "by checkmate"; "" if there is none yet.
        territory: returns for a final state whose each empty cell is, [H, W] of EMPTY, FIRST and SECOND.
        note: returns for a state what a page says beside the board, such as that the next pass ends the game;
            "" for nothing.
        why_not: returns why an action is not legal in a state, in words that can follow "a1 is not legal:";
            "" if there is no special reason.
        captures: whether pages count the stones that each player has taken.
        words: what buttons say of moves beside the board, by the name of the move.
    """

    kind: Literal["squares", "crossings", "hexagons"]
    columns: tuple[str, ...]
    rows: tuple[str, ...]
    marks: Callable[[np.ndarray], np.ndarray]
    cell_of: Callable[[np.ndarray, int], int]
    symbols: tuple[str, ...] = (".", "X", "O")
    goals: tuple[str, str] = ("", "")
    from_of: Callable[[np.ndarray, int], int] | None = None
    figures: tuple[str, ...] = (STONE,)
    alert: Callable[[np.ndarray], int] | None = None
    players: tuple[str, str] | None = None
    stones: Literal["coloured", "classic", "drawn"] = "coloured"
    winning_cells: Callable[[np.ndarray], Sequence[int]] | None = None
    score_text: Callable[[np.ndarray], str] | None = None
    territory: Callable[[np.ndarray], np.ndarray] | None = None
    note: Callable[[np.ndarray], str] | None = None
    why_not: Callable[[np.ndarray, int], str] | None = None
    captures: bool = False
    words: Mapping[str, str] = field(default_factory=dict)

    def described(self) -> dict[str, Any]:
        """Return what a page draws, as JSON: the attributes that are text, the paths of the figures, whether
        pieces move, and the names of the functions of `games/kit/ends.py`, each with its number.
        """
        kept = ("columns", "rows", "symbols", "goals", "figures")
        lists = {name: list(getattr(self, name)) for name in kept}
        shapes = {figure: list(PATHS[figure]) for figure in self.figures if figure != STONE}
        plain = {name: getattr(self, name) for name in ("kind", "captures")}
        ends = {
            type(rule).__name__.lower(): number
            for rule in (self.winning_cells, self.score_text)
            if (number := getattr(rule, "number", None)) is not None
        }
        players = self.player_names()
        return {
            **plain,
            **lists,
            **{"stones": self.look(), "shapes": shapes, "moves": self.from_of is not None},
            **{"words": dict(self.words), "ends": ends, "players": players and list(players)},
        }

    def look(self) -> str:
        """Return how pieces look: coloured, classic, drawn or figures."""
        if self.has_figures():
            return "figures"
        return "classic" if self.kind == "crossings" else self.stones

    def player_name(self, player: int) -> str:
        """Return what a player (0 or 1) is called at the beginning of a sentence."""
        return (self.player_names() or PLAYERS)[player]

    def player_names(self) -> tuple[str, str] | None:
        """Return what the players are called, White and Black where pieces are figures; None: no names."""
        return self.players or (("White", "Black") if self.has_figures() else None)

    def has_figures(self) -> bool:
        """Return whether some pieces are not stones."""
        return any(figure != STONE for figure in self.figures)

    def side_name(self, player: int) -> str:
        """Return such as X, or White where pieces are figures; player: 0 or 1."""
        return ("White", "Black")[player] if self.has_figures() else self.symbols[1 + player]

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

    def line(self, state: np.ndarray, to_play: int) -> str:
        """Return a position as one line: its rows from the top, and the symbol of who is to play."""
        between = "" if max(map(len, self.symbols)) == 1 else ","
        rows = (between.join(self.symbols[mark] for mark in row) for row in self.marks(state))
        return f"{'/'.join(rows)} {self.symbols[1 + to_play]}"

    def read_line(self, text: str) -> tuple[np.ndarray, int]:
        """Return the marks [H, W] of a line and who is to play, 0 or 1; ValueError: it is not such a line."""
        movers = self.symbols[1:3]
        board, _, mover = text.strip().rpartition(" ")
        if mover not in movers:
            raise ValueError(f"it must end with a blank and who is to play, {movers[0]} or {movers[1]}")
        long = max(map(len, self.symbols)) > 1
        rows = [row.split(",") if long else list(row) for row in board.strip().split("/")]
        if len(rows) != len(self.rows) or any(len(row) != len(self.columns) for row in rows):
            size = f"{len(self.rows)} rows of {len(self.columns)} cells"
            raise ValueError(f"it must have {size}, from the top, with / between the rows")
        if unknown := {cell for row in rows for cell in row} - set(self.symbols):
            raise ValueError(f"{min(unknown)!r} is not one of {' '.join(self.symbols)}")
        return np.array([[self.symbols.index(cell) for cell in row] for row in rows], np.int8), movers.index(
            mover
        )

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
        shown: np.ndarray = FIRST * sets[first] + SECOND * sets[1 - first]
        return shown.reshape(height, width)

    return marks


def words_of_marks(marks: np.ndarray, mark: int) -> np.ndarray:
    """Return the cells of marks [H, W] that hold one of them as a set, [W words] uint64."""
    cells = np.flatnonzero(marks == mark).tolist()
    return np.array(words_of(cells, words_needed(marks.size)), np.uint64)


def check_turns(marks: np.ndarray, to_play: int) -> None:
    """Raise ValueError if players who put a stone each turn, and lose none, cannot come to marks [H, W]."""
    first, second = int((marks == FIRST).sum()), int((marks == SECOND).sum())
    if first - second != to_play:
        owner = ("the first", "the second")[to_play]
        raise ValueError(f"with {first} stones and {second}, {owner} player cannot be to play")


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
