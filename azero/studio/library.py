"""The folder of kept games: one JSON record a file, listed, searched, renamed, deleted and brought back.

    data/.studio/games/ID.json          a line as `azero.records.json_lines` writes it, with a member `studio`
                       trash/ID.json    a game that was deleted less than `TRASH_DAYS` ago

Nothing here makes a game's rules, so a listing never runs any.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import threading
import time
from pathlib import Path
from typing import Any, NamedTuple

from azero.config.schema import UserError, explaining_failure
from azero.games.titles import game_title
from azero.records.json_lines import expect
from azero.records.record import clean, one_line, read_object, result_text
from azero.run.disk import TEMPORARY, Disk, make_folders, names_in, reading, write_atomically
from azero.studio.about import HUMAN
from azero.studio.results import result_words
from azero.studio.safety import Refusal, can_be_sent, is_number

NUMBER = re.compile(r"[A-Za-z0-9_-]{1,64}")
MOST_BYTES = 2**24  # of a kept game; 20,000 positions with comments are less
TRASH_DAYS = 30
SHOWN = 50  # games of one answer
MOST_SEARCHED = 5_000  # characters of comments
MISSING = "This game is not kept; it may have been deleted."


class KeptRow(NamedTuple):
    """What is known of a file.

    Attributes:
        stamp: of the file, which changes with it.
        shown: what the list says of it.
        searched: the text that is searched.
        line: see `line_of`.
    """

    stamp: tuple[int, int]
    shown: dict[str, Any]
    searched: str
    line: str


class Library:
    """The folder; each method may be called in any thread."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.trash = folder, folder / "trash"
        self.disk, self.lock = Disk(), threading.RLock()
        self.rows: dict[Path, KeptRow] = {}

    def path(self, number: object, deleted: bool = False) -> Path:
        """Return the file of a game; Refusal: that is no number of a game."""
        if not isinstance(number, str) or not NUMBER.fullmatch(number):
            raise Refusal(404, MISSING)
        return (self.trash if deleted else self.folder) / f"{number}.json"

    def write(self, number: str, content: dict[str, Any]) -> None:
        """Keep a game; UserError: the disk refuses, and the file is as it was."""
        data = json.dumps(content, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
        with self.lock:
            make_folders(self.disk, self.folder)
            write_atomically(self.disk, self.path(number), data)

    def read(self, number: str) -> dict[str, Any]:
        """Return the content of a game's file.

        Raises:
            Refusal: there is none.
            UserError: it cannot be read, or is damaged.
        """
        path = self.path(number)
        if not path.is_file():
            raise Refusal(404, MISSING)
        return read_content(path)

    def rename(self, number: str, name: str) -> None:
        """Give a game another name, "" for none; errors as `read` and `write`."""
        with self.lock:
            content = self.read(number)
            properties = {key: each for key, each in properties_of(content).items() if key != "GN"}
            self.write(number, {**content, "properties": properties | ({"GN": [name]} if name else {})})

    def delete(self, number: str) -> None:
        """Move a game to the trash; errors as `read`, or the disk refuses."""
        with self.lock:
            path = self.path(number)
            if not path.is_file():
                raise Refusal(404, MISSING)
            make_folders(self.disk, self.trash)
            self.move(path, self.path(number, deleted=True))
            with contextlib.suppress(OSError):
                os.utime(self.path(number, deleted=True))  # from now on it has `TRASH_DAYS`

    def restore(self, number: str) -> None:
        """Bring a game back from the trash; Refusal: it is not there, or there is a newer one."""
        with self.lock:
            path, gone = self.path(number), self.path(number, deleted=True)
            if path.exists():
                raise Refusal(409, "This game is kept again already.")
            if not gone.is_file():
                raise Refusal(404, MISSING)
            self.move(gone, path)

    def move(self, source: Path, target: Path) -> None:
        """Rename a file."""
        with explaining_failure(f"{source} cannot be moved"):
            self.disk.rename(source, target)

    def sweep(self) -> None:
        """Remove what was deleted long ago, and what a write left that was cut off."""
        for folder, pattern, days in ((self.trash, "*.json", TRASH_DAYS), (self.folder, f"*{TEMPORARY}", 1)):
            for name in names_in(folder, pattern):
                with contextlib.suppress(OSError):
                    if time.time() - (folder / name).stat().st_mtime > days * 86_400:
                        self.disk.remove(folder / name)

    def find(self, text: str = "", skip: int = 0, deleted: bool = False) -> dict[str, Any]:
        """Return the games that have all words of a text, the one changed last first, `SHOWN` at most.

        Raises:
            UserError: the folder cannot be read.
        """
        folder, words = self.trash if deleted else self.folder, text.lower().split()
        found, seen = list[dict[str, Any]](), set[Path]()
        with self.lock:
            for name in names_in(folder, "*.json"):
                path = folder / name
                if NUMBER.fullmatch(path.stem) and (known := self.row(path)) is not None:
                    seen.add(path)
                    found += [known.shown] if all(word in known.searched for word in words) else []
            for path in [path for path in self.rows if path.parent == folder and path not in seen]:
                del self.rows[path]
        found.sort(key=lambda row: (-row["changed"], row["id"]))
        in_trash = len(names_in(self.trash, "*.json"))
        return {"games": found[skip : skip + SHOWN], "count": len(found), "all": len(seen), "trash": in_trash}

    def find_line(self, line: str) -> str | None:
        """Return the number of the game with this line, see `line_of`, the one changed last; None: none."""
        with self.lock:
            self.find()
            kept = [row for path, row in self.rows.items() if path.parent == self.folder]
        found = [row.shown for row in kept if row.line == line]
        newest = max(found, key=lambda shown: float(shown["changed"]), default=None)
        return None if newest is None else str(newest["id"])

    def row(self, path: Path) -> KeptRow | None:
        """Return what is known of a file; None if it has just gone."""
        try:
            stat = path.stat()
        except OSError:
            return None
        stamp = (stat.st_mtime_ns, stat.st_size)
        if path not in self.rows or self.rows[path].stamp != stamp:
            try:
                content = read_content(path)
                row = row_of(path.stem, content, stat.st_mtime)
            except (UserError, Refusal) as mistake:
                content, row = {}, damaged_row(path.stem, str(mistake), stat.st_mtime)
            self.rows[path] = KeptRow(stamp, row, searched_text(row, content), line_of(content))
        return self.rows[path]


def read_content(path: Path) -> dict[str, Any]:
    """Return the content of a kept game.

    Raises:
        UserError: it cannot be read, or is damaged.
    """
    with reading(path), path.open("rb") as file:
        data = file.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise UserError(f"{path} is larger than {MOST_BYTES // 2**20} MiB.")
    try:
        content = read_object(data.decode("utf-8", "replace"), "its content")
        if not can_be_sent(content):
            raise UserError("it holds characters that are none.")
    except UserError as mistake:
        raise UserError(f"{path} is damaged: {mistake}") from mistake
    return content


def line_of(content: dict[str, Any]) -> str:
    """Return what two contents share whose games have the same rules, first position and main line."""
    return json.dumps([content.get(key) for key in ("game", "options", "position", "moves")], sort_keys=True)


def properties_of(content: dict[str, Any]) -> dict[str, Any]:
    """Return the properties of a whole game, as far as they are an object."""
    properties = content.get("properties", {})
    return properties if isinstance(properties, dict) else {}


def property_text(content: dict[str, Any], name: str) -> str:
    """Return a property of a whole game as a line; "" if there is none."""
    values = properties_of(content).get(name)
    return one_line(values[0]) if isinstance(values, list) and values and isinstance(values[0], str) else ""


def row_of(number: str, content: dict[str, Any], age: float) -> dict[str, Any]:
    """Return what the list says of a game; `age`: when its file was written.

    Raises:
        UserError: it is damaged.
    """
    try:
        game, players = expect(content, "game", str, None), expect(content, "players", list, ["", ""])
        if len(players) != 2 or not all(isinstance(name, str) for name in players):
            raise UserError("players must be two names.")
        outcome = content.get("outcome")
        known = is_number(outcome, -1, 1)
        options = expect(content, "options", dict, {})
        result = one_line(expect(content, "result", str, ""))
        result = result or result_text(float(outcome) if known else None)  # type: ignore[arg-type]
        studio = expect(content, "studio", dict, {})
        changed, names = studio.get("changed"), studio.get("called")
        is_pair = isinstance(names, list) and len(names) == 2 and all(isinstance(each, str) for each in names)
        return {
            "id": number,
            "name": property_text(content, "GN"),
            "event": property_text(content, "EV"),
            "game": game,
            "title": game_title(game, options),
            "size": size_text(options),
            "players": named(players, studio.get("sides")),
            "moves": len(expect(content, "moves", list, None)),
            "outcome": outcome if known else None,
            "result": result,
            "said": result_words(result, names if is_pair else ()),
            "date": one_line(expect(content, "date", str, "")),
            "changed": changed if is_number(changed, 0, 1e11) else age,
            "damaged": "",
        }
    except UserError as mistake:
        raise UserError(f"{number}.json is damaged: {mistake}") from mistake


def named(players: list[str], sides: object) -> list[str]:
    """Return the names of two players as the list says them: who plays a machine without a name is you."""
    names = ["" if name == HUMAN else one_line(name) for name in players]
    pair = sides if isinstance(sides, list) else []
    kinds = sorted(str(side.get("kind")) for side in pair if isinstance(side, dict))
    alone = kinds == ["person", "player"]
    return [name or ("You" if alone else "") for name in names]


def size_text(options: dict[str, Any]) -> str:
    """Return the size of the board as the options of azero's games say it."""
    rows, columns = (options.get(name, options.get("size")) for name in ("rows", "columns"))
    known = all(type(each) is int for each in (rows, columns))
    return f"{rows} × {columns}" if known else ""


def damaged_row(number: str, sentence: str, age: float) -> dict[str, Any]:
    """Return the row of a file that is damaged."""
    words = dict.fromkeys(("name", "event", "game", "title", "size", "result", "said", "date"), "")
    rest = {"players": ["", ""], "moves": 0, "outcome": None, "changed": age, "damaged": sentence}
    return {"id": number, **words, **rest}


def searched_text(row: dict[str, Any], content: dict[str, Any]) -> str:
    """Return all that a search looks through, in small letters."""
    listed = ("name", "event", "game", "title", "size", "result", "said", "date", "damaged")
    words = [row[name] for name in listed]
    nodes = content.get("nodes")
    said = (
        [node.get("comment") for node in nodes if isinstance(node, dict)] if isinstance(nodes, list) else []
    )
    comments = " ".join(each for each in said if isinstance(each, str))[:MOST_SEARCHED]
    return clean("\n".join([*words, *row["players"], comments])).lower()
