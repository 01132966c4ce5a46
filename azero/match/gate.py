"""The gate: whether a match promotes the candidate. Pure functions of games and settings.

`score` promotes it if its score is above the threshold. `sequential` tests pairs of games after each round,
`elo0` against `elo1`, until that is decided or the most games are played. `off` always promotes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from azero.config.schema import EvaluateConfig, is_certain
from azero.match.lockstep import MatchGame, distinct_pairs
from azero.match.rating import SequentialTest, count_results, pair_counts, score, sequential_test


class Verdict(NamedTuple):
    """The gate's decision so far."""

    decided: bool  # no further round is needed
    promoted: bool  # as it stands
    test: SequentialTest | None  # of a sequential gate


def judge(games: Sequence[MatchGame], evaluate: EvaluateConfig) -> Verdict:
    """Judge a match by its games, in order, whose outcomes are for the candidate (player 0)."""
    outcomes = [game.outcome for game in counted_games(games, evaluate)]
    if evaluate.gate == "sequential":
        return judge_pairs(pair_counts(outcomes), len(games), evaluate)
    promoted = evaluate.gate == "off" or score(*count_results(outcomes)) > evaluate.threshold
    return Verdict(True, promoted, None)


def judge_pairs(pairs: Sequence[int], played: int, evaluate: EvaluateConfig) -> Verdict:
    """Judge pairs [5] by the sequential test; if undecided after all games, take the likelier difference."""
    test = sequential_test(pairs, evaluate.elo0, evaluate.elo1, evaluate.error, evaluate.error)
    decided = test.decision != "go on" or played >= evaluate.most_games
    return Verdict(decided, test.llr > 0, test)


def counted_games(games: Sequence[MatchGame], evaluate: EvaluateConfig) -> Sequence[MatchGame]:
    """Return the games that the gate counts: all, or those of distinct pairs.

    For stochastic players repeated games are evidence; for deterministic ones they are copies.
    """
    return distinct_pairs(games) if counts_distinct(evaluate) else games


def counts_distinct(evaluate: EvaluateConfig) -> bool:
    """Return whether only distinct pairs count: if set, and always for deterministic players."""
    return evaluate.distinct or is_certain(evaluate)


def games_at_most(evaluate: EvaluateConfig) -> int:
    """Return the most games of a match."""
    return evaluate.most_games if evaluate.gate == "sequential" else evaluate.games
