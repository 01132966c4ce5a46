"""Mistakes of a person in a form: which field they concern, in words and not in those of a command line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from azero.config.schema import UserError


class FieldMistake(UserError):
    """A mistake in one field of a form.

    Attributes:
        field: such as "options.size" of the game, "sides.1" or "sides.1.depth" of a player, "minutes".
    """

    def __init__(self, field: str, sentence: str) -> None:
        super().__init__(sentence)
        self.field = field


@contextmanager
def concerning(field: str, prefix: str = "") -> Iterator[None]:
    """Say of a UserError raised within which field of a form it concerns.

    prefix: of the names of settings in its sentence. "uct.depth=-1 must be a number." then concerns the field
    "depth" within `field`, and reads "Depth must be a number, not -1."
    """
    try:
        yield
    except FieldMistake:
        raise
    except UserError as mistake:
        raise in_words(str(mistake), field, prefix) from mistake


def in_words(sentence: str, field: str, prefix: str) -> FieldMistake:
    """Return the mistake of a sentence; see `concerning`."""
    named = re.search(rf"{re.escape(prefix)}(\w+)", sentence) if prefix else None
    if named is None:
        return FieldMistake(field, sentence)
    part = f"{field}.{named[1]}"
    plain = re.fullmatch(rf"{re.escape(named[0])}=(.*?) must be (.*)\.", sentence, re.DOTALL)
    if plain is None:
        return FieldMistake(part, sentence.replace(prefix, ""))
    words = named[1].replace("_", " ").capitalize()
    return FieldMistake(part, f"{words} must be {plain[2]}, not {plain[1]}.")
