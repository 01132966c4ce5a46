"""Rules only. `make_game` finds a game by name; its file is imported, and its rules compiled, on demand."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
from pathlib import Path
from types import ModuleType
from typing import Any

from azero.config import UserError
from azero.games.game import Game

SHIPPED = ("tictactoe", "connect_four", "othello", "go", "gomoku", "hex")


def make_game(name: str, **options: Any) -> Game:
    """The game of that name, or of a Python file that defines `make_game`.

    Raises:
        UserError: no such game, no such option, or a value the game refuses.
    """
    factory = find_module(name).make_game
    known = list(inspect.signature(factory).parameters)
    for option in options:
        if option not in known:
            raise UserError(f"game.options.{option} is unknown to {name}; it has {', '.join(known) or 'no options'}.")
    return factory(**options)


def find_module(name: str) -> ModuleType:
    """Import the file of a game: shipped, or any path that ends in .py."""
    if name in SHIPPED:
        return importlib.import_module(f"azero.games.{name}")
    path = Path(name).resolve()
    if path.suffix != ".py":
        raise UserError(f"game.name={name} is unknown; there are {', '.join(SHIPPED)}, or the path of a Python file of your own.")
    if not path.is_file():
        raise UserError(f"game.name={name}: there is no file {path}.")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if not hasattr(module, "make_game"):
        raise UserError(f"{path} defines no function make_game; see azero/games/game.py for what it must return.")
    return module
