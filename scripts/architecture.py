"""Write the map of the rooms into docs/architecture.md: what each is for, what it offers, what it imports.

    python scripts/architecture.py

The map is made from the first lines of each room's `__init__.py`, so it is changed there.
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "architecture.md"
BEGIN, END = "<!-- map: scripts/architecture.py -->", "<!-- end of the map -->"


class Room(NamedTuple):
    """What a room says of itself.

    Attributes:
        name: such as "games.kit".
        purpose: what it is for, one sentence.
        offers: what others import from it.
        imports: the rooms it imports from.
    """

    name: str
    purpose: str
    offers: str
    imports: tuple[str, ...]


def room(package: Path, name: str) -> Room:
    """Return what the room of that name says of itself."""
    text = ast.get_docstring(ast.parse((package / name.replace(".", "/") / "__init__.py").read_text())) or ""
    lines = [" ".join(paragraph.split()) for paragraph in text.split("\n\n")]
    offers, _, imports = lines[1].removeprefix("For others: ").partition(" Imports: ")
    named = imports.rstrip(".").split(", ")
    return Room(name, lines[0], offers.rstrip("."), () if named == ["nothing"] else tuple(named))


def rooms(package: Path) -> list[Room]:
    """Return all rooms, each behind those that it imports from."""
    paths = sorted(path.parent for path in package.rglob("*/__init__.py"))
    left = [room(package, path.relative_to(package).as_posix().replace("/", ".")) for path in paths]
    ordered: list[Room] = []
    while left:
        known = {each.name for each in ordered}
        free = [each for each in left if known.issuperset(each.imports)]
        if not free:
            raise SystemExit(f"{left[0].name} imports a room that does not exist, or a circle of rooms.")
        ordered += free
        left = [each for each in left if each not in free]
    return ordered


def page() -> str:
    """Return docs/architecture.md with the map as the code has it."""
    rows = ["| room | what it is for | what others import | what it imports |", "| --- | --- | --- | --- |"]
    for each in rooms(ROOT / "azero"):
        imports = ", ".join(f"`{name}`" for name in each.imports) or "nothing"
        rows.append(
            f"| `azero/{each.name.replace('.', '/')}/` | {each.purpose} | {each.offers} | {imports} |"
        )
    before, rest = PAGE.read_text().split(BEGIN)
    return before + BEGIN + "\n" + "\n".join(rows) + "\n" + END + rest.split(END)[1]


if __name__ == "__main__":
    PAGE.write_text(page())
