"""Results in words for people: files keep SGF's, where B is whoever moves first."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date

import numpy as np

from azero.games.ending import player_name, score_text
from azero.games.game import Game
from azero.records.record import outcome_of
from azero.studio.safety import Refusal

HOW = {"R": "by resignation", "T": "on time", "F": "by forfeit"}
SHORT_HOW = {"": "", "resign": "R", "time": "T", "forfeit": "F"}
SHORT_HOW |= {words: short for short, words in HOW.items()} | {short.lower(): short for short in HOW}
WINS = ("1–0", "0–1")
DRAWS = ("0", "draw", "1/2", "1/2-1/2")
UNKNOWN = {"": "", "*": "", "?": "?", "void": "Void"}
WON = re.compile(r"(.+? wins|1-0|0-1|[bw]\+)[, ]*(.*)")
POINTS = re.compile(r"(?:by )?(\d{1,4}(?:\.\d{1,2})?)(?: points?)?")
DATE = re.compile(r"\d{4}(-\d\d(-\d\d)?)?")


def called(game: Game) -> list[str]:
    """Return what the players are called in a result; none in chess, where it is 1–0."""
    return [] if game.name == "chess" else [player_name(game, player) for player in (0, 1)]


def result_at(game: Game, state: np.ndarray) -> str:
    """Return how a final state ends in SGF's words, by how much if points count; "" else."""
    if not game.is_terminal(state):  # cut at max_plies
        return ""
    outcome, points = game.first_outcome(state), POINTS.fullmatch(score_text(game, state))
    return f"{'B' if outcome > 0 else 'W'}+{points[1]}" if outcome and points else ""


def result_words(result: str, names: Sequence[str] = ()) -> str:
    """Return a result in SGF's words as people read it, such as "White wins by resignation", or 1–0.

    names: what the two players are called; none: the result begins with 1–0 or 0–1.
    """
    outcome = outcome_of(result)
    if outcome is None:
        return result
    if not outcome:
        return "½–½"
    place, how = int(outcome < 0), result[2:]
    points = POINTS.fullmatch(how)
    said = HOW.get(SHORT_HOW.get(how.lower(), ""), how)
    if points:
        said = f"by {how} point{'' if how == '1' else 's'}"
    who = f"{names[place]} wins" if names else WINS[place] + (said and ",")
    return f"{who} {said}".strip()


def read_result(text: str, names: Sequence[str] = ()) -> str:
    """Return a result that a person writes in SGF's words; Refusal: it is none."""
    plain = text.strip().lower().replace("–", "-").replace("½", "1/2")
    if plain in UNKNOWN:
        return UNKNOWN[plain]
    if plain in DRAWS:
        return "0"
    winners = {"b+": "B+", "w+": "W+", "1-0": "B+", "0-1": "W+"}
    winners |= {f"{name} wins".lower(): code for name, code in zip(names, ("B+", "W+"), strict=False)}
    if (found := WON.fullmatch(plain)) and found[1] in winners:
        points = POINTS.fullmatch(found[2])
        how = points[1] if points else SHORT_HOW.get(found[2])
        if how is not None:
            return winners[found[1]] + how
    example = f"{names[0]} wins by resignation" if names else "1–0, by resignation"
    raise Refusal(400, f"A result is 1–0, 0–1 or ½–½, or in words such as “{example}”; or leave it empty.")


def read_date(text: str) -> str:
    """Return a date that a person writes; Refusal: it is none."""
    plain = text.replace(".", "-").replace("/", "-")
    try:
        if not plain or (DATE.fullmatch(plain) and date.fromisoformat(f"{plain}-01-01"[:10])):
            return plain
    except ValueError:
        pass
    raise Refusal(400, "A date is a year, a month or a day, such as 2026-11-28; or leave it empty.")
