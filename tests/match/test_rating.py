"""Scores, intervals and Elo."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from azero.match.rating import (
    ELO_LIMIT,
    PAIR_SCORES,
    elo_difference,
    expected_score,
    measured,
    most_likely,
    pair_counts,
    ratings,
    score,
    score_interval,
    sequential_test,
)

matches = st.tuples(st.integers(0, 200), st.integers(0, 200), st.integers(0, 200)).filter(any)


def test_a_draw_is_half_a_win() -> None:
    assert score(2, 1, 1) == (2 + 0.5) / 4
    assert score(0, 10, 0) == 0.5


@pytest.mark.parametrize("match", [(0, 0, 0), (-1, 3, 0)])
def test_no_games_are_no_match(match: tuple[int, int, int]) -> None:
    for function in (score, score_interval, measured):
        with pytest.raises(ValueError, match="are no match"):
            function(*match)


def test_without_draws_the_interval_is_wilsons() -> None:
    # Wilson for 81 of 263, a published example (Newcombe 1998, table I): 0.2553 to 0.3662
    lower, upper = score_interval(81, 0, 182)
    assert (round(lower, 4), round(upper, 4)) == (0.2553, 0.3662)


def test_ten_wins_of_ten_leave_room_below_and_none_above() -> None:
    lower, upper = score_interval(10, 0, 0)  # z^2 = 3.8415: 10 / (10 + 3.8415)
    assert lower == pytest.approx(10 / 13.8415, abs=1e-4)
    assert upper == 1.0


def test_forty_draws_are_not_certain_but_narrower_than_twenty_wins_and_twenty_losses() -> None:
    drawn, shared = score_interval(0, 40, 0), score_interval(20, 0, 20)
    assert 0.03 < drawn[1] - 0.5 < 0.06 < 0.13 < shared[1] - 0.5 < 0.16


@given(matches)
def test_the_interval_holds_the_score_lies_within_bounds_and_is_mirrored_by_the_other_side(
    match: tuple[int, int, int],
) -> None:
    wins, draws, losses = match
    lower, upper = score_interval(wins, draws, losses)
    assert 0.0 <= lower <= score(*match) <= upper <= 1.0
    assert (1 - upper, 1 - lower) == pytest.approx(score_interval(losses, draws, wins), abs=1e-12)


@pytest.mark.parametrize("games", [20, 40])
@pytest.mark.parametrize("draw_share", [0.0, 0.3, 0.6, 0.9, 0.98])
def test_the_interval_holds_the_truth_about_as_often_as_it_says(games: int, draw_share: float) -> None:
    """The exact chance, summed over every result of a match; Wilson's own dips to 0.93 at twenty games."""
    for share_of_rest in (0.1, 0.3, 0.5, 0.8):
        win, loss = (1 - draw_share) * share_of_rest, (1 - draw_share) * (1 - share_of_rest)
        truth, covered = win + draw_share / 2, 0.0
        for wins, draws in itertools.product(range(games + 1), repeat=2):
            losses = games - wins - draws
            if losses < 0:
                continue
            lower, upper = score_interval(wins, draws, losses)
            if lower <= truth <= upper:
                ways = math.comb(games, wins) * math.comb(games - wins, draws)
                covered += ways * win**wins * draw_share**draws * loss**losses
        assert covered > 0.92


def test_elo_of_known_scores() -> None:
    assert elo_difference(0.5) == 0.0
    assert elo_difference(10 / 11) == pytest.approx(400)
    assert elo_difference(0.25) == pytest.approx(-190.85, abs=0.01)


def test_elo_of_a_score_without_a_loss_is_the_limit() -> None:
    assert elo_difference(1.0) == ELO_LIMIT
    assert elo_difference(0.0) == -ELO_LIMIT
    assert elo_difference(1.0, math.inf) == math.inf
    assert elo_difference(0.0, math.inf) == -math.inf
    assert elo_difference(0.99999) == ELO_LIMIT


@pytest.mark.parametrize("wrong", [-0.1, 1.1, math.nan])
def test_a_score_outside_its_range_has_no_elo(wrong: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        elo_difference(wrong)


@given(matches)
def test_the_elo_interval_holds_the_elo_difference(match: tuple[int, int, int]) -> None:
    found = measured(*match)
    lower, upper = found["elo_low"], found["elo_high"]
    assert -ELO_LIMIT <= lower <= elo_difference(score(*match)) <= upper <= ELO_LIMIT


def table(*scores: tuple[int, int, float, int]) -> tuple[np.ndarray, np.ndarray]:
    """Points and games of three players from (i, j, points of i, games)."""
    points, games = np.zeros((3, 3)), np.zeros((3, 3))
    for i, j, scored, played in scores:
        points[i, j], points[j, i] = scored, played - scored
        games[i, j] = games[j, i] = played
    return points, games


def test_two_players_are_apart_by_the_elo_of_their_score_with_one_draw_more() -> None:
    points, games = table((0, 1, 75, 100))
    first, second = ratings(points[:2, :2], games[:2, :2])
    assert first.elo == pytest.approx(-second.elo)
    assert first.elo - second.elo == pytest.approx(elo_difference(75.5 / 101))


def test_margins_of_two_players_are_those_of_a_logit() -> None:
    # The log odds of a score p over n games vary by 1 / (n p (1 - p)); each rating is half the difference.
    points, games = table((0, 1, 75, 100))
    share = 75.5 / 101
    expected = 1.959964 * math.sqrt(1 / (101 * share * (1 - share))) / 2 * 400 / math.log(10)
    assert [each.margin for each in ratings(points[:2, :2], games[:2, :2])] == pytest.approx(
        [expected] * 2, rel=1e-4
    )


def test_ratings_reproduce_the_scores_they_were_made_of() -> None:
    """Expected points of each player, from the ratings, are the points it made (with half a draw more, shared
    by the others).
    """
    points, games = table((0, 1, 60, 100), (0, 2, 90, 100), (1, 2, 75, 100))
    elo = np.array([each.elo for each in ratings(points, games)])
    expected = 1 / (1 + 10 ** ((elo[None, :] - elo[:, None]) / 400))
    np.fill_diagonal(expected, 0)
    assert (100.5 * expected).sum(axis=1) == pytest.approx(points.sum(axis=1) + 0.5, abs=1e-6)
    assert elo.sum() == pytest.approx(0)


def test_who_won_everything_has_a_rating_and_a_wide_margin() -> None:
    points, games = table((0, 1, 10, 10), (1, 2, 5, 10), (0, 2, 10, 10))
    first, second, third = ratings(points, games)
    assert first.elo > 300 and first.margin > second.margin
    assert second.elo == pytest.approx(third.elo)


def test_a_player_between_fixed_ones_by_hand() -> None:
    """One player, 100 games each against opponents fixed at 0 and 200: its place makes its expected points
    those it made.
    """
    points, games = table((0, 1, 70, 100), (0, 2, 50, 100))
    found = ratings(points, games, fixed={1: 0.0, 2: 200.0})
    elo = found[0].elo
    shares = [expected_score(elo), expected_score(elo - 200.0)]
    counted = 100 + 1 / 4 + 1 / 2  # with each: its own half draw is shared out, theirs are not
    assert counted * sum(shares) == pytest.approx(70 + 3 / 8 + 50 + 3 / 8, abs=1e-6)
    information = sum(counted * share * (1 - share) for share in shares)  # the log odds vary by one over that
    assert found[0].margin == pytest.approx(1.959964 / math.sqrt(information) * 400 / math.log(10), rel=1e-4)
    assert [each.elo for each in found[1:]] == pytest.approx([0.0, 200.0])
    assert [each.margin for each in found[1:]] == [0.0, 0.0]


def test_a_fixed_player_moves_the_scale_only() -> None:
    points, games = table((0, 1, 60, 100), (0, 2, 90, 100), (1, 2, 75, 100))
    free, fixed = ratings(points, games), ratings(points, games, fixed={2: 1000.0})
    assert fixed[2].elo == pytest.approx(1000.0) and fixed[2].margin == 0.0
    assert [each.elo - fixed[2].elo for each in fixed] == pytest.approx(
        [each.elo - free[2].elo for each in free], abs=1e-6
    )


def test_with_everyone_fixed_nothing_is_left_to_find() -> None:
    points, games = table((0, 1, 60, 100), (0, 2, 90, 100), (1, 2, 75, 100))
    assert [each.elo for each in ratings(points, games, fixed={0: 5.0, 1: -5.0, 2: 50.0})] == pytest.approx(
        [5.0, -5.0, 50.0]
    )


@given(st.lists(st.floats(-400, 400), min_size=2, max_size=2), st.floats(-500, 900))
def test_the_most_likely_place_is_the_best_of_many(anchors: list[float], truth: float) -> None:
    """A plain twin: of all places on a grid the likelihood is highest at the one that is found."""
    scored = [20 * expected_score(truth - anchor) for anchor in anchors]
    points, games = table(*((0, 1 + place, points, 20) for place, points in enumerate(scored)))
    found = ratings(points, games, fixed=dict(enumerate(anchors, 1)))[0].elo

    def likelihood(elo: float) -> float:
        shares = [expected_score(elo - anchor) for anchor in anchors]
        return sum(
            (points + 3 / 8) * math.log(share) + (20 + 3 / 8 - points) * math.log(1 - share)
            for points, share in zip(scored, shares, strict=True)
        )

    assert likelihood(found) >= max(likelihood(elo) for elo in range(-1500, 1501, 50)) - 1e-9


def test_tables_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="must add up"):
        ratings(np.ones((2, 2)), np.ones((2, 2)))


@pytest.mark.parametrize(
    "pairs, elo0, elo1, published, decision",
    [
        # fishtest, as told in Stockfish's pull requests 2971, 3209 and 3098 of 2020, when its Elo was the
        # logistic
        # one; some ended with a ratio that is a little below the limit, when all games under way were in
        ([17, 253, 1042, 337, 39], -0.5, 1.5, 2.96, "accepted"),
        ([11, 407, 3238, 513, 11], 0.25, 1.75, 2.93, "go on"),
        ([253, 4282, 17604, 4431, 286], -0.25, 1.25, 2.94, "go on"),
        ([58, 3302, 33130, 3518, 84], 0.25, 1.25, 2.97, "accepted"),
        ([491, 7345, 29693, 7670, 465], -0.25, 1.25, 2.96, "accepted"),
        # fast-chess, tests of its sequential test, "logistic pentanomial"; the middle count is drawn pairs
        # and shared ones
        ([223, 9863, 20279 + 1000, 10037, 246], 0.5, 2.5, -3.07, "rejected"),
        ([871, 26175, 55003 + 980, 26678, 821], 0.0, 2.0, -4.98, "rejected"),
    ],
)
def test_the_likelihood_ratio_is_the_published_one(
    pairs: list[int], elo0: float, elo1: float, published: float, decision: str
) -> None:
    found = sequential_test(pairs, elo0, elo1)
    assert found.llr == pytest.approx(published, abs=0.006)
    assert found.decision == decision


def test_the_limits_are_walds() -> None:
    # ln(0.05 / 0.95) = -2.944, ln(0.95 / 0.05) = 2.944; fishtest prints them as [-2.94, 2.94]
    found = sequential_test([0] * 5, 0, 5)
    assert (round(found.lower, 3), round(found.upper, 3), found.llr, found.decision) == (
        -2.944,
        2.944,
        0.0,
        "go on",
    )


def test_each_error_has_its_own_limit() -> None:
    # alpha bounds taking elo1 wrongly: upper ln((1 - 0.1) / 0.01) = 4.500; beta the other: lower ln(0.1 / (1
    # - 0.01)) = -2.293
    found = sequential_test([0] * 5, 0, 5, alpha=0.01, beta=0.1)
    assert (round(found.lower, 3), round(found.upper, 3)) == (-2.293, 4.500)


def test_the_most_likely_distribution_by_hand() -> None:
    # Half of the pairs 0 points, half 2, and a mean of 0.6: only the ends can carry it, 0.4 and 0.6.
    likely = most_likely(np.array([0.5, 0.0, 0.0, 0.0, 0.5]), 0.6)
    assert likely == pytest.approx([0.4, 0, 0, 0, 0.6])
    # So ten pairs each way weigh 0.6 against 0.4 by 10 ln(0.6 / 0.4) + 10 ln(0.4 / 0.6) = 0: no evidence
    # either way.
    elo = elo_difference(0.6)
    assert sequential_test([10, 0, 0, 0, 10], -elo, elo).llr == pytest.approx(0, abs=1e-6)
    # Twelve against eight: 4 ln(0.6 / 0.4) = 1.62, but for what the results not seen hold.
    assert sequential_test([8, 0, 0, 0, 12], -elo, elo).llr == pytest.approx(4 * math.log(1.5), abs=0.01)


@given(st.lists(st.integers(0, 500), min_size=5, max_size=5).filter(any), st.floats(0.2, 0.8))
def test_the_most_likely_distribution_is_one_and_has_the_mean(pairs: list[int], mean: float) -> None:
    counts = np.maximum(np.array(pairs, float), 1e-3)
    likely = most_likely(counts / counts.sum(), mean)
    assert likely.sum() == pytest.approx(1, abs=1e-6)
    assert (likely * PAIR_SCORES).sum() == pytest.approx(mean, abs=1e-6)


@given(
    st.lists(st.integers(1, 500), min_size=5, max_size=5),
    st.floats(0.2, 0.8),
    st.lists(st.floats(0.01, 1), min_size=5, max_size=5),
)
def test_no_other_distribution_with_that_mean_is_likelier(
    pairs: list[int], mean: float, others: list[float]
) -> None:
    """A plain twin: any other one, mixed with one of the ends so that it has the mean too, makes the pairs
    less likely.
    """
    counts = np.array(pairs, float)
    likely, other = most_likely(counts / counts.sum(), mean), np.array(others) / sum(others)
    end = np.eye(5)[4 if (other * PAIR_SCORES).sum() < mean else 0]
    share = ((other * PAIR_SCORES).sum() - mean) / ((other - end) * PAIR_SCORES).sum()
    other = (1 - share) * other + share * end
    assert (other * PAIR_SCORES).sum() == pytest.approx(mean) and other.sum() == pytest.approx(1)
    assert (counts * np.log(likely)).sum() >= (counts * np.log(other)).sum() - 1e-6


@pytest.mark.parametrize("true_elo, expected", [(-40.0, "rejected"), (0.0, "accepted")])
def test_simulated_matches_end_right_about_as_often_as_promised(true_elo: float, expected: str) -> None:
    """Is it not more than 40 points weaker? 100 matches of pairs drawn from a truth at either hypothesis,
    error 5 %.
    """
    rng = np.random.default_rng(5)
    win, draw = expected_score(true_elo) - 0.15, 0.3
    right = 0
    for _ in range(100):
        pairs = [0] * 5
        while sum(pairs) < 5000:
            drawn = rng.choice([0, 1, 2], p=[1 - win - draw, draw, win], size=(20, 2)).sum(axis=1)
            pairs = (np.array(pairs) + np.bincount(drawn, minlength=5)).tolist()
            decision = sequential_test(pairs, -40.0, 0.0).decision
            if decision != "go on":
                break
        right += decision == expected
    assert right >= 90


def test_pairs_are_counted_by_their_half_points() -> None:
    twice_won, loss_and_draw, shared, twice_drawn, twice_lost = [1, 1], [-1, 0], [1, -1], [0, 0], [-1, -1]
    games = [*twice_won, *loss_and_draw, *shared, *twice_drawn, *twice_lost]
    assert pair_counts(games) == [1, 1, 2, 0, 1]
    with pytest.raises(ValueError, match="3 games are no pairs"):
        pair_counts([1, 0, 0])


@pytest.mark.parametrize(
    "wrong",
    [{"pairs": [1, 2, 3]}, {"pairs": [1, 1, 1, 1, -1]}, {"elo1": -10.0}, {"alpha": 0.0}, {"beta": 0.7}],
)
def test_a_test_that_makes_no_sense_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"not five counts|must lie below"):
        sequential_test(**({"pairs": [1] * 5, "elo0": -10.0, "elo1": 0.0} | wrong))  # type: ignore[arg-type]
