"""Analyses, and what the searches of all tables share."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from azero.players import Report, Thought
from azero.players.growing import GrowingSearch, grow
from azero.studio.game_tree import Node
from azero.studio.pool import Pool
from azero.studio.review import MOST_REVIEWS, Review
from azero.studio.safety import Refusal
from azero.studio.threads import in_thread

MOST_ANALYSES = 6  # searches with their trees; the one used least recently is forgotten


@dataclass
class BoardAnalysis:
    """What is asked about the position on the board, and the search that answers.

    Attributes:
        asked: player, run, simulations and kind, see `Pool.search`.
        seconds: of one search; 0: no limit.
        on: whether it goes on.
        node: the number of the node that `search` searches; -1: none yet.
        spent: seconds searched there.
        done: whether nothing is left to do there.
        title: who searches.
    """

    asked: dict[str, Any]
    seconds: float = 0.0
    on: bool = True
    search: GrowingSearch | None = None
    node: int = -1
    spent: float = 0.0
    done: bool = False
    title: str = ""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def search_node(
        self, node: Node, banned: np.ndarray | None, stopping: Callable[[], bool], report: Report
    ) -> None:
        """Search a node, or search it on, until `stopping` or all is done; `report` also receives the end."""
        with self.lock:
            if self.search is not None and self.node != node.number:
                self.search.begin(node.state, banned)
                self.node, self.spent, self.done = node.number, 0.0, False
        grow(self, stopping, report)
        if stopping() and (thought := self.read()):
            report(thought)

    def grow(self, seconds: float) -> bool:
        """Search on for about so many seconds; return whether to go on, False if the search is forgotten."""
        with self.lock:
            if self.search is None:
                return False
            began = time.perf_counter()
            left = self.search.grow(seconds)
            self.spent += time.perf_counter() - began
            self.done = not left or 0 < self.seconds <= self.spent
            return not self.done

    def read(self, path: Sequence[int] = ()) -> Thought | None:
        """Return what is known of a node of the tree; None: nothing, or the search is forgotten."""
        with self.lock:
            return self.search.read(path) if self.search else None

    def to_json(self) -> dict[str, Any]:
        """Return what is asked as the page reads it."""
        return {**self.asked, "seconds": self.seconds, "on": self.on, "done": self.done}

    def forget(self) -> None:
        """Free the memory of the search."""
        with self.lock:
            self.search, self.node, self.done, self.on = None, -1, False, False


class SharedSearches:
    """What the searches of all tables share: players, memory for few trees, a few reviews."""

    def __init__(self, pool: Pool, busy: Callable[[], str], report: Callable[[Exception], None]) -> None:
        """`busy`: returns what else uses the cores, "" for nothing; `report`: receives unexpected errors."""
        self.pool, self.busy, self.report = pool, busy, report
        self.keep: Callable[[Any], None] = lambda table: None  # called with a table that has changed
        self.analyses: list[BoardAnalysis] = []  # with a search, the one used least recently first
        self.reviews: list[Review] = []  # under way

    async def make_room(self) -> None:
        """Forget the searches used least recently, so that one more fits."""
        while len(self.analyses) >= MOST_ANALYSES:
            await in_thread(self.analyses.pop(0).forget)

    def note_used(self, analysis: BoardAnalysis) -> None:
        """Note that a search is used now."""
        if analysis in self.analyses:
            self.analyses.remove(analysis)
        self.analyses.append(analysis)

    def begin_review(self, review: Review) -> None:
        """Note that a review is under way; Refusal: there are too many."""
        if len(self.reviews) >= MOST_REVIEWS:
            raise Refusal(429, f"{MOST_REVIEWS} games are being reviewed; try again in a moment.")
        self.reviews.append(review)

    def end_review(self, review: Review) -> None:
        """End a review."""
        review.end()
        if review in self.reviews:
            self.reviews.remove(review)
