"""Checks of a game's options. Each raises UserError, one sentence, for a value that it refuses."""

from __future__ import annotations

from collections.abc import Sequence

from azero.config.schema import UserError


def whole_number(name: str, value: object, low: int, high: int) -> None:
    """Refuse an option that is not a whole number from `low` to `high`."""
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise UserError(f"game.options.{name}={value} must be a whole number from {low} to {high}.")


def yes_or_no(name: str, value: object) -> None:
    """Refuse an option that is neither True nor False."""
    if not isinstance(value, bool):
        raise UserError(f"game.options.{name}={value} must be true or false.")


def number(name: str, value: object, low: float, high: float) -> None:
    """Refuse an option that is not a number from `low` to `high`."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not low <= value <= high:
        raise UserError(f"game.options.{name}={value} must be a number from {low:g} to {high:g}.")


def one_of(name: str, value: object, choices: Sequence[str]) -> None:
    """Refuse an option that is not one of `choices`."""
    if value not in choices:
        raise UserError(f"game.options.{name}={value} is not one of: {', '.join(choices)}.")
