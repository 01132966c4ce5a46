"""The routes of kept games, and of what people say of a game: its names, its result, comments."""

from __future__ import annotations

import threading
from collections import OrderedDict
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from azero.config.schema import UserError
from azero.records.json_lines import read_content
from azero.records.pictures import svg_of_node
from azero.records.record import once, one_line
from azero.records.signs import with_commands
from azero.studio.about import LONGEST_NAME, comment_of
from azero.studio.keeping import Keeper
from azero.studio.library import MISSING, Library
from azero.studio.safety import Refusal, api, read_json, whole
from azero.studio.state import Studio, table_of

MOST_PICTURES = 300  # in memory
MOST_TEXT = 200  # characters of a search


def routes(studio: Studio) -> list[Route]:
    """Return the routes of this module; from now on games are kept."""
    library = Library(studio.folder / "games")
    keeper, pictures = Keeper(studio, library), Pictures(studio, library)
    studio.tables.searches.keep = keeper.keep
    studio.closing.append(keeper.close)

    async def find(request: Request) -> object:
        """GET /library?search=&skip=&deleted=: kept games, newest first."""
        asked = request.query_params
        skip, text = whole(asked.get("skip", "0"), "skip"), asked.get("search", "")[:MOST_TEXT]

        def read() -> dict[str, Any]:
            library.sweep()
            return library.find(text, skip, deleted="deleted" in asked)

        return await studio.run_in_thread(read)

    async def find_line(request: Request) -> object:
        """POST /library/find: the table of the kept game that has the line of an address; {} if none has."""
        try:
            table = await keeper.find(await read_json(request))
        except (UserError, Refusal):  # who begins the game says what is wrong
            table = None
        return table.to_json() if table else {}

    async def picture(request: Request) -> Response:
        """GET /library/{id}/picture: the last position of the main line."""
        drawn = await studio.run_in_thread(pictures.draw, request.path_params["id"])
        return Response(drawn, media_type="image/svg+xml")

    async def change(request: Request) -> object:
        """POST /library/{id}/{verb}: open, rename, delete or restore a kept game."""
        number, verb, asked = (
            request.path_params["id"],
            request.path_params["verb"],
            await read_json(request),
        )
        library.path(number)  # refuses what is no number
        match verb:
            case "open":
                return (await open_kept(keeper, number, asked)).to_json()
            case "rename":
                async with keeper.opening:  # else a table that is being opened brings the old name back
                    await rename(studio, library, number, asked.get("name"))
            case "delete":
                await keeper.delete(number)
            case "restore":
                await keeper.restore(number)
            case _:
                raise Refusal(404, MISSING)
        return {}

    return [
        api("GET", "/library", find),
        api("POST", "/library/find", find_line),
        api("GET", "/library/{id}/picture", picture),
        api("POST", "/library/{id}/{verb}", change),
        api("POST", "/tables/{id}/comment", partial(write_comment, studio)),
        api("POST", "/tables/{id}/about", partial(write_about, studio)),
        api("POST", "/tables/{id}/restore", partial(restore_moves, studio)),
    ]


async def open_kept(keeper: Keeper, number: str, asked: dict[str, Any]) -> Any:
    """Return the table of a kept game; see `Keeper.open`."""
    moves, ply = asked.get("moves", []), asked.get("ply")
    if not isinstance(moves, list) or (ply is not None and type(ply) is not int):
        raise Refusal(400, "moves must be a list, and ply a whole number.")
    return await keeper.open(number, moves, ply, asked.get("paused") is True)


async def rename(studio: Studio, library: Library, number: str, name: object) -> None:
    """Give a kept game another name, on its table if it is open."""
    if not isinstance(name, str) or len(name) > LONGEST_NAME:
        raise Refusal(400, f"name must be a text of at most {LONGEST_NAME} characters.")
    if table := studio.tables.tables.get(number):
        table.tell({"name": name})
    if not table or number not in studio.tables.tables:
        await studio.run_in_thread(library.rename, number, one_line(name).strip())


async def write_comment(studio: Studio, request: Request) -> object:
    """POST /tables/{id}/comment: write a comment of a position."""
    table, asked = table_of(studio, request), await read_json(request)
    node = table.tree.find(asked.get("node"))
    node.comment = with_commands(comment_of(asked.get("text")), node.comment)
    table.send_table()
    return table.to_json()


async def write_about(studio: Studio, request: Request) -> object:
    """POST /tables/{id}/about: write names, event, date or result of a game."""
    table, asked = table_of(studio, request), await read_json(request)
    table.tell(asked)
    return table.to_json()


async def restore_moves(studio: Studio, request: Request) -> object:
    """POST /tables/{id}/restore: bring back the moves that were deleted last."""
    table = table_of(studio, request)
    renamed = table.tree.restore()
    table.about.ended = renamed.get(table.about.ended, table.about.ended)
    table.resigned, table.paused = -1, True
    table.changed()
    return table.to_json()


class Pictures:
    """Small pictures of kept games, drawn when a page first asks for them."""

    def __init__(self, studio: Studio, library: Library) -> None:
        self.library, self.make = library, once(studio.make_game)
        self.drawn: OrderedDict[tuple[str, int], str] = OrderedDict()
        self.lock = threading.Lock()  # one at a time

    def draw(self, number: str) -> str:
        """Return the picture of a game as SVG; Refusal: it has none."""
        path = self.library.path(number)
        try:
            key = (number, path.stat().st_mtime_ns)
        except OSError as missing:
            raise Refusal(404, MISSING) from missing
        with self.lock:
            if key not in self.drawn:
                try:
                    record = read_content(self.library.read(number), self.make)
                    self.drawn[key] = svg_of_node(record, record.main_line()[-1])
                except UserError as mistake:
                    raise Refusal(404, str(mistake)) from mistake
                while len(self.drawn) > MOST_PICTURES:
                    self.drawn.popitem(last=False)
            return self.drawn[key]
