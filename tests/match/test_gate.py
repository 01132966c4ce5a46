"""The gate: what counts, and what it decides."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from azero.config.schema import EvaluateConfig
from azero.match.gate import counted_games, games_at_most, judge, judge_pairs
from azero.match.lockstep import MatchGame, distinct_pairs
from azero.match.rating import sequential_test

SEQUENTIAL = EvaluateConfig(games=20, gate="sequential", most_games=400)
NOT_WEAKER = EvaluateConfig(games=20, gate="sequential", elo0=-35.0, elo1=0.0)


def match_of(*pairs: tuple[list[int], float, list[int], float]) -> list[MatchGame]:
    """Pairs of games, each as the moves and the outcome for player 0 of both."""
    games = [game for pair in pairs for game in (pair[:2], pair[2:])]
    return [MatchGame(g, g % 2, 0, actions, outcome) for g, (actions, outcome) in enumerate(games)]


WON, LOST = ([4, 0], 1.0, [4, 1], 1.0), ([3, 0], -1.0, [3, 1], -1.0)


def test_a_pair_that_repeats_another_move_by_move_is_not_counted_twice() -> None:
    games = match_of(WON, LOST, WON, WON)
    assert judge(games, EvaluateConfig(threshold=0.6)).promoted  # 6 of 8
    assert [game.number for game in counted_games(games, EvaluateConfig(distinct=True))] == [0, 1, 2, 3]
    assert not judge(games, EvaluateConfig(threshold=0.6, distinct=True)).promoted  # 2 of 4


def test_a_pair_with_one_new_game_is_a_new_one() -> None:
    swapped = ([4, 1], 1.0, [4, 0], 1.0)  # the same moves, the colours the other way round
    one_new = ([4, 0], 1.0, [4, 2], 0.0)
    assert len(distinct_pairs(match_of(WON, swapped, one_new, WON, one_new))) == 6


def test_the_sequential_test_is_asked_about_distinct_pairs_where_nobody_chooses_by_chance() -> None:
    games = match_of(WON, LOST, WON, WON)
    certain = replace(SEQUENTIAL, temperature=0.0, opening_plies=2)
    assert judge(games, certain).test == sequential_test([1, 0, 0, 0, 1], 0.0, 35.0)
    assert judge(games, replace(SEQUENTIAL, distinct=True)).test == sequential_test(
        [1, 0, 0, 0, 1], 0.0, 35.0
    )
    assert judge(games, SEQUENTIAL).test == sequential_test(
        [1, 0, 0, 0, 3], 0.0, 35.0
    )  # by chance: three draws of four


def test_a_sequential_match_goes_on_until_it_is_decided() -> None:
    """By hand: of n pairs won twice, nothing else seen, the ratio is about n ln(0.55 / 0.5) = 0.095 n; 2.94
    are 31 pairs.
    """
    assert not judge_pairs([0, 0, 0, 0, 30], 60, SEQUENTIAL).decided
    verdict = judge_pairs([0, 0, 0, 0, 32], 64, SEQUENTIAL)
    assert verdict.decided and verdict.promoted
    verdict = judge_pairs([32, 0, 0, 0, 0], 64, SEQUENTIAL)
    assert verdict.decided and not verdict.promoted
    assert not judge_pairs(
        [0, 0, 0, 0, 32], 64, replace(SEQUENTIAL, error=0.01)
    ).decided  # ln(0.99 / 0.01) = 4.60


@pytest.mark.parametrize(
    ("pairs", "promoted"), [([0, 3, 4, 7, 0], True), ([0, 5, 6, 5, 0], False), ([0] * 5, False)]
)
def test_undecided_after_the_most_games_the_likelier_difference_is_taken(
    pairs: list[int], promoted: bool
) -> None:
    before, at_the_end = judge_pairs(pairs, 398, SEQUENTIAL), judge_pairs(pairs, 400, SEQUENTIAL)
    assert not before.decided and at_the_end.decided and at_the_end.promoted == promoted
    assert at_the_end.test is not None and at_the_end.test.decision == "go on"


def test_between_players_that_draw_not_weaker_lets_equals_pass_and_stronger_does_not() -> None:
    drawn = [0, 2, 196, 2, 0]
    assert judge_pairs(drawn, 40, NOT_WEAKER) == (True, True, sequential_test(drawn, -35.0, 0.0))
    stronger = judge_pairs(drawn, 40, SEQUENTIAL)
    assert stronger.decided and not stronger.promoted


def test_without_a_gate_every_candidate_is_promoted() -> None:
    assert judge(match_of(LOST, LOST), EvaluateConfig(gate="off")) == (True, True, None)
    assert not judge(match_of(LOST, LOST), EvaluateConfig()).promoted


def test_only_a_sequential_match_may_have_more_games_than_a_round() -> None:
    assert [games_at_most(evaluate) for evaluate in (EvaluateConfig(games=8), SEQUENTIAL)] == [8, 400]


@given(
    st.lists(st.tuples(st.integers(0, 3), st.sampled_from([-1.0, 0.0, 1.0])), max_size=12).map(
        lambda some: some * 2
    )
)
def test_each_distinct_pair_is_kept_once_in_order(some: list[tuple[int, float]]) -> None:
    games = match_of(*(([move], outcome, [move, move], outcome) for move, outcome in some))
    kept = [game.actions[0] for game in distinct_pairs(games)[::2]]
    assert kept == list(dict.fromkeys(move for move, _ in some))
