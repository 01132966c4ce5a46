"""A stream that says it is a terminal."""

from __future__ import annotations

import io


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True
