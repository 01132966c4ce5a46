"""What lists of runs say of each: its game, its strength, its size, its age. And how to delete one."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from azero.config.reading import is_whole
from azero.config.schema import Config, UserError
from azero.report.console import format_share
from azero.report.metrics_csv import read_rows
from azero.run.disk import Disk
from azero.run.folder import Folder, Paths, last_used, names_of_runs, names_without_state
from azero.run.run import Run
from azero.run.state import State


def runs_by_use(config: Config) -> list[tuple[str, float]]:
    """Return all runs, also those without their state, and when each was last used, the latest first."""
    names = [*names_of_runs(config), *names_without_state(config)]
    return sorted(((name, last_used(config, name)) for name in names), key=lambda run: -run[1])


def facts_of(run: Run) -> dict[str, Any]:
    """Return what a list says of a run whose state is whole: its game, recipe, cycle and strength."""
    state, strength = run.state, strength_of(run.paths)
    return {"game": game_of(state), "recipe": state.recipe or "", "cycle": state.cycle, "strength": strength}


def game_of(state: State) -> str:
    """Return the game of a run and the sizes among its options, such as "connect_four 6x7"."""
    game = Path(str(state.config.get("game.name", ""))).stem
    options = state.config.get("game.options", {}).values()
    sizes = "x".join(str(size) for size in options if is_whole(size))
    return f"{game} {sizes}".strip()


def strength_of(paths: Paths) -> str:
    """Return the strength measured last: mistakes with search, or Elo; "" if none was measured."""
    for _, stats in reversed(read_rows(paths.metrics_csv)):
        for tag in ("oracle/keeps_value_search", "correctness/keeps_value_search"):
            if stats.get(tag):
                return f"{format_share(1 - float(stats[tag]))} mistakes"
        if stats.get("rating/elo"):
            return f"Elo {float(stats['rating/elo']):.0f}"
    return ""


def folders_of(paths: Paths) -> Iterator[Path]:
    """Yield the folders of a run that exist."""
    return (folder for folder in (paths.folder, paths.data) if folder.is_dir())


def size_of_run(paths: Paths) -> int:
    """Return the bytes of all files of a run."""
    return sum(map(size_of, folders_of(paths)))


def size_of(folder: Path) -> int:
    """Return the bytes of all files below a folder, whatever goes or comes meanwhile."""
    size = 0
    for inner, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                size += os.lstat(os.path.join(inner, name)).st_size
    return size


def age_text(seconds: float) -> str:
    """Return such as "5 min ago"."""
    for unit, length in (("day", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= length:
            count = round(seconds / length)
            return f"{count} {unit}{'s' if unit == 'day' and count > 1 else ''} ago"
    return f"{max(0.0, seconds):.0f} s ago"


def remove_run(paths: Paths, program: str, confirm: Callable[[Sequence[tuple[Path, int]]], bool]) -> bool:
    """Delete both folders of a run if `confirm`, which receives them with their bytes, agrees.

    program: who asks, for the message to others.

    Raises:
        UserError: a process works on the run, or the disk refuses.
    """
    folder = Folder(paths, Disk())
    folder.lock(program)  # a run that a process works on is refused here
    try:
        if not confirm([(each, size_of(each)) for each in folders_of(paths)]):
            return False
    finally:
        folder.unlock()
    for each in folders_of(paths):
        try:
            shutil.rmtree(each)
        except OSError as failure:
            path = failure.filename or each
            raise UserError(f"{path} cannot be deleted: {failure.strerror or failure}.") from failure
    return True
