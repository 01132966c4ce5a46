"""End the processes that a head has started on its machine when the head itself has ended, however that was.

A small process waits for the end of a pipe whose other end only the head has: the system closes it also after
`kill -9`. It starts as this file alone, without azero's libraries.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

MARK = "AZERO_GUARDED"
GUARDS: list[subprocess.Popen[bytes]] = []  # kept, because Python warns of a process that is dropped
ROUNDS, PAUSE_SECONDS = 20, 0.1  # of looking for processes, some of which may just have been started


@contextlib.contextmanager
def guarded() -> Iterator[None]:
    """Let all processes that are started inside, and those that they start, end with this one.

    They are known by a variable of their environment. Without `/proc`, as on macOS, nothing is done.
    """
    if not Path("/proc/self/environ").exists():
        yield
        return
    mark = f"{os.getpid()}-{time.time_ns()}"
    theirs, _ = os.pipe()  # the other end stays open as long as this process lives
    command = [sys.executable, "-I", "-S", __file__, mark]
    quiet = subprocess.DEVNULL
    GUARDS.append(subprocess.Popen(command, stdin=theirs, stdout=quiet, stderr=quiet, start_new_session=True))
    os.close(theirs)
    os.environ[MARK] = mark
    try:
        yield
    finally:
        del os.environ[MARK]


def marked(mark: str) -> list[int]:
    """Return the processes with a mark."""
    found, entry = [], f"{MARK}={mark}".encode()
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError):  # of another user, or gone
                if entry in (folder / "environ").read_bytes().split(b"\0"):
                    found.append(int(folder.name))
    return found


def guard(mark: str) -> None:
    """Wait for the head's end, and end all processes with the mark."""
    while os.read(0, 1):
        pass
    for _ in range(ROUNDS):
        for process in marked(mark):
            with contextlib.suppress(OSError):
                os.kill(process, signal.SIGKILL)
        time.sleep(PAUSE_SECONDS)


if __name__ == "__main__":
    guard(sys.argv[1])
