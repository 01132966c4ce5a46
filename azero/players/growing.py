"""Searches of one position that grow: they go on, stop, and can be read at any time.

Letters: A actions, S state words.

A page or a protocol shows them while they grow. A search knows nothing of who watches it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np

from azero.config.schema import UserError
from azero.players import Player, Thought

LONGEST_LINE = 12  # moves of a principal variation


class GrowingSearch(Protocol):
    """A search of one position that goes on and stops as its owner likes."""

    def begin(self, state: np.ndarray, banned: np.ndarray | None = None) -> None:
        """Start anew at a state [S] that is not terminal, without the banned moves [A]."""

    def grow(self, seconds: float) -> bool:
        """Search on for about so many seconds; return whether simulations are left to do."""

    def read(self, path: Sequence[int] = ()) -> Thought | None:
        """Return what is known of the node that `path` leads to; None: it is not in the tree."""


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
