"""Numbers in a client's words, and refusals that use the client's words."""

from __future__ import annotations

import math
import re

from azero.config.schema import UserError

LARGEST_INTEGER = 2**31 - 1  # of GTP
NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?", re.IGNORECASE)


def integer(text: str) -> int:
    """Return an integer as GTP has them; UserError: it is not one."""
    if not re.fullmatch(r"[0-9]{1,10}", text) or int(text) > LARGEST_INTEGER:
        raise UserError(f"syntax error: {text[:20]} is not a whole number")
    return int(text)


def real(text: str) -> float:
    """Return a number; UserError: it is not one."""
    number = float(text) if NUMBER.fullmatch(text) else math.nan
    if not math.isfinite(number):
        raise UserError(f"syntax error: {text[:20]} is not a number")
    return number


def seconds_of(text: str) -> float:
    """Return a time that is not negative; UserError: it is not one."""
    if (number := real(text)) < 0:
        raise UserError(f"syntax error: {text[:20]} is not a time")
    return number


def truth(text: str) -> bool:
    """Return whether a text is true, in capitals or small letters; UserError: it is not false either."""
    if text.lower() not in ("true", "false"):
        raise UserError(f"syntax error: {text[:20]} is not true or false")
    return text.lower() == "true"


def own_words(refusal: UserError) -> str:
    """Return a refusal without the names that settings have on a command line."""
    return re.sub(
        r"game\.options(\.(\w+)=|: )", lambda found: f"{found[2]} " if found[2] else "", str(refusal)
    )


def printable(text: str) -> str:
    """Return the beginning of a text from outside, in characters that any client prints."""
    return "".join(letter if " " <= letter <= "~" else "?" for letter in text[:40])
