"""Stopping on request: the first SIGINT or SIGTERM asks, the second one ends the process at once."""

from __future__ import annotations

import os
import signal
import threading
from types import FrameType, TracebackType
from typing import Any

GRACE_SECONDS = 8.0  # from the request to the end, whatever the process is at: people and schedulers wait about ten


class Stopped(Exception):
    """A stage has saved what is safe and ends because it was asked to."""


class StopSignal:
    """Watches for SIGINT (Ctrl-C) and SIGTERM while it is entered.

    A stage looks at `requested` after each wave of simulations and each training step. Files are replaced atomically, so the
    process may end at any moment: it does at the second signal, GRACE_SECONDS after the first one, and at the first one once
    `end_at_once` was called.

    Attributes:
        requested: a signal has come.
        number: its number; 0 before.
    """

    def __init__(self) -> None:
        """No signal has come yet."""
        self.requested = False
        self.number = 0
        self._at_once = False
        self._timer: threading.Timer | None = None
        self._before: dict[int, Any] = {}

    @property
    def exit_code(self) -> int:
        """What a shell expects of a process that ended by this signal: 130 after SIGINT, 143 after SIGTERM, 0 if none came."""
        return 128 + self.number if self.requested else 0

    def end_at_once(self) -> None:
        """From here on there is nothing left to save."""
        self._at_once = True
        if self.requested:
            self._end()

    def __enter__(self) -> StopSignal:
        """Take over both signals. Outside the main thread, where Python forbids that, nothing is watched."""
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._receive)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Give the signals back."""
        if self._timer is not None:
            self._timer.cancel()
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before = {}

    def _receive(self, number: int, frame: FrameType | None) -> None:
        again = self.requested
        self.number = number
        self.requested = True
        if again or self._at_once:
            self._end()
        self._timer = threading.Timer(GRACE_SECONDS, self._end)
        self._timer.daemon = True
        self._timer.start()

    def _end(self) -> None:
        """End the process now, from whichever thread; flushing could wait for a lock that another one holds."""
        os._exit(128 + self.number)
