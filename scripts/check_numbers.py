#!/usr/bin/env python3
"""Print every promised number beside the measured one; exit 1 if one is missed or not measured.

usage: python scripts/check_numbers.py [--write]        --write: renew the table in RESULTS.md

RESULTS.json is a list of rows, one line each:
    id       short and unique
    name     what is measured
    target   [operator, number], operator one of < <= == >= >; null for a number without a target
    value    as measured; null until then, never estimated
    unit     of both numbers
    command  measures it again
    seeds    the seeds it was measured with, [] if there are none
    commit   of the sources that were measured
    device   the machine, in words
    date     YYYY-MM-DD
    note     conditions, or the published number; the first sentence of a missed row says why
A measured row has a commit, a device and a date. The table in RESULTS.md is made from these rows.
"""

from __future__ import annotations

import json
import operator
import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
COLUMNS = {"id", "name", "target", "value", "unit", "command", "seeds", "commit", "device", "date", "note"}
COMPARE = {"<": operator.lt, "<=": operator.le, "==": operator.eq, ">=": operator.ge, ">": operator.gt}
BEGIN, END = "<!-- numbers: begin -->\n", "<!-- numbers: end -->\n"
HEAD = ("what", "target", "measured", "where")
MISSES = ("MISS", "MISSING")


def verdict(row: dict[str, Any]) -> str:
    """Return `ok`, `reported` (no target), `MISS`, or `MISSING` (not measured)."""
    if row["value"] is None:
        return "MISSING"
    if row["target"] is None:
        return "reported"
    sign, number = row["target"]
    return "ok" if COMPARE[sign](row["value"], number) else "MISS"


def faults(rows: list[dict[str, Any]]) -> list[str]:
    """Return what is wrong with the rows themselves, one sentence each."""
    found = []
    for row in rows:
        name = row.get("id", "a row without id")
        if set(row) != COLUMNS:
            found.append(f"{name}: wrong keys {sorted(set(row) ^ COLUMNS)}.")
            continue
        if row["value"] is not None and not (row["commit"] and row["device"] and row["date"]):
            found.append(f"{name}: a measured value needs its commit, device and date.")
        if verdict(row) in MISSES and not row["note"]:
            found.append(f"{name}: a missed row needs a note whose first sentence says why.")
    ids = [str(row.get("id")) for row in rows]
    found += [f"{name}: appears twice." for name in sorted({name for name in ids if ids.count(name) > 1})]
    return found


def number(value: float) -> str:
    """Return a number with commas between thousands."""
    return f"{value:,.10g}"


def cells(row: dict[str, Any]) -> list[str]:
    """Return one line of the table: what, target, measured, where."""
    target = "" if row["target"] is None else f"{row['target'][0]} {number(row['target'][1])}"
    if row["value"] is None:
        return [row["name"], target, "not measured", ""]
    value = f"{number(row['value'])} {row['unit']}"
    machine = re.sub(r"^\d+ cores? of an? (Intel |AMD )?| with .*", "", row["device"].split(",")[0])
    return [row["name"], target, value + " **missed**" * (verdict(row) == "MISS"), machine]


def markdown(rows: list[dict[str, Any]]) -> str:
    """Return the table of RESULTS.md, and below it the misses with the first sentence of each note."""
    lines = [list(HEAD), ["---"] * len(HEAD), *(cells(row) for row in rows)]
    table = "".join("| " + " | ".join(line) + " |\n" for line in lines)
    missed = [row for row in rows if verdict(row) in MISSES]
    reasons = "".join(f"- **{row['name']}**: {first_sentence(row['note'])}\n" for row in missed)
    return f"{table}\n### Missed\n\n{reasons or 'None.' + chr(10)}"


def first_sentence(text: str) -> str:
    """Return the text up to the first full stop that a space or the end follows."""
    return re.split(r"(?<=\.)\s", text, maxsplit=1)[0]


def with_table(text: str, table: str) -> str:
    """Return RESULTS.md with this table between its two marks."""
    before, rest = text.split(BEGIN)
    return before + BEGIN + table + END + rest.split(END)[1]


def main() -> int:
    """Print the table; return the exit status."""
    rows = json.loads((ROOT / "RESULTS.json").read_text())
    page = ROOT / "RESULTS.md"
    found = faults(rows)
    if not found:
        wanted = with_table(page.read_text(), markdown(rows))
        if "--write" in sys.argv[1:]:
            page.write_text(wanted)
        elif page.read_text() != wanted:
            found.append("RESULTS.md and RESULTS.json differ; run python scripts/check_numbers.py --write.")
        table = [["what", "target", "measured", ""]]
        for row in rows:
            name, target, value, _ = cells(row)
            table.append([name, target, value.removesuffix(" **missed**"), verdict(row)])
        widths = [max(len(line[column]) for line in table) for column in range(4)]
        for line in table:
            print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())
    print("\n".join(found))
    return 1 if found or any(verdict(row) in MISSES for row in rows) else 0


if __name__ == "__main__":
    raise SystemExit(main())
