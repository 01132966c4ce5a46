"""Name the known word that a person may have meant."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable


def did_you_mean(name: str, known: Iterable[str], otherwise: str = ".", prefix: str = "") -> str:
    """Return "; did you mean NAME?" with the known name closest to `name`, or `otherwise`.

    A name counts first that differs in its group only: search.kind for train.kind. If no name is close, one
    counts that has a close part: alpha_beta for alfa. `prefix` is what a person types before each name.
    """
    names, last = list(known), name.rpartition(".")[2].replace("-", "_")
    same = [each for each in names if each.rpartition(".")[2] == last]
    if close := same or difflib.get_close_matches(name, names, n=1):
        return f"; did you mean {prefix}{close[0]}?"
    wholes = {part: each for each in reversed(names) for part in re.split("[._]", each)}
    wholes |= {each.rpartition(".")[2]: each for each in reversed(names)}
    close = difflib.get_close_matches(name, wholes, n=1)
    return f"; did you mean {prefix}{wholes[close[0]]}?" if close else otherwise
