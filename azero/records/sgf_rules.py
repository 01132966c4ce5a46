"""The rules by which an SGF file's game is played, from what other programs write in its first node."""

from __future__ import annotations

import re
from typing import Any

from azero.config.schema import UserError
from azero.games.game import Game
from azero.games.go import MOST_KOMI, MOST_PLIES
from azero.records.record import MakeGame, game_of, one_line, short

NUMBERS = {"go": 1, "othello": 2, "gomoku": 4, "hex": 11}  # GM
SIZES = {"go": 19, "othello": 8, "gomoku": 15, "hex": 11}  # without SZ
SWAPS = ("swap-pieces", "swap-sides", "swap")  # in Hex

SIMPLE = re.compile(
    "japan|korea|nihon|^jpn?$|^kr$|kosimple|日本|韩国|韓国|韓國|한국"
)  # RU: only the simple ko
SUPERKO = re.compile("^chin|^cn$|tromp|kopositional|中国|中國")  # RU: no position comes back
SIZE = re.compile(r"([0-9]{1,3})(?:\s*[:x×*,]\s*([0-9]{1,3}))?")
KOMI = re.compile(r"([+-]?(?:[0-9]{1,9}(?:[.,][0-9]{0,9})?|[.,][0-9]{1,9}))(\s*(?:1/2|½))?")
LARGE_KOMI = 200  # from here on KM is in hundredths of a point, or of two points
NOT_YET = "and azero does not read set-up positions yet"

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


def refuse_setup(nodes: list[tuple[int, Properties]], begin: list[set[str]]) -> None:
    """Raise UserError if stones are set up that the game does not begin with, black's and white's."""
    root = nodes[0][1]
    if re.match(r"0*([2-9]|1[0-9])", word_of(root, "HA")):
        raise UserError(f"it is a handicap game, {NOT_YET}.")
    given: dict[str, set[str]] = {"AB": set(), "AW": set(), "AE": set()}
    for place, (_, properties) in enumerate(nodes):
        for name, stones in given.items():
            found = {text.strip().lower() for text in properties.get(name, ())} - {""}
            if place and found:
                raise UserError(f"it sets up stones in the middle of the game, {NOT_YET}.")
            stones |= found
    if any(given.values()) and [given["AB"], given["AW"], given["AE"]] != [*begin, set()]:
        raise UserError(f"it begins with stones that are set up, {NOT_YET}.")
