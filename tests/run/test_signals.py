"""The first signal asks, the second one ends, and no request goes unanswered for long."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from azero.process.signals import STOPPED, STOPPING, StopSignal

PROGRAM = """
import signal, sys, time
import azero.process.signals
azero.process.signals.GRACE_SECONDS = float(sys.argv[1])
with azero.process.signals.StopSignal() as stop:
    {before}
    print("ready", flush=True)
    while True:
        time.sleep(0.01)
        if stop.requested:
            print("asked", flush=True)
            {after}
"""


def start(before: str = "pass", after: str = "pass", grace: float = 600.0) -> subprocess.Popen[bytes]:
    """A program that is ready for signals."""
    command = [sys.executable, "-c", PROGRAM.format(before=before, after=after), str(grace)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout and process.stdout.readline() == b"ready\n"
    return process


@pytest.mark.parametrize(
    "number, status", [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_the_first_signal_asks_and_gives_the_exit_status(number: signal.Signals, status: int) -> None:
    with start(after="sys.exit(stop.exit_code)") as process:
        process.send_signal(number)
        assert process.wait(60) == status


def test_nohup_outlives_its_terminal() -> None:
    before = "signal.raise_signal(signal.SIGHUP); assert not stop.requested"
    nohup = "import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
    command = [sys.executable, "-c", nohup + PROGRAM.format(before=before, after="sys.exit(3)"), "600"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout and process.stdout.readline() == b"ready\n"
        process.terminate()
        assert process.wait(60) == 3


def test_the_second_signal_ends_at_once_with_the_closing_line() -> None:
    with start(after="time.sleep(600)") as process:
        process.send_signal(signal.SIGINT)
        assert process.stdout and process.stdout.readline() == b"asked\n"
        process.send_signal(signal.SIGTERM)
        _, complaints = process.communicate(timeout=60)
    assert process.returncode == 143 and complaints.decode().splitlines() == [STOPPING, STOPPED]


def test_a_program_that_does_not_answer_is_ended_with_the_closing_line_when_the_grace_is_over() -> None:
    with start(after="time.sleep(600)", grace=0.3) as process:
        begin = time.monotonic()
        process.send_signal(signal.SIGTERM)
        _, complaints = process.communicate(timeout=60)
        assert process.returncode == 143 and time.monotonic() - begin > 0.25
    assert complaints.decode().splitlines() == [STOPPING, STOPPED]


@pytest.mark.parametrize(
    "before",
    ["stop.end_at_once()", "signal.raise_signal(signal.SIGTERM); print('ready'); stop.end_at_once()"],
)
def test_with_nothing_left_to_save_the_first_signal_ends(before: str) -> None:
    command = [sys.executable, "-c", PROGRAM.format(before=before, after="time.sleep(600)"), "600"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        if before == "stop.end_at_once()":
            assert process.stdout and process.stdout.readline() == b"ready\n"
            process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 143


GIVEN_BACK = """
import signal, threading
from azero.process.signals import StopSignal
before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
with StopSignal() as stop:
    signal.raise_signal(signal.SIGTERM)
    assert stop.requested and stop.exit_code == 143
assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)) == before
timers = [thread for thread in threading.enumerate() if isinstance(thread, threading.Timer)]
assert all(timer.finished.is_set() for timer in timers)
"""


def test_signals_are_given_back() -> None:
    """In a process of its own: one that has run other tests may take a signal otherwise, and would end with
    all of them.
    """
    assert subprocess.run([sys.executable, "-c", GIVEN_BACK]).returncode == 0


def test_without_a_signal_nothing_is_requested() -> None:
    with StopSignal() as stop:
        pass
    assert not stop.requested and stop.exit_code == 0


def test_outside_the_main_thread_nothing_is_watched_and_nothing_breaks() -> None:
    seen: list[bool] = []

    def enter() -> None:
        with StopSignal() as stop:
            seen.append(stop.requested)

    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    assert seen == [False]


def test_a_terminal_that_is_closed_asks_too_and_its_output_goes_nowhere(tmp_path: Path) -> None:
    """The end of the terminal sends SIGHUP; the program writes on until it has saved."""
    saved = tmp_path / "saved"
    after = f"print('more', flush=True); open({str(saved)!r}, 'x'); sys.exit(stop.exit_code)"
    child, terminal = pty.fork()
    if child == 0:
        os.execv(sys.executable, [sys.executable, "-c", PROGRAM.format(before="pass", after=after), "600"])
    assert os.read(terminal, 100).startswith(b"ready")
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 129
    assert saved.exists()
