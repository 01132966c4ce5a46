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
    low, high = score_interval(stats[f"distinct_{end}"], 0, stats["distinct"] - stats[f"distinct_{end}"])
    return (
        "{wins} wins, {draws} draws, {losses} losses of {games} games, {distinct} of them distinct\n".format(
            **stats
        )
        + f"{end} {100 * stats[end] / stats['games']:.1f} %; of the distinct games, 95 % interval "
        f"{100 * low:.1f} to {100 * high:.1f} %"
    )
