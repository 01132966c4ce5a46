"""Write the tables of docs/settings.md from azero/config/schema.py.

    python scripts/settings.py --write

Without `--write` it prints the page.
"""

from __future__ import annotations

import sys
from pathlib import Path

from azero.cli.help import groups
from azero.config.schema import Config, Setting, value_text

PAGE = Path(__file__).resolve().parent.parent / "docs" / "settings.md"
BEGIN, END = "<!-- tables: scripts/settings.py -->", "<!-- end of the tables -->"
COLUMNS = ("setting", "default", "allowed", "what it does", "published")


def allowed_text(known: Setting) -> str:
    """Return which values a setting may have."""
    if known.choices:
        return ", ".join(f"`{choice}`" for choice in known.choices)
    if known.between:
        low, high = known.between
        if isinstance(high, int):
            return f"integer, {low:,} to {high:,}"
        return f"{value_text(low)} to {value_text(high)}"
    kinds = {bool: "`true`, `false`", list: "list", dict: "mapping"}
    return kinds.get(type(known.default), "text")


def tables() -> str:
    """Return a table for each group of settings, with its heading."""
    lines = []
    for heading, listed in groups().items():
        part = Config.__dataclass_fields__.get(heading)
        about = (Config if heading == "run" else part.default_factory).__doc__ if part else ""
        lines += [f"\n## {heading[0].upper()}{heading[1:]}\n", *([f"{about}\n"] if about else [])]
        lines += [f"| {' | '.join(COLUMNS)} |", "| --- | --- | --- | --- | --- |"]
        for key, known in listed.items():
            help = known.help.replace("|", "\\|")
            cells = (f"`{key}`", f"`{value_text(known.default)}`", allowed_text(known), help, known.published)
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def page() -> str:
    """Return docs/settings.md with the tables as the code has them."""
    before, rest = PAGE.read_text().split(BEGIN)
    return f"{before}{BEGIN}\n{tables()}\n\n{END}{rest.split(END)[1]}"


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        PAGE.write_text(page())
    else:
        print(page())
