"""Programs that belong to no run are told what to do by words, `key=value`; here they are read, and the game among them made."""

from __future__ import annotations

import argparse
import ast
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from azero.command_line import WRONG_INPUT, compose, has_file
from azero.config import Config, UserError
from azero.config_checks import check_choice
from azero.games import SHIPPED, make_game
from azero.games.game import Game


def parse_value(text: str) -> Any:
    """A number, a list, true, false or null as such, anything else as text."""
    plain = {"true": True, "false": False, "null": None}
    if text.lower() in plain:
        return plain[text.lower()]
    if text.startswith("[") and text.endswith("]"):
        return [parse_value(part.strip()) for part in text[1:-1].split(",") if part.strip()]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def whole_numbers(text: str, name: str, example: str) -> list[int]:
    """Whole numbers from 0 up with commas between, the value of the setting `name`.

    Raises:
        UserError: they are none; the sentence has `example`.
    """
    words = text.split(",")
    if not all(word.isdecimal() for word in words):
        raise UserError(f"{name} {text} must be whole numbers with commas between, such as {example}.")
    return [int(word) for word in words]


def parse_words(words: Sequence[str], example: str) -> dict[str, Any]:
    """Keys and values of `key=value` words, in their order.

    Raises:
        UserError: a word without "=", with `example` in the sentence, or a key twice.
    """
    settings: dict[str, Any] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals or not key:
            raise UserError(f"{word!r} is no setting; settings are written key=value, such as {example}.")
        if key in settings:
            raise UserError(f"{key} is set twice.")
        settings[key] = parse_value(value)
    return settings


def whole_number(settings: dict[str, Any], key: str, default: int, lowest: int) -> int:
    """Take a whole number out of the settings.

    Raises:
        UserError: it is none, or below `lowest`.
    """
    number = settings.pop(key, default)
    if not isinstance(number, int) or isinstance(number, bool) or number < lowest:
        raise UserError(f"{key}={number} must be a whole number from {lowest} up.")
    return number


def load_game(name: str, options: dict[str, Any]) -> Game:
    """The game of that name, which may also be a file of conf/game, such as othello6 with the options that it sets.

    Raises:
        UserError: no such game, or it refuses an option.
    """
    if name in SHIPPED or not has_file("game", name):
        return make_game(name, **options)
    settings = compose(f"game={name}").game
    return make_game(settings.name, **{**settings.options, **options})


def take_game(settings: dict[str, Any], default: str = "tictactoe") -> Game:
    """Take `game` and `game.options.*` out of the settings and make the game.

    Raises:
        UserError: no such game, or it refuses an option.
    """
    prefix = "game.options."
    options = {key.removeprefix(prefix): settings.pop(key) for key in list(settings) if key.startswith(prefix)}
    return load_game(str(settings.pop("game", default)), options)


def take_config(settings: dict[str, Any]) -> Config:
    """Take out of the settings where runs lie and which device computes; the rest of the config is the default's.

    Raises:
        UserError: there is no such device.
    """
    keys = ("checkpoints", "data", "device")
    asked: dict[str, Any] = {key: str(settings.pop(key)) for key in keys if key in settings}
    check_choice("device", asked.get("device", "auto"))
    return replace(Config(), **asked)


def refuse_rest(settings: dict[str, Any]) -> None:
    """Refuse what nobody has taken out of the settings.

    Raises:
        UserError: something is left.
    """
    if settings:
        raise UserError(f"{next(iter(settings))} is no setting; --help lists them.")


def run_program(
    run: Callable[[Sequence[str]], int], name: str, does: str, settings: str, arguments: Sequence[str] | None = None
) -> int:
    """Hand the words of the command line to a program and return the exit status; a UserError is printed as one sentence.

    Args:
        run: the program: words in, exit status out.
        name: such as "arena".
        does: what it does, for --help.
        settings: what can be set, for --help.
        arguments: the words; None for those of this process.
    """
    parser = argparse.ArgumentParser(
        prog=f"python -m azero.{name}",
        description=does,
        epilog=settings,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("settings", nargs="*", metavar="key=value", help="see below")
    words = parser.parse_args(arguments).settings
    try:
        return run(words)
    except UserError as mistake:
        print(f"azero: {mistake}", file=sys.stderr)
        return WRONG_INPUT
