"""Games of the studio as files: a game downloaded as SGF, PGN, JSON, SVG or PNG, a file opened as a game."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from azero.config.schema import UserError
from azero.games.titles import game_title
from azero.records.files import read_records
from azero.records.json_lines import write_json
from azero.records.pgn import write_pgn
from azero.records.pictures import png_of, svg_of
from azero.records.record import MakeGame, Record, result_text
from azero.records.sgf import NOT_SGF, write_sgf
from azero.studio.about import HUMAN, About, has_ended, result_of
from azero.studio.game_tree import MOST_NODES, START, GameTree
from azero.studio.pool import PERSON
from azero.studio.positions import position_in, tree_at, tree_of_moves
from azero.studio.results import called, result_words
from azero.studio.safety import Refusal, api
from azero.studio.state import Studio, table_of
from azero.studio.table import GameTable

MEDIA = {
    "sgf": "application/x-go-sgf",
    "pgn": "application/vnd.chess-pgn",
    "json": "application/json",
    "svg": "image/svg+xml",
    "png": "image/png",
}
MOST_GAMES = 1_000  # of a file
MOST_REFUSED = 5  # games of which the page says what is wrong
NOTHING = "This is no game (SGF, PGN, JSON), no position and no move that azero reads."


def routes(studio: Studio) -> list[Route]:
    """Return the routes of this module."""
    return [
        api("GET", "/tables/{id}/record", partial(read_record, studio)),
        api("POST", "/records", partial(open_record, studio)),
    ]


async def read_record(studio: Studio, request: Request) -> Response:
    """GET /tables/{id}/record?format=: the game on a table as a file."""
    table, kind = table_of(studio, request), request.query_params.get("format", "sgf")
    if kind not in MEDIA:
        raise Refusal(400, f"format must be one of: {', '.join(MEDIA)}.")
    data = await studio.run_in_thread(writer(table, kind))
    called = table.about.to_json(table.tree.root.kept.properties)["name"]
    name = re.sub(r"\W+", "-", called or Path(table.game.name).stem, flags=re.ASCII).strip("-") or "game"
    headers = {"content-disposition": f'attachment; filename="{name}.{kind}"'}
    return Response(data, media_type=MEDIA[kind], headers=headers)


async def open_record(studio: Studio, request: Request) -> object:
    """POST /records?game=&table=: open a game of a file, counted from 1, at the end of its main line.

    Without `game` a file with several games is answered by the list of them. A position is opened as a game
    that begins there, that of the table which the page shows if it fits; moves alone are played in that one.
    """
    data, wanted = await request.body(), request.query_params.get("game", "0")
    if not re.fullmatch("[0-9]{1,6}", wanted):
        raise Refusal(400, "game must be the number of a game in the file.")

    shown = studio.tables.tables.get(request.query_params.get("table", ""))

    def read() -> tuple[list[Record], list[str], GameTree | None]:
        position = position_in(data)
        here, make = shown.game if shown else None, studio.make_game
        if position and (tree := tree_at(position, here, make, studio.has_champion)):
            return [Record(tree.game, start=tree.start)], [], tree
        try:
            records, refused = games_of(data, make)
        except UserError:
            if shown and (tree := tree_of_moves(data, shown.tree)):
                return [Record(tree.game, start=tree.start)], [], tree
            raise
        if len(records) > 1 and wanted == "0":
            return records, refused, None
        if int(wanted) > len(records):
            raise Refusal(404, f"The file has {len(records)} games that can be read.")
        chosen = records[max(0, int(wanted) - 1)]
        return [chosen], refused, tree_of(chosen)

    records, refused, tree = await studio.run_in_thread(read)
    if tree is None:
        listed = [listed_game(number, record) for number, record in enumerate(records, 1)]
        return {"games": listed, "refused": refused}
    table = GameTable(studio.tables.searches, tree.game, (PERSON, PERSON), tree.start)
    table.tree, table.about = tree, About.of(records[0], tree.current.number)
    studio.tables.add(table)
    return JSONResponse(table.to_json() | {"refused": refused}, 201)


def games_of(data: bytes, make: MakeGame) -> tuple[list[Record], list[str]]:
    """Return the first games of a file, and what is wrong with others.

    Raises:
        UserError: it has no game that can be read.
    """
    records, refused = list[Record](), list[UserError]()
    try:
        records += islice(read_records(data, make, refused.append), MOST_GAMES)
    except UserError as broken:  # where the next game begins is not known
        refused.append(broken)
    if not records:
        raise UserError(NOTHING if str(refused[0]) == NOT_SGF else sentence(refused[0]))
    return records, [sentence(mistake) for mistake in refused[:MOST_REFUSED]]


def sentence(mistake: UserError) -> str:
    """Return what is wrong with a file, with a capital; elsewhere a file's name stands before it."""
    return str(mistake)[:1].upper() + str(mistake)[1:]


def listed_game(number: int, record: Record) -> dict[str, Any]:
    """Return a game of a file as the page lists it."""
    return {
        **About.of(record, START).to_json(record.nodes[0].properties),
        "number": number,
        "title": game_title(record.game.name, record.game.options),
        "moves": len(record.main_line()) - 1,
        "result": (result := record.result or result_text(record.outcome)),
        "said": result_words(result, called(record.game)),
    }


def writer(table: GameTable, kind: str) -> Callable[[], str | bytes]:
    """Return a function for a thread that writes a table as it is now."""
    game, node = table.game, table.tree.current
    if kind in ("svg", "png"):
        before = node.parent.state if node.parent else None
        return lambda: (png_of if kind == "png" else str)(svg_of(game, node.state, before, node.action))
    record, _ = table_record(table)
    if kind == "json":
        return lambda: write_json(record) + "\n"
    return lambda: write_pgn(record) if kind == "pgn" else write_sgf(record)


def table_record(table: GameTable, as_shown: bool = True) -> tuple[Record, dict[int, int]]:
    """Return a table's game, and the places of its nodes by their numbers.

    as_shown: the line on the board is the main line, everything else are variations; but a game that was
        played to its end or reviewed stays the main line, whatever was tried after.
    """
    tree, about = table.tree, table.about
    is_played = has_ended(tree, about) or bool(table.reviewed)
    line = tree.line() if as_shown and not is_played else tree.main_line()
    first, second = (
        name or (side.title if side.spec else HUMAN)
        for side, name in zip(table.sides, about.players, strict=True)
    )
    outcome, result = result_of(tree, about, table.resigned if line == tree.line() else -1, line[-1])
    record = Record(table.game, (first, second), outcome, result, about.date, about.source, start=tree.start)
    places = {START: 0}
    for node in (*line, *tree.below(tree.root)):
        if node.parent is not None:
            places[node.number] = record.add(places[node.parent.number], node.action)
        kept, noted = record.nodes[places[node.number]], node.kept
        kept.value, kept.comment, kept.properties = node.value, node.comment, dict(noted.properties)
        if noted.value == node.value:
            kept.visits, kept.policy = noted.visits, noted.policy
    return record, places


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
        node.kept = replace(kept, value=node.value)
    tree.current = nodes[record.main_line()[-1]]
    return tree
