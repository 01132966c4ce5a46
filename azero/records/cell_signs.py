"""What a file draws on the cells of a position: letters and shapes in SGF, coloured squares in PGN."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence

from azero.games.game import Game
from azero.records.sgf_rules import LETTERS, cell_points, points_of

SHAPES = {"TR": "△", "SQ": "□", "CR": "○", "MA": "✕", "SL": "◇"}  # SGF's properties
LABELS = "LB"  # SGF's property for texts; each value is a point, a colon and the text
SQUARES = re.compile(r"\[%csl ([^\]]*)\]")  # in comments of PGN: a colour's letter and a square, with commas
LONGEST = 3  # characters that a cell has room for


def signs_of(game: Game, properties: Mapping[str, Sequence[str]], comment: str = "") -> list[tuple[int, str]]:
    """Return the signs on the cells of a node, each a cell and a short text; what is no cell is left out.

    Args:
        game: whose board it is.
        properties: of the node in SGF.
        comment: of the node in PGN, with its commands.
    """
    shapes = [name for name in SHAPES if name in properties]
    named = [(point, SHAPES[name]) for name in shapes for point in points_of(properties[name])]
    for value in properties.get(LABELS, ()):
        point, _, text = value.partition(":")
        named.append((point.strip().lower(), text.strip()[:LONGEST]))
    squares = [square for found in SQUARES.findall(comment) for square in found.split(",")]
    named += [(square.strip()[1:], SHAPES["CR"]) for square in squares]
    if not named or game.board is None:
        return []
    cells = cells_of(game.board.columns, game.board.rows)
    return [(cells[point], text) for point, text in named if text and point in cells]


@functools.cache
def cells_of(columns: tuple[str, ...], rows: tuple[str, ...]) -> dict[str, int]:
    """Return the cells of a board by name and by SGF's letters, column and row from the top left."""
    points = cell_points(len(columns), len(rows)) if len(columns) <= len(LETTERS) else []
    names = [column + row for row in rows for column in columns]
    return {name: cell for named in (points, names) for cell, name in enumerate(named)}
