"""`live.json`: what a run is doing, for a program that watches it from outside.

A run writes the file at most once a second and only while it exists: whoever watches creates it, and removes
it afterwards. It is replaced atomically but not synced, because no run needs it. A failure to write it is
ignored.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from azero.run.disk import replacing

WRITE_SECONDS = 1.0  # between two writes
BOARDS = 16  # the most games in flight that it shows


class LiveFile:
    """Writes what a run is doing.

    A description holds `stage`, `cycle`, `cycles`, `done`, `total`, `unit`, `doing`, `stats`, `seconds_left`
    or None, and `boards`: up to BOARDS games of self-play in flight, each with its `number` and its `moves`,
    which are actions.
    """

    def __init__(self, path: Path) -> None:
        """Write nothing yet."""
        self.path = path
        self.next_look = 0.0

    def write(self, describe: Callable[[], dict[str, Any]]) -> None:
        """Write the description that `describe` returns, if it is time for it and somebody watches."""
        now = time.monotonic()
        if now < self.next_look:
            return
        self.next_look = now + WRITE_SECONDS
        with contextlib.suppress(OSError):
            if self.path.exists():
                with replacing(self.path, synced=False) as temporary:
                    temporary.write_text(json.dumps(describe()), encoding="utf-8")
