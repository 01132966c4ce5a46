"""The state of the server, which every route is about."""

from __future__ import annotations

import json
import re
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from starlette.requests import Request

from azero.cli.arguments import load_game
from azero.cli.overrides import conf_files
from azero.cli.player_spec import run_of
from azero.config.schema import OPENSPIEL, Config, UserError
from azero.games import SHIPPED, installed_games
from azero.games.game import Game
from azero.games.kit.options import PREFIX
from azero.studio.jobs import Jobs
from azero.studio.mistakes import concerning
from azero.studio.pool import Pool
from azero.studio.safety import Refusal
from azero.studio.table import GameTable
from azero.studio.tables import Tables
from azero.studio.threads import in_thread

OPENSPIEL_NAME = re.compile(re.escape(OPENSPIEL) + r"[a-z0-9_]{1,60}(\([a-z0-9_=,.]{0,100}\))?")
MOST_OPTIONS = 20
MOST_QUESTIONS = 4  # hints, exact values and traces at once
T = TypeVar("T")


@dataclass
class Studio:
    """The state of the server.

    Attributes:
        config: where runs lie, and the device.
        own_games: the user's own game files by the name that the page shows.
        folder: logs and records of what the studio starts.
        jobs: the runs that train, which use the cores too.
    """

    config: Config
    own_games: dict[str, Path] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.folder = Path(self.config.data) / ".studio"  # no run has such a name
        self.pool = Pool(self.config)
        self.jobs = Jobs(self)
        self.tables = Tables(self.pool, self.jobs.busy, self.report)
        self.questions = 0
        self.closing: list[Callable[[], None]] = []  # called when the server ends

    async def run_in_thread(self, function: Callable[..., T], *arguments: Any) -> T:
        """Return what a function returns, called in a thread. Processes that it starts may train."""
        return await in_thread(lambda: function(*arguments), low=False)

    @contextmanager
    def question(self) -> Iterator[None]:
        """Count a search for one answer while it is under way; Refusal: there are too many."""
        if self.questions >= MOST_QUESTIONS:
            raise Refusal(429, f"{MOST_QUESTIONS} answers are being searched for; try again in a moment.")
        self.questions += 1
        try:
            yield
        finally:
            self.questions -= 1

    @contextmanager
    def reading(self, what: str, advice: str = "") -> Iterator[None]:
        """Turn any error of a block that reads files into a UserError that says what is damaged.

        advice: what to do, where the error itself helps nobody; else the terminal gets it.
        """
        try:
            yield
        except (UserError, Refusal):
            raise
        except Exception as failure:  # what a damaged file holds can raise nearly anything
            if advice:
                raise UserError(f"{what} is damaged; {advice}.") from failure
            self.report(failure)
            said = " ".join(f"{type(failure).__name__}: {failure}".split())[:200].rstrip(".:")
            raise UserError(f"{what} is damaged ({said}).") from failure

    def report(self, failure: Exception) -> None:
        """Print an unexpected error to the server's terminal."""
        traceback.print_exception(failure)

    @property
    def games(self) -> list[str]:
        """The names of all games that the page may ask for, beside those of OpenSpiel."""
        files = [name for name in conf_files("game") if name != "openspiel"]
        return [
            *dict.fromkeys([*SHIPPED, *sorted(files), *sorted(installed_games()), *sorted(self.own_games)])
        ]

    def place_of(self, name: object) -> str:
        """Return what `make_game` calls a game that the page asks for; UserError: it may not be used."""
        if isinstance(name, str):
            if name in self.own_games:
                return str(self.own_games[name])
            own = [path for path in map(str, self.own_games.values()) if path == name]
            if own or name in self.games or OPENSPIEL_NAME.fullmatch(name):
                return name
        raise UserError(f"There is no game {str(name)[:60]!r} here; choose one of: {', '.join(self.games)}.")

    def make_game(self, name: object, options: object = None) -> Game:
        """Return a game that the page asks for, with options.

        Raises:
            UserError: it may not be used, or refuses an option.
        """
        options = {} if options is None else options
        if not isinstance(options, dict) or len(options) > MOST_OPTIONS:
            raise UserError("options must be an object with the game's options.")
        if not all(isinstance(value, int | float | bool | str) for value in options.values()):
            raise UserError("The options of a game are numbers, words, true or false.")
        if "name" in options:
            raise UserError("No game has an option name.")
        place = self.place_of(name)
        with concerning("options", PREFIX):
            return load_game(place, options)

    def has_champion(self, game: Game) -> bool:
        """Return whether a champion plays a game."""
        return run_of(game, self.config) is not None

    def name_of(self, game: Game) -> str:
        """Return the name by which the page asks for a game."""
        for name, path in self.own_games.items():
            if game.name in (name, str(path)):
                return name
        return game.name


def table_of(studio: Studio, request: Request) -> GameTable:
    """Return the table that a request is about."""
    return studio.tables.find(request.path_params["id"])


def read_options(request: Request) -> dict[str, Any]:
    """Return the options of a game in a request's address, a JSON object."""
    try:
        options = json.loads(request.query_params.get("options", "{}"))
    except (ValueError, RecursionError) as mistake:
        raise Refusal(400, "options in the address is not JSON.") from mistake
    if not isinstance(options, dict):
        raise Refusal(400, "options in the address must be a JSON object.")
    return options
