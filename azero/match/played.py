"""Count the games of one champion; equal games are counted once where games must be independent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from azero.match.rating import score_interval


class Played(NamedTuple):
    """One game of a champion."""

    moves: tuple[int, ...]
    outcome: float  # for the champion


def count(games: Sequence[Played]) -> dict[str, int]:
    """Return how the games ended by name, such as "wins" and, among the different games, "distinct_wins"."""
    wins, draws, losses = (sum(each.outcome == outcome for each in games) for outcome in (1.0, 0.0, -1.0))
    distinct = set(games)
    stats = {"wins": wins, "draws": draws, "losses": losses, "games": len(games), "distinct": len(distinct)}
    ends = {
        f"distinct_{name}": sum(each.outcome == outcome for each in distinct)
        for name, outcome in (("wins", 1), ("losses", -1))
    }
    return stats | ends


def results_text(stats: Mapping[str, int], end: str) -> str:
    """Return two lines: the results, and the share of an end, "wins" or "losses", with its interval."""
    games, distinct, share = stats["games"], stats["distinct"], stats[end] / stats["games"]
    low, high = score_interval(stats[f"distinct_{end}"], 0, distinct - stats[f"distinct_{end}"])
    results = ", ".join(f"{stats[name]} {name}" for name in ("wins", "draws", "losses"))
    interval = f"95 % interval {100 * low:.1f} to {100 * high:.1f} %"
    return (
        f"{results} of {games} games, {distinct} of them distinct\n"
        f"{end} {100 * share:.1f} %; of the distinct games, {interval}"
    )
