"""The two folders of one run: every path and file name, the lock, and what is done with files. What they mean is `run.py`'s.

    checkpoints/<run>/state.json            the commit point: what it does not name does not exist
                      champion/000012.pt    networks
                      candidate/000013.pt
                      tensorboard/ config.yaml metrics.csv ratings.csv
                      run.lock run.lock.json
    data/<run>/000012-000.pickle            games of cycle 12
               000013-partial-000.pickle    finished games of a self-play stage that was interrupted
               quarantine/                  damaged files, each with its reason beside it

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

from azero.config import Config, UserError
from azero.files.disk import TEMPORARY, Disk, digest, explained, explaining, make_folders, replace_if_other, write_atomically
from azero.files.state import QuarantineEntry

NAME = re.compile(r"[^\s/\\.][^/\\\x00-\x1f]{0,199}")
LOCK = "run.lock"


@dataclass(frozen=True)
class Paths:
    """Where the files of one run are."""

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
    def quarantine(self) -> Path:
        """Folder of damaged files."""
        return self.data / "quarantine"

    def of(self, file: str) -> Path:
        """The path of a file as `state.json` names it."""
        return self.folder / file if "/" in file else self.data / file

    def folders(self) -> tuple[Path, ...]:
        """The folders that hold files of the run."""
        return self.folder, self.folder / "champion", self.folder / "candidate", self.data


def paths_of(config: Config, name: str) -> Paths:
    """The paths of a run.

    Raises:
        UserError: the name cannot be a folder's.
    """
    if not NAME.fullmatch(name):
        raise UserError(f"run={name} is no name for a folder; use letters, digits, '-' and '_'.")
    return Paths(Path(config.checkpoints) / name, Path(config.data) / name)


def names_of_runs(config: Config) -> list[str]:
    """The runs that there are, sorted."""
    return sorted(path.parent.name for path in Path(config.checkpoints).glob("*/state.json"))


class Folder:
    """Changes to the files of one run, under its lock. Every change raises UserError when the disk refuses."""

    def __init__(self, paths: Paths, disk: Disk) -> None:
        """Nothing is touched yet."""
        self.paths = paths
        self._disk = disk
        self._locks = contextlib.ExitStack()

    def lock(self, programme: str) -> None:
        """Create both outer folders and take them, so that no other run writes into either.

        Raises:
            UserError: another process holds one of them, or they are the same.
        """
        if self.paths.folder.resolve() == self.paths.data.resolve():
            raise UserError(f"checkpoints= and data= are one folder, {self.paths.folder.parent}; a run needs two.")
        for folder in (self.paths.folder, self.paths.data):
            make_folders(self._disk, folder)
            try:
                self._locks.enter_context(FileLock(folder / LOCK, timeout=0, is_singleton=False))
            except Timeout as error:
                raise UserError(
                    f"{folder} is in use by {holder(folder)}; wait for it or stop it, or choose another run=NAME."
                ) from error
            except OSError as error:
                raise explained(folder / LOCK, error) from error
            me = {"programme": programme, "pid": os.getpid(), "host": socket.gethostname()}
            me["start"] = f"{datetime.now().astimezone():%Y-%m-%d %H:%M:%S %z}"
            write_atomically(self._disk, folder / f"{LOCK}.json", json.dumps(me).encode())

    def unlock(self) -> None:
        """Give the lock back, if it is held."""
        self._locks.close()

    def refuse_foreign(self) -> None:
        """Refuse folders without state.json that hold more than a crash in the first moment leaves.

        Raises:
            UserError: names the first such file.
        """
        for folder in (self.paths.folder, self.paths.data):
            for path in sorted(folder.iterdir()):
                if not path.name.startswith((LOCK, f"{self.paths.state.name}{TEMPORARY}")):
                    raise UserError(
                        f"{path} belongs to no run, for there is no {self.paths.state}; move it away or choose another run=NAME."
                    )

    def make_inner(self) -> None:
        """Create the folders inside."""
        for folder in self.paths.folders():
            make_folders(self._disk, folder)

    def replace(self, path: Path, data: bytes) -> None:
        """Replace a file atomically."""
        write_atomically(self._disk, path, data)

    def replace_if_other(self, path: Path, data: bytes) -> None:
        """Replace a file atomically, unless it has that content already."""
        replace_if_other(self._disk, path, data)

    def write_new(self, stem: str, suffix: str, data: bytes, taken: dict[str, str]) -> tuple[str, str]:
        """Write data under a name that belongs to no other content: (name, SHA-256).

        Args:
            stem: the name's beginning; "-2", "-3" … joins it where needed.
            suffix: the name's end.
            data: the content.
            taken: SHA-256 by name of the files that must not be touched.
        """
        sha256 = digest(data)
        file, number = stem + suffix, 1
        while taken.get(file, sha256) != sha256:
            number += 1
            file = f"{stem}-{number}{suffix}"
        self.replace(self.paths.of(file), data)
        return file, sha256

    def remove(self, files: Iterable[str]) -> None:
        """Remove files by their names in `state.json`, and see them gone from the disk."""
        paths = [self.paths.of(file) for file in files]
        with explaining(self.paths.folder):
            for path in paths:
                self._disk.remove(path)
            for folder in sorted({path.parent for path in paths}):
                self._disk.sync_folder(folder)

    def remove_temporary(self) -> None:
        """Remove half-written files."""
        with explaining(self.paths.folder):
            for folder in self.paths.folders():
                for path in sorted(folder.glob(f"*{TEMPORARY}")):
                    self._disk.remove(path)

    def quarantine(self, damaged: QuarantineEntry) -> None:
        """Move a damaged file into quarantine, if it is there, and write the reason beside it."""
        source = self.paths.of(damaged.file)
        target = self.paths.quarantine / damaged.file.replace("/", "-")
        make_folders(self._disk, self.paths.quarantine)
        self.replace(target.with_name(target.name + ".reason.txt"), f"{damaged.reason}\n".encode())
        if source.exists():
            with explaining(target):
                self._disk.rename(source, target)
                self._disk.sync_folder(target.parent)
                self._disk.sync_folder(source.parent)


def holder(folder: Path) -> str:
    """Who holds the lock of a folder, in words."""
    try:
        who = json.loads((folder / f"{LOCK}.json").read_bytes())
        return f"process {who['pid']} on {who['host']} ({who['programme']}, since {who['start']})"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"
