"""Processes that the studio starts for training, matches and forecasts. They outlive the server."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from azero.config.schema import UserError, explaining_failure

LOG_BYTES = 64_000  # of the end of a log that a page shows
LOG_LINES = 200
PATIENCE = 10.0  # seconds that a process has to end
CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x08\x0b-\x1f\x7f]")
NAME = re.compile(r"[A-Za-z0-9][\w.=,+-]{0,63}", re.ASCII)  # of what a page starts


def start(words: Sequence[str], log: Path) -> subprocess.Popen[bytes]:
    """Start a program of azero as a process of its own, which appends to a log.

    Raises:
        UserError: the log cannot be written or the process cannot be started.
    """
    with explaining_failure(f"A process with the log {log} cannot be started"):
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as out:
            return subprocess.Popen(
                [sys.executable, "-m", *words],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # a Ctrl-C that ends the server does not reach it
            )


def ask_to_stop(pid: int) -> None:
    """Ask a process to save and end, as Ctrl-C in its terminal does."""
    try:
        os.kill(pid, signal.SIGINT)
    except ProcessLookupError:
        pass  # it has just ended
    except PermissionError as refusal:
        raise UserError(
            f"Process {pid} belongs to another user and cannot be stopped from here."
        ) from refusal


def end(process: subprocess.Popen[bytes]) -> None:
    """End a process, which may remove its folders first, and wait for that."""
    process.terminate()
    try:
        process.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def is_running(pid: int, word: str) -> bool:
    """Return whether the process with that number is one that was started with that word, on Linux."""
    try:
        return word.encode() in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False


def last_lines(log: Path) -> list[str]:
    """Return the last lines of a log without control codes; none if there is no log."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - LOG_BYTES))
            text = file.read().decode("utf-8", "replace")
    except OSError:
        return []
    return [CONTROL.sub("", line) for line in text.splitlines()][-LOG_LINES:]


def ending(status: int, log: Path) -> tuple[str, str]:
    """Return how a process has ended, by its exit status: finished, stopped or failed, and a sentence."""
    if status == 0:
        return "finished", ""
    if status in (128 + signal.SIGINT, 128 + signal.SIGTERM, -signal.SIGINT, -signal.SIGTERM):
        return "stopped", "It was stopped; what is finished is saved."
    if status < 0:
        name = signal.Signals(-status).name
        why = ", perhaps because memory ran out" if -status == signal.SIGKILL else ""
        return "failed", f"The process was killed by {name}{why}; what it had saved is kept."
    said = [line for line in last_lines(log) if line.strip()]
    return "failed", said[-1] if said else f"The process ended with exit status {status}."
