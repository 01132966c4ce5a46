"""The page Learn: a search recorded simulation by simulation, for any position of any game."""

from __future__ import annotations

from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.routing import Route

from azero.cli.player_spec import watched_search
from azero.games.game import Game
from azero.games.titles import game_heading
from azero.match.openings import read_opening
from azero.studio.safety import Refusal, api, whole
from azero.studio.state import Studio, read_options
from azero.tracing.record import MctsSettings, UctSettings, record

MOST_SIMULATIONS = 200
KINDS = ("uct", "puct", "gumbel")


async def read_trace(studio: Studio, request: Request) -> object:
    """GET /trace?game=&options=&moves=4.4&kind=uct&simulations=20&run=: the record of a search."""
    asked, options = request.query_params, read_options(request)
    kind = asked.get("kind", "uct")
    if kind not in KINDS:
        raise Refusal(400, f"kind must be one of: {', '.join(KINDS)}.")
    simulations = whole(asked.get("simulations", "20"), "simulations", 1, MOST_SIMULATIONS)

    def search() -> dict[str, Any]:
        game = studio.make_game(asked.get("game", "tictactoe"), options)
        at = read_opening(game, [move for move in asked.get("moves", "").split(".") if move], "moves")
        settings = search_of(studio, game, kind, asked.get("run"))
        return record(game, at.actions, settings, simulations) | {"heading": game_heading(game)}

    with studio.question():
        return await studio.run_in_thread(search)


def search_of(studio: Studio, game: Game, kind: str, run: str | None) -> UctSettings | MctsSettings:
    """Return a search; PUCT and Gumbel ask the champion of a run, if there is one."""
    if kind == "uct":
        return UctSettings()
    return MctsSettings(*watched_search(game, studio.config, run, kind))


def routes(studio: Studio) -> list[Route]:
    """Return the routes of the page Learn."""
    return [api("GET", "/trace", partial(read_trace, studio))]
