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

from waiting import wait_for

SHOWN, HIDDEN = b"\x1b[?25h", b"\x1b[?25l"  # the cursor
CONTROL = re.compile(rb"\x1b\[[?\d;]*[A-Za-z]")


SOON = 20.0  # seconds in which a program ends at Ctrl-C, however busy the machine is
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

    Without a pattern the time counts from the start of the import of azero, which takes Python's handler of
    the signal away; a look may come too late for that handler, or in the moment before it is there. The
    second press waits for the answer to the first, because Python sees two quick signals as one.
    """
    mark, caught, free = uuid.uuid4().hex, False, 0.0
    child, terminal = pty.fork()
    if child == 0:
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # see `signals_of`
        os.chdir(folder)
        os.environ.update(AZERO_MARK=mark, COLUMNS="80", LINES="24", TERM="xterm")
        os.execv(sys.executable, [sys.executable, "-m", *words])
    begin, shown, pressed_at, at, due = time.monotonic(), b"", 0, 0.0, 0.0
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
            (python_began, catches), now = signals_of(child), time.monotonic()
            caught |= python_began and catches
            free = (free or now) if python_began and not catches else 0.0
            if re.search(pattern, shown) if pattern else free and (caught or now > free + 0.2):
                due = now + delay
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


def signals_of(process: int) -> tuple[bool, bool]:
    """Whether a program ignores SIGPIPE, as Python does from its start, and has a handler for SIGINT, as
    Python has until azero takes it away."""
    if b"-m" not in Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0"):
        return False, False  # still this test's own process
    masks = dict(re.findall(r"Sig(\w+):\s*(\w+)", Path(f"/proc/{process}/status").read_text()))
    ignored, caught = (int(masks.get(name, "0"), 16) for name in ("Ign", "Cgt"))
    return bool(ignored >> (signal.SIGPIPE - 1) & 1), bool(caught >> (signal.SIGINT - 1) & 1)


def wait_for_helpers(mark: str) -> None:
    """Wait until no process with that mark in its environment lives."""
    environments = Path("/proc").glob
    wait_for(
        lambda: [path for path in environments("[0-9]*/environ") if marked(path, mark)], lambda left: not left
    )


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
    """It ended soon, with so many lines at most, no traceback, the cursor shown and the status of Ctrl-C."""
    assert ended.seconds < SOON
    everything = ended.before + ended.after
    assert b"Traceback" not in everything and b"Exception" not in everything, everything.decode()
    assert everything.rfind(SHOWN) >= everything.rfind(HIDDEN)
    assert len(lines_in(ended.after)) <= lines, ended.after
    assert ended.status in (130, -signal.SIGINT)  # a shell shows 130 for both
