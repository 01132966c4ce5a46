"""Games of the studio as files: a game downloaded as SGF, PGN, JSON, SVG or PNG, a file opened as a game."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date
from pathlib import Path

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from azero.records.files import read_records
from azero.records.json_lines import write_json
from azero.records.pgn import write_pgn
from azero.records.pictures import png_of, svg_of
from azero.records.record import Record
from azero.records.sgf import write_sgf
from azero.studio.game_tree import MOST_NODES, START, GameTree
from azero.studio.safety import Refusal
from azero.studio.state import Studio, route, table_of
from azero.studio.table import GameTable

MEDIA = {
    "sgf": "application/x-go-sgf",
    "pgn": "application/vnd.chess-pgn",
    "json": "application/json",
    "svg": "image/svg+xml",
    "png": "image/png",
}
PEOPLE: list[object] = [{"kind": "person"}, {"kind": "person"}]


def routes(studio: Studio) -> list[Route]:
    """Return the routes of this module."""
    return [
        route(studio, "/tables/{id}/record", "GET", read_record),
        route(studio, "/records", "POST", open_record),
    ]


async def read_record(studio: Studio, request: Request) -> Response:
    """GET /tables/{id}/record?format=: the game on a table as a file."""
    table, kind = table_of(studio, request), request.query_params.get("format", "sgf")
    if kind not in MEDIA:
        raise Refusal(400, f"format must be one of: {', '.join(MEDIA)}.")
    data = await studio.run_in_thread(writer(table, kind))
    name = re.sub(r"\W+", "-", Path(table.game.name).stem, flags=re.ASCII)
    headers = {"content-disposition": f'attachment; filename="{name}.{kind}"'}
    return Response(data, media_type=MEDIA[kind], headers=headers)


async def open_record(studio: Studio, request: Request) -> Response:
    """POST /records: open the first game of a file, at the end of its main line."""
    data = await request.body()
    tree = await studio.run_in_thread(lambda: tree_of(next(read_records(data, studio.make_game))))
    table = await studio.tables.open(tree.game, PEOPLE, [])
    table.tree = tree
    table.changed()
    return JSONResponse(table.to_json(), 201)


def writer(table: GameTable, kind: str) -> Callable[[], str | bytes]:
    """Return a function for a thread that writes a table as it is now."""
    game, node = table.game, table.tree.current
    if kind in ("svg", "png"):
        before = node.parent.state if node.parent else None
        return lambda: (png_of if kind == "png" else str)(svg_of(game, node.state, before, node.action))
    record = table_record(table)
    if kind == "json":
        return lambda: write_json(record) + "\n"
    return lambda: write_pgn(record) if kind == "pgn" else write_sgf(record)


def table_record(table: GameTable) -> Record:
    """Return a table's game; the line on the board is its main line, everything else are variations."""
    tree, line = table.tree, table.tree.line()
    first, second = ("human" if side.spec is None else side.title for side in table.sides)
    today = date.today().isoformat()
    record = Record(table.game, (first, second), date=today, source="azero studio", start=tree.start)
    places = {START: 0}
    for node in (*line, *filter(None, tree.nodes)):
        if node.parent is not None:
            places[node.number] = record.add(places[node.parent.number], node.action)
        kept = record.nodes[places[node.number]]
        kept.value, kept.comment = node.value, node.comment
    if tree.is_over(line[-1]):
        ended = table.game.is_terminal(line[-1].state)
        record.outcome = table.game.first_outcome(line[-1].state) if ended else 0.0
    elif table.resigned >= 0:
        record.outcome, record.result = (-1.0, "W+R") if table.resigned == 0 else (1.0, "B+R")
    return record


def tree_of(record: Record) -> GameTree:
    """Return a record as the tree of a table, with the end of the main line on the board.

    Raises:
        Refusal: it is too large.
    """
    if len(record.nodes) > MOST_NODES:
        raise Refusal(413, f"The game has more than {MOST_NODES:,} positions, too many for the studio.")
    tree = GameTree(record.game, record.start)
    nodes = [tree.current]
    for kept in record.nodes[1:]:
        tree.current = nodes[kept.parent]
        nodes.append(tree.play(kept.action))
    for node, kept in zip(nodes, record.nodes, strict=True):
        node.value, node.comment = node.value if kept.value is None else kept.value, kept.comment
    tree.current = nodes[record.main_line()[-1]]
    return tree
