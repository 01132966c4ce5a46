"""The Elo table of a run: every champion against fixed opponents, fitted from the results in the history.

The fixed opponents (anchors) get their ratings from games among themselves, with `random` at 0. Those games
have the same seeds in all runs, so that all runs of a game share one scale. The champions are then placed
between them: see `azero.match.rating.ratings`.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from azero.match.rating import Rating, ratings

ZERO = "random"  # the anchor whose Elo is 0
CHAMPION = "champion "  # and the cycle in which it became champion
COLUMNS = ("player", "cycle", "elo", "margin", "games", "score")


class Result(NamedTuple):
    """Games between two players, by their names; wins and losses are those of `one`."""

    one: str
    other: str
    wins: int
    draws: int
    losses: int


class Row(NamedTuple):
    """A player's line in the table."""

    player: str
    rating: Rating
    games: int
    points: float


def champion_name(cycle: int) -> str:
    """Return the name of the champion that a cycle made; 0 is the first network."""
    return f"{CHAMPION}{cycle}"


def results_of(history: Iterable[Mapping[str, Any]]) -> list[Result]:
    """Return all results in the records of a run's finished cycles."""
    return [Result(*result) for record in history for result in record.get("rated", ())]


def fit(results: Sequence[Result], fixed: Mapping[str, float]) -> dict[str, Rating]:
    """Return the ratings of everyone in the results by name, those in `fixed` as given."""
    names = sorted({name for result in results for name in result[:2]} | fixed.keys())
    points = np.zeros((len(names), len(names)))
    for one, other, wins, draws, losses in results:
        pair = (names.index(one), names.index(other))
        points[pair] += wins + draws / 2
        points[pair[::-1]] += losses + draws / 2
    games = points + points.T
    given = {names.index(name): elo for name, elo in fixed.items()}
    return dict(zip(names, ratings(points, games, fixed=given), strict=True))


def rate(results: Sequence[Result]) -> dict[str, Rating]:
    """Return ratings by name: anchors by their own games, then champions against fixed anchors."""
    among_anchors = [
        result for result in results if not any(name.startswith(CHAMPION) for name in result[:2])
    ]
    anchors = fit(among_anchors, {ZERO: 0.0})
    return fit(results, {name: rating.elo for name, rating in anchors.items()}) | anchors


def table_of(results: Sequence[Result]) -> list[Row]:
    """Return the table, best first."""
    rated = rate(results)
    rows = []
    for name, rating in rated.items():
        own = [result for result in results if name in result[:2]]
        games = sum(sum(result[2:]) for result in own)
        points = sum(
            (result.wins if name == result.one else result.losses) + result.draws / 2 for result in own
        )
        rows.append(Row(name, rating, games, points))
    return sorted(rows, key=lambda row: -row.rating.elo)


def texts_of(rows: Sequence[Row]) -> list[list[str]]:
    """Return the table as text, its header first."""
    lines = [list(COLUMNS)]
    for row in rows:
        cycle = row.player.removeprefix(CHAMPION) if row.player.startswith(CHAMPION) else ""
        numbers = [f"{row.rating.elo:.0f}", f"{row.rating.margin:.0f}", f"{row.games}"]
        lines.append([row.player, cycle, *numbers, f"{row.points / max(1, row.games):.3f}"])
    return lines


def csv_text(rows: Sequence[Row]) -> str:
    """Return the content of `ratings.csv`."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(texts_of(rows))
    return text.getvalue()


def scalars_of(rating: Rating) -> dict[str, float]:
    """Return a rating with its margin, by tag."""
    low, high = rating.elo - rating.margin, rating.elo + rating.margin
    return {"rating/elo": rating.elo, "rating/elo_low": low, "rating/elo_high": high}
