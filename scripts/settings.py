"""Write the tables of docs/settings.md and docs/players.md from the records of the settings.

    python scripts/settings.py --write

Without `--write` it prints the pages.
"""

from __future__ import annotations

import sys
from pathlib import Path

from azero.cli.help import groups
from azero.config.reading import AUTO
from azero.config.schema import Config, Setting, settings, value_text
from azero.players import MODULES, options_of
from azero.players.options import MAY, MUST

PAGE = Path(__file__).resolve().parent.parent / "docs" / "settings.md"
PLAYERS = PAGE.with_name("players.md")
BEGIN, END = "<!-- tables: scripts/settings.py -->", "<!-- end of the tables -->"
COLUMNS = ("setting", "default", "allowed", "what it does", "published")


def allowed_text(known: Setting) -> str:
    """Return which values a setting may have."""
    if known.choices:
        choices = [*map(value_text, known.choices), *(["FILE.py"] if known.own else [])]
        return ", ".join(f"`{choice}`" for choice in choices)
    if known.between:
        low, high = known.between
        if known.kind.startswith("int"):
            return f"integer, {low:,} to {high:,}"
        return f"{value_text(low)} to {value_text(high)}"
    kinds = {"bool": "`true`, `false`", "list": "list", "dict": "mapping"}
    return next((text for kind, text in kinds.items() if known.kind.startswith(kind)), "text")


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


def player_tables() -> str:
    """Return what each player does, with a table of its options."""
    lines = []
    for name in MODULES:
        schema = options_of(name)
        run = {MUST: " It needs a trained network: `run`, and `cycle` for an earlier champion.",
               MAY: " `run` names the champion of `heuristic=network`."}  # fmt: skip
        lines += [f"\n### {name}\n", f"{schema.__doc__}{run.get(schema.network, '')}\n"]
        known = settings(schema)
        if known:
            lines += ["| option | default | allowed | what it does |", "| --- | --- | --- | --- |"]
        for option, each in known.items():
            default = AUTO if each.default is None else value_text(each.default)
            lines.append(f"| `{option}` | `{default}` | {allowed_text(each)} | {each.help} |")
    return "\n".join(lines)


def page(path: Path = PAGE) -> str:
    """Return a page with the tables as the code has them."""
    before, rest = path.read_text().split(BEGIN)
    made = player_tables() if path == PLAYERS else tables()
    return f"{before}{BEGIN}\n{made}\n\n{END}{rest.split(END)[1]}"


if __name__ == "__main__":
    for each in (PAGE, PLAYERS):
        if sys.argv[1:] == ["--write"]:
            each.write_text(page(each))
        else:
            print(page(each))
