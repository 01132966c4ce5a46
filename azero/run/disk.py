"""Every operation on a run's files. Nothing else creates, renames or removes a file that a run needs.

A file appears whole or not at all: it is written under a temporary name, synced, renamed, and its folder is
synced. `Disk` is small so that a test can replace it by one that fails at its k-th operation.
"""

from __future__ import annotations

import contextlib
import errno
import fnmatch
import hashlib
import os
import re
import secrets
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from shlex import quote

from azero.config.schema import UserError, explaining_failure

TEMPORARY = ".tmp"


class DamagedFile(UserError):
    """A file that is missing, or that was read and is not what was written."""

    def __init__(self, name: str, reason: str) -> None:
        """Name the file and say what is wrong with it, in a few words."""
        super().__init__(f"{quote(name)} is damaged: {reason}.")
        self.name = name
        self.reason = reason


class Disk:
    """The real disk. Each method is one operation that can fail, or be the last one before a crash."""

    def make_folder(self, folder: Path) -> None:
        """Create one folder; its parent exists."""
        folder.mkdir(exist_ok=True)

    def read(self, path: Path) -> bytes:
        """Return the content of a file."""
        return path.read_bytes()

    def write(self, path: Path, data: bytes) -> None:
        """Write a file and wait until its content is on the disk."""
        with path.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())

    def rename(self, source: Path, target: Path) -> None:
        """Move a file within one disk; it replaces the target at once."""
        os.replace(source, target)

    def sync_folder(self, folder: Path) -> None:
        """Wait until the folder's names are on the disk, where the platform can open folders."""
        if os.name == "nt":
            return
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def remove(self, path: Path) -> None:
        """Remove a file; one that is gone already is no error."""
        path.unlink(missing_ok=True)


def temporary_beside(path: Path) -> Path:
    """Return a temporary name in a folder of the user's, whose files have other names."""
    return path.with_name(f"{path.name}.{secrets.token_hex(8)}{TEMPORARY}")


def refuse_existing(path: Path, overwrite: bool) -> None:
    """Raise UserError if `out=` names a folder, a file that is not to be replaced, or what is no name."""
    with explaining_failure(f"out={path} cannot be written"):
        exists, is_folder = path.exists(), path.is_dir()
    if is_folder:
        raise UserError(f"out={path} is a folder; name a file.")
    if exists and not overwrite:
        raise UserError(f"out={path} is there already; name a new file, or set overwrite=true.")


@contextlib.contextmanager
def replacing(path: Path, synced: bool = True) -> Iterator[Path]:
    """Yield a temporary name; the file that the block writes there replaces `path` when the block ends.

    If the block raises, nothing is left. synced: whether the content is on the disk first. A link stays one;
    what is no file, such as a pipe, is written to directly.
    """
    if path.exists() and not path.is_file():
        yield path
        return
    path = Path(os.path.realpath(path))
    temporary = temporary_beside(path)
    try:
        yield temporary
        if synced:
            with temporary.open("r+b") as file:
                os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def write_for_user(path: Path, data: bytes) -> None:
    """Replace a file in a folder of the user's as `replacing` does.

    Raises:
        UserError: it cannot be written; the old content is still there.
    """
    with explaining_failure(f"{path} cannot be written"), replacing(path) as temporary:
        temporary.write_bytes(data)


def write_atomically(disk: Disk, path: Path, data: bytes) -> None:
    """Replace a file: afterwards, and after a crash at any moment, it holds the old content or the new one.

    Args:
        disk: where it is.
        path: the file.
        data: its new content.

    Raises:
        UserError: the disk is full, read-only or broken; the old content is still there.
    """
    temporary = path.with_name(path.name + TEMPORARY)  # the next write or the run removes what is left
    try:
        disk.write(temporary, data)
        disk.rename(temporary, path)
        disk.sync_folder(path.parent)
    except OSError as error:
        with contextlib.suppress(OSError):
            disk.remove(temporary)  # gives the space back
        raise explained(path, error) from error


def replace_if_other(disk: Disk, path: Path, data: bytes) -> None:
    """`write_atomically`, unless the file has that content already.

    Raises:
        UserError: it could not be written.
    """
    try:
        same = disk.read(path) == data
    except OSError:  # missing, or it cannot be read: the new content is right in any case
        same = False
    if not same:
        write_atomically(disk, path, data)


def make_folders(disk: Disk, folder: Path) -> list[Path]:
    """Create a folder and its parents on the disk. Return those that were missing, outermost first.

    Raises:
        UserError: they cannot be created.
    """
    missing = [place for place in reversed((folder, *folder.parents)) if not is_there(place)]
    with explaining(folder):
        for place in missing:
            disk.make_folder(place)
            disk.sync_folder(place.parent)
        if not folder.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, "it is a file, not a folder")
    return missing


def explained(path: Path, error: OSError) -> UserError:
    """Return the error for a failed write."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        full = f"The disk is full, so {path} could not be written"
        return UserError(f"{full}; nothing is lost: free space and run the same command again.")
    if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
        refused = f"{path} may not be written ({error.strerror})"
        return UserError(f"{refused}; choose other folders with checkpoints= and data=.")
    failed = f"{path} could not be written ({error.strerror or error})"
    return UserError(f"{failed}; nothing is lost: fix that and run the same command again.")


@contextlib.contextmanager
def explaining(path: Path) -> Iterator[None]:
    """Turn an OSError of the block into a UserError that names the path."""
    try:
        yield
    except OSError as error:
        raise explained(path, error) from error


@contextlib.contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn an OSError of a block that reads into a UserError: a file that cannot be read may be whole."""
    try:
        yield
    except OSError as error:
        unread = f"{path} cannot be read ({error.strerror or error})"
        raise UserError(f"{unread}; nothing is lost: fix that and run the same command again.") from error


def is_there(path: Path) -> bool:
    """Return whether there is such a file or folder.

    Raises:
        UserError: the disk does not say.
    """
    with reading(path):
        try:
            path.stat()
        except (FileNotFoundError, NotADirectoryError):
            return False
    return True


def names_in(folder: Path, pattern: str = "*") -> list[str]:
    """Return the sorted names in a folder that match a pattern; none if there is no such folder.

    `Path.glob` leaves a folder out that it may not read.

    Raises:
        UserError: the folder cannot be read.
    """
    with reading(folder):
        try:
            return sorted(fnmatch.filter(os.listdir(folder), pattern))
        except (FileNotFoundError, NotADirectoryError):
            return []


def free_name(is_taken: Callable[[str], bool], stem: str, suffix: str = "") -> str:
    """Return the first name of STEM, STEM-2, STEM-3 … that is not taken; `suffix` ends each."""
    names = (f"{stem}{f'-{number}' if number > 1 else ''}{suffix}" for number in count(1))
    return next(name for name in names if not is_taken(name))


def next_number(folder: Path, pattern: str) -> int:
    """Return one more than the highest number in a folder's names: group 1 of a regular expression.

    Raises:
        UserError: the folder cannot be read.
    """
    found = (re.fullmatch(pattern, name, re.ASCII) for name in names_in(folder))
    return 1 + max((int(match[1]) for match in found if match), default=0)


def digest(data: bytes) -> str:
    """Return the SHA-256 as 64 hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


def read_checked(disk: Disk, path: Path, name: str, sha256: str) -> bytes:
    """Return the content of a file with this digest.

    Raises:
        DamagedFile: it is missing, or its digest is another.
        UserError: it cannot be read, which says nothing about its content.
    """
    with reading(path):
        try:
            data = disk.read(path)
        except (FileNotFoundError, NotADirectoryError) as error:
            raise DamagedFile(name, "the file is missing") from error
    if digest(data) != sha256:
        raise DamagedFile(name, f"its {len(data)} bytes do not have the SHA-256 that state.json names")
    return data
