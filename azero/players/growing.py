"""Searches of one position that grow: they go on, stop, and can be read at any time.

Letters: A actions, S state words.

A page or a protocol shows them while they grow. A search knows nothing of who watches it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

import numpy as np

from azero.config.schema import UserError
from azero.players import Player, Report, Thought, never

LOOK_SECONDS = 0.02  # between two looks at whether to stop
REPORT_SECONDS = 0.1  # between two reports of a search under way
LONGEST_LINE = 12  # moves of a principal variation


class BegunSearch(Protocol):
    """A search of one position that goes on and stops as its owner likes."""

    def grow(self, seconds: float) -> bool:
        """Search on for about so many seconds; return whether simulations are left to do."""

    def read(self, path: Sequence[int] = ()) -> Thought | None:
        """Return what is known of the node that `path` leads to; None: it is not in the tree."""


class GrowingSearch(BegunSearch, Protocol):
    """Such a search that can begin anew."""

    def begin(self, state: np.ndarray, banned: np.ndarray | None = None) -> None:
        """Start anew at a state [S] that is not terminal, without the banned moves [A]."""


class Reports:
    """Makes a report at most once in some seconds, and leaves half of them to the search."""

    def __init__(self, report: Report | None, every: float) -> None:
        """`report`: None: nobody listens; `every`: seconds between two reports, and before the first."""
        self.report, self.every, self.due = report, every, time.perf_counter() + every

    def __call__(self, thought: Thought) -> None:
        """Report a thought if it is time."""
        self.look(lambda: thought)

    def look(self, read: Callable[[], Thought | None]) -> None:
        """Report what `read` returns if it is time; else it is not called."""
        if self.report and time.perf_counter() >= self.due and (thought := read()):
            self.report(thought)
            self.due = max(self.due + self.every, time.perf_counter() + self.every / 2)


def grow(
    search: BegunSearch,
    stopping: Callable[[], bool] = never,
    report: Report | None = None,
    every: float = REPORT_SECONDS,
    lasting: bool = False,
) -> None:
    """Let a search grow until `stopping`, or until nothing is left to search.

    Args:
        search: see `BegunSearch`.
        stopping: asked each LOOK_SECONDS.
        report: receives what was found, and what is found when nothing is left to search.
        every: seconds between two reports.
        lasting: whether to go on reporting then, until `stopping`.
    """
    goes_on, reports = True, Reports(report, every)
    while (goes_on or lasting) and not stopping():
        if goes_on:
            goes_on = search.grow(LOOK_SECONDS)
        else:
            time.sleep(LOOK_SECONDS)
        if not (goes_on or lasting):
            reports.due = 0.0
        reports.look(search.read)


def whole_search(search: GrowingSearch, state: np.ndarray, banned: np.ndarray | None = None) -> Thought:
    """Return what a search of a state [S] without the banned moves [A] finds when nothing is left to do."""
    search.begin(state, banned)
    grow(search)
    found = search.read()
    assert found is not None
    return found


@runtime_checkable
class Analyst(Protocol):
    """A player that has such a search: `pv_mcts` and `uct`."""

    def growing(self) -> GrowingSearch:
        """Return its search as one that grows. The player must not be used otherwise meanwhile."""


def best_of(player: Player, thought: Thought) -> Thought:
    """Return a player's latest thought with the best move where it has drawn one by its temperature."""
    return (player.growing().read() if isinstance(player, Analyst) else None) or thought


def growing_search(player: Player) -> GrowingSearch:
    """Return the search of a player as one that grows; see `Analyst.growing`.

    Raises:
        UserError: the player has no such search.
    """
    if not isinstance(player, Analyst):
        raise UserError(f"player {player.name.split()[0]} has no search to show; choose pv_mcts or uct.")
    return player.growing()
