#!/usr/bin/env python3
"""Print every number this project promises beside the one measured, and exit 1 if one is missed or was not measured.

usage: python scripts/check_numbers.py [--write]        --write: put the table into RESULTS.md

RESULTS.json is a list of rows, one line each:
    id       short and unique
    name     what is measured
    target   [operator, number], operator one of < <= == >= >; null for a number that is only reported
    value    as measured; null until then, never estimated
    unit     of both numbers
    command  what to run to measure it again
    seeds    the seeds it was measured with, [] where there is none
    commit   of the sources measured
    device   the machine, in words
    date     YYYY-MM-DD
    note     conditions, or the published number
A measured row has a commit, a device and a date. The table in RESULTS.md is made from these rows, and is checked to be the same.
"""

from __future__ import annotations

import json
import operator
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
COLUMNS = {"id", "name", "target", "value", "unit", "command", "seeds", "commit", "device", "date", "note"}
COMPARE = {"<": operator.lt, "<=": operator.le, "==": operator.eq, ">=": operator.ge, ">": operator.gt}
BEGIN, END = "<!-- numbers: begin -->\n", "<!-- numbers: end -->\n"


def verdict(row: dict[str, Any]) -> str:
    """`ok`, `reported` for a number without a target, `MISS`, or `MISSING` for one not measured yet."""
    if row["value"] is None:
        return "MISSING"
    if row["target"] is None:
        return "reported"
    sign, number = row["target"]
    return "ok" if COMPARE[sign](row["value"], number) else "MISS"


def faults(rows: list[dict[str, Any]]) -> list[str]:
    """What is wrong with the rows themselves, one sentence each."""
    found = []
    for row in rows:
        name = row.get("id", "a row without id")
        if set(row) != COLUMNS:
            found.append(f"{name}: has {sorted(set(row) ^ COLUMNS)} too much or too little.")
        elif row["value"] is not None and not (row["commit"] and row["device"] and row["date"]):
            found.append(f"{name}: a measured value needs its commit, device and date.")
    ids = [str(row.get("id")) for row in rows]
    found += [f"{name}: stands there twice." for name in sorted({name for name in ids if ids.count(name) > 1})]
    return found


def cells(row: dict[str, Any]) -> list[str]:
    """One line of the table: what, target, measured, verdict, where."""
    target = "" if row["target"] is None else f"{row['target'][0]} {row['target'][1]}"
    value = "–" if row["value"] is None else f"{row['value']:g} {row['unit']}"
    where = "" if row["value"] is None else f"{row['device']}, {row['date']}, {row['commit']}"
    return [row["name"], target, value, verdict(row), where, row["note"]]


def markdown(rows: list[dict[str, Any]]) -> str:
    """The table of RESULTS.md."""
    head = ["what", "target", "measured", "", "where", "note"]
    lines = [head, ["---"] * len(head), *(cells(row) for row in rows)]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def with_table(text: str, table: str) -> str:
    """RESULTS.md with this table between its two marks."""
    before, rest = text.split(BEGIN)
    return before + BEGIN + table + END + rest.split(END)[1]


def main() -> int:
    """Print the table; the exit status."""
    rows = json.loads((ROOT / "RESULTS.json").read_text())
    page = ROOT / "RESULTS.md"
    found = faults(rows)
    if not found:
        wanted = with_table(page.read_text(), markdown(rows))
        if "--write" in sys.argv[1:]:
            page.write_text(wanted)
        elif page.read_text() != wanted:
            found.append("RESULTS.md shows other numbers than RESULTS.json; run python scripts/check_numbers.py --write.")
        table = [["what", "target", "measured", ""], *(cells(row)[:4] for row in rows)]
        widths = [max(len(line[column]) for line in table) for column in range(4)]
        for line in table:
            print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())
    print("\n".join(found))
    return 1 if found or any(verdict(row) in ("MISS", "MISSING") for row in rows) else 0


if __name__ == "__main__":
    raise SystemExit(main())
