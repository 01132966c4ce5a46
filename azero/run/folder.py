"""The two folders of one run: paths, file names, the lock, file operations.

    checkpoints/<run>/state.json            the commit point: what it does not name does not exist
                      champion/000012.pt    networks
                      candidate/000013.pt
                      tensorboard/ config.yaml metrics.csv ratings.csv
                      run.lock run.lock.json
                      live.json             only while somebody watches; see azero/report/live.py
    data/<run>/000012-000.pickle            games of cycle 12
               000013-partial-000.pickle    games of a self-play stage that was interrupted, or begun ahead
               quarantine/                  damaged files, each with its reason beside it

Champions that come with azero are runs of this form too, in azero/shipped, without games: `shipped/<name>`.

Ordering comes from the numbers in names, never from file times.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import socket
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from filelock import FileLock, Timeout

from azero.config.schema import Config, UserError
from azero.run.disk import (
    TEMPORARY,
    Disk,
    digest,
    explained,
    explaining,
    free_name,
    is_there,
    make_folders,
    names_in,
    replace_if_other,
    write_atomically,
)
from azero.run.state import SHARD_FILE, QuarantineEntry

NAME = re.compile(r"[^\s/\\.\ud800-\udfff][^/\\\x00-\x1f\ud800-\udfff]{0,199}")
MOST_BYTES = 255  # of the name of a folder
LOCK = "run.lock"
MOST_PID = 2**31
SHIPPED_RUNS = Path(__file__).parent.parent / "shipped"
SHIPPED_PREFIX = "shipped/"  # of the names of those
NETWORKS = re.compile("champion|candidate|tensorboard")  # folders of a run


@dataclass(frozen=True)
class Paths:
    """The paths of one run."""

    folder: Path  # checkpoints/<run>
    data: Path  # data/<run>

    @property
    def state(self) -> Path:
        """The commit point."""
        return self.folder / "state.json"

    @property
    def config_yaml(self) -> Path:
        """The configuration in force, for people to read; azero reads the one in state.json."""
        return self.folder / "config.yaml"

    @property
    def tensorboard(self) -> Path:
        """Folder of the event files."""
        return self.folder / "tensorboard"

    @property
    def metrics_csv(self) -> Path:
        """One row for each cycle."""
        return self.folder / "metrics.csv"

    @property
    def ratings_csv(self) -> Path:
        """The Elo table of its champions."""
        return self.folder / "ratings.csv"

    @property
    def live(self) -> Path:
        """What the run is doing, while somebody watches."""
        return self.folder / "live.json"

    @property
    def quarantine(self) -> Path:
        """Folder of damaged files."""
        return self.data / "quarantine"

    def of(self, file: str) -> Path:
        """Return the path of a file by its name in `state.json`."""
        return self.folder / file if "/" in file else self.data / file

    def folders(self) -> tuple[Path, ...]:
        """Return the folders that hold files of the run."""
        return self.folder, self.folder / "champion", self.folder / "candidate", self.data


def paths_of(config: Config, name: str) -> Paths:
    """Return the paths of a run. Raise UserError if the name cannot be a folder's."""
    if not isinstance(name, str) or not NAME.fullmatch(name) or len(os.fsencode(name)) > MOST_BYTES:
        if is_shipped(name):
            folder = SHIPPED_RUNS / name.removeprefix(SHIPPED_PREFIX)
            return Paths(folder, folder / "data")
        raise UserError(f"run={name} cannot name a folder; use letters, digits, '-' and '_'.")
    return Paths(Path(config.checkpoints) / name, Path(config.data) / name)


def is_shipped(name: object) -> bool:
    """Return whether a name is that of a champion that comes with azero, or could be."""
    return (
        isinstance(name, str)
        and name.startswith(SHIPPED_PREFIX)
        and bool(NAME.fullmatch(name.removeprefix(SHIPPED_PREFIX)))
    )


def names_of_shipped() -> list[str]:
    """Return the names of all champions that come with azero, such as shipped/hex5, sorted."""
    return [f"{SHIPPED_PREFIX}{path.parent.name}" for path in sorted(SHIPPED_RUNS.glob("*/state.json"))]


def names_of_runs(config: Config) -> list[str]:
    """Return the names of all runs, sorted."""
    names = filter(NAME.fullmatch, names_in(Path(config.checkpoints)))
    return [name for name in names if os.path.exists(Path(config.checkpoints, name, "state.json"))]


def names_without_state(config: Config) -> list[str]:
    """Return the names of folders that hold files of a run whose state.json is missing, sorted."""
    found = set()
    for folder, of_run in ((Path(config.checkpoints), NETWORKS), (Path(config.data), SHARD_FILE)):
        for name in filter(NAME.fullmatch, names_in(folder)):
            with contextlib.suppress(OSError):
                if any(map(of_run.fullmatch, os.listdir(folder / name))):
                    found.add(name)
    return sorted(found - set(names_of_runs(config)))


def last_used(config: Config, name: str) -> float:
    """Return when a run was used last, in seconds since 1970; 0 if nothing says so."""
    paths = paths_of(config, name)
    for place in (paths.state, paths.folder, paths.data):
        with contextlib.suppress(OSError):
            return place.stat().st_mtime
    return 0.0


def newest_run(config: Config) -> str:
    """Return the run used last.

    Raises:
        UserError: there is none.
    """
    names = names_of_runs(config)
    if not names:
        raise UserError(f"{config.checkpoints} holds no run yet; azero loop makes one.")
    return max(names, key=lambda name: last_used(config, name))


class Folder:
    """Changes to the files of one run, under its lock. Each raises UserError when the disk refuses."""

    def __init__(self, paths: Paths, disk: Disk) -> None:
        """Touch nothing yet."""
        self.paths = paths
        self._disk = disk
        self._locks = contextlib.ExitStack()
        self._locked: list[Path] = []
        self._made: list[Path] = []

    def lock(self, program: str) -> None:
        """Create both outer folders and lock them, so that no other process writes into either.

        Raises:
            UserError: another process holds one of them, or they are the same.
        """
        if self.paths.folder.resolve() == self.paths.data.resolve():
            one = f"checkpoints= and data= are one folder, {self.paths.folder.parent}"
            raise UserError(f"{one}; a run needs two.")
        for folder in (self.paths.folder, self.paths.data):
            self._made += make_folders(self._disk, folder)
            try:
                self._locks.enter_context(FileLock(folder / LOCK, timeout=0, is_singleton=False))
            except Timeout as error:
                used = f"{folder} is in use by {holder(folder)}"
                raise UserError(f"{used}; wait for it or stop it, or choose another run=NAME.") from error
            except OSError as error:
                raise explained(folder / LOCK, error) from error
            self._locked.append(folder)
            me = {"program": program, "pid": os.getpid(), "host": socket.gethostname()}
            me["start"] = f"{datetime.now().astimezone():%Y-%m-%d %H:%M:%S %z}"
            write_atomically(self._disk, folder / f"{LOCK}.json", json.dumps(me).encode())

    def unlock(self) -> None:
        """Give the lock back, if it is held. A run that was refused before it began leaves nothing."""
        with contextlib.suppress(UserError):  # else it is not known to be new
            self._leave_no_trace()
        self._locked, self._made = [], []
        self._locks.close()

    def _leave_no_trace(self) -> None:
        """Remove the lock's files and the new folders of a run that has not begun."""
        if not is_there(self.paths.state):
            for folder in self._locked:
                for file in (LOCK, f"{LOCK}.json"):
                    with contextlib.suppress(OSError):
                        (folder / file).unlink()
            for folder in reversed(self._made):
                with contextlib.suppress(OSError):  # it holds something
                    folder.rmdir()

    def refuse_foreign(self) -> None:
        """Refuse folders without state.json that hold more than a crash in the first moment leaves.

        Raises:
            UserError: names the first such file.
        """
        for folder in (self.paths.folder, self.paths.data):
            for name in names_in(folder):
                if not name.startswith((LOCK, f"{self.paths.state.name}{TEMPORARY}")):
                    foreign = f"{folder / name} belongs to no run, for there is no {self.paths.state}"
                    raise UserError(f"{foreign}; move it away or choose another run=NAME.")

    def replace(self, path: Path, data: bytes) -> None:
        """Replace a file atomically."""
        write_atomically(self._disk, path, data)

    def replace_if_other(self, path: Path, data: bytes) -> None:
        """Replace a file atomically, unless it has that content already."""
        replace_if_other(self._disk, path, data)

    def write_new(self, stem: str, suffix: str, data: bytes, taken: dict[str, str]) -> tuple[str, str]:
        """Write data under a name that belongs to no other content. Return (name, SHA-256).

        Args:
            stem: the beginning of the name; "-2", "-3" … follows where needed.
            suffix: the end of the name.
            data: the content.
            taken: SHA-256 by name of the files that must stay.
        """
        sha256 = digest(data)
        file = free_name(lambda name: taken.get(name, sha256) != sha256, stem, suffix)
        self.replace(self.paths.of(file), data)
        return file, sha256

    def remove(self, files: Iterable[str]) -> None:
        """Remove files by their names in `state.json`, and sync their folders."""
        paths = [self.paths.of(file) for file in files]
        with explaining(self.paths.folder):
            for path in paths:
                self._disk.remove(path)
            for folder in sorted({path.parent for path in paths}):
                self._disk.sync_folder(folder)

    def remove_temporary(self) -> None:
        """Remove half-written files."""
        for folder in self.paths.folders():
            for name in names_in(folder, f"*{TEMPORARY}"):
                with explaining(folder / name):
                    self._disk.remove(folder / name)

    def quarantine(self, damaged: QuarantineEntry) -> None:
        """Move a damaged file into quarantine, if it is there, and write the reason beside it."""
        source = self.paths.of(damaged.file)
        target = self.paths.quarantine / damaged.file.replace("/", "-")
        make_folders(self._disk, self.paths.quarantine)
        self.replace(target.with_name(target.name + ".reason.txt"), f"{damaged.reason}\n".encode())
        if is_there(source):
            with explaining(target):
                self._disk.rename(source, target)
                self._disk.sync_folder(target.parent)
                self._disk.sync_folder(source.parent)


@dataclass(frozen=True)
class Holder:
    """The process that holds the lock of a folder, as it described itself."""

    program: str
    pid: int
    host: str
    start: str

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host} ({self.program}, since {self.start})"


def last_holder(folder: Path) -> Holder | None:
    """Return who took the lock of a folder last; None if that is not known."""
    try:
        who = Holder(**json.loads((folder / f"{LOCK}.json").read_bytes()))
    except (OSError, ValueError, TypeError, RecursionError):
        return None
    # other numbers would mean many processes, or none
    return who if isinstance(who.pid, int) and 1 < who.pid < MOST_PID else None


def holder(folder: Path) -> str:
    """Return who holds the lock of a folder, in words."""
    return str(last_holder(folder) or "another process")


def present_holder(folder: Path) -> Holder | None:
    """Return the process that holds the lock of a folder now; None if nobody does.

    The lock is tried only if that process seems to be alive, because a try keeps others out for a moment.
    """
    who = last_holder(folder)
    if who is None or (who.host == socket.gethostname() and not is_alive(who.pid)):
        return None
    try:
        with FileLock(folder / LOCK, timeout=0, is_singleton=False):
            return None
    except Timeout:
        return who
    except OSError:
        return None


def is_alive(pid: int) -> bool:
    """Return whether there is a process with that number."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
