"""Rules: the interface of a game, one file for each game, OpenSpiel's adapter.

For others: `make_game`, `held_rules`, and `game` for the interface.
Imports: config, process, games.kit, kernels.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

from azero.config.reading import read_options, unknown_setting
from azero.config.schema import OPENSPIEL, UserError
from azero.config.suggest import did_you_mean
from azero.games.game import Game
from azero.games.kit.options import PREFIX, GameOptions
from azero.games.own_files import GAME, HELD, OwnFile, explaining, load_file
from azero.games.sources import files_of, prepare_rules, root_of

SHIPPED = ("tictactoe", "connect_four", "othello", "go", "gomoku", "hex", "breakthrough", "chess")
MADE: dict[str, Game] = {}  # shipped games by name and options: compiled rules stay in memory for good


def make_game(name: str, *, _prefix: Any = PREFIX, **options: Any) -> Game:
    """Return the game of that name; a shipped game is made once for the same options.

    Args:
        name: a shipped game, the path of a Python file that defines `make_game`, a game that an installed
            package registers (`installed_games`), or a game of OpenSpiel, such as
            ``openspiel:breakthrough``.
        _prefix: what a person types before the name of an option, for messages.
        options: the game's options.

    Raises:
        UserError: the game or an option is unknown, the game refuses a value, or its file fails to run.
    """
    if name.startswith(OPENSPIEL):
        adapted: Game = importlib.import_module("azero.games.openspiel").make_game(
            name.removeprefix(OPENSPIEL), **options
        )
        return adapted
    if name in SHIPPED:
        asked = read_options(options_of(name), options, _prefix, name)
        key = repr((name, asked.values()))
        if key not in MADE:
            factory = find_module(name).make_game
            MADE[key] = factory(asked) if asked.values() else factory()
        return MADE[key]
    factory = find_module(name).make_game
    known = list(inspect.signature(factory).parameters)
    for option in options:
        if option not in known:
            raise unknown_setting(option, known, _prefix, name)
    with explaining(name):
        game = factory(**options)
    if not isinstance(game, Game):
        raise UserError(f"make_game() of {name} must return a Game (azero/games/game.py).")
    return game


def game_of_settings(settings: Mapping[str, Any]) -> Game:
    """Return the game that the settings of a run name, as its state keeps them; errors as for `make_game`."""
    return make_game(settings.get("game.name", ""), **settings.get("game.options", {}))


def options_of(name: str) -> type[GameOptions]:
    """Return the class of a shipped game's options. Importing tic-tac-toe, which has none, compiles."""
    if name == "tictactoe":
        return GameOptions
    schema: type[GameOptions] = importlib.import_module(f"azero.games.{name}").Options
    return schema


def installed_games() -> dict[str, EntryPoint]:
    """Return the games of other packages: entry points of the group `azero.games`, by name."""
    return {entry.name: entry for entry in entry_points(group="azero.games")}


def find_module(name: str) -> ModuleType:
    """Import the module of a game: shipped, from an installed package, or any file that ends in .py."""
    if name in SHIPPED:
        return importlib.import_module(f"azero.games.{name}")
    if name.endswith(".py"):
        module = load_file(GAME, name).module
    elif name in (installed := installed_games()):
        module = load_installed(name).module
    else:
        known = [*SHIPPED, *installed]
        all_names = (
            f"; choose one of: {', '.join(known)}, the path of your own Python file, or game=openspiel."
        )
        raise UserError(f"unknown game.name={name}{did_you_mean(name, known, all_names)}")
    if not hasattr(module, "make_game"):
        raise UserError(
            f"{name} must define make_game(), which returns a Game; docs/your_own_game.md shows how."
        )
    return module


def rules_digest(name: str) -> str:
    """Return the digest of the text of a person's own rules, as they are loaded; "" for other games.

    Raises:
        UserError: they cannot be loaded.
    """
    if name in SHIPPED or name.startswith(OPENSPIEL):
        return ""
    return (load_file(GAME, name) if name.endswith(".py") else load_installed(name)).digest


@contextmanager
def held_rules(name: str) -> Iterator[str]:
    """Keep a game's rules as they are now, although its file may change; yield their digest."""
    digest, path = rules_digest(name), Path(name).resolve()
    if name.endswith(".py"):
        HELD[path] = load_file(GAME, name)
    try:
        yield digest
    finally:
        HELD.pop(path, None)


def load_installed(name: str) -> OwnFile:
    """Import the module of a game that a package registers."""
    with explaining(name):
        return import_installed(installed_games()[name])


@cache
def import_installed(entry: EntryPoint) -> OwnFile:
    """Return the rules at an entry point; their digest is that of the files at the first import."""
    root = root_of(entry.module)
    digest = prepare_rules(root, *files_of(root, entry.module)) if root else ""
    return OwnFile(entry.load(), digest)
