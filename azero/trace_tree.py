"""The tree that a traced search grows: its nodes in reading order, and what each simulation left at them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from azero.search.watched_uct import Simulation


class Passed(NamedTuple):
    """A node after a simulation that went through it."""

    simulation: int  # counted from 0
    visits: int
    wins: float


class Grown(NamedTuple):
    """A node of the tree at the end of the search.

    Attributes:
        path: the moves from the root to it.
        parent: the place of the node above it in the list, -1 at the root.
        row: where it stands beside the others: leaves at 0, 1, 2 and so on, an inner node halfway between its outer children.
        passed: the simulations that went through it, in order.
    """

    path: tuple[int, ...]
    parent: int
    row: float
    passed: list[Passed]


def grown_tree(simulations: Sequence[Simulation]) -> list[Grown]:
    """The nodes that the simulations visited, each before those below it, moves in order."""
    passed: dict[tuple[int, ...], list[Passed]] = {}
    for number, simulation in enumerate(simulations):
        moves = tuple(choice.chosen for choice in simulation.choices)
        for depth, update in enumerate(simulation.updates):
            passed.setdefault(moves[:depth], []).append(Passed(number, update.visits, update.wins))
    paths = sorted(passed)
    places = {path: place for place, path in enumerate(paths)}
    rows = rows_of(paths)
    return [Grown(path, places[path[:-1]] if path else -1, rows[path], passed[path]) for path in paths]


def rows_of(paths: Sequence[tuple[int, ...]]) -> dict[tuple[int, ...], float]:
    """The row of each node; `paths` are sorted, so that a node comes before those below it."""
    children: dict[tuple[int, ...], list[tuple[int, ...]]] = {path: [] for path in paths}
    for path in paths:
        if path:
            children[path[:-1]].append(path)
    leaves = (path for path in paths if not children[path])
    rows = {path: float(row) for row, path in enumerate(leaves)}
    for path in reversed(paths):
        if below := children[path]:
            rows[path] = (rows[below[0]] + rows[below[-1]]) / 2
    return rows
