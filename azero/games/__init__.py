"""Rules: the interface of a game, one file for each game, OpenSpiel's adapter.

For others: `make_game`, `held_rules`, and `game` for the interface.
Imports: config, process, games.kit, kernels.
"""

from __future__ import annotations

import builtins
import importlib
import importlib.util
import inspect
import re
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from azero.config.reading import read_options, unknown_option
from azero.config.schema import OPENSPIEL, UserError
from azero.config.suggest import did_you_mean
from azero.games.game import Game
from azero.games.kit.options import PREFIX, GameOptions
from azero.games.sources import files_of, import_file, prepare_rules, root_of

SHIPPED = ("tictactoe", "connect_four", "othello", "go", "gomoku", "hex", "breakthrough", "chess")
MADE: dict[str, Game] = {}  # shipped games by name and options: compiled rules stay in memory for good


class OwnRules(NamedTuple):
    """Rules that a person wrote: the module, and a digest of its text and that of its own helpers."""

    module: ModuleType
    digest: str


HELD: dict[Path, OwnRules] = {}  # files of rules that stay as they are; see `held_rules`


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
            raise unknown_option(option, known, _prefix, name)
    try:
        game = factory(**options)
    except Exception as error:
        raise fault_of(name, error) from error
    if not isinstance(game, Game):
        raise UserError(f"make_game() of {name} must return a Game (azero/games/game.py).")
    return game


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
        module = load_file(name).module
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
    return (load_file(name) if name.endswith(".py") else load_installed(name)).digest


@contextmanager
def held_rules(name: str) -> Iterator[str]:
    """Keep a game's rules as they are now, although its file may change; yield their digest."""
    digest, path = rules_digest(name), Path(name).resolve()
    if name.endswith(".py"):
        HELD[path] = load_file(name)
    try:
        yield digest
    finally:
        HELD.pop(path, None)


def load_installed(name: str) -> OwnRules:
    """Import the module of a game that a package registers."""
    try:
        return import_installed(installed_games()[name])
    except Exception as error:
        raise fault_of(name, error) from error


@cache
def import_installed(entry: EntryPoint) -> OwnRules:
    """Return the rules at an entry point; their digest is that of the files at the first import."""
    root = root_of(entry.module)
    digest = prepare_rules(root, *files_of(root, entry.module)) if root else ""
    return OwnRules(entry.load(), digest)


def load_file(name: str) -> OwnRules:
    """Run a user's file; run it again only if it has changed."""
    path = Path(name).resolve()
    if path in HELD:
        return HELD[path]
    if not path.is_file():
        where = "" if str(path) == name else f" ({path})"
        raise UserError(f"game={name} cannot be read: No such file or directory{where}.")
    try:
        return run_file(path, path.stat().st_mtime_ns)
    except Exception as error:
        raise fault_of(name, error) from error


@cache
def run_file(path: Path, _changed: int) -> OwnRules:
    """Return the rules in a file, which is run."""
    digest = prepare_rules(path.parent, path)
    return OwnRules(import_file("game", path), digest)


def fault_of(name: str, error: Exception) -> UserError:
    """Return an error that says what a game's code raised, and in which line."""
    if isinstance(error, UserError):
        return error
    path, frames = str(Path(name).resolve()), traceback.extract_tb(error.__traceback__)
    own = [frame.lineno for frame in frames if frame.filename == path]
    said = " ".join(str(error).split())[:300].rstrip(".")
    if type(error).__module__.startswith("numba."):
        said, line = explained(error, path)
        own = [line or own[-1]] if line or own else []
    place = f" (line {own[-1]})" if own else ""
    return UserError(f"{name} cannot be loaded; fix this first: {type(error).__name__}: {said}{place}.")


def explained(error: Exception, path: str) -> tuple[str, int | None]:
    """Return what Numba's error says, and the line of the file in which it arose, if known."""
    lines = [line.strip() for line in str(error).splitlines()]
    known = re.findall(rf"{re.escape(Path(path).name)}(?:\", line | \()(\d+)", str(error))
    asked = re.search(r">>> (\w+)\(", str(error))
    # rules are compiled without Numba's memory management
    refusal = "a rule cannot make an array, a list, a text or the like; write into its last argument instead"
    if "NRT required" in str(error):
        said = refusal
    elif asked and callable(getattr(np, asked[1], None)) and not hasattr(builtins, asked[1]):
        said = f"np.{asked[1]} cannot be used so; {refusal}"
    else:
        said = next(line for line in lines if line and not line.startswith(("Failed in", "- Resolution")))
        said += next((f" {line[4:]}" for line in lines if line.startswith(">>>")), "") * said.endswith(":")
    return said.rstrip("."), int(known[0]) if known else None
