"""Scores, their intervals, Elo differences and a sequential test. Pure functions.

A match is a count of wins, draws and losses of one side; a draw is half a win. The interval supposes
independent games: of deterministic players it means nothing, which is why matches count their distinct games.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

Z = NormalDist().inv_cdf(0.975)  # standard errors in half of a 95 % interval
ELO_SCALE = 400.0  # an Elo difference of 400 is a score of 10 : 1
ELO_LIMIT = 1200.0  # 1000 : 1; a match cannot measure a larger difference
PAIR_SCORES = np.array([0.0, 0.25, 0.5, 0.75, 1.0])  # a pair's points over its two games
PAIRS_UNSEEN = 1e-3  # what counts in place of 0 pairs: a result not seen yet is not impossible


def score(wins: int, draws: int, losses: int) -> float:
    """Return points over games, from 0 to 1.

    Raises:
        ValueError: there are no games, or a count is negative.
    """
    games = count_games(wins, draws, losses)
    return (wins + draws / 2) / games


def score_interval(wins: int, draws: int, losses: int) -> tuple[float, float]:
    """Return the lower and upper limit of the expected score, with 95 % confidence.

    This is Wilson's score interval (Wilson 1927) with the variance of a match with draws. One game's points
    have the variance p (1 - p) - d / 4, where p is the expected score and d the share of draws. The limits
    are the p at which the score found lies z standard errors away, p solving (score - p)^2 = z^2 (p (1 - p) -
    d / 4) / games. d is not known; putting the share found in its place would call forty draws a certain 0.5,
    so its own lower Wilson limit stands there. Without draws this is Wilson's interval.

    Raises:
        ValueError: there are no games, or a count is negative.
    """
    games = count_games(wins, draws, losses)
    weight = Z**2 / games
    draw_share, _ = solve_wilson(draws / games, weight, 0.0)
    return solve_wilson(score(wins, draws, losses), weight, draw_share)


def solve_wilson(found: float, weight: float, draw_share: float) -> tuple[float, float]:
    """Return both p with (found - p)^2 = weight (p (1 - p) - draw_share / 4), kept within [0, 1]."""
    centre = (2 * found + weight) / (2 * (1 + weight))
    spread = centre * centre - (found * found + weight * draw_share / 4) / (1 + weight)
    half = math.sqrt(max(0.0, spread))
    return max(0.0, min(found, centre - half)), min(1.0, max(found, centre + half))


def elo_difference(expected_score: float, limit: float = ELO_LIMIT) -> float:
    """Return the Elo difference of a score: 400 log10(s / (1 - s)), kept within ±limit.

    Args:
        expected_score: from 0 to 1; 0 and 1 give -limit and +limit.
        limit: the largest difference; `math.inf` for none.

    Raises:
        ValueError: the score is not between 0 and 1.
    """
    if not 0.0 <= expected_score <= 1.0:
        raise ValueError(f"a score of {expected_score} does not lie between 0 and 1")
    if expected_score in (0.0, 1.0):
        return math.copysign(limit, expected_score - 0.5)
    return max(-limit, min(limit, ELO_SCALE * math.log10(expected_score / (1 - expected_score))))


def measured(wins: int, draws: int, losses: int) -> dict[str, float]:
    """Return a match's score and Elo difference, and the limits of their 95 % intervals, by name."""
    found = (score(wins, draws, losses), *score_interval(wins, draws, losses))
    names = ("score", "low", "high", "elo", "elo_low", "elo_high")
    return dict(zip(names, (*found, *map(elo_difference, found)), strict=True))


def count_games(wins: int, draws: int, losses: int) -> int:
    """Return the number of games of a match.

    Raises:
        ValueError: there are none, or a count is negative.
    """
    if min(wins, draws, losses) < 0 or wins + draws + losses == 0:
        raise ValueError(f"{wins} wins, {draws} draws and {losses} losses are no match")
    return wins + draws + losses


def count_results(outcomes: Sequence[float]) -> tuple[int, int, int]:
    """Return wins, draws and losses among outcomes: positive, 0 and negative."""
    signs = np.sign(np.asarray(outcomes, float))
    return int((signs > 0).sum()), int((signs == 0).sum()), int((signs < 0).sum())


class Rating(NamedTuple):
    """A player's rating on one scale with others: their mean is 0, unless some are fixed."""

    elo: float
    margin: float  # half the 95 % interval of `elo`


def ratings(points: np.ndarray, games: np.ndarray, fixed: Mapping[int, float] | None = None) -> list[Rating]:
    """Return the most likely Elo ratings of M players who met each other (Bradley & Terry 1952).

    Each player gets half a drawn game that was not played, in equal shares against all whom it met, so that a
    player who won or lost everything has a rating too. The margins come from the inverse of the likelihood's
    second derivative at its top. Groups of players who never met cannot be compared; each lies around 0.

    Args:
        points: [M, M], points[i, j] is what i scored against j, a draw being half a point.
        games: [M, M], how many games that took; symmetric, points + points.T.
        fixed: players whose Elo is given and certain.

    Raises:
        ValueError: the tables do not fit each other.
    """
    points, games = np.asarray(points, float), np.asarray(games, float)
    if games.shape != points.shape or not np.allclose(points + points.T, games):
        raise ValueError("points and points.T must add up to games")
    met = games > 0
    share = 1 / np.maximum(met.sum(axis=1), 1)
    drawn = met * (share[:, None] + share[None, :]) / 2
    scored, played = points + drawn / 2, games + drawn
    elo = ELO_SCALE / math.log(10)
    strength = np.zeros(len(points))  # in nats: the odds of i against j are exp(strength[i] - strength[j])
    free = np.ones(len(points), np.bool_)
    for player, given in (fixed or {}).items():
        strength[player], free[player] = given / elo, False
    spread = np.zeros(points.shape)  # of the free players; none of the others
    for _ in range(200):
        expected = 1 / (1 + np.exp(strength[None, :] - strength[:, None]))
        slope = (scored - played * expected).sum(axis=1)
        weights = played * expected * (1 - expected)
        curvature = np.diag(weights.sum(axis=1)) - weights
        spread[np.ix_(free, free)] = np.linalg.pinv(curvature[np.ix_(free, free)], hermitian=True)
        step = np.clip(spread @ slope, -1.0, 1.0)
        strength += step
        if np.abs(step).max(initial=0.0) < 1e-9:
            break
    margins = Z * np.sqrt(np.diag(spread))
    return [Rating(*pair) for pair in (elo * np.stack([strength, margins], axis=1)).tolist()]


class SequentialTest(NamedTuple):
    """A test of two hypotheses of an Elo difference."""

    llr: float  # logarithm of the likelihood of elo1 over that of elo0
    lower: float  # elo0 is accepted at or below it
    upper: float  # elo1 is accepted at or above it
    decision: str  # "accepted" (elo1), "rejected" (elo0) or "go on"


def sequential_test(
    pairs: Sequence[int], elo0: float, elo1: float, alpha: float = 0.05, beta: float = 0.05
) -> SequentialTest:
    """Run a sequential probability ratio test (Wald 1945) on pairs of games, as fishtest defines it.

    Two games of one opening with colours swapped are one observation, since their results are not
    independent. The likelihood of an Elo difference is that of the most likely distribution of a pair's
    points among those with its expected score (the generalised ratio test). Elo is the usual, logistic one.

    Args:
        pairs: [5], how many pairs gave 0, 1/2, 1, 3/2 and 2 points.
        elo0: the difference that is rejected.
        elo1: the one that is accepted; above elo0.
        alpha: how often elo1 may be accepted if elo0 is true.
        beta: how often elo0 may be accepted if elo1 is true.

    Raises:
        ValueError: the counts are not five, or one is negative; elo1 is not above elo0; alpha or beta is not
            between 0 and 1/2.
    """
    if len(pairs) != 5 or min(pairs) < 0:
        raise ValueError(f"{list(pairs)} are not five counts of pairs")
    if not elo0 < elo1 or not 0.0 < alpha < 0.5 or not 0.0 < beta < 0.5:
        raise ValueError(f"{elo0=} must lie below {elo1=}, and {alpha=} and {beta=} between 0 and 1/2")
    lower, upper = math.log(beta / (1 - alpha)), math.log((1 - beta) / alpha)
    llr = 0.0
    if sum(pairs):
        counts = np.maximum(np.asarray(pairs, float), PAIRS_UNSEEN)
        likely0, likely1 = (most_likely(counts / counts.sum(), expected_score(elo)) for elo in (elo0, elo1))
        llr = float((counts * np.log(likely1 / likely0)).sum())
    decision = "accepted" if llr >= upper else "rejected" if llr <= lower else "go on"
    return SequentialTest(llr, lower, upper, decision)


def expected_score(elo: float) -> float:
    """Return the score, from 0 to 1, of a side that is `elo` points above the other."""
    return 1 / (1 + 10 ** (-elo / ELO_SCALE))


def most_likely(shares: np.ndarray, mean: float) -> np.ndarray:
    """Return [5]: the distribution over PAIR_SCORES with that mean that makes `shares` most likely.

    With a Lagrange multiplier x it is shares / (1 + x (scores - mean)), x solving sum(that * (scores - mean))
    = 0. The sum falls as x grows, so x is found by halving.
    """
    away = PAIR_SCORES - mean
    low, high = -1 / away.max(), -1 / away.min()
    for _ in range(100):
        x = (low + high) / 2
        if (shares * away / (1 + x * away)).sum() > 0:
            low = x
        else:
            high = x
    probabilities: np.ndarray = shares / (1 + low * away)
    return probabilities


def pair_counts(outcomes: Sequence[float]) -> list[int]:
    """Return [5]: how many pairs of games gave 0, 1/2, 1, 3/2 and 2 points.

    Args:
        outcomes: of all games in order, 1 won, 0 drawn, -1 lost; games 2k and 2k + 1 are a pair.

    Raises:
        ValueError: a game has no partner.
    """
    if len(outcomes) % 2:
        raise ValueError(f"{len(outcomes)} games are no pairs")
    points = (np.asarray(outcomes, float).reshape(-1, 2) + 1).sum(axis=1)  # 0 to 4 half points
    counts: list[int] = np.bincount(points.astype(int), minlength=5).tolist()
    return counts
