#!/usr/bin/env python3
"""Try the faults that azero promises to survive, and count what it makes of them.

usage: torture.py [--kills 20] [--errors 20] [--damages 200] [--strangers 1] [--seed 1] [--folder FOLDER]

    kills       a run is killed (SIGKILL), asked to stop (SIGTERM) or stopped and continued (SIGSTOP, SIGCONT)
                at random moments, and resumed by the same command
    errors      one operation on a run's files fails once: reading with EIO or EACCES, writing with ENOSPC too
    damages     a file of a run is damaged: read by its parser, by a resume, and by the routes of the studio
    strangers   recipes, games, candidates and networks that somebody made to do harm

Runs are of toy size. One is left in peace; every other run must end with its digest, or name what was lost. A
fault must be refused with one sentence or recovered from. Wrong are an unexpected error (exit status 70), a
death by a signal, a run that hangs, and whatever is lost without a word. The table at the end counts them;
the exit status is 0 if nothing was wrong.

Most runs are forked from this process, which has imported everything and runs no other thread: that saves
four seconds of each start. Each tenth is a new `python -m azero.loop`.
"""

from __future__ import annotations

import argparse
import builtins
import contextlib
import errno
import functools
import io
import json
import os
import pickle
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"  # training with more threads crawls on a machine that is busy
ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402
import torch  # noqa: E402

from azero import loop  # noqa: E402
from azero.cli.hydra_program import compose  # noqa: E402
from azero.cli.programs import refuse  # noqa: E402
from azero.config.schema import Config, UserError  # noqa: E402
from azero.network.model import unpack_network  # noqa: E402
from azero.process.ending import CANNOT_WRITE, end_quietly, prepare, report_crash  # noqa: E402
from azero.replay.shards import load_games  # noqa: E402
from azero.report.event_files import read_events  # noqa: E402
from azero.report.metrics_csv import read_rows  # noqa: E402
from azero.run.disk import DamagedFile, Disk, digest, read_checked  # noqa: E402
from azero.run.run import Run  # noqa: E402
from azero.run.state import State, format_state, parse_state, run_digest  # noqa: E402
from azero.stages.run_stage import run_alone  # noqa: E402

NAME = "toy"
# Computed everywhere in fp32, because 'auto' times what is fastest, and two runs may find different answers.
TOY = [
    *("plain", "run=toy", "cycles=4", "device=cpu", "workers=1", "keep=1", "oracle.positions=0"),
    *("game.name=gomoku", "game.options.rows=3", "game.options.columns=3", "game.options.connect=3"),
    *("inference.backend=torch", "inference.precision=fp32", "train.precision=fp32"),
    *("network.blocks=1", "network.channels=8", "search.num_simulations=4"),
    *("selfplay.games=12", "selfplay.concurrent_games=6", "evaluate.games=4"),
    *("train.epochs=1", "train.batch_size=16", "train.window=1000"),
]
END_SECONDS = 10.0  # a run that got SIGTERM has so long to save what is finished
BUSY_SECONDS = 60.0  # where other programs take the cores
MOST_SECONDS = 240.0  # of a run on a busy machine: more is a hang
COMPILE_SECONDS = 1800.0  # of a run that nobody disturbs: the first one compiles
STRANGER_SECONDS = 90.0
MOST_MEMORY = 2 << 30  # beyond what this process has: a stranger's file must not take more
REFUSED = (2, CANNOT_WRITE)


# Count


@dataclass
class Table:
    """What was tried, by kind: how often, how it ended, and a sentence for each fault that did harm."""

    tried: Counter[str] = field(default_factory=Counter)
    good: Counter[str] = field(default_factory=Counter)
    wrong: list[tuple[str, str]] = field(default_factory=list)

    def count(self, kind: str, what: str, fault: str | None) -> None:
        """Count a fault of a kind. what: how to find it again; fault: what was wrong, None if nothing was."""
        self.tried[kind] += 1
        if fault is None:
            self.good[kind] += 1
            if self.good.total() % 50 == 0:
                print(f"{self.good.total():,} refused or recovered", flush=True)
        else:
            self.wrong.append((kind, f"{what}: {fault}"))
            print(f"WRONG  {kind}  {what}: {fault}", flush=True)

    def text(self) -> str:
        """Return the table in Markdown."""
        wrong = Counter(kind for kind, _ in self.wrong)
        rows = [
            f"| {kind} | {tried:,} | {self.good[kind]:,} | {wrong[kind]:,} |"
            for kind, tried in self.tried.items()
        ]
        return "\n".join(
            ["| kind | tried | refused or recovered | wrong |", "| --- | --- | --- | --- |", *rows]
        )


# Start runs


def config_in(folder: Path, *overrides: str) -> Config:
    """Return the settings of the toy run of a folder."""
    checkpoints, data = str(folder / "checkpoints"), str(folder / "data")
    return replace(toy_config(overrides), checkpoints=checkpoints, data=data)


@functools.cache
def toy_config(overrides: tuple[str, ...]) -> Config:
    """Return the settings of the toy run; Hydra takes a third of a second."""
    return compose(*TOY, *overrides)


Around = Callable[[Callable[[], int]], int]  # calls a run in a forked process; returns its exit status


class Process:
    """The toy run of a folder: `python -m azero.loop`, or `forked` from this process."""

    def __init__(self, folder: Path, overrides: Sequence[str] = (), forked: Around | None = None) -> None:
        """Start it; its output is added to `output.txt`. `forked` calls the run in a forked process."""
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.output = folder, folder / "output.txt"
        with self.output.open("a") as output:
            if forked is not None:
                config = config_in(folder, *overrides)
                self.child: Any = Forked(
                    lambda: forked(lambda: loop.run_asked(config, NAME)), output.fileno()
                )
                return
            command = [sys.executable, "-m", "azero.loop", *TOY, *overrides]
            command += [f"checkpoints={folder / 'checkpoints'}", f"data={folder / 'data'}"]
            self.child = subprocess.Popen(command, cwd=ROOT, stdout=output, stderr=subprocess.STDOUT)

    def has_begun(self) -> bool:
        """Whether it holds the lock."""
        try:
            lock = json.loads((self.folder / "data/toy/run.lock.json").read_bytes())
            return bool(lock["pid"] == self.child.pid)
        except (OSError, ValueError):
            return False

    def wait_until_begun(self) -> None:
        """Wait until it holds the lock, or has ended."""
        until = time.monotonic() + MOST_SECONDS
        while not self.has_begun() and self.child.poll() is None and time.monotonic() < until:
            time.sleep(0.002)

    def kill(self, number: int, seconds: float = END_SECONDS) -> int:
        """Send a signal and wait for the end; return the exit status, negative for an unhandled signal.

        Raises:
            subprocess.TimeoutExpired: it did not end in time, and was killed.
        """
        self.child.send_signal(number)
        try:
            return int(self.child.wait(seconds))
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()
            raise

    def end(self, seconds: float = MOST_SECONDS) -> int:
        """Wait for the end; return the exit status, that of SIGKILL if it hangs."""
        try:
            return int(self.child.wait(seconds))
        except subprocess.TimeoutExpired:
            self.child.kill()
            return int(self.child.wait())

    def said(self) -> str:
        """Return the last words."""
        return self.output.read_text(errors="replace")[-4000:]


class Forked:
    """A process forked from this one, with the methods of `subprocess.Popen` that are needed here."""

    def __init__(self, act: Callable[[], Any], output: int) -> None:
        """Start it: it ends with the exit status that `act` returns, or as a program of azero does."""
        sys.stdout.flush()
        self.returncode: int | None = None
        self.pid = os.fork()
        if self.pid == 0:
            for descriptor in (1, 2):
                os.dup2(output, descriptor)
            os._exit(run_as_program(act))

    def poll(self) -> int | None:
        """Return the exit status if it has ended."""
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self.returncode = os.waitstatus_to_exitcode(status) if pid else None
        return self.returncode

    def wait(self, seconds: float = MOST_SECONDS) -> int:
        """Wait for the end; return the exit status."""
        until = time.monotonic() + seconds
        while (status := self.poll()) is None:
            if time.monotonic() >= until:
                raise subprocess.TimeoutExpired("forked", seconds)
            time.sleep(0.002)
        return status

    def send_signal(self, number: int) -> None:
        """Send a signal, if it has not ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """Kill it."""
        self.send_signal(signal.SIGKILL)


def run_as_program(act: Callable[[], Any]) -> int:
    """Return the exit status of what `act` does, ending as `python -m azero.loop` does."""
    prepare()
    try:
        status = int(act() or 0)
    except UserError as mistake:
        status = refuse(mistake)
    except Exception as failure:
        end_quietly(failure)
        status = report_crash(failure)
        traceback.print_exception(failure)
    except SystemExit as end:
        status = int(end.code or 0)
    except BaseException:
        traceback.print_exc()
        status = 1
    with contextlib.suppress(OSError):
        sys.stdout.flush()
        sys.stderr.flush()
    return status


def state_of(folder: Path) -> State | None:
    """What the run of a folder has committed."""
    config = Config(checkpoints=str(folder / "checkpoints"), data=str(folder / "data"))
    return Run.read(config, NAME).state if (folder / "checkpoints/toy/state.json").exists() else None


def finish(folder: Path, overrides: Sequence[str] = (), forked: Around | None = None) -> tuple[str, float]:
    """Let the run of a folder end in peace: (its digest, seconds from the lock to the last commit)."""
    process = Process(folder, overrides, forked)
    process.wait_until_begun()
    begin = time.time()
    if status := process.end(COMPILE_SECONDS):
        raise SystemExit(f"The run ended with status {status}:\n{process.said()}")
    state = state_of(folder)
    assert state is not None
    return run_digest(state), (folder / "checkpoints/toy/state.json").stat().st_mtime - begin


def plainly(run: Callable[[], int]) -> int:
    """Do nothing around a forked run."""
    return run()


# Kill


def disturb(
    process: Process, seconds: float, number: signal.Signals, choice: random.Random
) -> tuple[str | None, str | None]:
    """Disturb a run at a random moment, mostly within `seconds` of the lock: (what was done, what was wrong).

    Nothing was done to a run that had ended before.
    """
    if choice.random() < 0.9:
        process.wait_until_begun()
        moment = choice.uniform(0, seconds)
    else:
        moment = choice.uniform(0, 2 if isinstance(process.child, subprocess.Popen) else 0.1)  # it begins
    what, allowed = f"{number.name} after {moment:.2f} s", (0, -number, 128 + number)
    try:
        status = int(process.child.wait(moment))
    except subprocess.TimeoutExpired:
        if number == signal.SIGSTOP:
            process.child.send_signal(number)
            time.sleep(choice.uniform(0, 0.1))
            process.child.send_signal(signal.SIGCONT)
            status = process.end()
            return what, None if status == 0 else f"status {status}: {process.said()}"
        try:
            status = process.kill(number, BUSY_SECONDS)
        except subprocess.TimeoutExpired:
            return what, f"it did not end within {BUSY_SECONDS:g} s"
    if status not in allowed:
        return what, f"status {status}: {process.said()}"
    return (what if status else None), None


SIGNALS = (signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGSTOP)


def kills(folder: Path, rounds: int, calm: Calm, choice: random.Random, table: Table) -> None:
    """Disturb runs at random moments; one that ended before its moment came is no round."""
    done, place = 0, folder / "0"
    while done < rounds:
        number = choice.choice(SIGNALS)
        real = choice.random() < calm.real
        process = Process(place, calm.overrides, None if real else plainly)
        what, fault = disturb(process, calm.seconds, number, choice)
        state = state_of(place)
        if what:
            done += 1
            if (state and state.cycle == calm.cycles) or done == rounds or fault:
                fault = fault or ends_otherwise(place, calm)
                place = folder / str(done)
            how = "a new process" if real else "a forked one"
            table.count(f"{number.name} at a random moment", f"round {done}, {what}, {how}", fault)
        elif fault or (fault := ends_otherwise(place, calm)):
            table.count(f"{number.name} at a random moment", f"after round {done}", fault)
            place = folder / f"{done}-again"
        else:
            shutil.rmtree(place)


@dataclass(frozen=True)
class Calm:
    """A run that nobody disturbed.

    Attributes:
        digest, cycles, seconds: its digest, its cycles, how long it took.
        overrides: settings of all runs.
        real: share of the disturbed runs that are new processes.
    """

    digest: str
    cycles: int
    seconds: float
    overrides: tuple[str, ...]
    real: float


def ends_otherwise(place: Path, calm: Calm) -> str | None:
    """Let a run end in peace; return a sentence if its end is not that of the undisturbed one."""
    process = Process(place, calm.overrides, plainly)
    if status := process.end():
        return f"the same command ended with status {status}: {process.said()}"
    state = state_of(place)
    if state is None or state.quarantine or state.retired:
        return f"quarantine {state and state.quarantine}, retired {state and state.retired}"
    return None if run_digest(state) == calm.digest else "the end is another"


# Let operations on files fail once


class FailingOnce:
    """Lets the k-th operation on the files of a folder fail once, in this process.

    Operations are what Python's own functions do: open, read and write, list, rename, remove, sync.
    """

    READING = ("stat", "listdir", "scandir", "open")
    READ, WRITE = (errno.EIO, errno.EACCES), (errno.EIO, errno.EACCES, errno.ENOSPC)

    def __init__(self, folder: Path, k: int, choice: random.Random) -> None:
        self.folder, self.left, self.choice = str(folder), k, choice
        self.seen = 0

    def around(self, run: Callable[[], int]) -> int:
        """Call a run whose operations fail."""
        self.install()
        return run()

    def install(self) -> None:
        """Put it between this process and its files."""
        real_open = io.open
        for name in ("stat", "listdir", "scandir"):
            setattr(os, name, self.watched(getattr(os, name), self.READ, name))
        for name in ("replace", "rename", "unlink", "mkdir"):
            setattr(os, name, self.watched(getattr(os, name), self.WRITE, name))
        os.open = self.watched(os.open, self.READ, "open")
        os.fsync = self.watched(os.fsync, self.WRITE, "fsync")

        def open_file(file: Any, mode: str = "r", *arguments: Any, **options: Any) -> Any:
            writes = bool(set(mode) & set("wax+"))
            number = self.number_of(file, self.WRITE if writes else self.READ)
            if number and not (writes and self.choice.random() < 0.5):
                raise self.error(number, "create" if writes else "open", file)
            opened = real_open(file, mode, *arguments, **options)
            return HalfWritten(opened, self.error(number, "write", file)) if number else opened

        io.open = builtins.open = open_file

    def watched(self, real: Callable[..., Any], numbers: Sequence[int], name: str) -> Callable[..., Any]:
        """Return a function of `os` that may fail."""

        def act(path: Any = ".", *arguments: Any, **options: Any) -> Any:
            if number := self.number_of(path, numbers):
                raise self.error(number, name, path)
            return real(path, *arguments, **options)

        return act

    def number_of(self, path: Any, numbers: Sequence[int]) -> int:
        """Count an operation; return the error it meets, 0 for none."""
        if not isinstance(path, int) and not os.fspath(path).startswith(self.folder):
            return 0
        self.seen += 1
        self.left -= 1
        return self.choice.choice(numbers) if self.left == 0 else 0

    def error(self, number: int, name: str, path: Any) -> OSError:
        """Return the error, and note it for whoever reads the output."""
        does = "reading" if name in self.READING else "writing"
        os.write(1, f"[{errno.errorcode[number]} while {does}: {name} of {path}]\n".encode())
        return OSError(number, os.strerror(number), None if isinstance(path, int) else os.fspath(path))


class HalfWritten:
    """An open file whose first write fails half-way."""

    def __init__(self, file: Any, error: OSError) -> None:
        self.file = file
        self.failure: OSError | None = error

    def write(self, data: Any) -> int:
        """Write half of the data and fail, the first time."""
        if self.failure is None:
            return int(self.file.write(data))
        failure, self.failure = self.failure, None
        self.file.write(data[: len(data) // 2])
        raise failure

    def __getattr__(self, name: str) -> Any:
        return getattr(self.file, name)

    def __enter__(self) -> HalfWritten:
        return self

    def __exit__(self, *error: object) -> None:
        self.file.close()


def operations(folder: Path, calm: Calm) -> int:
    """Return the number of operations on files of a whole run."""
    counted = folder / "operations"

    def watch(run: Callable[[], int]) -> int:
        failing = FailingOnce(folder / "run", 0, random.Random(1))
        status = failing.around(run)
        counted.write_text(str(failing.seen))
        return status

    finish(folder / "run", calm.overrides, watch)
    return int(counted.read_text())


def errors(folder: Path, rounds: int, calm: Calm, choice: random.Random, table: Table) -> None:
    """Let one operation fail in each start of a run, once or twice, and end it in peace."""
    most, done = operations(folder / "count", calm), 0
    while done < rounds:
        place, fault, tried, found = folder / f"{done}", None, 0, list[tuple[str, str]]()
        for _ in range(choice.choice((1, 1, 2))):
            k, seed = choice.randint(1, most if choice.random() < 0.7 else 120), choice.random()
            failing = FailingOnce(place, k, random.Random(seed))
            process = Process(place, calm.overrides, failing.around)
            status = process.end()
            fault = None if status in (0, *REFUSED) else f"status {status}: {process.said()}"
            lines = [line for line in process.said().splitlines() if line.startswith("[E")]
            what = f"operation {k} {lines[-1] if lines else '[it ended before]'}"
            kind = f"{'a read' if 'while reading' in what else 'a write'} that fails once"
            if len(lines) > tried:
                tried += 1
                done += 1
                found.append((kind, what))
            if fault:
                break
        fault = fault or ends_otherwise(place, calm)
        if fault and not found:
            found.append((kind, what))
        for each in found:
            table.count(*each, fault)
        shutil.rmtree(place)


# Damage files


def damaged(whole: bytes, choice: random.Random) -> bytes:
    """Return a file with bits flipped, a piece cut out, doubled or written over, or noise."""
    place, length = choice.randrange(len(whole) or 1), choice.choice((1, 2, 4, 8, 64, 4096))
    if choice.random() < 0.5:  # structure is at the beginning and at the end
        place = choice.choice((place % 300, len(whole) - 1 - place % 300)) % (len(whole) or 1)
    head, piece, rest = whole[:place], whole[place : place + length], whole[place + length :]
    match choice.randrange(7):
        case 0 if whole:
            return head + bytes([whole[place] ^ 1 << choice.randrange(8)]) + whole[place + 1 :]
        case 1:
            return head
        case 2:
            return head + rest
        case 3:
            return head + piece + piece + rest
        case 4:
            return head + choice.randbytes(len(piece)) + rest
        case 5:
            return head + bytes(len(piece)) + rest
        case _:
            return choice.randbytes(choice.randrange(200))


def parsers(run: Path) -> dict[str, tuple[Path, Callable[[Path], Any]]]:
    """Return by kind a file of the finished run in a folder, and what reads such a file."""
    folder, data = run / "checkpoints/toy", run / "data/toy"

    def read_network(path: Path) -> None:
        unpack_network(path.read_bytes(), "network")

    return {
        "champion": (next((folder / "champion").glob("*.pt")), read_network),
        "candidate": (next((folder / "candidate").glob("*.pt")), read_network),
        "games": (next(data.glob("*.pickle")), lambda path: load_games(path.read_bytes(), "games")),
        "state": (folder / "state.json", lambda path: parse_state(path.read_bytes(), "state")),
        "metrics": (folder / "metrics.csv", read_rows),
        "events": (
            next((folder / "tensorboard/cycle").iterdir()),
            lambda path: read_events(path.read_bytes()),
        ),
    }


def damages_of_parsers(folder: Path, rounds: int, calm: Calm, choice: random.Random, table: Table) -> None:
    """Damage a file and read it: refused by its digest, and by its parser alone refused or read."""
    kinds, place = list(parsers(folder.parent / "undisturbed").items()), folder / "file"
    watched = ("os.system", "os.exec", "os.posix_spawn", "os.fork", "subprocess.Popen", "os.remove", "socket")
    ran = list[str]()

    def read_all() -> list[tuple[str, str | None]]:
        sys.addaudithook(lambda event, _: ran.append(event) if event.startswith(watched) else None)
        return [read_one(number) for number in range(rounds)]

    def read_one(number: int) -> tuple[str, str | None]:
        kind, (source, read) = kinds[number % len(kinds)]
        whole = source.read_bytes()
        while (data := damaged(whole, choice)) == whole:
            pass
        place.write_bytes(data)
        try:
            read_checked(Disk(), place, "file", digest(whole))
            return f"{kind} {number}", "its SHA-256 was accepted"
        except DamagedFile:
            pass
        try:
            read(place)
        except UserError:
            pass
        except Exception as failure:
            return f"{kind} {number}", f"{type(failure).__name__}: {failure}"
        return f"{kind} {number}", f"it ran {ran.pop()}" if ran else None

    count_in_child(folder, read_all, "a damaged file, read by its parser", table)


def damages_of_runs(folder: Path, rounds: int, calm: Calm, choice: random.Random, table: Table) -> None:
    """Damage or delete a file of a run that stands before a stage, and resume it.

    It ends as the undisturbed run, or says which file is damaged. Where it refuses to go on, the file that is
    put back makes it end as the undisturbed run.
    """
    stands = standing_runs(folder / "standing", calm)
    for number in range(rounds):
        place = folder / str(number)
        shutil.copytree(choice.choice(stands), place)
        path = choice.choice(sorted(path for path in place.rglob("*") if path.is_file()))
        whole = path.read_bytes()
        if choice.random() < 0.1:
            path.unlink()
        else:
            path.write_bytes(damaged(whole, choice))
        process = Process(place, calm.overrides, plainly)
        status, state, fault = process.end(), None, None
        with contextlib.suppress(UserError):
            state = state_of(place)
        if status == 0:
            named = path.name in process.said()
            if not (state and state.cycle == calm.cycles and (named or run_digest(state) == calm.digest)):
                fault = f"the end is another, without a word: {process.said()}"
        elif status in REFUSED:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(whole)
            fault = ends_otherwise(place, calm)
        else:
            fault = f"status {status}: {process.said()}"
        table.count("a damaged file, and the run resumed", f"{path.relative_to(place)} {number}", fault)
        shutil.rmtree(place)


def standing_runs(folder: Path, calm: Calm) -> list[Path]:
    """Return copies of a run before each stage of two cycles."""
    stages, copies = ("initialize", *("selfplay", "train", "evaluate") * 2), list[Path]()

    def advance() -> int:
        for number, stage in enumerate(stages):
            run_alone(stage, config_in(folder / "run", *calm.overrides), NAME)
            shutil.copytree(folder / "run", folder / str(number))
        return 0

    folder.mkdir(parents=True)
    with (folder / "output.txt").open("w") as output:
        status = Forked(advance, output.fileno()).wait()
    assert status == 0, (folder / "output.txt").read_text()
    copies += [folder / str(number) for number in range(len(stages))]
    for copy in copies:  # of the folders inside, config.yaml alone knows; azero reads state.json
        (copy / "output.txt").unlink(missing_ok=True)
    return copies


def damages_of_routes(folder: Path, rounds: int, calm: Calm, choice: random.Random, table: Table) -> None:
    """Damage a file of a run or of a match, and ask the studio for all that reads them."""

    def ask_all() -> list[tuple[str, str | None]]:
        for name in ("toy", "whole"):
            for kind in ("checkpoints", "data"):
                shutil.copytree(folder.parent / "undisturbed" / kind / NAME, folder / kind / name)
        write_match(folder / "data/.studio/matches")
        with studio_client(folder) as ask:
            rows = {row["name"]: row for row in ask("/runs")[1]["runs"]}
            return [ask_damaged(ask, rows["whole"], number) for number in range(rounds)]

    def ask_damaged(ask: Ask, row: dict[str, Any], number: int) -> tuple[str, str | None]:
        files = [*folder.glob("*/toy/**/*"), *(folder / "data/.studio/matches").iterdir()]
        path = choice.choice(sorted(path for path in files if path.is_file()))
        whole, fault = path.read_bytes(), None
        path.write_bytes(damaged(whole, choice))
        for route in ROUTES:
            status, answer = ask(route)
            if status >= 500:
                fault = f"{route} answered {status}: {answer}"
        others = [each for each in ask("/runs")[1]["runs"] if each["name"] == "whole"]
        if [{**each, "age": ""} for each in others] != [{**row, "age": ""}]:
            fault = fault or "the row of another run has changed"
        path.write_bytes(whole)
        return f"{path.relative_to(folder)} {number}", fault

    count_in_child(folder, ask_all, "a damaged file, and the studio's routes", table)


ROUTES = (
    *("/runs", "/games", "/players?game=gomoku", "/matches", "/matches/000001", "/matches/000001/games/0"),
    *(f"/runs/toy{rest}" for rest in ("", "/doctor", "/live", "/games?cycle=1", "/games/1/0", "/games/2/1")),
)
Ask = Callable[[str], tuple[int, Any]]


@contextlib.contextmanager
def studio_client(folder: Path) -> Iterator[Ask]:
    """Yield a function that asks the studio of a folder: an address to its status and answer."""
    warnings.simplefilter("ignore")  # Starlette would rather have httpx2, which few have
    from starlette.testclient import TestClient

    from azero.studio.server import make_app
    from azero.studio.state import Studio

    config = Config(checkpoints=str(folder / "checkpoints"), data=str(folder / "data"))
    app = make_app(Studio(config), "secret", ["127.0.0.1"], 80)
    client = TestClient(app, base_url="http://127.0.0.1:80", raise_server_exceptions=False)
    with client:
        client.cookies.set("azero_studio_80", "secret")

        def ask(path: str) -> tuple[int, Any]:
            answer = client.get(f"/api{path}", headers={"host": "127.0.0.1:80"})
            return answer.status_code, answer.json()

        yield ask


def write_match(folder: Path) -> None:
    """Write the files of a match of three games."""
    folder.mkdir(parents=True)
    players = {"players": ["random", "UCT"], "fixed": [False, False]}
    about = {"game": "tictactoe", "options": {}, **players, "games": 4, "started": 1.7e9, "pid": 0}
    game = {"players": ["p1: random", "p2: uct"], "opening_plies": 0, "outcome": -1.0, "moves": ["4", "0"]}
    (folder / "000001.json").write_text(json.dumps(about))
    lines = [json.dumps({"number": number, **game}) + "\n" for number in range(3)]
    (folder / "000001.jsonl").write_text("".join(lines))


def count_in_child(
    folder: Path, act: Callable[[], list[tuple[str, str | None]]], kind: str, table: Table
) -> None:
    """Count what a function finds, as (how to find it again, fault); it is called in a forked process."""
    folder.mkdir(parents=True, exist_ok=True)
    results = folder / "results.json"
    with (folder / "output.txt").open("w") as output:
        process = Forked(lambda: (results.write_text(json.dumps(act())), 0)[1], output.fileno())
        try:
            status = process.wait(3600)
        except subprocess.TimeoutExpired:
            process.kill()
            status = process.wait()
    if status:
        said = (folder / "output.txt").read_text(errors="replace")[-4000:]
        table.count(kind, "all together", f"status {status}: {said}")
        return
    for what, fault in json.loads(results.read_text()):
        table.count(kind, what, fault)


# Be a stranger


def strangers(folder: Path, rounds: int, calm: Calm, choice: random.Random, table: Table) -> None:
    """Run recipes and resume runs that somebody made to do harm: all are refused or put aside, and named."""
    stands = standing_runs(folder / "standing", calm) if rounds else []
    for number in range(rounds):
        for name, text in RECIPES.items():
            fault = run_recipe(folder / f"recipe-{number}-{name}", text, choice)
            table.count("a stranger's recipe", name, fault)
        for kind, cases, stand, find in (
            ("a stranger's games", GAMES, 5, lambda state: state.shards[-1]),
            ("a stranger's candidate", CANDIDATES, 5, lambda state: state.candidate),
            ("a stranger's network", NETWORKS, 4, lambda state: state.champion),
        ):
            for name, change in cases.items():
                place = folder / f"{kind[11:]}-{number}-{name.replace(' ', '-')}"
                shutil.copytree(stands[stand - 1], place)
                fault = resume_changed(place, find, change, calm, choice)
                table.count(kind, name, fault)
                shutil.rmtree(place)


RUN_CODE = "{_target_: pathlib.Path.touch, self: CANARY}"
RECIPES = {
    "callback": f"hydra: {{callbacks: {{x: {RUN_CODE}}}}}\n",
    "launcher": f"hydra: {{launcher: {RUN_CODE}}}\n",
    "folder": "hydra: {run: {dir: CANARY}}\n",
    "chdir": "hydra: {run: {dir: CANARY}, job: {chdir: true}}\n",
    "environment": "hydra: {job: {env_set: {AZERO_CANARY: '1'}}}\n",
    "output": "hydra: {output_subdir: canary}\n",
    "searchpath": "hydra: {searchpath: ['file://CANARY']}\n",
    "target": f"game: {{options: {{x: {RUN_CODE}}}}}\n",
    "package": "# @package hydra.run\ndir: CANARY\n",
}


def run_recipe(place: Path, text: str, choice: random.Random) -> str | None:
    """Run an own recipe; return what was wrong: it did something, or was not refused with its file's name."""
    canary, recipe = place / "canary", place / "conf/experiment/stranger.yaml"
    recipe.parent.mkdir(parents=True)
    header = "" if text.startswith("# @package") else "# @package _global_\n"
    recipe.write_text(header + text.replace("CANARY", str(canary)))
    words = choice.choice(
        (["stranger", "--cfg", "job"], ["stranger", "cycles=1"], ["-m", "stranger", "seed=1,2"])
    )

    def act() -> int:
        os.chdir(place)
        sys.argv = ["azero loop", *words]
        return loop.main()

    output = place / "output.txt"
    with output.open("w") as file:
        status = wait_for(Forked(act, file.fileno()))
    said = output.read_text(errors="replace")
    made = sorted(path.name for path in place.iterdir() if path.name not in ("conf", "output.txt"))
    if status != 2 or canary.exists() or made or recipe.name not in said or said.count("\n") != 1:
        return f"{' '.join(words)}: status {status}, made {made}: {said[-2000:]}"
    return None


def wait_for(child: Forked) -> int:
    """Wait for a run with a stranger's file; a hang is killed."""
    try:
        return child.wait(STRANGER_SECONDS)
    except subprocess.TimeoutExpired:
        child.kill()
        return child.wait()


def resume_changed(
    place: Path, find: Callable[[State], Any], change: Change, calm: Calm, choice: random.Random
) -> str | None:
    """Change a file that a run's state names, with its new digest in the state, and resume the run."""
    run = Run.read(config_in(place), NAME)
    paths, state = run.paths, run.state
    entry = find(state)
    data = change(paths.of(entry.file).read_bytes(), choice)
    paths.of(entry.file).write_bytes(data)
    text = paths.state.read_text().replace(entry.sha256, digest(data))
    document = json.loads(text)
    document.pop("digest")
    paths.state.write_bytes(format_state(State(**document)))

    def within_memory(run: Callable[[], int]) -> int:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        most = pages * resource.getpagesize() + MOST_MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
        return run()

    process = Process(place, calm.overrides, within_memory)
    status = wait_for(process.child)
    if status not in (0, *REFUSED):
        return f"status {status}: {process.said()}"
    if status == 0 and Path(entry.file).name not in process.said():
        return f"accepted without a word: {process.said()}"
    return None


Change = Callable[[bytes, random.Random], bytes]


def games(change: Callable[[dict[str, Any], np.random.Generator], None]) -> Change:
    """Return a change of the columns of a shard."""

    def changed(data: bytes, choice: random.Random) -> bytes:
        content = pickle.loads(data)  # our own, written a moment ago
        arrays = {
            name: np.frombuffer(held, dtype).reshape(shape).copy()
            for name, (dtype, shape, held) in content["columns"].items()
        }
        change(arrays, np.random.default_rng(choice.randrange(2**32)))
        content["columns"] = {
            name: (array.dtype.str, array.shape, array.tobytes()) for name, array in arrays.items()
        }
        buffer = io.BytesIO()
        pickler = pickle.Pickler(buffer, protocol=4)
        pickler.fast = True
        pickler.dump(content)
        return buffer.getvalue()

    return changed


def random_words(columns: dict[str, Any], rng: np.random.Generator) -> None:
    """Give every position random bits."""
    columns["states"] = rng.integers(0, 2**64, columns["states"].shape, np.uint64)


def other_width(columns: dict[str, Any], rng: np.random.Generator) -> None:
    """Give every position another number of words."""
    columns["states"] = np.repeat(columns["states"], rng.integers(2, 4), axis=1)


def narrow(columns: dict[str, Any], rng: np.random.Generator) -> None:
    """Take a word from every position."""
    columns["states"] = columns["states"][:, 1:]


def illegal_moves(columns: dict[str, Any], rng: np.random.Generator) -> None:
    """Play the first move of each game again and again."""
    columns["actions"][:] = columns["actions"][0]


def more_actions(columns: dict[str, Any], rng: np.random.Generator) -> None:
    """Give every policy moves that the game does not have."""
    columns["target_actions"] = columns["target_actions"].astype("<i4") + 2**24


def odd_counts(columns: dict[str, Any], rng: np.random.Generator) -> None:
    """Give a policy a number of moves that none has."""
    counts = columns["target_counts"] = columns["target_counts"].astype("<i4")
    counts[rng.integers(len(counts))] = rng.choice([-1, 2**30])


def odd_weights(columns: dict[str, Any], rng: np.random.Generator) -> None:
    """Give a move of a policy a weight that none has."""
    weights = columns["target_weights"]
    weights[rng.integers(len(weights))] = rng.choice([-1, 0, 2, np.nan])


def other_order(columns: dict[str, Any], rng: np.random.Generator) -> None:
    """Mix the positions of all games."""
    columns["states"] = rng.permutation(columns["states"])


GAMES = {
    **{"random positions": games(random_words), "positions of another width": games(other_width)},
    **{"positions without a word": games(narrow), "illegal moves": games(illegal_moves)},
    **{"policies of other moves": games(more_actions), "mixed positions": games(other_order)},
    **{"policies of odd lengths": games(odd_counts), "odd weights": games(odd_weights)},
}


def tensors(change: Callable[[dict[str, Any], dict[str, Any]], None]) -> Change:
    """Return a change of the header and the tensors of a network's file."""

    def changed(data: bytes, choice: random.Random) -> bytes:
        content = torch.load(io.BytesIO(data), weights_only=True)
        header = json.loads(content["header"])
        change(header, content["tensors"])
        buffer = io.BytesIO()
        torch.save({"header": json.dumps(header), "tensors": content["tensors"]}, buffer)
        return buffer.getvalue()

    return changed


def moments(ending: str, change: Callable[[Any], Any]) -> Change:
    """Return a change of the optimizer's moments of that name; None removes them."""

    def act(header: dict[str, Any], named: dict[str, Any]) -> None:
        for key in [key for key in named if key.startswith("optimizer/") and key.endswith(f"/{ending}")]:
            new = change(named.pop(key))
            named |= {} if new is None else {key: new}

    return tensors(act)


CANDIDATES = {
    "moments without elements": moments("exp_avg", lambda moment: torch.zeros(0)),
    "moments of one element": moments("exp_avg", lambda moment: torch.zeros(1)),
    "moments of a million elements": moments("exp_avg_sq", lambda moment: torch.zeros(1_000_000)),
    "whole numbers": moments("exp_avg", lambda moment: moment.long()),
    "double precision": moments("exp_avg", lambda moment: moment.double()),
    "not finite": moments("exp_avg", lambda moment: moment * float("nan")),
    "no exp_avg": moments("exp_avg", lambda moment: None),
    "no step": moments("step", lambda moment: None),
    "three steps": moments("step", lambda moment: torch.ones(3)),
}


def header(**changes: Any) -> Change:
    """Return a change of the settings in a network's header."""
    return tensors(lambda described, named: described["config"].update(changes))


def not_finite(described: dict[str, Any], named: dict[str, Any]) -> None:
    """Make a weight not a number."""
    next(tensor for key, tensor in named.items() if key.startswith("weights/")).view(-1)[0] = float("nan")


def zip_bomb(data: bytes, choice: random.Random) -> bytes:
    """Return the file with an entry that inflates to a thousand times its size."""
    buffer = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(data)) as source,
        zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as bomb,
    ):
        for number, item in enumerate(source.infolist()):
            grown = source.read(item) + bytes(1 << 30 if number == len(source.infolist()) // 2 else 0)
            bomb.writestr(item.filename, grown)
    return buffer.getvalue()


NETWORKS = {
    **{"a thousand million blocks": header(blocks=10**9), "huge layers": header(channels=4096, blocks=100)},
    **{"negative sizes": header(channels=-1), "no blocks of that kind": header(block="x")},
    **{"weights that are not finite": tensors(not_finite), "an entry that inflates to 1 GiB": zip_bomb},
    "another shape": tensors(lambda described, named: described.update(planes_shape=[2, 10**6, 10**6])),
}


# All of it


def torture(folder: Path, given: argparse.Namespace, overrides: Sequence[str] = ()) -> Table:
    """Try all faults in runs below a folder; return what they did."""
    choice, table, overrides = random.Random(given.seed), Table(), ("cycles=2", *overrides)
    (folder / "temporary").mkdir(parents=True, exist_ok=True)
    tempfile.tempdir = os.environ["TMPDIR"] = str(folder / "temporary")  # of tracebacks
    finish(folder / "warm-up", [*overrides, "cycles=1"])  # compiles
    with contextlib.redirect_stdout(io.StringIO()):  # imports and loads all that forked runs need
        loop.run_asked(config_in(folder / "loaded", *overrides), NAME)
    assert len(os.listdir("/proc/self/task")) == 1, "a process with several threads must not be forked"
    end, _ = finish(folder / "undisturbed", overrides)
    same, seconds = finish(folder / "forked", overrides, plainly)
    assert same == end, "a forked run ends otherwise"
    state = state_of(folder / "undisturbed")
    calm = Calm(end, state.cycle if state else 0, seconds, tuple(overrides), given.real)
    print(f"undisturbed: {seconds:.1f} s, digest {end}", flush=True)
    kills(folder / "kills", given.kills, calm, choice, table)
    errors(folder / "errors", given.errors, calm, choice, table)
    resumed, asked = given.damages // 20, given.damages // 5
    read = given.damages - resumed - asked
    damages_of_parsers(folder / "parsers", read, calm, choice, table)
    damages_of_runs(folder / "runs", resumed, calm, choice, table)
    damages_of_routes(folder / "routes", asked, calm, choice, table)
    strangers(folder / "strangers", given.strangers, calm, choice, table)
    return table


def main() -> int:
    """Parse the arguments, try the faults, print the table."""
    parser = argparse.ArgumentParser(description="Try the faults that azero promises to survive.")
    parser.add_argument("--kills", type=int, default=20, help="signals at random moments")
    parser.add_argument("--errors", type=int, default=20, help="disk errors that pass")
    parser.add_argument("--damages", type=int, default=200, help="damaged files")
    parser.add_argument("--strangers", type=int, default=1, help="rounds of all that a stranger may give")
    parser.add_argument("--seed", type=int, default=1, help="seed of all that is random")
    parser.add_argument("--real", type=float, default=0.1, help="share of killed runs that are new processes")
    parser.add_argument("--folder", type=Path, help="folder to keep the runs in; default: a temporary folder")
    parser.add_argument("overrides", nargs="*", help="settings of all runs, key=value")
    given = parser.parse_args()

    with contextlib.ExitStack() as stack:
        folder = given.folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        table = torture(folder.resolve(), given, given.overrides)
    print(table.text())
    return 1 if table.wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
