"""The studio's server: its state, its routes, and the page's files."""

from __future__ import annotations

import contextlib
import re
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import anyio
import numpy as np
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Mount, Route, WebSocketRoute
from starlette.staticfiles import StaticFiles
from starlette.websockets import WebSocket, WebSocketDisconnect

from azero import tracing
from azero.cli.help import description
from azero.cli.overrides import conf_files, game_of
from azero.cli.player_spec import RIVALS, has_learned, rival_of
from azero.config.schema import Config, UserError
from azero.games.game import Game
from azero.page import board
from azero.players import MODULES, Thought
from azero.players import options_of as options_of_player
from azero.players.growing import whole_search
from azero.players.levels import LEVELS, options_of_level
from azero.run.folder import last_used, names_of_runs, names_of_shipped
from azero.run.run import Run
from azero.studio import learn, library_routes, matches, records_routes, runs_view
from azero.studio.offered import game_json, names_offered, openspiel_names, option_json
from azero.studio.pool import options_here
from azero.studio.review import value_of
from azero.studio.safety import NOTHING_HERE, Guard, Refusal, answer_to, api, page_of, read_json, wants_page
from azero.studio.state import Studio, read_options, table_of
from azero.studio.table import GameTable, json_number

STATIC = Path(__file__).parent / "static"
TRACE = Path(tracing.__file__).parent / "static"
HINT_SIMULATIONS = 400
T = TypeVar("T")
CLOSE_SLOW = 4408  # of a WebSocket: the page read too slowly and connects again
EXACT_SECONDS = 2.0  # of solving one position


async def list_games(studio: Studio, request: Request) -> object:
    """GET /games: all games and recipes; `damaged` says which files of the user's cannot be read."""
    damaged = list[str]()

    def readable(group: str, names: Iterable[str], act: Callable[[str], T]) -> Iterator[T]:
        for name in names:
            try:
                with studio.reading(str(conf_files(group).get(name, name))):
                    found = act(name)
            except UserError as mistake:
                damaged.append(str(mistake))
            else:
                yield found

    def read() -> dict[str, Any]:
        recipes = sorted(conf_files("experiment"))
        return {
            "games": [*readable("game", names_offered(studio.games), partial(game_json, studio.own_games))],
            "openspiel": openspiel_names(),
            "recipes": [*readable("experiment", recipes, recipe_json)],
            "damaged": damaged,
        }

    return await studio.run_in_thread(read)


def recipe_json(name: str) -> dict[str, Any]:
    """Return a recipe as the page reads it."""
    path = conf_files("experiment")[name]
    return {
        "name": name,
        "game": game_of(name) or "tictactoe",
        "about": description(path),
        "minutes": recipe_minutes(path),
    }


def recipe_minutes(path: Path) -> float | None:
    """Return the wall-clock bound of a recipe; None: it has none."""
    found = re.search(
        r"^minutes: *([\d.]+)", path.read_text(encoding="utf-8", errors="replace"), re.MULTILINE
    )
    return float(found[1]) if found else None


async def list_players(studio: Studio, request: Request) -> object:
    """GET /players?game=: all players with their options, the champions of the game, how its stones look."""
    name = request.query_params.get("game", "tictactoe")
    options = read_options(request)

    def read() -> dict[str, Any]:
        game = studio.make_game(name, options)
        champions = champions_of(studio.config, game)
        return {
            "stones": board.board_json(game)["stones"],
            "players": [player_json(each) for each in MODULES],
            "champions": champions,
            "others": [] if champions else others_of(studio.config, game),
            "rival": rival_of(game),
            "rivals": ["uct", *set(RIVALS.values())],  # of all games
            "levels": {name: options_of_level(name) for name in LEVELS},
        }

    return await studio.run_in_thread(read)


def player_json(name: str) -> dict[str, Any]:
    """Return a player and its options as the page reads them."""
    schema = options_of_player(name)
    return {
        "name": name,
        "about": schema.__doc__,
        "network": schema.network,
        "options": [option_json(option, known) for option, known in options_here(name).items()],
    }


def champions_of(config: Config, game: Game) -> list[dict[str, Any]]:
    """Return the runs that have champions of a game, the one used last first, and azero's own."""
    found = []
    runs = sorted(names_of_runs(config), key=lambda name: -last_used(config, name))
    for name in [*runs, *names_of_shipped()]:
        with contextlib.suppress(UserError):  # it is damaged, or has just been deleted
            if has_learned(name, game, config):
                cycles = [entry.cycle for entry in Run.read(config, name).state.champions]
                found += [{"run": name, "cycle": cycles[-1], "cycles": cycles}] if cycles else []
    return found


def others_of(config: Config, game: Game) -> list[str]:
    """Return the runs that have champions of a game with other options, such as "go7 (size 7, komi 8.5)"."""
    found = []
    for name in [*names_of_runs(config), *names_of_shipped()]:
        with contextlib.suppress(UserError):  # as above
            had = Run.read(config, name).state
            options: dict[str, Any] = had.config["game.options"]
            differs = [f"{key} {value}" for key, value in options.items() if game.options.get(key) != value]
            if had.champion and had.config["game.name"] == game.name and differs:
                found.append(f"{name} ({', '.join(differs)})")
    return found


async def open_table(studio: Studio, request: Request) -> object:
    """POST /tables: begin a game."""
    asked = await read_json(request)
    sides, moves = asked.get("sides", [{"kind": "person"}, {"kind": "person"}]), asked.get("moves", [])
    if not isinstance(sides, list) or not isinstance(moves, list):
        raise Refusal(400, "sides and moves must be lists.")
    start = asked.get("start", "")
    if not isinstance(start, str):
        raise Refusal(400, "start must be a position as text.")
    game = await studio.run_in_thread(studio.make_game, asked.get("game", "tictactoe"), asked.get("options"))
    ply = asked.get("ply")
    table = await studio.tables.open(game, sides, moves, start, ply if type(ply) is int else None)
    return JSONResponse(table.to_json(), 201)


async def read_table(studio: Studio, request: Request) -> object:
    """GET /tables/{id}: the table."""
    return table_of(studio, request).to_json()


async def change_table(studio: Studio, request: Request) -> object:
    """POST /tables/{id}/{verb}: do something with the game."""
    table, asked, verb = table_of(studio, request), await read_json(request), request.path_params["verb"]
    match verb:
        case "move":
            table.move(asked.get("move", asked.get("action")), asked.get("cell"), asked.get("from"))
        case "go":
            table.go(asked.get("node"), asked.get("actions", []))
        case "undo":
            table.undo()
        case "delete":
            table.delete(asked.get("node"))
        case "promote":
            table.promote(asked.get("node"))
        case "resign" if asked.get("undo"):
            table.revoke_resignation()
        case "resign":
            table.resign()
        case "play":
            table.play(asked.get("paused"), asked.get("delay"))
        case "step":
            table.step()
        case "analyse":
            table.analyse(asked)
        case "review":
            table.review(asked)
        case "sides":
            sides = asked.get("sides")
            if not isinstance(sides, list) or len(sides) != 2:
                raise Refusal(400, "sides must be a list of two.")
            table.seat(await studio.tables.read_sides(table.game, sides))
        case "hint":
            return await hint(studio, table)
        case _:
            raise Refusal(404, f"A game cannot {verb[:40]!r}.")
    return table.to_json()


async def hint(studio: Studio, table: GameTable) -> dict[str, Any]:
    """Return a good move for the position on the board, with its value for the player to move.

    It is that of the analysis if that has searched longer.
    """
    if table.is_over():
        raise Refusal(409, "The game is over.")
    node, banned = table.tree.current, table.tree.banned()

    def search() -> tuple[Thought, str]:
        search, by = studio.pool.search(table.game, {**table.champion(), "simulations": HINT_SIMULATIONS})
        return whole_search(search, node.state, banned), by

    found = table.found(node)
    if found is None or found[0].visits < HINT_SIMULATIONS:
        with studio.question():
            found = await table.in_thread(search)
        found = max(found, table.found(node) or found, key=lambda each: each[0].visits)
    thought, by = found
    best = thought.best_move()
    assert best is not None
    return {"by": by, **table.move_json(node, best), "value": json_number(value_of(thought))}


async def read_search(studio: Studio, request: Request) -> object:
    """GET /tables/{id}/search?path=3,2: the moves at a node of the search tree."""
    table, text = table_of(studio, request), request.query_params.get("path", "")
    if not re.fullmatch(r"(\d{1,6}(,\d{1,6}){0,1000})?", text):
        raise Refusal(400, "path must be numbers of actions with commas between.")
    path = [int(word) for word in text.split(",") if word]
    return {"moves": await studio.run_in_thread(table.read_tree, path)}


async def read_exact(studio: Studio, request: Request) -> object:
    """GET /tables/{id}/exact: the exact values of all legal moves for the player to move, if known."""
    table = table_of(studio, request)
    node, legal = table.tree.current, table.tree.legal()

    def solve() -> dict[str, Any]:
        from azero.truth.solvers import make_oracle

        if not legal.any():
            return {"known": False, "why": "The game is over."}
        try:
            scores = make_oracle(table.game, EXACT_SECONDS).score_moves(node.state)
        except UserError as mistake:
            return {"known": False, "why": f"{str(mistake).partition(';')[0].rstrip('.')}."}
        values = np.sign(scores).astype(int)  # of a score: the size says how soon it ends
        return {
            "known": True,
            "values": {str(action): int(values[action]) for action in np.flatnonzero(legal)},
        }

    with studio.question():
        return await table.in_thread(solve)


async def stream_table(studio: Studio, socket: WebSocket) -> None:
    """WS /tables/{id}/stream: the table at each change, and what searches find."""
    await socket.accept()
    try:
        table = studio.tables.find(socket.path_params["id"])
        queue = table.watch()
    except Refusal as refusal:
        await socket.send_json({"type": "error", "status": refusal.status, "error": str(refusal)})
        await socket.close(4000 + refusal.status)
        return

    async def wait_for_end() -> None:
        with contextlib.suppress(WebSocketDisconnect):
            while (await socket.receive())["type"] != "websocket.disconnect":
                pass
        group.cancel_scope.cancel()

    try:
        async with anyio.create_task_group() as group:
            group.start_soon(wait_for_end)
            while (message := await queue.get()) is not None:
                await socket.send_json(message)
            await socket.close(CLOSE_SLOW)
    except* (WebSocketDisconnect, RuntimeError):  # the page has gone while something was sent to it
        pass
    finally:
        table.watchers.discard(queue)


async def page(request: Request) -> Response:
    """GET /: the page."""
    return FileResponse(STATIC / "index.html")


async def refuse(request: Request, failure: Exception) -> Response:
    """Answer a request that has failed with a sentence."""
    if isinstance(failure, HTTPException):
        known = {404: "There is nothing at this address.", 405: "This address does not do that."}
        sentence = known.get(failure.status_code, failure.detail)
        if wants_page(request.scope, request.headers):
            return page_of(NOTHING_HERE, sentence, failure.status_code)
        return JSONResponse({"error": sentence}, failure.status_code)
    return answer_to(failure)


async def crash(request: Request, failure: Exception) -> Response:
    """Answer a request that has met a fault of the studio."""
    return JSONResponse(
        {"error": f"The studio failed: {type(failure).__name__}; its terminal says more."}, 500
    )


def make_app(studio: Studio, token: str, hosts: list[str], port: int) -> Guard:
    """Return the server as an ASGI application.

    Args:
        studio: its state.
        token: what a browser must have shown once.
        hosts: names by which it may be called.
        port: where it listens.
    """
    routes = [
        Route("/", page),
        api("GET", "/games", partial(list_games, studio)),
        api("GET", "/players", partial(list_players, studio)),
        api("POST", "/tables", partial(open_table, studio)),
        api("GET", "/tables/{id}", partial(read_table, studio)),
        api("GET", "/tables/{id}/search", partial(read_search, studio)),
        api("GET", "/tables/{id}/exact", partial(read_exact, studio)),
        *(each for module in MORE_ROUTES for each in module(studio)),
        api("POST", "/tables/{id}/{verb}", partial(change_table, studio)),
        WebSocketRoute("/api/tables/{id}/stream", partial(stream_table, studio)),
        Mount("/static/page", StaticFiles(directory=board.STATIC)),
        Mount("/static/trace", StaticFiles(directory=TRACE)),
        Mount("/static", StaticFiles(directory=STATIC), name="static"),
    ]

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        for table in studio.tables.tables.values():
            table.close()
        for close in studio.closing:
            close()

    handlers: dict[Any, Any] = {
        UserError: refuse,
        Refusal: refuse,
        HTTPException: refuse,
        Exception: crash,
    }
    return Guard(Starlette(routes=routes, exception_handlers=handlers, lifespan=lifespan), token, hosts, port)


MORE_ROUTES = (runs_view.routes, matches.routes, records_routes.routes, library_routes.routes, learn.routes)
