"""Which files of networks may be run: all, or in a server those named at its start."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from azero.config.schema import UserError

named: list[Collection[Path]] = []  # empty: all files


def allow_only(files: Collection[Path]) -> None:
    """Let this process run these files from now on, and no other."""
    named[:] = [files]


def check_allowed(file: str) -> None:
    """Refuse a file that may not be run.

    Raises:
        UserError: it was not named.
    """
    if named and Path(file).resolve() not in named[0]:
        raise UserError(f"it needs {file}, which is not run here; start again with network={file}.")
