"""Write `metrics.csv`: a row for each cycle, a column for each stat.

A resume keeps the rows of finished cycles and the stats of finished stages of the current cycle, and removes
the rest.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping
from pathlib import Path

from azero.run.disk import Disk, write_atomically


class MetricsTable:
    """The file as a table in memory, rewritten after each change.

    Attributes:
        rows: for each cycle its stats as text, by tag.
    """

    def __init__(self, path: Path, keep: Callable[[int, str], bool]) -> None:
        """Read the file and keep the stats for which `keep(cycle, tag)`; a damaged file counts as empty."""
        self.path = path
        self.rows = dict(read_rows(path))
        self.cut(keep)

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
        writer.writerow(["cycle", *columns])
        for number, row in sorted(self.rows.items()):
            writer.writerow([number, *(row.get(tag, "") for tag in columns)])
        write_atomically(Disk(), self.path, text.getvalue().encode())


def read_rows(path: Path) -> list[tuple[int, dict[str, str]]]:
    """Return the rows of the file with numbers only; none if there is no file."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
        return [(int(row.pop("cycle")), row) for row in csv.DictReader(io.StringIO(text)) if is_row(row)]
    except (OSError, csv.Error):
        return []


def is_row(row: Mapping[str | None, object]) -> bool:
    """Check that a row has as many fields as the header, a cycle, and numbers or nothing else."""
    try:
        int(str(row["cycle"]))
        for text in row.values():
            float(str(text or 0))
    except (KeyError, ValueError):
        return False
    return None not in row.values()
