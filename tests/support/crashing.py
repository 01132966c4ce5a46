"""A disk that dies in the middle of its work."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from azero.run.disk import Disk


class Crash(BaseException):
    """The process is dead."""


class FastDisk(Disk):
    """Does not wait for the platters."""

    def write(self, path: Path, data: bytes) -> None:
        path.write_bytes(data)

    def sync_folder(self, folder: Path) -> None:
        pass


class CrashingDisk(FastDisk):
    """Dies in its k-th operation, and every later one finds it dead.

    A write leaves half of the data. With `forgetful`, names that changed in a folder since it was last synced
    are as they were.
    """

    def __init__(self, k: int, forgetful: bool) -> None:
        self.left = k
        self.forgetful = forgetful
        self.undo: list[tuple[Path, Callable[[], None]]] = []

    def count(self) -> None:
        self.left -= 1
        if self.left == 0 and self.forgetful:
            for _, undo in reversed(self.undo):
                undo()
        if self.left <= 0:
            raise Crash

    def make_folder(self, folder: Path) -> None:
        self.count()
        super().make_folder(folder)

    def write(self, path: Path, data: bytes) -> None:
        if self.left == 1:
            path.write_bytes(data[: len(data) // 2])
        self.count()
        super().write(path, data)

    def rename(self, source: Path, target: Path) -> None:
        self.count()
        before, moved = target.read_bytes() if target.exists() else None, source.read_bytes()

        def undo() -> None:
            source.write_bytes(moved)
            if before is None:
                target.unlink()
            else:
                target.write_bytes(before)

        super().rename(source, target)
        self.undo.append((target.parent, undo))

    def sync_folder(self, folder: Path) -> None:
        self.count()
        self.undo = [(place, undo) for place, undo in self.undo if place != folder]

    def remove(self, path: Path) -> None:
        self.count()
        if path.exists():
            data = path.read_bytes()
            self.undo.append((path.parent, lambda: super(CrashingDisk, self).write(path, data)))
        super().remove(path)
