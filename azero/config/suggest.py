"""Name the known word that a person may have meant."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable


def did_you_mean(name: str, known: Iterable[str], otherwise: str = ".") -> str:
    """Return "; did you mean NAME?" with the known name closest to `name`, or `otherwise`.

    If no name is close, a name counts that has a close part: alpha_beta for alfa.
    """
    names = list(known)
    if close := difflib.get_close_matches(name, names, n=1):
        return f"; did you mean {close[0]}?"
    wholes = {part: each for each in reversed(names) for part in re.split("[._]", each)}
    wholes |= {each.rpartition(".")[2]: each for each in reversed(names)}
    close = difflib.get_close_matches(name, wholes, n=1)
    return f"; did you mean {wholes[close[0]]}?" if close else otherwise
