"""Read the arguments of the programs without a run: `key=value`, checked against a dataclass of settings.

A program declares its settings with `config.schema.setting`. Options of players and games are free: the
player or the game checks them.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from omegaconf import OmegaConf

from azero.cli.help import program_help
from azero.cli.hydra_program import compose
from azero.cli.overrides import conf_files, is_own_game, missing_sentence
from azero.cli.programs import ANSWERED, answers_flag, refuse
from azero.config.reading import AUTO, read_value, unknown_setting
from azero.config.schema import DEVICES, Config, UserError, setting, settings
from azero.config.suggest import did_you_mean

if TYPE_CHECKING:
    from azero.games.game import Game

GAME_HELP = "A shipped game, a file of conf/game, a Python file, or such as openspiel:breakthrough."

T = TypeVar("T")


@dataclass(frozen=True)
class GameSettings:
    """Settings of every program that plays."""

    game: str = setting("tictactoe", GAME_HELP)
    seed: int = setting(1, "Seed of all random numbers.", between=(0, math.inf))


NUMBER_HELP = "With from=: which game of the file; -1: the last."
POSITION_HELP = "Begin at a position: FEN in chess; else the rows and who moves, as '.../.X./... O'."


@dataclass(frozen=True)
class FolderSettings:
    """Where runs lie."""

    checkpoints: str = setting("checkpoints", "Folder of networks and logs of all runs.")
    data: str = setting("data", "Folder of self-play games of all runs.")

    @property
    def config(self) -> Config:
        """Default settings of a run, with these folders."""
        return replace(Config(), checkpoints=self.checkpoints, data=self.data)


@dataclass(frozen=True)
class DeviceSettings(FolderSettings):
    """Where runs lie, and what computes their networks."""

    device: str = setting(AUTO, "Device of the networks.", choices=DEVICES)

    @property
    def config(self) -> Config:
        """Default settings of a run, with these folders and this device."""
        return replace(super().config, device=self.device)


@dataclass(frozen=True)
class RunSettings(DeviceSettings, GameSettings):
    """Settings of every program that may play with a run's champion."""


def parse_value(text: str) -> Any:
    """Return a number, a list, true, false or null as such, anything else as text."""
    if "${" in text:  # a file's name; OmegaConf would look for another setting
        return text
    try:
        return OmegaConf.to_container(OmegaConf.from_dotlist([f"value={text}"]))["value"]  # type: ignore[call-overload, index]
    except Exception:  # of the parser of YAML, such as for "[a": it is text
        return text


def whole_numbers(text: str, name: str, example: str) -> list[int]:
    """Return the whole numbers, from 0 up, of a text with commas; UserError: it is something else."""
    words = text.split(",")
    if not all(word.isdecimal() for word in words):
        raise UserError(f"{name}={text} must be whole numbers with commas between, such as {example}.")
    return [int(word) for word in words]


def read_range(text: str, name: str, low: int, high: float, wanted: str) -> range | None:
    """Return the whole numbers of a text such as "12" or "10-20"; None for no text.

    Raises:
        UserError: it is something else, or beyond `low` to `high`; `wanted` says what `name=` must be.
    """
    if not text:
        return None
    first, dash, last = text.partition("-")
    last = last if dash else first
    if not (first.isdecimal() and last.isdecimal() and low <= int(first) <= int(last) <= high):
        raise UserError(f"{name}={text} must be {wanted}.")
    return range(int(first), int(last) + 1)


def split_words(words: Sequence[str], bare: str = "game") -> dict[str, str]:
    """Return keys and values of `key=value` words, in their order.

    bare: the key of a word without one; "": there is none.

    Raises:
        UserError: an option with dashes, a word without a key, or a key twice.
    """
    texts: dict[str, str] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if word.startswith("-") or (equals and not key):
            hint = did_you_mean(word, ANSWERED, "; settings are written key=value, such as seed=2.")
            raise UserError(f"unknown option '{word}'{hint}")
        if not equals:
            key, value = bare, word
        if not key:
            raise UserError(f"{word!r} has no value; settings are written key=value.")
        if key in texts and not equals:
            raise UserError(f"{key} is set twice, by '{word}' too; perhaps a value with spaces lacks quotes.")
        if key in texts:
            raise UserError(f"{key} is set twice.")
        texts[key] = value
    return texts


def take_settings(texts: dict[str, str], schema: type[T]) -> T:
    """Take the settings of a dataclass out of the arguments and check them.

    Raises:
        UserError: a value that is not allowed.
    """
    known = settings(schema)
    asked = {key: read_value(key, texts.pop(key), known[key]) for key in [*texts] if key in known}
    return schema(**asked)


def take_group(texts: dict[str, str], group: str) -> dict[str, Any]:
    """Take every `group.option=value` out of the arguments; return the values by option."""
    prefix = f"{group}."
    return {
        key.removeprefix(prefix): parse_value(texts.pop(key)) for key in list(texts) if key.startswith(prefix)
    }


def refuse_rest(texts: dict[str, str], schema: Any, also: Iterable[str] = ()) -> None:
    """Refuse the arguments that are left; `also` are known keys that are not settings, such as labels.

    Raises:
        UserError: an argument is left.
    """
    if texts:
        of_games = ["game.options"] if issubclass(schema, GameSettings) else []
        raise unknown_setting(next(iter(texts)), [*settings(schema), *of_games, *also])


def load_game(name: str, options: dict[str, Any], prefix: str = "game.options.") -> Game:
    """Return the game of that name: a game, or a file of conf/game, such as othello6 with its options.

    prefix: what a person types before the name of an option, for messages.

    Raises:
        UserError: no such game, or it refuses an option.
    """
    from azero.games import make_game  # here, because the room imports Numba

    rules, chosen = rules_of(name)
    return make_game(rules, _prefix=prefix, **chosen | options)


def rules_of(name: str) -> tuple[str, dict[str, Any]]:
    """Return the rules that a game's name stands for, and the options that a file of conf/game sets.

    Raises:
        UserError: no such game.
    """
    from azero.games import SHIPPED  # here, because the room imports Numba

    if name in SHIPPED or is_own_game(name):
        return name, {}
    if name not in conf_files("game"):
        what = "is no Python file" if os.path.isfile(name) else "does not exist"
        raise UserError(missing_sentence("game", name, f"game={name} {what}"))
    found = compose(f"game={name}").game
    return found.name, found.options


def take_game(texts: dict[str, str], asked: GameSettings) -> Game:
    """Take `game.options.*` out of the arguments and make the game.

    Raises:
        UserError: no such game, it refuses an option, or its rules are broken.
    """
    from azero.games import make_game  # here, because the room imports Numba
    from azero.games.laws.check import check_own_game

    rules, chosen = rules_of(asked.game)
    options = chosen | take_group(texts, "game.options")
    game = make_game(rules, **options)
    check_own_game(game, rules, options)
    return game


def run_program(
    name: str,
    run: Callable[[Sequence[str]], int],
    schema: Any,
    examples: str,
    arguments: Sequence[str] | None = None,
    labels: dict[str, str] | None = None,
    players: Sequence[str] = (),
) -> int:
    """Run a program with the arguments of the command line; return the exit status.

    A UserError is printed as one sentence.

    Args:
        name: such as "arena".
        run: takes the arguments and returns the exit status.
        schema: the dataclass of the settings, for --help.
        examples: see `help.program_help`.
        arguments: None for those of this process.
        labels: what the labels of players mean, for --help.
        players: the only ones that the program takes; none named: all, if it takes any.
    """
    words = sys.argv[1:] if arguments is None else arguments
    plays = issubclass(schema, RunSettings)
    if answers_flag(words, lambda: program_help(name, schema, examples, labels or {}, plays, players)):
        return 0
    try:
        return run(words)
    except UserError as mistake:
        return refuse(mistake)
