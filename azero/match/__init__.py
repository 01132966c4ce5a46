"""Matches between players, their reports, ratings and gates.

For others: `lockstep` plays, `rating`, `elo_table` and `played` count, `gate` decides, `anchors` hold the
fixed opponents.
Imports: config, process, games, kernels, report, search, players.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Return `play_match`, which was a name of `azero.match` before it was a room."""
        if name == "play_match":
            from azero.match.lockstep import play_match

            return play_match
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
