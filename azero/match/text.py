"""Matches as text: a few lines for one, tables for a tournament, the moves of a game."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from azero.games.ending import outcome_text
from azero.games.game import Game
from azero.match.lockstep import MatchResult, summarize
from azero.match.rating import ELO_LIMIT, measured, ratings, score
from azero.report.console import format_seconds, format_share, table_text


class Pairing(NamedTuple):
    """Two player specs, by their places in a list of names, and their match, seen by the first."""

    one: int
    other: int
    result: MatchResult


def text_of_rules(game: Game, name: str, make: Callable[[], str]) -> str:
    """Return a text of the rules, or what went wrong: a report must not end a stage and lose its games."""
    try:
        return make()
    except Exception as error:  # of a person's own rules
        return f"{name} of {game.name} raised {type(error).__name__}: {error}; try azero check_game."


def game_text(
    game: Game,
    actions: Sequence[int],
    first_outcome: float,
    opening_plies: int,
    names: tuple[str, str] | None = None,
) -> str:
    """Return a game as a person reads it: its moves, its last position, and who won.

    Args:
        game: the rules.
        actions: all of its plies.
        first_outcome: +1 the first player won, 0 draw, -1 lost.
        opening_plies: plies at its beginning that the players did not choose.
        names: of the first and the second player, if they differ.
    """
    state = game.initial_state()
    for action in actions:
        state = game.step(state, action)
    moves = game.move_names(actions)
    opening, played = " ".join(moves[:opening_plies]), " ".join(moves[opening_plies:])
    wins = [f"the {name} wins" for name in names or ("first player", "second player")]
    lines = [
        *([f"{names[0]} moves first, {names[1]} second"] if names else []),
        *([f"opening: {opening}"] if opening else []),
        f"moves: {played}",
        *("", text_of_rules(game, "format_state", lambda: game.format_state(state)), ""),
        text_of_rules(game, "score_text", lambda: outcome_text(game, state, first_outcome, wins, "draw")),
    ]
    return "\n".join(lines)


def match_text(names: Sequence[str], pairing: Pairing) -> str:
    """Return the report of a match, in a few lines."""
    result = pairing.result
    found = measured(result.wins, result.draws, result.losses)
    elo, elo_low, elo_high = (elo_text(found[name]) for name in ("elo", "elo_low", "elo_high"))
    one, other = names[pairing.one], names[pairing.other]
    doubts = [
        f"{name} did not know {result.unproven[which]:,} of its {result.moves[which]:,} moves to be exact"
        for which, name in enumerate((one, other))
        if result.unproven[which]
    ]
    lines = [
        f"{one} against {other}: {result.wins} wins, {result.draws} draws, {result.losses} losses",
        f"score {format_share(found['score'], 1)}, "
        f"95 % interval {format_share(found['low'], 1)} to {format_share(found['high'], 1)}",
        f"score {by_colour(result)}",
        f"Elo difference {elo}, 95 % interval {elo_low} to {elo_high}",
        distinct_text(result),
    ]
    if any(result.moves):  # not of a match that was stopped
        lines.append(f"time a move {time_a_move(result, 0)} and {time_a_move(result, 1)}")
    return "\n".join(lines + doubts)


def elo_text(elo: float) -> str:
    """Return such as "+120", or "more than +1,200" for what no match can measure."""
    beyond = "more than " if elo >= ELO_LIMIT else "less than " if elo <= -ELO_LIMIT else ""
    return f"{beyond}{elo:+,.0f}"


def by_colour(result: MatchResult) -> str:
    """The score of the games in which player 0 moved first, and of the others."""
    parts = []
    for which, name in enumerate(("first", "second")):
        half = summarize([game for game in result.games if game.first == which])
        if half.games:
            parts.append(f"{name} {format_share(score(half.wins, half.draws, half.losses), 1)}")
    return "moving " + ", ".join(parts)


def distinct_text(result: MatchResult) -> str:
    """Return how many games were distinct. Copies do not count: the intervals assume independent games."""
    text = f"{result.distinct} distinct games of {len(result.games) + result.repeats}"
    if not result.repeats:
        return text
    return f"{text}; {result.repeats} repeat others and are not counted: more different openings would help"


def time_a_move(result: MatchResult, which: int) -> str:
    """Return the mean time of a player's move."""
    if not result.moves[which]:
        return "not known"
    seconds = result.seconds[which] / result.moves[which]
    return f"{1000 * seconds:.3g} ms" if seconds < 1 else format_seconds(seconds)


def crossed(count: int, pairings: Sequence[Pairing]) -> tuple[np.ndarray, np.ndarray]:
    """Return the points of each of `count` players against each, and their games, [count, count] each."""
    points, games = np.zeros((count, count)), np.zeros((count, count))
    for one, other, result in pairings:
        points[one, other] = result.wins + result.draws / 2
        points[other, one] = result.losses + result.draws / 2
        games[one, other] = games[other, one] = len(result.games)
    return points, games


def tournament_text(names: Sequence[str], pairings: Sequence[Pairing]) -> str:
    """Return a table of ratings, best first, and of the scores of each player against each."""
    count = len(names)
    points, games = crossed(count, pairings)
    rated = ratings(points, games)
    order = sorted(range(count), key=lambda place: -rated[place].elo)
    header = ["player", "Elo", "± 95 %", "score", *(str(rank) for rank in range(1, count + 1))]
    rows = [
        [
            f"{rank}  {names[place]}",
            f"{rated[place].elo:+.0f}",
            f"{rated[place].margin:.0f}",
            format_share(points[place].sum() / max(1, games[place].sum()), 1),
            *(
                "" if not games[place, other] else format_share(points[place, other] / games[place, other], 1)
                for other in order
            ),
        ]
        for rank, place in enumerate(order, 1)
    ]
    return table_text([header, *rows])
