"""Write `metrics.csv`: a row for each cycle, a column for each stat.

A resume keeps the rows of finished cycles and the stats of finished stages of the current cycle, and removes
the rest. A row that does not parse is made again from TensorBoard's files.
"""

from __future__ import annotations

import contextlib
import csv
import io
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from azero.run.disk import Disk, free_name, reading, write_atomically

MOST = 1e100


class MetricsTable:
    """The file as a table in memory, rewritten after each change.

    Attributes:
        rows: for each cycle its stats as text, by tag.
        damaged: the new name of a file that had rows which do not parse; None if it had none.
    """

    def __init__(self, path: Path, keep: Callable[[int, str], bool]) -> None:
        """Read the file and keep the stats for which `keep(cycle, tag)`.

        Raises:
            UserError: it cannot be read. It may be whole, so it stays where it is.
        """
        self.path, self.rows, is_damaged = path, dict[int, dict[str, str]](), False
        with reading(path), contextlib.suppress(IsADirectoryError):
            try:
                lines = read_lines(path)
                self.rows = dict(rows_of(lines))
                is_damaged = len(self.rows) < len(lines) or not (lines or is_empty(path))
            except csv.Error:
                is_damaged = True
        self.damaged = self.keep_aside() if is_damaged else None
        self.cut(keep)

    def keep_aside(self) -> Path:
        """Rename a damaged file, without replacing one of earlier; return its new name."""
        name = free_name(lambda name: self.path.with_name(name).exists(), f"{self.path.name}.damaged")
        free = self.path.with_name(name)
        with contextlib.suppress(OSError):
            self.path.rename(free)
        return free

    def complete(self, found: Mapping[int, Mapping[str, float]]) -> bool:
        """Add the stats that the file lacks, by cycle; return whether there were any. `write` writes them."""
        missing = {
            cycle: {tag: text for tag, text in texts_of(stats).items() if tag not in self.rows.get(cycle, {})}
            for cycle, stats in found.items()
        }
        for cycle, texts in missing.items():
            if texts:
                self.rows.setdefault(cycle, {}).update(texts)
        return any(missing.values())

    def cut(self, keep: Callable[[int, str], bool]) -> None:
        """Keep the stats for which `keep(cycle, tag)`; the file changes with the next `add`."""
        kept = {
            cycle: {tag: text for tag, text in stats.items() if text and keep(cycle, tag)}
            for cycle, stats in self.rows.items()
        }
        self.rows = {cycle: stats for cycle, stats in kept.items() if stats}

    def add(self, cycle: int, stats: Mapping[str, float]) -> None:
        """Set stats of a cycle and write the file.

        Raises:
            UserError: as for `write`.
        """
        self.rows.setdefault(cycle, {}).update(texts_of(stats))
        self.write()

    def write(self) -> None:
        """Write the file; alphabetical columns keep groups together.

        Raises:
            UserError: it could not be written. The old file stays; the next call writes these stats too.
        """
        columns = sorted({tag for stats in self.rows.values() for tag in stats})
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(["cycle", *columns])
        for number, row in sorted(self.rows.items()):
            writer.writerow([number, *(row.get(tag, "") for tag in columns)])
        write_atomically(Disk(), self.path, text.getvalue().encode())


def texts_of(stats: Mapping[str, float]) -> dict[str, str]:
    """Return stats as the file has them, with six digits."""
    return {tag: f"{value:.6g}" for tag, value in stats.items() if is_number(value)}


def is_number(value: float) -> bool:
    """Return whether a stat is a number that can be added to others: neither nan nor beyond all bounds."""
    return abs(value) < MOST


def is_empty(path: Path) -> bool:
    """Return whether a file without rows is missing, empty, or has the header of a table at least."""
    return not path.exists() or path.read_bytes()[:6] in (b"", b"cycle,")


def read_rows(path: Path) -> list[tuple[int, dict[str, str]]]:
    """Return the rows that parse by cycle, without empty fields; none if the file cannot be read."""
    try:
        return rows_of(read_lines(path))
    except (OSError, csv.Error):
        return []


def read_stats(path: Path, cycles: int) -> dict[int, dict[str, float]]:
    """Return the stats of the first `cycles` cycles as far as their rows parse, oldest first."""
    rows = sorted(read_rows(path), key=lambda row: row[0])
    return {
        cycle: {tag: float(text) for tag, text in stats.items()}
        for cycle, stats in rows
        if 1 <= cycle <= cycles
    }


def rows_of(lines: list[dict[str, str]]) -> list[tuple[int, dict[str, str]]]:
    """Return the lines that parse by cycle, without empty fields and what is no number, as nan."""
    rows = [row for row in lines if is_row(row)]
    fields = [{tag: text for tag, text in row.items() if text} for row in rows]
    return [
        (int(row.pop("cycle")), {tag: text for tag, text in row.items() if is_number(float(text))})
        for row in fields
    ]


def read_lines(path: Path) -> list[dict[str, str]]:
    """Return the lines below the header by column; none if there is no file.

    Raises:
        OSError or csv.Error: the file cannot be read.
    """
    if not path.exists():
        return []
    text = io.StringIO(path.read_text(encoding="utf-8", errors="replace"))
    return list(csv.DictReader(text, quoting=csv.QUOTE_NONE))  # a damaged quote would swallow what follows


def is_row(row: Mapping[Any, Any]) -> bool:
    """Check that a row has as many fields as the header, a cycle, and numbers or nothing else."""
    stats = {tag: text for tag, text in row.items() if tag != "cycle"}
    if None in stats or None in row.values() or not all("/" in str(tag) for tag in stats):
        return False
    try:
        int(str(row["cycle"]))
        for text in filter(None, stats.values()):
            float(str(text))
    except (KeyError, ValueError):
        return False
    return True
