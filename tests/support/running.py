"""What the fixtures that start programs give."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

RunProgram = Callable[..., "subprocess.CompletedProcess[str]"]


class TrainedRun(NamedTuple):
    """A finished run of tic-tac-toe. Tests read it; one that writes copies the folder first."""

    folder: Path  # holds checkpoints/ and data/
    name: str
    output: str  # what the loop printed

    @property
    def checkpoints(self) -> Path:
        """The folder of all runs' networks and logs."""
        return self.folder / "checkpoints"

    @property
    def data(self) -> Path:
        """The folder of all runs' self-play games."""
        return self.folder / "data"

    def copy_to(self, folder: Path) -> TrainedRun:
        """Copy the run into a folder of one's own; return it there."""
        for part in ("checkpoints", "data"):
            shutil.copytree(self.folder / part / self.name, folder / part / self.name)
        return self._replace(folder=folder)
