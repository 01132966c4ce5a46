"""Stopping on request: the first SIGINT, SIGTERM or SIGHUP asks, the second one ends the process at once."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

from azero.process.ending import end_now, write_line

STOPPING = "Stopping: azero saves what is finished. A second Ctrl-C ends it at once."
STOPPED = "Stopped; the same command goes on from here."
GRACE_SECONDS = 8.0  # from the request to the end, in any case: people and schedulers wait about ten


class Stopped(Exception):
    """A stage has saved what is safe and ends because it was asked to."""


class _SignalStack(ctypes.Structure):
    """`stack_t` of Linux."""

    _fields_ = (("sp", ctypes.c_void_p), ("flags", ctypes.c_int), ("size", ctypes.c_size_t))


def handle_signals_here() -> None:
    """Let this thread handle signals on its ordinary stack.

    OpenVINO gives the thread that loads it a separate stack for signals, and may unmap it while it is in use:
    the next Ctrl-C would be a segmentation fault.
    """
    if sys.platform == "linux":
        disabled = _SignalStack(None, 2, 0)  # SS_DISABLE
        ctypes.CDLL(None).sigaltstack(ctypes.byref(disabled), None)


class StopSignal:
    """Watches for SIGINT (Ctrl-C), SIGTERM and SIGHUP (a closed terminal) while it is entered.

    A stage looks at `requested` after each wave of simulations and each training step. The process may end at
    any moment, because files are replaced atomically. It ends at the second signal, GRACE_SECONDS after the
    first one, or at the first one once `end_at_once` was called.

    Attributes:
        requested: whether a signal has come.
        number: its number; 0 before.
    """

    def __init__(self, closing: str = STOPPED) -> None:
        """Start with no signal; `closing` is printed if the process ends before the program has answered."""
        self._closing = closing
        self.requested = False
        self.number = 0
        self._at_once = False
        self._clean: Callable[[], None] | None = None
        self._timer: threading.Timer | None = None
        self._before: dict[int, Any] = {}
        self._terminals: list[int] = []

    @property
    def exit_code(self) -> int:
        """The exit status that a shell expects: 130 after SIGINT, 143 after SIGTERM, 0 without a signal."""
        return 128 + self.number if self.requested else 0

    def end_at_once(self, clean: Callable[[], None] | None = None) -> None:
        """End at the first signal from now on, after calling `clean`: nothing is left to save."""
        self._at_once = True
        self._clean = clean
        if self.requested:
            self._end()

    def __enter__(self) -> StopSignal:
        """Take over the signals; outside the main thread do nothing, because Python forbids it there."""
        if threading.current_thread() is threading.main_thread():
            self._terminals = [descriptor for descriptor in (1, 2) if os.isatty(descriptor)]
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                if number == signal.SIGHUP and signal.getsignal(number) == signal.SIG_IGN:
                    continue  # `nohup` keeps it running
                self._before[number] = signal.signal(number, self._receive)
        return self

    def __exit__(self, *_: object) -> None:
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
        write_line(STOPPING)
        if number == signal.SIGHUP:
            for terminal in self._terminals:  # gone: what is written there would be an error
                os.dup2(os.open(os.devnull, os.O_WRONLY), terminal)
        self._timer = threading.Timer(GRACE_SECONDS, self._end)
        self._timer.daemon = True
        self._timer.start()

    def _end(self) -> None:
        """End the process now, from whichever thread."""
        if self._clean is not None:
            self._clean()
        end_now(128 + self.number, "" if self._at_once else self._closing)
