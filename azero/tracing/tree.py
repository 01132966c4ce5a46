"""The tree that a traced search grows: its nodes in reading order, and their statistics over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from azero.tracing.watched_uct import Simulation


class Passed(NamedTuple):
    """A node after a simulation that went through it."""

    simulation: int  # counted from 0
    visits: int
    wins: float


class Grown(NamedTuple):
    """A node of the tree at the end of the search.

    Attributes:
        path: the moves from the root to it.
        parent: the index of the node above it, -1 at the root.
        row: its place in a drawing: leaves at 0, 1, 2 …, an inner node halfway between its outer children.
        passed: the node after each simulation that went through it.
    """

    path: tuple[int, ...]
    parent: int
    row: float
    passed: list[Passed]


def grown_tree(simulations: Sequence[Simulation]) -> list[Grown]:
    """Return the nodes that the simulations visited, in depth-first order."""
    passed: dict[tuple[int, ...], list[Passed]] = {}
    for number, simulation in enumerate(simulations):
        moves = tuple(choice.chosen for choice in simulation.choices)
        for depth, update in enumerate(simulation.updates):
            passed.setdefault(moves[:depth], []).append(Passed(number, update.visits, update.wins))
    paths = sorted(passed)
    rows, places = rows_of(paths), {path: place for place, path in enumerate(paths)}
    return [Grown(path, places[path[:-1]] if path else -1, rows[path], passed[path]) for path in paths]


def rows_of(paths: Sequence[tuple[int, ...]]) -> dict[tuple[int, ...], float]:
    """Return the row of each node of sorted paths, see `Grown`."""
    children: dict[tuple[int, ...], list[tuple[int, ...]]] = {path: [] for path in paths}
    for path in paths[1:]:
        children[path[:-1]].append(path)
    leaves = (path for path in paths if not children[path])
    rows = {path: float(row) for row, path in enumerate(leaves)}
    for path in reversed(paths):
        if below := children[path]:
            rows[path] = (rows[below[0]] + rows[below[-1]]) / 2
    return rows
