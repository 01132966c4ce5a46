"""Games of tables are kept in the library a moment after each change, and come back with their whole tree."""

from __future__ import annotations

import asyncio
import contextlib
import time
from dataclasses import dataclass
from typing import Any

from azero.config.schema import UserError
from azero.records.json_lines import content_of, expect, read_content
from azero.records.record import NONE, Record, one_line
from azero.run.disk import digest
from azero.studio.about import LONGEST_NAME, About
from azero.studio.game_tree import GameTree, Node
from azero.studio.library import Library, line_of
from azero.studio.pool import PERSON, Side
from azero.studio.records_routes import table_record, tree_of
from azero.studio.results import called
from azero.studio.review import Review
from azero.studio.safety import Refusal, is_number
from azero.studio.state import Studio
from azero.studio.table import LONGEST_DELAY, GameTable
from azero.studio.threads import in_thread

PAUSE = 0.25  # seconds between two writes of a game
NODES_A_SECOND = 4_000  # of a large game, so that keeping it takes a small share of the time
LONGEST_TITLE = 200  # of who has judged
RETRY = 3.0  # seconds after a write that failed
UNKEPT = "This game could not be kept: {}. The studio tries again."


@dataclass
class Snapshot:
    """A table at one moment: its record, and what the studio knows beside it."""

    record: Record
    studio: dict[str, Any]


def snapshot(table: GameTable) -> Snapshot:
    """Return a table as it is now, in the event loop."""
    record, places = table_record(table, as_shown=False)
    nodes = [node for node in table.tree.nodes if node is not None]
    judged = {
        places[node.number]: [
            None if node.loss is None else round(node.loss, 4),
            node.judged_by,
            *([] if node.better == NONE else [node.better]),
        ]
        for node in nodes
        if node.judged_by or node.loss is not None
    }
    return Snapshot(
        record,
        {
            "sides": [
                {key: value for key, value in side.to_json().items() if key not in ("title", "level")}
                for side in table.sides
            ],
            "named": list(table.about.players),
            "node": places[table.tree.current.number],
            "called": called(table.game),
            "ended": places.get(table.about.ended, NONE),
            "paused": table.paused,
            "delay": table.delay,
            "resigned": table.resigned,
            "judged": judged,
            "why": table.reviewing.why if table.reviewing else "",
            "reviewed": [places[node.number] for node in table.reviewed if node.number in places],
        },
    )


def digest_of(content: dict[str, Any], sides: object) -> str:
    """Return the digest of what counts as a change of a game: not which position is on the board."""
    return digest(repr((content, sides)).encode("utf-8", "replace"))


class Keeper:
    """Keeps the games of all tables. Its methods run in the event loop if they do not say otherwise."""

    def __init__(self, studio: Studio, library: Library) -> None:
        self.studio, self.library = studio, library
        self.changed: dict[str, GameTable] = {}  # to be written
        self.writing: dict[str, GameTable] = {}  # for each of these a task runs
        self.tasks: set[asyncio.Task[None]] = set()
        self.known: dict[str, tuple[str, float]] = {}  # digest of what is kept, and when that has changed
        self.deleted: dict[str, int] = {}  # how many nodes a game had then
        self.opening, self.one_by_one, self.closed = asyncio.Lock(), asyncio.Lock(), False

    def keep(self, table: GameTable) -> None:
        """Write a table soon; one without a move, or that was deleted and not played on, is not kept."""
        count = len(table.tree.nodes)
        if count < 2 or count <= self.deleted.get(table.id, 0) or self.closed:
            return
        self.deleted.pop(table.id, None)
        table.in_trash = False
        self.changed[table.id] = table
        if table.id not in self.writing:
            self.writing[table.id] = table
            task = asyncio.get_running_loop().create_task(self.write_on(table))
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)

    async def write_on(self, table: GameTable) -> None:
        """Write a table until it stays as it is."""
        try:
            while self.changed.pop(table.id, None) is not None:
                await self.write(table)
                pause = RETRY if table.unkept else PAUSE
                await asyncio.sleep(max(pause, len(table.tree.nodes) / NODES_A_SECOND))
        finally:
            self.writing.pop(table.id, None)

    async def write(self, table: GameTable) -> None:
        """Write a table now; if that fails the page says so, and it is written again."""
        async with self.one_by_one:  # else an older snapshot may be the last one
            sentence = await self.try_to_write(table)
        if sentence != table.unkept:
            table.unkept = sentence
            table.send_table()
        if sentence and table.id not in self.deleted:
            self.keep(table)

    async def try_to_write(self, table: GameTable) -> str:
        """Write a table; return why that failed, "" if it is kept."""
        try:
            taken = snapshot(table)
            await in_thread(lambda: self.store(table.id, taken), low=False)
        except UserError as failure:
            reason = failure.__cause__
            return UNKEPT.format(getattr(reason, "strerror", None) or str(reason or failure).rstrip("."))
        except Exception as fault:  # of the studio itself; else nothing of this game would be kept any more
            self.studio.report(fault)
            return UNKEPT.format(f"{type(fault).__name__}, see the server's terminal")
        return ""

    def store(self, number: str, taken: Snapshot, last: bool = False) -> None:
        """Write a snapshot, in any thread; UserError: the disk refuses. last: when the server ends."""
        content = content_of(taken.record)
        written = digest_of(content, taken.studio["sides"])
        with self.library.lock:
            if (self.closed and not last) or number in self.deleted:
                return
            before, changed = self.known.get(number, ("", 0.0))
            changed = changed if before == written else time.time()
            self.library.write(number, {**content, "studio": {"changed": changed, **taken.studio}})
            self.known[number] = (written, changed)

    async def flush(self, number: str) -> None:
        """Write a game that has changed now."""
        if (table := self.changed.pop(number, None)) is not None:
            await self.write(table)

    def close(self) -> None:
        """Write what has changed, and nothing after that."""
        self.closed = True
        for number, table in {**self.writing, **self.changed}.items():
            try:
                self.store(number, snapshot(table), last=True)
            except Exception as failure:  # the others are written all the same
                self.studio.report(failure)

    async def delete(self, number: str) -> None:
        """Delete a game from the library; its table stays open."""
        async with self.opening:  # else a page that opens it just now would keep it again
            await self.flush(number)
            table = self.studio.tables.tables.get(number)
            self.deleted[number] = len(table.tree.nodes) if table else 0
            try:
                await in_thread(lambda: self.library.delete(number), low=False)
            except (UserError, Refusal):
                del self.deleted[number]
                raise
            if table:
                table.in_trash = True
                table.send_table()

    async def restore(self, number: str) -> None:
        """Bring a game back that was deleted."""
        await in_thread(lambda: self.library.restore(number), low=False)
        self.deleted.pop(number, None)
        if table := self.studio.tables.tables.get(number):
            table.send_table()  # keeps it too

    async def find(self, asked: dict[str, Any]) -> GameTable | None:
        """Return the table of a kept game that has just the main line of an address; None: there is none.

        A game that somebody went on with has another line, so an address never changes it.

        Args:
            asked: `game`, `options`, `start`, `moves` and `ply` of the address.
        """
        moves, start = asked.get("moves"), asked.get("start", "")
        if not isinstance(moves, list) or not moves or not isinstance(start, str):
            return None

        def line() -> str | None:
            tree = GameTree(self.studio.make_game(asked.get("game"), asked.get("options")), start)
            for move in moves[: tree.game.max_plies]:
                tree.play(tree.action_of(move))
            record = Record(tree.game, start=tree.start)
            record.add_line([node.action for node in tree.path()[1:]])
            return self.library.find_line(line_of(content_of(record)))

        for changed in [*self.changed]:
            await self.flush(changed)
        number = await in_thread(line, low=False)
        if number is None:
            return None
        ply = asked.get("ply")
        ply = ply if type(ply) is int else None
        was_open = number in self.studio.tables.tables
        table = await self.open(number, moves, ply, paused=True)
        if was_open:
            nodes = table.tree.main_line()
            node = nodes[ply] if ply is not None and 0 <= ply < len(nodes) else nodes[-1]
            if node is not table.tree.current:
                table.go(node.number)
        return table

    async def open(self, number: str, moves: list[Any], ply: int | None, paused: bool) -> GameTable:
        """Return a kept game on its table.

        Args:
            number: of the game.
            moves: what an address says was played; what the folder lacks of it is added.
            ply: how many of `moves` are on the board; None: all, or what was there.
            paused: whether machines wait until they are asked.

        Raises:
            Refusal: it is not kept, or too large.
            UserError: it is damaged, or its rules are not known.
        """
        async with self.opening:
            if number in self.studio.tables.tables:
                return self.studio.tables.find(number)

            def read() -> tuple[Record, dict[str, Any], GameTree, list[Node], str]:
                content = self.library.read(number)
                with self.studio.reading(f"{number}.json"):
                    record = read_content(content, self.studio.make_game)
                    studio = expect(content, "studio", dict, {})
                    tree = tree_of(record)
                    tree.current = tree.nodes[place_in(studio, "node", tree)] or tree.current
                    read_judged(tree, studio.get("judged"))
                    reviewed = line_in(studio, tree)
                    play_on(tree, moves, ply)
                    written = digest_of(content_of(record), studio.get("sides"))
                    return record, studio, tree, reviewed, written

            record, studio, tree, reviewed, written = await self.studio.run_in_thread(read)
            about = About.of(record, place_in(studio, "ended", tree))
            sides = await self.read_sides(studio, record, about)
            table = GameTable(self.studio.tables.searches, record.game, sides, record.start)
            table.id, table.tree, table.about, table.reviewed = number, tree, about, reviewed
            if reviewed:
                why = studio.get("why")
                why = why[:LONGEST_TITLE] if isinstance(why, str) else ""
                table.reviewing = Review.ended(tree, reviewed, why)
            table.paused = paused or studio.get("paused") is True
            if is_number(studio.get("delay"), 0, LONGEST_DELAY):
                table.delay = studio["delay"]
            if studio.get("resigned") in (0, 1) and tree.line()[-1].number == about.ended:
                table.resigned = studio["resigned"]
            if is_number(studio.get("changed"), 0, 1e11):
                self.known[number] = (written, studio["changed"])
            self.studio.tables.add(table)
            return table

    async def read_sides(self, studio: dict[str, Any], record: Record, about: About) -> tuple[Side, Side]:
        """Return the sides of a kept game; a person takes the place of one that can play no more."""
        sides, names, asked = [PERSON, PERSON], list(about.players), studio.get("sides")
        given = studio.get("named")  # by a person, while the record names a machine without one too
        for place, side in enumerate(asked[:2] if isinstance(asked, list) else []):
            with contextlib.suppress(UserError):
                sides[place] = (await self.studio.tables.read_sides(record.game, [side, side]))[0]
            if sides[place].spec is not None:
                names[place] = name_in(given, place)
        about.players = (names[0], names[1])
        return sides[0], sides[1]


def name_in(given: object, place: int) -> str:
    """Return the name that a person gave a side, "" for none, of what a file has of both."""
    names = given if isinstance(given, list) else []
    name = names[place] if place < len(names) else ""
    return one_line(name)[:LONGEST_NAME] if isinstance(name, str) else ""


def place_in(studio: dict[str, Any], name: str, tree: GameTree) -> int:
    """Return the number of a node that a file names; the last one of the main line if it names none."""
    place = studio.get(name)
    if type(place) is int and NONE <= place < len(tree.nodes):
        return place
    return tree.main_line()[-1].number


def read_judged(tree: GameTree, judged: object) -> None:
    """Give the nodes what a review said of them."""
    for place, found in judged.items() if isinstance(judged, dict) else ():
        node = tree.nodes[int(place)] if place.isdecimal() and int(place) < len(tree.nodes) else None
        if node is not None and isinstance(found, list) and len(found) in (2, 3):
            loss, by, better = (*found, NONE)[:3]
            is_move = type(better) is int and 0 <= better < tree.game.num_actions
            if is_move and node.parent is not None and tree.game.legal_mask(node.parent.state)[better]:
                node.better = better
            node.loss = loss if is_number(loss, 0, 2) else None
            node.judged_by = by[:LONGEST_TITLE] if isinstance(by, str) else ""


def line_in(studio: dict[str, Any], tree: GameTree) -> list[Node]:
    """Return the line that a file's report is about, as far as it is one."""
    places, line = studio.get("reviewed"), list[Node]()
    for place in places if isinstance(places, list) else ():
        node = tree.nodes[place] if type(place) is int and 0 <= place < len(tree.nodes) else None
        if node is None or node.parent is not (line[-1] if line else None):
            break
        line.append(node)
    return line


def play_on(tree: GameTree, moves: list[Any], ply: int | None) -> None:
    """Put on the board what an address says, as far as it is legal; without moves it stays as it is."""
    if not moves:
        return
    tree.current = tree.root
    with contextlib.suppress(Refusal, UserError):
        for move in moves:
            tree.play(tree.action_of(move))
    path = tree.path()
    if ply is not None and 0 <= ply < len(path):
        tree.current = path[ply]
