"""Read a client's lines in a thread, so that a search can see that the next one has come."""

from __future__ import annotations

import contextlib
import os
import queue
import select
import stat
import sys
import threading
import time
from collections.abc import Callable
from typing import BinaryIO

from azero.process.ending import end_now

MOST_BYTES = 2**20  # of a line, without its end
MOST_WAITING = 1024  # lines read ahead
SOON, AT_ONCE = 0.4, 0.9  # seconds after the end of the input
INTERRUPT = "# interrupt"  # GoGui's comment that stops a command under way
QUIT = "quit"  # the last word of a client that wants all answers

Write = Callable[[str], None]  # sends a line to the client at once


class TooLong(str):
    """Stands for a line of more than MOST_BYTES: its beginning; the rest is not kept."""


class Lines:
    """The lines of a stream, in order.

    The input ends when the client is gone. Searches should stop then: `hurry` becomes True after SOON
    seconds, and after AT_ONCE the process ends; both count from the first `read`, when the program is ready.
    Where the input is a file, or ends with QUIT while the client goes on reading, all lines are answered.

    Attributes:
        arrived: when the line came that `read` has returned, by `time.perf_counter`.
        number: of the line that `read` has returned.
        interrupt: the number of the latest INTERRUPT, which stops the lines before it.
        hurry: whether the client is gone.
    """

    def __init__(
        self, stream: BinaryIO, end: Callable[[], None] | None = None, client: BinaryIO | None = None
    ) -> None:
        """Begin to read; `end` ends the process where it goes on without a client, which reads `client`."""
        self.stream, self.end, self.client = stream, end or (lambda: end_now(0)), client
        self.latest = ""  # line received
        self.lines: queue.Queue[tuple[str | None, float]] = queue.Queue(MOST_WAITING)
        self.arrived = 0.0
        self.number, self.received, self.interrupt, self.hurry = 0, 0, 0, False
        self.ready, self.finished = threading.Event(), threading.Event()
        threading.Thread(target=self._read_all, daemon=True).start()

    def read(self, timeout: float | None = None) -> str | None:
        """Return the next line without its end, None at the end of the input.

        Raises:
            queue.Empty: none came within `timeout` seconds.
        """
        self.ready.set()
        line, self.arrived = self.lines.get(timeout=timeout)
        self.number += 1
        if line is None:
            self.lines.put((None, self.arrived))  # for whoever asks again
        return line

    def waiting(self) -> bool:
        """Return whether `read` would return at once."""
        return not self.lines.empty()

    def stopping(self) -> bool:
        """Return whether a search that a line asked for should end now, with the move that it has."""
        return self.interrupt > self.number or self.hurry

    def finish(self) -> None:
        """Note that the program ends by itself."""
        self.finished.set()

    def _read_all(self) -> None:
        """Put all lines into the queue, then watch over the program's end."""
        data, skipping = b"", False
        with contextlib.suppress(OSError, ValueError):  # the stream was closed
            while chunk := read_some(self.stream):
                *lines, data = (data + chunk).split(b"\n")
                for line in lines:
                    self._put(line, skipping)
                    skipping = False
                if len(data) > MOST_BYTES + 1:
                    data, skipping = data[: MOST_BYTES + 2], True
        if data:
            self._put(data, skipping)
        self.lines.put((None, time.perf_counter()))
        self.ready.wait()
        if is_file(self.stream) or self.latest.split()[-1:] == [QUIT]:
            while not is_closed(self.client):
                if self.finished.wait(SOON):
                    return
        if not self.finished.wait(SOON):
            self.hurry = True
            if not self.finished.wait(AT_ONCE - SOON):
                self.end()

    def _put(self, data: bytes, too_long: bool) -> None:
        """Put one line into the queue, whatever its bytes."""
        text = data.removesuffix(b"\r")
        self.received += 1
        if too_long or len(text) > MOST_BYTES:
            self.lines.put((TooLong(text[:100].decode(errors="replace")), time.perf_counter()))
            return
        line = text.decode(errors="replace")
        if line.strip() == INTERRUPT:
            self.interrupt = self.received
        self.latest = line
        self.lines.put((line, time.perf_counter()))


def read_some(stream: BinaryIO) -> bytes:
    """Return the next bytes of a stream, b"" at its end.

    A thread that waits in a buffered stream would hold its lock when the program ends.
    """
    try:
        descriptor = stream.fileno()
    except (OSError, ValueError):  # a stream in memory
        return stream.read(65536)
    return os.read(descriptor, 65536)


def is_file(stream: BinaryIO) -> bool:
    """Return whether a stream reads a file or /dev/null, which end although nobody is gone."""
    try:
        mode = os.fstat(stream.fileno()).st_mode
    except (OSError, ValueError):  # a stream in memory
        return True
    return stat.S_ISREG(mode) or (stat.S_ISCHR(mode) and not stream.isatty())


def is_closed(client: BinaryIO | None) -> bool:
    """Return whether nobody reads from the other end of the pipe to the client."""
    if client is None:
        return False
    watched = select.poll()
    watched.register(client, 0)
    return bool(watched.poll(0))


def take_over_output() -> BinaryIO:
    """Return a stream to the client, and send whatever else is printed to the standard error instead."""
    sys.stdout.flush()
    client = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return client


def line_writer(client: BinaryIO) -> Write:
    """Return a function that sends a line to the client at once."""

    def write(line: str) -> None:
        client.write(line.encode("utf-8", "replace") + b"\n")
        client.flush()

    return write
