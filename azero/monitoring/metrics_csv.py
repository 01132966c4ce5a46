"""`metrics.csv`: one row for each cycle, one column for each figure.

The rows of finished cycles and what finished stages told of the cycle under way survive a resume; everything later is cut back.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from azero.files.disk import Disk, write_atomically


class MetricsTable:
    """The file as a table in memory, written as a whole after each change.

    Attributes:
        rows: for each cycle its figures as text, by tag.
    """

    def __init__(self, path: Path, keep: Callable[[int, str], bool]) -> None:
        """Read what is there and cut it back: only figures for which `keep(cycle, tag)` stay. A foreign file counts as empty."""
        self.path = path
        self.rows: dict[int, dict[str, str]] = {}
        self._keep(read_rows(path), keep)

    def cut(self, keep: Callable[[int, str], bool]) -> None:
        """Leave only figures for which `keep(cycle, tag)`; the file follows with the next ones."""
        before, self.rows = self.rows, {}
        self._keep(before.items(), keep)

    def _keep(self, rows: Iterable[tuple[int, Mapping[str, str]]], keep: Callable[[int, str], bool]) -> None:
        for cycle, figures in rows:
            kept = {tag: text for tag, text in figures.items() if text and keep(cycle, tag)}
            if kept:
                self.rows[cycle] = kept

    def add(self, cycle: int, figures: Mapping[str, float]) -> None:
        """Set figures of a cycle and write the file.

        Raises:
            UserError: the file could not be written; the old one is still there and the figures are kept for the next time.
        """
        self.rows.setdefault(cycle, {}).update({tag: f"{value:.6g}" for tag, value in figures.items()})
        self.write()

    def write(self) -> None:
        """Replace the file; columns in alphabetical order, so that those of a group stand together."""
        columns = sorted({tag for figures in self.rows.values() for tag in figures})
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(["cycle", *columns])
        for cycle, figures in sorted(self.rows.items()):
            writer.writerow([cycle, *(figures.get(tag, "") for tag in columns)])
        write_atomically(Disk(), self.path, text.getvalue().encode())

    def column(self, tag: str) -> list[float]:
        """One figure's values in the order of the cycles, gaps left out."""
        return [float(figures[tag]) for _, figures in sorted(self.rows.items()) if tag in figures]


def read_rows(path: Path) -> list[tuple[int, dict[str, str]]]:
    """The rows of the file whose figures are all numbers; none when there is no file."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
        return [(int(row.pop("cycle")), row) for row in csv.DictReader(io.StringIO(text)) if is_row(row)]
    except (OSError, csv.Error):
        return []


def is_row(row: Mapping[str | None, object]) -> bool:
    """Whether a row has as many fields as the head, a cycle, and numbers or nothing in the others."""
    try:
        int(str(row["cycle"]))
        for text in row.values():
            float(str(text or 0))
    except (KeyError, ValueError):
        return False
    return None not in row.values()
