"""Checks of a game's options, each refused in one sentence."""

from __future__ import annotations

from collections.abc import Sequence

from azero.config import UserError


def whole_number(name: str, value: object, low: int, high: int) -> None:
    """Refuse an option that is no whole number from `low` to `high`.

    Raises:
        UserError: it is none.
    """
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise UserError(f"game.options.{name}={value} must be a whole number from {low} to {high}.")


def yes_or_no(name: str, value: object) -> None:
    """Refuse an option that is neither true nor false.

    Raises:
        UserError: it is neither.
    """
    if not isinstance(value, bool):
        raise UserError(f"game.options.{name}={value} must be true or false.")


def number(name: str, value: object, low: float, high: float) -> None:
    """Refuse an option that is no number from `low` to `high`.

    Raises:
        UserError: it is none.
    """
    if not isinstance(value, int | float) or isinstance(value, bool) or not low <= value <= high:
        raise UserError(f"game.options.{name}={value} must be a number from {low:g} to {high:g}.")


def one_of(name: str, value: object, choices: Sequence[str]) -> None:
    """Refuse an option that is none of some words.

    Raises:
        UserError: it is none of them.
    """
    if value not in choices:
        raise UserError(f"game.options.{name}={value} is not one of: {', '.join(choices)}.")
