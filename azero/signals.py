"""Stopping on request: the first SIGINT or SIGTERM asks, the second one ends the process at once."""

from __future__ import annotations

import os
import signal
import threading
from types import FrameType, TracebackType
from typing import Any


class Stopped(Exception):
    """A stage has saved what is safe and ends because it was asked to."""


class StopSignal:
    """Watches for SIGINT (Ctrl-C) and SIGTERM while it is entered.

    A stage looks at `requested` after each wave of simulations and each training step. Files are replaced atomically, so the
    second signal may end the process at any moment.

    Attributes:
        requested: a signal has come.
        number: its number; 0 before.
    """

    def __init__(self) -> None:
        """No signal has come yet."""
        self.requested = False
        self.number = 0
        self._before: dict[int, Any] = {}

    @property
    def exit_code(self) -> int:
        """What a shell expects of a process that ended by this signal: 130 after SIGINT, 143 after SIGTERM, 0 if none came."""
        return 128 + self.number if self.requested else 0

    def __enter__(self) -> StopSignal:
        """Take over both signals. Outside the main thread, where Python forbids that, nothing is watched."""
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._receive)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Give the signals back."""
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before = {}

    def _receive(self, number: int, frame: FrameType | None) -> None:
        if self.requested:
            os._exit(128 + number)
        self.number = number
        self.requested = True
