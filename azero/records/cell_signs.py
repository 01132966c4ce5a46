"""What a file draws on a board: letters, shapes and arrows in SGF, coloured squares and arrows in PGN."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence

from azero.games.game import Game
from azero.records.sgf_rules import LETTERS, cell_points, points_of

SHAPES = {"TR": "△", "SQ": "□", "CR": "○", "MA": "✕", "SL": "◇"}  # SGF's properties
LABELS = "LB"  # SGF's property for texts; each value is a point, a colon and the text
ARROW = "AR"  # SGF's property for arrows; each value is two points with a colon between them
# In comments of PGN; each word is a colour's letter and one square, or two
SQUARES, ARROWS = re.compile(r"\[%csl ([^\]]*)\]"), re.compile(r"\[%cal ([^\]]*)\]")
TWO_SQUARES = re.compile("[A-Za-z]([a-z][0-9]+)([a-z][0-9]+)")
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
    named += [(square[1:], SHAPES["CR"]) for square in words_of(SQUARES, comment)]
    if not named or game.board is None:
        return []
    cells = cells_of(game.board.columns, game.board.rows)
    return [(cells[point], text) for point, text in named if text and point in cells]


def arrows_of(
    game: Game, properties: Mapping[str, Sequence[str]], comment: str = ""
) -> list[tuple[int, int]]:
    """Return the arrows of a node, each the cells where it begins and ends; arguments as of `signs_of`."""
    named = [tuple(point.strip().lower() for point in each.split(":")) for each in properties.get(ARROW, ())]
    named += [found.groups() for word in words_of(ARROWS, comment) if (found := TWO_SQUARES.fullmatch(word))]
    if not named or game.board is None:
        return []
    cells = cells_of(game.board.columns, game.board.rows)
    known = [(cells[each[0]], cells[each[1]]) for each in named if len(each) == 2 and {*each} <= {*cells}]
    return [(start, goal) for start, goal in known if start != goal]


def words_of(command: re.Pattern[str], comment: str) -> list[str]:
    """Return the words, with commas between them, of all commands of a kind in a comment."""
    return [word.strip() for found in command.findall(comment) for word in found.split(",")]


@functools.cache
def cells_of(columns: tuple[str, ...], rows: tuple[str, ...]) -> dict[str, int]:
    """Return the cells of a board by name and by SGF's letters, column and row from the top left."""
    points = cell_points(len(columns), len(rows)) if len(columns) <= len(LETTERS) else []
    names = [column + row for row in rows for column in columns]
    return {name: cell for named in (points, names) for cell, name in enumerate(named)}
