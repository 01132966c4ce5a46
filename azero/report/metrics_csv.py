"""Write `metrics.csv`: a row for each cycle, a column for each stat.

A resume keeps the rows of finished cycles and the stats of finished stages of the current cycle, and removes
the rest. The last column is a checksum of the row: a row that something else has changed is not read.
"""

from __future__ import annotations

import contextlib
import csv
import io
import zlib
from collections.abc import Callable, Mapping
from itertools import count
from pathlib import Path
from typing import Any

from azero.run.disk import Disk, write_atomically

CHECK = "check"


class MetricsTable:
    """The file as a table in memory, rewritten after each change.

    Attributes:
        rows: for each cycle its stats as text, by tag.
        damaged: the file had rows that could not be read; it is kept as `metrics.csv.damaged`.
    """

    def __init__(self, path: Path, keep: Callable[[int, str], bool]) -> None:
        """Read the file and keep the stats for which `keep(cycle, tag)`."""
        self.path = path
        try:
            lines = read_lines(path)
            self.rows = dict(rows_of(lines))
            self.damaged = len(self.rows) < len(lines)
        except (OSError, csv.Error):
            self.rows = {}
            self.damaged = path.is_file()
        if self.damaged:
            self.keep_aside()
        self.cut(keep)

    def keep_aside(self) -> None:
        """Rename a damaged file, without replacing one of earlier."""
        names = (f"{self.path.name}.damaged{f'-{number}' if number > 1 else ''}" for number in count(1))
        free = (place for name in names if not (place := self.path.with_name(name)).exists())
        with contextlib.suppress(OSError):
            self.path.rename(next(free))

    def cut(self, keep: Callable[[int, str], bool]) -> None:
        """Keep the stats for which `keep(cycle, tag)`; the file changes with the next `add`."""
        kept = {
            cycle: {tag: text for tag, text in stats.items() if text and keep(cycle, tag)}
            for cycle, stats in self.rows.items()
        }
        self.rows = {cycle: stats for cycle, stats in kept.items() if stats}

    def add(self, cycle: int, stats: Mapping[str, float]) -> None:
        """Set stats of a cycle and write the file; alphabetical columns keep groups together.

        Raises:
            UserError: the file could not be written. The old file stays; the next call writes these stats
                too.
        """
        self.rows.setdefault(cycle, {}).update({tag: f"{value:.6g}" for tag, value in stats.items()})
        columns = sorted({tag for stats in self.rows.values() for tag in stats})
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(["cycle", *columns, CHECK])
        for number, row in sorted(self.rows.items()):
            writer.writerow([number, *(row.get(tag, "") for tag in columns), check_of(number, row)])
        write_atomically(Disk(), self.path, text.getvalue().encode())


def read_rows(path: Path) -> list[tuple[int, dict[str, str]]]:
    """Return the undamaged rows of the file by cycle, without empty fields; none if it cannot be read."""
    try:
        return rows_of(read_lines(path))
    except (OSError, csv.Error):
        return []


def rows_of(lines: list[dict[str, str]]) -> list[tuple[int, dict[str, str]]]:
    """Return the undamaged lines by cycle, without empty fields."""
    rows = [row for row in lines if is_row(row)]
    fields = [{tag: text for tag, text in row.items() if text and tag != CHECK} for row in rows]
    return [(int(row.pop("cycle")), row) for row in fields]


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
    """Check that a row has as many fields as the header, a cycle, numbers or nothing else, and its checksum.

    The files of earlier versions have no checksums, or ones without the x.
    """
    stats = {tag: text for tag, text in row.items() if tag not in ("cycle", CHECK)}
    if None in stats or None in row.values() or not all("/" in str(tag) for tag in stats):
        return False
    stats = {tag: text for tag, text in stats.items() if text}
    try:
        cycle = int(str(row["cycle"]))
        for text in stats.values():
            float(str(text))
    except (KeyError, ValueError):
        return False
    check = check_of(cycle, stats)
    return row.get(CHECK) in (None, check, check.removeprefix("x"))


def check_of(cycle: int, stats: Mapping[str, str]) -> str:
    """Return the checksum of a row, an x and eight hexadecimal digits: CRC-32 of its fields by name.

    The x keeps it from being a number, so that it is no stat where the name of its column is damaged.
    """
    named = ",".join(f"{tag}={stats[tag]}" for tag in sorted(stats))
    return f"x{zlib.crc32(f'{cycle},{named}'.encode()):08x}"
