"""The gate: what the games of a match say about the candidate. Pure functions of games and settings.

With `score` it is promoted if its score is above the threshold. With `sequential` pairs of games are tested after each round,
whether `elo0` or `elo1` is true, until that is decided or the most games are played. With `off` it is always promoted, and the
match only measures.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from azero.config import EvaluateConfig, is_certain
from azero.match import MatchGame, distinct_pairs
from azero.rating import SequentialTest, count_results, pair_counts, score, sequential_test


class Verdict(NamedTuple):
    """What a match says so far."""

    decided: bool  # no further round is needed
    promoted: bool  # as it stands
    test: SequentialTest | None  # where the gate is one


def judge(games: Sequence[MatchGame], evaluate: EvaluateConfig) -> Verdict:
    """What a match says, by the outcomes for the candidate (player 0) of its games, in order."""
    outcomes = [game.outcome for game in counted_games(games, evaluate)]
    if evaluate.gate == "sequential":
        return judge_pairs(pair_counts(outcomes), len(games), evaluate)
    promoted = evaluate.gate == "off" or score(*count_results(outcomes)) > evaluate.threshold
    return Verdict(True, promoted, None)


def judge_pairs(pairs: Sequence[int], played: int, evaluate: EvaluateConfig) -> Verdict:
    """What the sequential test says of pairs [5] after so many games; undecided at the end, the likelier difference is taken."""
    test = sequential_test(pairs, evaluate.elo0, evaluate.elo1, evaluate.error, evaluate.error)
    decided = test.decision != "go on" or played >= evaluate.most_games
    return Verdict(decided, test.llr > 0, test)


def counted_games(games: Sequence[MatchGame], evaluate: EvaluateConfig) -> Sequence[MatchGame]:
    """The games that the gate goes by: all, or those of distinct pairs.

    Of players that choose by chance a line that comes twice is twice as likely, and a test that counted it once would think it
    as likely as the others. Players that do not choose by chance repeat themselves and tell nothing new.
    """
    return distinct_pairs(games) if counts_distinct(evaluate) else games


def counts_distinct(evaluate: EvaluateConfig) -> bool:
    """Whether only distinct pairs count: where that is asked for, and where nobody chooses by chance."""
    return evaluate.distinct or is_certain(evaluate)


def games_at_most(evaluate: EvaluateConfig) -> int:
    """How many games a match may have."""
    return evaluate.most_games if evaluate.gate == "sequential" else evaluate.games
