"""The rules by which an SGF file's game is played, from what other programs write in its first node."""

from __future__ import annotations

import re
from collections.abc import Sequence
from string import ascii_lowercase
from typing import Any

import numpy as np

from azero.config.schema import UserError
from azero.games.game import Game
from azero.games.go import MOST_KOMI, MOST_PLIES
from azero.games.kit.board import EMPTY, FIRST, SECOND
from azero.records.record import MakeGame, game_of, one_line, short

NUMBERS = {"go": 1, "othello": 2, "gomoku": 4, "hex": 11}  # GM
SIZES = {"go": 19, "othello": 8, "gomoku": 15, "hex": 11}  # without SZ
LETTERS = ascii_lowercase  # of points
SWAPS = ("swap-pieces", "swap-sides", "swap")  # in Hex

SIMPLE = re.compile(
    "japan|korea|nihon|^jpn?$|^kr$|kosimple|日本|韩国|韓国|韓國|한국"
)  # RU: only the simple ko
SUPERKO = re.compile("^chin|^cn$|tromp|kopositional|中国|中國")  # RU: no position comes back
SIZE = re.compile(r"([0-9]{1,3})(?:\s*[:x×*,]\s*([0-9]{1,3}))?")
KOMI = re.compile(r"([+-]?(?:[0-9]{1,9}(?:[.,][0-9]{0,9})?|[.,][0-9]{1,9}))(\s*(?:1/2|½))?")
LARGE_KOMI = 200  # from here on KM is in hundredths of a point, or of two points
STONES = {"AB": FIRST, "AW": SECOND, "AE": EMPTY}
RECTANGLE = re.compile(r"([a-z])([a-z])\s*:\s*([a-z])([a-z])")

Properties = dict[str, list[str]]


def line_of(properties: Properties, name: str) -> str:
    """Return a property as one line; "" if there is none."""
    return one_line(properties.get(name, [""])[0])


def word_of(properties: Properties, name: str) -> str:
    """Return a property as `line_of` does, without spaces around it and in small letters."""
    return line_of(properties, name).strip().lower()


def foreign_game(nodes: list[tuple[int, Properties]], make: MakeGame) -> Game:
    """Return the game of a file that azero has not written.

    Raises:
        UserError: azero does not have the game, or not on that board.
    """
    root = nodes[0][1]
    number = word_of(root, "GM") or "1"
    names = {str(known): name for name, known in NUMBERS.items()}
    if number not in names:
        raise UserError(
            f"GM[{short(number)}] is a game that azero does not read; it reads "
            + ", ".join(f"{known} ({name})" for known, name in names.items())
            + "."
        )
    name = names[number]
    columns, rows = read_size(word_of(root, "SZ"), SIZES[name])
    if name == "gomoku":
        return game_of({"game": name, "options": {"rows": rows, "columns": columns}}, make)
    if rows != columns:
        raise UserError(f"a board of {columns} x {rows} is not square, and azero's {name} needs that.")
    options: dict[str, Any] = {"size": rows}
    if name == "go":
        options |= go_options(root, rows, len(nodes))
    if name == "hex":
        texts = (text for _, node in nodes for colour in "BW" for text in node.get(colour, ()))
        options["swap"] = any(text.strip().lower() in SWAPS for text in texts)
    return game_of({"game": name, "options": options}, make)


def read_size(text: str, default: int) -> tuple[int, int]:
    """Return the columns and rows of SZ."""
    size = SIZE.fullmatch(text) if text else None
    if text and not size:
        raise UserError(f"SZ[{short(text)}] is not the size of a board.")
    return (int(size[1]), int(size[2] or size[1])) if size else (default, default)


def go_options(root: Properties, size: int, plies: int) -> dict[str, Any]:
    """Return the options of Go for a game of at most so many plies."""
    rules = word_of(root, "RU")
    options: dict[str, Any] = {"superko": "simple" if SIMPLE.search(rules) else "positional"}
    komi = read_komi(word_of(root, "KM"), rules)
    if komi is not None:
        options["komi"] = komi
    limit = 2 * size * size  # where azero would end the game; doubled, so that few rules serve all games
    while limit < plies and limit < MOST_PLIES:
        limit = options["max_plies"] = min(2 * limit, MOST_PLIES)
    return options


def read_komi(text: str, rules: str) -> float | None:
    """Return the komi of KM; None if it does not say one.

    Fox and other servers of China write hundredths: KM[650] for 6.5 points, and KM[375] for 3.75 stones, as
    Chinese rules count them, which are 7.5 points. A komi of quarters is in such stones too.
    """
    number = KOMI.match(text)
    if not number:
        return None
    komi = float(number[1].replace(",", "."))
    if number[2]:
        komi += 0.5
    if komi >= LARGE_KOMI:
        komi /= 50 if komi < 500 else 100
    elif SUPERKO.search(rules) and komi % 0.5 == 0.25:
        komi *= 2
    return komi if -MOST_KOMI <= komi <= MOST_KOMI else None


def may_repeat(game: Game, root: Properties) -> bool:
    """Return whether a game may go on by the simple ko if a position comes back: RU does not forbid it."""
    return game.name == "go" and "AZERO" not in root and not SUPERKO.search(word_of(root, "RU"))


def set_up_in(nodes: list[tuple[int, Properties]], game: Game, texts: list[str]) -> str:
    """Return the first position of a file for `Record.start`.

    Args:
        nodes: of the file.
        game: its rules.
        texts: the cells as SGF writes them, row by row; none in a game whose cells it does not write so.

    Raises:
        UserError: stones are set up in the middle of the game, or so that the game does not have them.
    """
    root = nodes[0][1]
    for _, properties in nodes[1:]:
        if any(text.strip() for name in STONES for text in properties.get(name, ())):
            raise UserError("it sets up stones in the middle of the game, and azero does not read that.")
    stones = {name: points_of(root.get(name, ())) for name in STONES}
    handicap = bool(re.match(r"0*([2-9]|1[0-9])", word_of(root, "HA")))
    if handicap and not stones["AB"]:
        raise UserError("it is a handicap game, but does not say where the stones are.")
    if not any(stones.values()) and not line_of(root, "PL"):
        return ""
    if not texts or game.board is None or game.set_up is None:
        if not any(stones.values()):
            return ""
        raise UserError(
            f"it begins with stones that are set up, and azero does not read that in {game.name}."
        )
    state = game.initial_state()
    marks, cells = game.board.marks(state).copy(), {text: cell for cell, text in enumerate(texts) if text}
    for name, mark in STONES.items():
        for text in stones[name]:
            if text not in cells:
                raise UserError(f"{name}[{short(text)}] is not a cell of the board.")
            if name == "AW" and text in stones["AB"]:
                raise UserError(f"the cell {short(text)} is in both AB and AW.")
            marks.flat[cells[text]] = mark
    mover = first_mover(nodes, handicap)
    if np.array_equal(marks, game.board.marks(state)) and mover == game.to_play(state):
        return ""
    try:
        return game.text(game.set_up(marks, mover))
    except ValueError as mistake:
        raise UserError(f"it begins with stones that are set up, but {mistake}.") from mistake


def cell_points(columns: int, rows: int) -> list[str]:
    """Return the cells as SGF names them: the letters of column and row, from the top left."""
    return [column + row for row in LETTERS[:rows] for column in LETTERS[:columns]]


def points_of(texts: Sequence[str]) -> list[str]:
    """Return the cells of AB, AW or AE; aa:cc is a rectangle."""
    points = list[str]()
    for text in texts:
        corners = RECTANGLE.fullmatch(text.strip().lower())
        if corners is None:
            points += [text.strip().lower()] * bool(text.strip())
            continue
        columns, rows = (sorted(corners.group(each, each + 2)) for each in (1, 2))
        points += [
            chr(column) + chr(row)
            for row in range(ord(rows[0]), ord(rows[1]) + 1)
            for column in range(ord(columns[0]), ord(columns[1]) + 1)
        ]
    return points


def first_mover(nodes: list[tuple[int, Properties]], handicap: bool) -> int:
    """Return who plays first: as PL says, else the colour of the first move, else white after a handicap."""
    player = word_of(nodes[0][1], "PL")[:1]
    if player in ("b", "w"):
        return "bw".index(player)
    for _, properties in nodes:
        colours = [colour for colour in "BW" if colour in properties]
        if colours:
            return "BW".index(colours[0])
    return int(handicap)
