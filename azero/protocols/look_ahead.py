"""Lines of a client, read one by one, where a search may look at what has come meanwhile."""

from __future__ import annotations

from collections import deque

from azero.protocols.lines import Lines


class LookAhead:
    """The lines of a client.

    Attributes:
        unread: lines that were looked at, in their order; None at the end of the input.
    """

    def __init__(self, lines: Lines) -> None:
        self.lines = lines
        self.unread: deque[str | None] = deque()

    def read(self) -> str | None:
        """Return the next line; None at the end of the input."""
        return self.unread.popleft() if self.unread else self.lines.read()

    def look(self) -> deque[str | None]:
        """Return the lines that have come and are not read yet. Removing the first one reads it."""
        while self.lines.waiting() and None not in self.unread:
            self.unread.append(self.lines.read())
        return self.unread
