"""`azero runs`: list all runs. `azero runs delete=NAME` deletes one: its folders of networks and of games."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from azero.cli.arguments import FolderSettings, refuse_rest, run_program, split_words, take_settings
from azero.config.schema import Config, UserError, setting
from azero.config.suggest import did_you_mean
from azero.report.console import format_share, table_text
from azero.report.metrics_csv import read_rows
from azero.run.disk import Disk
from azero.run.folder import Folder, Paths, last_used, names_of_runs, paths_of
from azero.run.run import Run

EXAMPLES = """

delete=tictactoe
checkpoints=/disk/checkpoints data=/disk/data
"""
HEAD = ["run", "game", "recipe", "cycle", "strength", "size", "last used"]
NAMES = 3  # columns, at the left
LONGEST_NAME, SHORTEST_NAME = 24, 10


@dataclass(frozen=True)
class RunsSettings(FolderSettings):
    """Settings of the program."""

    delete: str = setting("", "A run to delete. The program shows what goes and asks first.")


def list_runs(config: Config) -> str:
    """Return the table of all runs, the one used last first, as wide as the terminal allows."""
    names = sorted(names_of_runs(config), key=lambda name: -last_used(config, name))
    if not names:
        return f"There is no run in {config.checkpoints} yet; azero loop makes one."
    rows, width = [HEAD, *(row_of(config, name) for name in names)], shutil.get_terminal_size().columns
    for columns in range(len(HEAD), 1, -1):
        for longest in range(LONGEST_NAME, SHORTEST_NAME - 1, -1):
            table = table_text([fitted(row[:columns], longest) for row in rows])
            if max(map(len, table.splitlines())) <= width:
                return table
    return table
    return table


def row_of(config: Config, name: str) -> list[str]:
    """Return the cells of one run."""
    paths = paths_of(config, name)
    size = size_text(sum(map(size_of, folders_of(paths))))
    used = [size, age_text(time.time() - last_used(config, name))]
    try:
        state = Run.read(config, name).state
    except UserError:
        return [name, "damaged", "", "", "", *used]
    game = Path(str(state.config.get("game.name", ""))).stem
    options = state.config.get("game.options", {}).values()
    sizes = "x".join(str(size) for size in options if isinstance(size, int) and not isinstance(size, bool))
    return [name, f"{game} {sizes}".strip(), state.recipe or "-", str(state.cycle), strength_of(paths), *used]


def strength_of(paths: Paths) -> str:
    """Return the strength measured last: mistakes with search, or Elo; "" if none was measured."""
    for _, stats in reversed(read_rows(paths.metrics_csv)):
        for tag in ("oracle/keeps_value_search", "correctness/keeps_value_search"):
            if stats.get(tag):
                return f"{format_share(1 - float(stats[tag]))} mistakes"
        if stats.get("rating/elo"):
            return f"Elo {float(stats['rating/elo']):.0f}"
    return ""


def fitted(row: Sequence[str], longest: int) -> list[str]:
    """Return a row with its names cut to at most `longest` characters."""
    return [name if len(name) <= longest else f"{name[: longest - 1]}…" for name in row[:NAMES]] + [
        *row[NAMES:]
    ]


def folders_of(paths: Paths) -> Iterator[Path]:
    """Yield the folders of a run that exist."""
    return (folder for folder in (paths.folder, paths.data) if folder.is_dir())


def size_of(folder: Path) -> int:
    """Return the bytes of all files below a folder."""
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file() or path.is_symlink())


def size_text(size: float) -> str:
    """Return such as "1.5 MB"."""
    units = ["B", "kB", "MB", "GB"]
    while size >= 1000 and len(units) > 1:
        size, _ = size / 1000, units.pop(0)
    return f"{size:.0f} {units[0]}" if size >= 10 or units[0] == "B" else f"{size:.1f} {units[0]}"


def age_text(seconds: float) -> str:
    """Return such as "5 min ago"."""
    for unit, length in (("day", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= length:
            count = round(seconds / length)
            return f"{count} {unit}{'s' if unit == 'day' and count > 1 else ''} ago"
    return f"{max(0.0, seconds):.0f} s ago"


def delete_run(config: Config, name: str, ask: Callable[[str], str] = input) -> int:
    """Show what would go, ask, and delete both folders of a run; return the exit status: 1 if it stays.

    Raises:
        UserError: there is no such run, a process works on it, or the disk refuses.
    """
    paths = paths_of(config, name)
    if not paths.state.is_file():
        hint = did_you_mean(name, names_of_runs(config), "; azero runs lists them.")
        raise UserError(f"{config.checkpoints} holds no run {name}{hint}")
    folder = Folder(paths, Disk())
    folder.lock("azero runs")  # a run that a process works on is refused here
    try:
        for each in folders_of(paths):
            print(f"  {each}  {size_text(size_of(each))}")
        try:
            answer = ask("Delete both folders? [y/N] ").strip().lower()
        except EOFError:
            answer = ""
            print()
        if answer not in ("y", "yes"):
            print("Nothing was deleted.")
            return 1
    finally:
        folder.unlock()
    for each in folders_of(paths):
        try:
            shutil.rmtree(each)
        except OSError as failure:
            path = failure.filename or each
            raise UserError(f"{path} cannot be deleted: {failure.strerror or failure}.") from failure
    print(f"Run {name} is deleted.")
    return 0


def runs_asked(words: Sequence[str]) -> int:
    """List runs or delete one, as the command line asks; return the exit status."""
    texts = split_words(words)
    asked = take_settings(texts, RunsSettings)
    refuse_rest(texts, RunsSettings)
    config = replace(Config(), checkpoints=asked.checkpoints, data=asked.data)
    if asked.delete:
        return delete_run(config, asked.delete)
    print(list_runs(config))
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program; return the exit status."""
    return run_program("runs", runs_asked, RunsSettings, EXAMPLES, arguments)


if __name__ == "__main__":
    sys.exit(main())
