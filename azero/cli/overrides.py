"""Turn what a person types behind a program with a run into overrides for Hydra.

A bare word names a recipe, and `game=` takes files and installed games. Wrong names and values are refused
here, before Hydra sees them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from azero.cli.programs import ANSWERED
from azero.config.reading import AUTO, read_value, unknown_setting, wanted
from azero.config.schema import OPENSPIEL, UserError, settings, value_text
from azero.config.suggest import did_you_mean

# Hydra's flags, and those that take a word
FLAGS = (
    "--resolve", "--run", "-r", "--multirun", "-m", "--shell-completion", "-sc", "--hydra-help",
)  # fmt: skip
WORD_FLAGS = (
    "--cfg", "-c", "--package", "-p", "--config-path", "-cp", "--config-name", "-cn", "--config-dir", "-cd",
    "--experimental-rerun", "--info", "-i",
)  # fmt: skip
WRITTEN = "settings are written key=value"


def conf_folder() -> Path:
    """Return the folder of the shipped recipes: inside an installed package, else beside it."""
    package = Path(__file__).parent.parent
    inside = package / "conf"
    return inside if inside.is_dir() else package.parent / "conf"


def own_folder() -> Path | None:
    """Return the folder of the user's own recipes, $AZERO_CONF or ./conf; None if there is none."""
    folder = Path(os.environ.get("AZERO_CONF") or "conf").absolute()
    return folder if folder.is_dir() and folder.resolve() != conf_folder().resolve() else None


def conf_files(group: str) -> dict[str, Path]:
    """Return the files of a group, such as "experiment", by name; a shipped one goes before an own one."""
    folders = [folder / group for folder in (own_folder(), conf_folder()) if folder]
    return {path.stem: path for folder in folders for path in sorted(folder.glob("*.yaml"))}


def read_arguments(arguments: Sequence[str]) -> list[str]:
    """Return a program's arguments as Hydra reads them: first the overrides, then the flags.

    Raises:
        UserError: an unknown flag, recipe, file of a group, or setting.
    """
    words, flags = list[str](), list[str]()
    left = list(arguments)
    while left:
        word = left.pop(0)
        if not word.startswith("-"):
            words.append(word)
            continue
        name, equals, value = word.partition("=")
        if name not in (*FLAGS, *WORD_FLAGS):
            raise UserError(flag_sentence(word, left[0] if left else ""))
        flags += [name, value] if equals else [name]
        if name in WORD_FLAGS and not equals and left and "=" not in left[0]:
            flags.append(left.pop(0))
    several = bool({"--multirun", "-m"} & set(flags))
    return read_overrides(words, not {"--config-dir", "-cd"} & set(flags), several) + flags


def read_overrides(arguments: Sequence[str], checked: bool = True, several: bool = False) -> list[str]:
    """Return overrides as Hydra reads them.

    `game=mine.py`, and a game that another package installs, set `game.name`. With a game and no recipe, the
    recipe is the game's own or `plain`, because the default recipe is for tic-tac-toe; with several games it
    is `plain`.

    Args:
        arguments: as typed, without flags.
        checked: whether names of files are checked; False where Hydra knows further folders.
        several: whether a setting may have several values, for a multirun.

    Raises:
        UserError: two recipes, an unknown recipe, file of a group or setting, or a value that is not allowed.
    """
    words = [quoted_run(by_recipe(argument)) for argument in arguments]
    given = dict(word.partition("=")[::2] for word in words)
    recipes = [word.partition("=")[2] for word in words if word.startswith("experiment=")]
    if len(recipes) > 1:
        raise UserError(f"{recipes[0]} and {recipes[1]} are two recipes; name one.")
    game = given.get("game")
    if game is not None and all(map(is_own_game, game.split(","))):
        words[words.index(f"game={game}")] = "game.name=" + ",".join(map(hydra_text, game.split(",")))
    for word in words:
        check_word(word, checked and "hydra.searchpath" not in given)
        check_override(word, several or "hydra.mode" in given)
    if game is not None and "experiment" not in given:
        words.append(f"experiment={recipe_of(game)}")
    own = own_folder()
    if own and "hydra.searchpath" not in given:
        words.append(f"hydra.searchpath=[{hydra_text(f'file://{own}')}]")
    return words


def recipe_of(game: str) -> str:
    """Return the recipe of a game that is named without one."""
    return game if game in conf_files("experiment") else "plain"


def misfit_text(overrides: Sequence[str]) -> str:
    """Return one sentence if the overrides of `read_overrides` name a recipe of another game, else ""."""
    given = dict(word.partition("=")[::2] for word in overrides)
    recipe, game = given.get("experiment", ""), given.get("game") or given.get("game.name", "").strip("'")
    its = game_of(recipe)
    if not its or not game or game == its:
        return ""
    fitting = f"azero loop game={game} takes the recipe {recipe_of(game)}"
    return f"The recipe {recipe} is made for {its}, not for {game}; {fitting}."


def game_of(recipe: str, seen: tuple[str, ...] = ()) -> str:
    """Return the game that a recipe is made for; "" if it names none, as `plain`.

    seen: recipes that were read already, in case that their defaults lead back to them.
    """
    files, seen = conf_files("experiment"), (*seen, recipe)
    text = files[recipe].read_text(encoding="utf-8", errors="replace") if recipe in files else ""
    if found := re.search(r"^ +- override /game: (\S+)", text, re.MULTILINE):
        return found[1]
    parents = re.findall(r"^ +- (\w+)$", text, re.MULTILINE)
    games = (game_of(parent, seen) for parent in parents if parent not in seen)
    return next(filter(None, games), recipe if recipe in conf_files("game") else "")


def as_typed(overrides: Sequence[str]) -> list[str]:
    """Return overrides, as `read_overrides` made them, in the short form in which a person types them."""
    given = dict(word.partition("=")[::2] for word in overrides)
    recipe, path = given.get("experiment"), given.get("game.name", "")
    words = list(overrides)
    if recipe and path.endswith(".py"):
        words[words.index(f"game.name={path}")] = f"game={path}"
    if recipe in conf_files("experiment"):
        place = words.index(f"experiment={recipe}")
        game = given.get("game") or (path if f"game={path}" in words else None)
        words[place : place + 1] = [] if game and recipe == recipe_of(game) else [recipe]
    return words


def by_recipe(word: str) -> str:
    """Return a bare word as the recipe that it names, or for a multirun the recipes.

    Raises:
        UserError: there is no such recipe.
    """
    if "=" in word or word.startswith("~"):
        return word
    unknown = [name for name in word.split(",") if name not in conf_files("experiment")]
    if not unknown:
        return f"experiment={word}"
    word = next(filter(None, unknown), word) if len(unknown) < len(word.split(",")) else word
    if key := find_setting(word):
        example = f"{key}={value_text(settings()[key].default)}"
        raise UserError(f"{word!r} has no value; {WRITTEN}, such as {example}.")
    if word.endswith(".py"):
        raise UserError(f"unknown recipe {word!r}; did you mean game={word}?")
    raise UserError(missing_sentence("experiment", word, f"unknown recipe {word!r}"))


def quoted_run(word: str) -> str:
    """Return an override, the name of a run in quotes if Hydra could take it for something else."""
    key, _, value = word.partition("=")
    is_several = "," in value and "=" not in value  # for a multirun; runs may have names such as a=1,b=2
    return word if key != "run" or is_several or value[:1] in ("", "'", '"') else f"run={hydra_text(value)}"


def check_word(word: str, files: bool) -> None:
    """Check the key of an override, and with `files` the name of a group's file.

    Raises:
        UserError: there is no such setting or file, with the closest one.
    """
    key, equals, value = word.lstrip("+~").partition("=")
    if equals and not key:
        raise UserError(f"{word!r} cannot be read; {WRITTEN}, such as cycles=3.")
    if re.fullmatch(r"\w+", key) and (conf_folder() / key).is_dir():
        names = value.split(",") if re.fullmatch(r"[\w./,-]+", value) else []
        for name in names if files and value != "null" else []:
            if name not in conf_files(key):
                raise UserError(missing_sentence(key, name, f"{key}={name} does not exist"))
    elif equals and not is_known(key):
        raise unknown_setting(key, settings())


def check_override(word: str, several: bool) -> None:
    """Check the value of an override; `several`: whether it may have several values.

    Raises:
        UserError: it cannot be read, or is not allowed.
    """
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.core.override_parser.types import ChoiceSweep, IntervalSweep, QuotedString, RangeSweep
    from hydra.errors import HydraException

    if word.startswith("hydra."):
        return
    try:
        override = OverridesParser.create().parse_override(word)
    except HydraException as failure:
        raise UserError(f"{word!r} cannot be read; put a value with special signs in quotes.") from failure
    key = override.get_key_element().lstrip("+~")
    text: str | None = word.partition("=")[2]
    if override.is_sweep_override():
        if not several:
            raise UserError(f"{key}={text} must be one value; several need -m, and a list is written [1,2].")
        text = None
    asked: Any = override.value()
    values = asked.list if isinstance(asked, ChoiceSweep) else [asked]
    for value in values if "=" in word and not isinstance(asked, RangeSweep | IntervalSweep) else ():
        plain = value.text if isinstance(value, QuotedString) else value
        if isinstance(value, Mapping) or not (conf_folder() / key).is_dir():  # see `check_word`
            check_setting(key, plain, text)


def check_setting(key: str, value: Any, typed: str | None = None) -> None:
    """Check the value of a setting, or of a group of settings, before Hydra sees it.

    Raises:
        UserError: an unknown setting, or a value that is not allowed.
    """
    if known := settings().get(key):
        if value == AUTO and not known.kind.startswith("str"):
            raise UserError(f"{key}={value} must be {wanted(known)}.")
        if "${" not in str(value):  # else it is another setting's value
            read_value(key, value, known, typed)
    elif isinstance(value, Mapping):
        for name, each in value.items():
            check_setting(f"{key}.{name}" if key else name, each)
    elif not is_known(key):
        raise unknown_setting(key, settings())


def is_known(key: str) -> bool:
    """Return whether a key is a setting, a group of settings, an option of a game, or Hydra's own."""
    known, key = settings(), key.partition("[")[0]
    groups = {name.rpartition(".")[0] for name in known}
    free = tuple(f"{name}." for name, each in known.items() if isinstance(each.default, dict))
    return key in {*known, *groups} or key.startswith(("hydra.", "hydra/", *free)) or "@" in key


def find_setting(name: str) -> str:
    """Return the key of the setting with this key or, without its group, this name; "" if there is none."""
    name = name.replace("-", "_")
    return next((key for key in settings() if name in (key, key.rpartition(".")[2])), "")


def missing_sentence(group: str, name: str, what: str) -> str:
    """Return one sentence for a file of settings that does not exist: the closest name, or all names."""
    known = conf_files(group)
    also = ", and any path of a Python file of your own" if group == "game" else ""
    return what + did_you_mean(name, known, f"; there are {', '.join(sorted(known))}{also}.")


def flag_sentence(flag: str, following: str) -> str:
    """Return one sentence for an unknown flag: the setting that it may mean."""
    name, equals, value = flag.lstrip("-").partition("=")
    key, example = find_setting(name), ", such as cycles=3"
    if key:
        value = value if equals else following if "=" not in following else ""
        example = f": {key}={value.lstrip('-') or '...'}"
    return f"unknown flag {flag!r}" + did_you_mean(flag, ANSWERED, f"; {WRITTEN}{example}.")


def is_own_game(name: str) -> bool:
    """Return whether a game is a path, OpenSpiel's or an installed package's, not a file of conf/game."""
    if name in conf_files("game"):
        return False
    if name.endswith(".py") or name.startswith(OPENSPIEL):
        return True
    from azero.games import installed_games  # here, because the room imports Numba

    return name in installed_games()


def hydra_value(value: Any) -> str:
    """Return a number, a text, true or false, or a list of them, as Hydra reads it."""
    if isinstance(value, list | tuple):
        return f"[{','.join(map(hydra_value, value))}]"
    if isinstance(value, str):
        return hydra_text(value)
    return repr(value) if isinstance(value, float) else value_text(value)


def hydra_text(text: str) -> str:
    """Return a value as Hydra reads it: in quotes if it could be taken for something else than the text."""
    plain = re.fullmatch(r"([a-z_]|\.{0,2}/)[\w.+:/-]*", text, re.ASCII | re.IGNORECASE)
    if plain and text.lower() not in ("null", "true", "false", "nan", "inf"):
        return text
    return "'" + text.replace("'", "\\'") + "'"
