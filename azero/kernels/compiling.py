"""Compilation as a run sees it: whether it lies ahead, is under way, and how long it has taken."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from numba.core import event

from azero.process.kernel_cache import kernel_folder

# Numba's event: a thread compiles, loads compiled code, or waits to do either
COMPILER = "numba:compiler_lock"
PASS = "numba:run_pass"  # Numba's event: a pass of the compiler, none of which loading needs
COMPILING = "Compiling what is used here for the first time; later starts skip it"
NOTICE_SECONDS = 1.0  # of compiling that a person may wait without a word
_RUN_HERE: set[str] = set()


class CompileTimer(event.Listener):
    """Counts the seconds in which any thread of this process compiles, while it is entered.

    Attributes:
        seconds: counted so far, up to the end of the last compilation.
    """

    counted = COMPILER

    def __init__(self) -> None:
        self.seconds = 0.0
        self._threads = 0
        self._began = 0.0
        self._lock = threading.Lock()

    def on_start(self, event: Any) -> None:
        """A thread begins to compile."""
        with self._lock:
            if self._threads == 0:
                self._began = time.perf_counter()
            self._threads += 1

    def on_end(self, event: Any) -> None:
        """A thread has compiled."""
        with self._lock:
            self._threads -= 1
            if self._threads == 0:
                self.seconds += time.perf_counter() - self._began

    def __enter__(self) -> CompileTimer:
        """Begin to count."""
        event.register(self.counted, self)
        return self

    def __exit__(self, *_: object) -> None:
        """Stop counting."""
        event.unregister(self.counted, self)


class CompileNotice(CompileTimer):
    """Says once that this process compiles, when that has taken NOTICE_SECONDS, while it is entered."""

    counted = PASS

    def __init__(self, say: Callable[[str], object]) -> None:
        """Pass the sentence to `say`, in the thread that compiles."""
        super().__init__()
        self.say: Callable[[str], object] | None = say

    def on_start(self, event: Any) -> None:
        """A pass begins, perhaps within another one."""
        super().on_start(event)
        if self.say and self.seconds + time.perf_counter() - self._began >= NOTICE_SECONDS:
            say, self.say = self.say, None
            say(f"{COMPILING}.")


def compiled_before(kind: str) -> bool:
    """Return whether self-play with a search of this kind is compiled, in this process or on the disk."""
    return kind in _RUN_HERE or _note(kind).exists()


def note_compiled(kind: str) -> None:
    """Note that self-play with a search of this kind is compiled. Without a disk this process knows it."""
    _RUN_HERE.add(kind)
    with contextlib.suppress(OSError):
        _note(kind).parent.mkdir(parents=True, exist_ok=True)
        _note(kind).touch()


def _note(kind: str) -> Path:
    """Return the note's file, beside the compiled code and like that one for each version of Python."""
    return Path(kernel_folder()) / f"selfplay-{kind}-{sys.implementation.cache_tag}"
