"""Rules only. `make_game` finds a game by name; its file is imported, and its rules compiled, on demand."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
import traceback
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from azero.config import OPENSPIEL, UserError
from azero.games.game import Game
from azero.plugins import installed_games

SHIPPED = ("tictactoe", "connect_four", "othello", "go", "gomoku", "hex")


def make_game(name: str, **options: Any) -> Game:
    """The game of that name.

    Args:
        name: a shipped game's, the path of a Python file that defines `make_game`, a name that an installed package has
            registered (`azero/plugins.py`), or one of OpenSpiel's games, such as ``openspiel:breakthrough``.
        options: the game's own.

    Raises:
        UserError: no such game, no such option, a value the game refuses, or a file that cannot be run.
    """
    if name.startswith(OPENSPIEL):
        return importlib.import_module("azero.games.openspiel").make_game(name.removeprefix(OPENSPIEL), **options)
    factory = find_module(name).make_game
    known = list(inspect.signature(factory).parameters)
    for option in options:
        if option not in known:
            raise UserError(f"game.options.{option} is unknown to {name}; it has {', '.join(known) or 'no options'}.")
    if name in SHIPPED:
        return factory(**options)
    try:
        game = factory(**options)
    except Exception as error:
        raise fault_of(name, error) from error
    if not isinstance(game, Game):
        raise UserError(f"make_game of {name} must return a Game; see azero/games/game.py.")
    return game


def find_module(name: str) -> ModuleType:
    """Import the module of a game: shipped, of an installed package, or any file whose path ends in .py."""
    if name in SHIPPED:
        return importlib.import_module(f"azero.games.{name}")
    if name.endswith(".py"):
        module = load_file(name)
    elif name in (installed := installed_games()):
        module = load_installed(name, installed[name])
    else:
        raise UserError(
            f"game.name={name} is unknown; there are {', '.join([*SHIPPED, *installed])}, the path of a Python file of your own, "
            "and game=openspiel."
        )
    if not hasattr(module, "make_game"):
        raise UserError(f"{name} defines no function make_game; see azero/games/game.py for what it must return.")
    return module


def load_file(name: str) -> ModuleType:
    """Run a person's own file, once for every change of it."""
    path = Path(name).resolve()
    if not path.is_file():
        raise UserError(f"game={name}: there is no file {path}.")
    try:
        return run_file(path, path.stat().st_mtime_ns)
    except Exception as error:
        raise fault_of(name, error) from error


@cache
def run_file(path: Path, _changed: int) -> ModuleType:
    """The file as a module. It is listed among Python's modules, as some decorators want, under a name that hides no other."""
    spec = importlib.util.spec_from_file_location(f"azero_game_{path.stem}", path)
    assert spec and spec.loader
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def load_installed(name: str, entry: Any) -> ModuleType:
    """Import the module that another package has registered."""
    try:
        return entry.load()
    except Exception as error:
        raise fault_of(name, error) from error


def fault_of(name: str, error: Exception) -> UserError:
    """One sentence for what a game's own code raised, with the line where it did."""
    if isinstance(error, UserError):
        return error
    own = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(Path(name).resolve())]
    place = f" (line {own[-1]})" if own else ""
    said = " ".join(str(error).split())[:300].rstrip(".")
    return UserError(f"{name} cannot be loaded, mend it first: {type(error).__name__}: {said}{place}.")
