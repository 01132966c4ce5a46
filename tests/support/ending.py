"""Interrupt a program, and check how it ends."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import sys
import time
import uuid
from dataclasses import dataclass
from pathlib import Path

import pytest

SHOWN, HIDDEN = b"\x1b[?25h", b"\x1b[?25l"  # the cursor
CONTROL = re.compile(rb"\x1b\[[?\d;]*[A-Za-z]")


COMMAND = {"azero.check_game": ["othello"], "azero.oracle": ["out=positions.gz"]}


@dataclass
class Ended:
    """How a program ended that was interrupted in a terminal."""

    status: int
    before: bytes  # what it showed until the signal
    after: bytes  # and from then on
    seconds: float  # from the signal to the end


def interrupt(
    words: list[str],
    folder: Path,
    pattern: bytes = b"",
    delay: float = 0.0,
    times: int = 1,
    most: float = 120.0,
) -> Ended:
    """Run a program in a terminal and press Ctrl-C `delay` seconds after it has shown `pattern`.

    Without a pattern the time counts from the start of the import of azero, which takes over the signal. The
    second press waits for the answer to the first, because Python sees two quick signals as one.
    """
    mark = uuid.uuid4().hex
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(folder)
        os.environ.update(AZERO_MARK=mark, COLUMNS="80", LINES="24", TERM="xterm")
        os.execv(sys.executable, [sys.executable, "-m", *words])
    begin, shown, pressed_at, at, due = time.monotonic(), b"", 0, 0.0, 0.0
    python_began = False
    while True:
        assert time.monotonic() - begin < most, shown.decode(errors="replace")
        if select.select([terminal], [], [], 0.005)[0]:
            try:
                read = os.read(terminal, 65536)
            except OSError:  # the other end is closed
                read = b""
            if not read:
                break
            shown += read
        if not due:
            catches = catches_interrupts(child)
            if re.search(pattern, shown) if pattern else python_began and not catches:
                due = time.monotonic() + delay
            python_began |= catches
        if due and times and time.monotonic() >= due:
            if not at:
                pressed_at, at = len(shown), time.monotonic()
            elif b"Stopping" not in shown[pressed_at:]:
                continue
            os.write(terminal, b"\x03")
            due, times = time.monotonic() + 0.3, times - 1
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    seconds = time.monotonic() - at
    os.close(terminal)
    wait_for_helpers(mark)
    return Ended(status, shown[:pressed_at], shown[pressed_at:], seconds)


def catches_interrupts(process: int) -> bool:
    """Whether a program has a handler for SIGINT: Python installs one when it starts."""
    if b"-m" not in Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0"):
        return False  # still this test's own process
    (mask,) = re.findall(r"SigCgt:\s*(\w+)", Path(f"/proc/{process}/status").read_text()) or ["0"]
    return bool(int(mask, 16) >> (signal.SIGINT - 1) & 1)


def wait_for_helpers(mark: str) -> None:
    """Fail if a process with that mark in its environment still lives after some seconds."""
    for _ in range(100):
        if not (left := [path for path in Path("/proc").glob("[0-9]*/environ") if marked(path, mark)]):
            return
        time.sleep(0.1)
    pytest.fail(f"these processes live on: {left}")


def marked(path: Path, mark: str) -> bool:
    """Whether the environment of a process holds the mark."""
    try:
        return mark.encode() in path.read_bytes()
    except OSError:
        return False


def lines_in(output: bytes) -> list[bytes]:
    """The lines that stay on the screen: of a line that was written anew, its end."""
    lines = (line.rstrip(b"\r").replace(b"\x1b[2K", b"\r").split(b"\r")[-1] for line in output.split(b"\n"))
    return [text for line in lines if (text := CONTROL.sub(b"", line).replace(b"^C", b"").strip())]


def check_clean(ended: Ended, lines: int = 1) -> None:
    """At most one line, no traceback, the cursor shown, the status of Ctrl-C."""
    everything = ended.before + ended.after
    assert b"Traceback" not in everything and b"Exception" not in everything, everything.decode()
    assert everything.rfind(SHOWN) >= everything.rfind(HIDDEN)
    assert len(lines_in(ended.after)) <= lines, ended.after
    assert ended.status in (130, -signal.SIGINT)  # a shell shows 130 for both
