"""Which files of networks may be run: all, or in a server those named at its start."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from azero.config.schema import UserError

named: Collection[Path] | None = None  # None: all files


def allow_only(files: Collection[Path]) -> None:
    """Let this process run these files from now on, and no other."""
    global named
    named = files


def check_allowed(file: str) -> None:
    """Refuse a file that may not be run.

    Raises:
        UserError: it was not named.
    """
    if named is not None and Path(file).resolve() not in named:
        raise UserError(f"it needs {file}, which is not run here; start again with network={file}.")
