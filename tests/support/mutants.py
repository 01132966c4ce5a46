"""Mistakes that people make in rules, planted in the shipped games: what does `check_game` say to each?

`mutants.txt` lists them: the game in brackets, the mistake, the lines to replace (-) and what stands there
instead (+), and why a mistake is missed if it is. `python tests/support/mutants.py --write` checks each game
with the default settings and renews the table of docs/lab/mutants.md.

The rules of a mutant are not compiled, because that would take minutes. So what only the comparison of
compiled with plain rules finds is not found here.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

from numba import njit
from places import PROJECT

from azero.games import find_module
from azero.games import game as interface
from azero.games.game import Game
from azero.games.laws.check import GameCheck

PAGE = PROJECT / "docs" / "lab" / "mutants.md"
START, END = "<!-- table: tests/support/mutants.py -->\n", "<!-- end of the table -->"
OPTIONS: dict[str, dict[str, Any]] = {
    "othello": {"size": 6},
    "go": {"size": 3, "komi": 0.5},
    "hex": {"size": 4},
    "gomoku": {"rows": 5, "columns": 5, "connect": 4},
}


class Mutant(NamedTuple):
    """One mistake: texts of a game's source and what stands there instead."""

    game: str
    mistake: str
    changes: list[tuple[str, str]]
    missed: str  # why `check_game` finds nothing


def read_mutants() -> list[Mutant]:
    """Return the mutants of `mutants.txt`."""
    mutants = []
    for entry in Path(__file__).with_suffix(".txt").read_text().strip().split("\n\n"):
        head, _, body = entry.partition("\n")
        game, mistake = re.fullmatch(r"\[(\w+)\] (.*)", head).groups()  # type: ignore[union-attr]
        body, _, missed = body.partition("missed: ")
        groups = re.findall(r"((?:^- .*\n?)+)((?:^\+ .*\n?)*)", body, re.MULTILINE)
        changes = [(re.sub(r"(?m)^- ", "", old), re.sub(r"(?m)^\+ ", "", new)) for old, new in groups]
        changes = [(old.removesuffix("\n"), new.removesuffix("\n")) for old, new in changes]
        mutants.append(Mutant(game, mistake, changes, missed))
    return mutants


class PlainCheck(GameCheck):
    """The check without compiled rules."""

    def check_decorators(self) -> None:
        """Let plain rules pass."""

    def check_compiled(self, looks: list[Any]) -> None:
        """Compare nothing."""

    def is_late(self, part: float = 1.0) -> bool:
        """Stop at the first finding: only that is told."""
        return bool(self.findings)


def uncompiled(_signature: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that leaves a rule as plain Python, as its own twin."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        function.__wrapped__ = function  # type: ignore[attr-defined]
        return function

    return decorate


def defines(node: ast.AST) -> set[str]:
    """Return the names that a function or an assignment of a module defines."""
    if isinstance(node, ast.FunctionDef):
        return {node.name}
    return {target.id for target in getattr(node, "targets", []) if isinstance(target, ast.Name)}


def names_in(node: ast.AST) -> set[str]:
    """Return the names in a piece of source."""
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


def make_mutant(mutant: Mutant, **options: Any) -> Game:
    """Return the changed game; only what a change touches is run again, the rest stays compiled."""
    module = find_module(mutant.game)
    source = changed = inspect.getsource(module)
    for old, new in mutant.changes:
        assert changed.count(old) == 1, (mutant, changed.count(old))
        changed = changed.replace(old, new)
    known = {ast.dump(node) for node in ast.parse(source).body}
    nodes = ast.parse(changed).body
    touched, before = {"interface"}, set[str]()  # every rule names the interface
    while touched != before:
        before = set(touched)
        for node in nodes:
            if ast.dump(node) not in known or names_in(node) & touched:
                touched |= defines(node)
    plain = SimpleNamespace(**{**vars(interface), "rule": uncompiled})
    namespace = {**vars(module), "interface": plain, "njit": lambda **_options: njit}
    body = ast.Module([node for node in nodes if defines(node) & touched], [])
    exec(compile(body, mutant.game, "exec"), namespace)
    options = options or OPTIONS.get(mutant.game, {})
    game: Game = namespace["make_game"](*([namespace["Options"](**options)] if options else []))
    return game


def answer(game: Game) -> tuple[str, str]:
    """Return what `check_game` says with its default settings: (first finding, warnings)."""
    check = PlainCheck(game, games=200, seed=1)
    check.run()
    return next(iter(check.findings.first), ""), "; ".join(sorted(check.warnings))


def table() -> str:
    """Return the table of all mutants, and how many are found."""
    rows, counts = [], Counter[str]()
    for mutant in read_mutants():
        finding, warning = answer(make_mutant(mutant))
        kind = "finding" if finding else "warning" if warning else "nothing"
        said = finding or warning or mutant.missed
        assert bool(mutant.missed) == (kind == "nothing"), f"{mutant}: {said}"
        counts[kind] += 1
        rows.append(f"| `{mutant.game}` | {mutant.mistake} | {kind} | {said} |")
    total = (
        f"Of {len(rows)} mistakes `check_game` finds {counts['finding']}, warns of {counts['warning']} and "
        f"misses {counts['nothing']}.\n"
    )
    return "\n".join([total, "| game | mistake | answer | text |", "| --- | --- | --- | --- |", *rows, ""])


if __name__ == "__main__":
    text = table()
    print(text)
    if "--write" in sys.argv:
        page = PAGE.read_text()
        PAGE.write_text(page[: page.index(START) + len(START)] + text + page[page.index(END) :])
