"""The games that the page offers: one entry for Go, Hex or chess, whose sizes are choices within it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from azero.cli.overrides import conf_files, conf_folder
from azero.config.schema import Setting, settings
from azero.games import SHIPPED, options_of
from azero.games.sources import declared, declared_options
from azero.games.titles import game_title

SIDES = ("size", "rows", "columns")  # options that say how large a board is
MORE_SIZES = {"go": (13, 19), "gomoku": (19,)}  # that people play, beside those of the recipes


def names_offered(known: list[str]) -> list[str]:
    """Return the games for the page, of the names of all. Shipped recipes of a game are its sizes."""
    recipes = conf_files("game")
    names = [name for name in known if name not in recipes or not is_shipped(recipes[name])]
    return list(dict.fromkeys([*SHIPPED, *names]))


def is_shipped(path: Path) -> bool:
    """Return whether a file of conf/game is azero's own."""
    return path.parent == conf_folder() / "game"


def game_json(own: Mapping[str, Path], name: str) -> dict[str, Any]:
    """Return a game as the page reads it, with its default options."""
    known = game_options(own, name)
    return {
        "name": name,
        "title": game_title(name),
        "own": name in own,
        "options": {option: each.default for option, each in known.items()},
        "fields": [option_json(option, each) for option, each in known.items()],
        "sizes": sizes_of(name),
    }


def sizes_of(name: str) -> list[dict[str, Any]]:
    """Return the sizes of a shipped game as {title, options}, the smallest first; none if it has one only."""
    known = settings(options_of(name)) if name in SHIPPED else {}
    sides = [option for option in SIDES if option in known and not known[option].choices]
    if not sides:
        return []
    default = {option: each.default for option, each in known.items()}
    more = [default | dict.fromkeys(sides, size) for size in MORE_SIZES.get(name, ())]
    found: dict[str, dict[str, Any]] = {}
    for options in [*(default | each for each in recipes_of(name).values()), default, *more]:
        found.setdefault(" × ".join(str(options[side]) for side in (sides * 2)[:2]), options)
    ordered = sorted(found.items(), key=lambda pair: [pair[1][side] for side in sides])
    return [{"title": title, "options": options} for title, options in ordered]


@cache
def shipped_recipes() -> dict[str, dict[str, Any]]:
    """Return azero's own files of conf/game by name."""
    shipped = {file: path for file, path in conf_files("game").items() if is_shipped(path)}
    return {file: dict(OmegaConf.to_container(OmegaConf.load(path))) for file, path in shipped.items()}  # type: ignore[arg-type]


def recipes_of(name: str) -> dict[str, dict[str, Any]]:
    """Return the options of azero's own files of conf/game that play a shipped game, by the file's name."""
    played = {file: each for file, each in shipped_recipes().items() if each["name"] == name}
    return {file: each.get("options") or {} for file, each in played.items()}


def recipe_for(name: str, options: dict[str, Any]) -> str:
    """Return the file of conf/game that is a shipped game with these options, else the game's own name."""
    if name not in SHIPPED:
        return name
    default = {option: each.default for option, each in settings(options_of(name)).items()}
    return next(
        (file for file, each in recipes_of(name).items() if default | each == default | dict(options)), name
    )


def game_options(own: Mapping[str, Path], name: str) -> dict[str, Setting]:
    """Return the options of a game. A game's own Python file is read, not run."""
    files = conf_files("game")
    if name not in SHIPPED and name in files:
        written: Any = OmegaConf.to_container(OmegaConf.load(files[name]))
        values = written.get("options") or {}
        known = game_options(own, str(written.get("name", "")))
        here = {key: declared(value) for key, value in values.items() if key not in known}
        return here | {
            key: replace(each, default=values.get(key, each.default)) for key, each in known.items()
        }
    if name in SHIPPED:
        return settings(options_of(name))
    return declared_options(own[name]) if name in own else {}


def option_json(name: str, known: Setting) -> dict[str, Any]:
    """Return an option of a player or a game as the page reads it."""
    return {
        "name": name,
        "kind": known.kind.partition(" ")[0],
        "default": known.default,
        "about": known.help,
        "choices": list(known.choices),
        "between": known.between,
    }


@cache
def openspiel_names() -> list[str]:
    """Return the names of OpenSpiel's games that azero can play; none if it is not installed."""
    if find_spec("pyspiel") is None:
        return []
    import pyspiel

    return sorted(kind.short_name for kind in pyspiel.registered_games() if is_playable(kind))


def is_playable(kind: Any) -> bool:
    """Return whether two play a kind of game by turns, to zero sum, without chance, all in the open."""
    return (
        kind.dynamics == kind.Dynamics.SEQUENTIAL
        and kind.chance_mode == kind.ChanceMode.DETERMINISTIC
        and kind.information == kind.Information.PERFECT_INFORMATION
        and kind.utility == kind.Utility.ZERO_SUM
        and kind.min_num_players <= 2 <= kind.max_num_players
        and kind.default_loadable
    )
