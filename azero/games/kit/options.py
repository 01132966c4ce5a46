"""The options of a game, and checks for games without `GameOptions`.

Each check raises UserError, one sentence, for a value that it refuses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from azero.config.reading import check_value, refusal
from azero.config.schema import Options, Setting

PREFIX = "game.options."


@dataclass(frozen=True)
class GameOptions(Options):
    """The base of a shipped game's options."""

    prefix: str = PREFIX


def check(name: str, value: object, **known: Any) -> None:
    """Refuse a value; `known` has attributes of `Setting`."""
    check_value(PREFIX + name, value, Setting(None, "", **known))


def whole_number(name: str, value: object, low: int, high: int) -> None:
    """Refuse an option that is not a whole number from `low` to `high`."""
    check(name, value, kind="int", between=(low, high))


def yes_or_no(name: str, value: object) -> None:
    """Refuse an option that is neither True nor False."""
    check(name, value, kind="bool")


def number(name: str, value: object, low: float, high: float) -> None:
    """Refuse an option that is not a number from `low` to `high`."""
    check(name, value, kind="float", between=(low, high))


def one_of(name: str, value: object, choices: Sequence[object]) -> None:
    """Refuse an option that is not one of `choices`."""
    if value not in choices:
        raise refusal(PREFIX + name, value, Setting(None, "", kind="str", choices=tuple(choices)))
