"""Finished games to training examples: whose value a target is, what the planes show, and where symmetries take things."""

from __future__ import annotations

import numpy as np
import pytest

from azero.examples import Examples, GameRecord, encode, examples_of, repeats_by_surprise
from azero.games import make_game
from azero.games.game import Game


@pytest.fixture(scope="module")
def game() -> Game:
    return make_game("tictactoe")


def play(game: Game, actions: list[int], searched: list[bool] | None = None, number: int = 0) -> GameRecord:
    """A record of that game whose policy targets are the moves played."""
    state = game.initial_state()
    states, to_play = [], []
    for action in actions:
        states.append(state)
        to_play.append(game.to_play(state))
        state = game.step(state, action)
    outcome = game.outcome(state) * (1.0 if game.to_play(state) == 0 else -1.0)
    kept = np.array([True] * len(actions) if searched is None else searched)
    return GameRecord(
        number=number,
        states=np.array(states),
        to_play=np.array(to_play, np.int8),
        actions=np.array(actions, np.int32),
        policy_target=np.eye(9, dtype=np.float32)[actions] * kept[:, None],
        root_value=np.zeros(len(actions), np.float32),
        searched=kept,
        first_outcome=outcome,
    )


def test_the_winner_learns_one_and_the_loser_minus_one(game: Game) -> None:
    first_wins = play(game, [0, 3, 1, 4, 2])  # X X X / O O
    second_wins = play(game, [0, 3, 1, 4, 8, 5])  # O completes 3 4 5
    draw = play(game, [0, 1, 2, 4, 3, 5, 7, 6, 8])
    assert [record.first_outcome for record in (first_wins, second_wins, draw)] == [1.0, -1.0, 0.0]
    assert examples_of([first_wins]).value_target.tolist() == [1, -1, 1, -1, 1]
    assert examples_of([second_wins]).value_target.tolist() == [-1, 1, -1, 1, -1, 1]
    assert examples_of([draw]).value_target.tolist() == [0.0] * 9
    assert not np.signbit(examples_of([draw]).value_target).any()


def test_the_target_follows_who_is_to_play_and_not_the_ply() -> None:
    record = GameRecord(
        number=0,
        states=np.zeros((4, 1), np.uint64),
        to_play=np.array([0, 0, 1, 0], np.int8),  # the first side moves twice
        actions=np.zeros(4, np.int32),
        policy_target=np.ones((4, 1), np.float32),
        root_value=np.zeros(4, np.float32),
        searched=np.ones(4, bool),
        first_outcome=1.0,
    )
    assert examples_of([record]).value_target.tolist() == [1, 1, -1, 1]


def test_plies_of_an_opening_are_no_examples_but_count_for_the_outcome(game: Game) -> None:
    record = play(game, [0, 3, 1, 4, 2], searched=[False, False, True, True, True])
    examples = examples_of([record])
    assert examples.value_target.tolist() == [1, -1, 1]
    assert examples.policy_target.argmax(axis=1).tolist() == [1, 4, 2]
    assert np.array_equal(examples.states, record.states[2:])


def test_moves_of_fast_searches_are_no_examples_and_no_opening(game: Game) -> None:
    record = play(game, [0, 3, 1, 4, 2])
    record.policy_target[0] = 0.0  # a random ply; then one searched fast
    record = record._replace(searched=np.array([False, False, True, True, True]))
    assert record.opening_plies == 1
    assert examples_of([record]).value_target.tolist() == [1, -1, 1]


def test_a_ply_counts_by_its_surprise() -> None:
    """Three of four plies are examples, with surprises 0.6, 0 and 0.3. Half of the weight 3 goes by surprise: 1, 0 and 0.5.

    So the weights are 0.5 + 1 = 1.5, 0.5 and 1, and sum to 3; the first is one example or two, the last always one.
    """
    searched, surprise = np.array([True, False, True, True]), np.array([0.6, 9.0, 0.0, 0.3], np.float32)
    drawn = np.array([repeats_by_surprise(searched, surprise, 0.5, np.random.default_rng(seed)) for seed in range(2000)])
    assert drawn.mean(axis=0) == pytest.approx([1.5, 0, 0.5, 1], abs=5 * 0.5 / 2000**0.5)
    assert (drawn.min(axis=0) == [1, 0, 0, 1]).all() and (drawn.max(axis=0) == [2, 0, 1, 1]).all()
    assert repeats_by_surprise(searched, 0 * surprise, 0.5, np.random.default_rng(1)).tolist() == [1, 0, 1, 1]


def test_a_repeated_ply_is_several_examples(game: Game) -> None:
    record = play(game, [0, 3, 1, 4, 2])._replace(repeats=np.array([2, 0, 1, 3, 0], np.uint8))
    examples = examples_of([record])
    assert examples.value_target.tolist() == [1, 1, 1, -1, -1, -1]
    assert np.array_equal(examples.states, record.states[[0, 0, 2, 3, 3, 3]])


def test_games_follow_each_other_in_order_with_documented_types(game: Game) -> None:
    examples = examples_of([play(game, [0, 3, 1, 4, 2]), play(game, [4, 0, 2, 6, 3, 5, 1, 7, 8], number=1)])
    assert isinstance(examples, Examples)
    assert [column.shape for column in examples] == [(14, 2), (14, 9), (14,)]
    assert [column.dtype for column in examples] == [np.uint64, np.float32, np.float32]
    assert examples.policy_target[5:].argmax(axis=1).tolist() == [4, 0, 2, 6, 3, 5, 1, 7, 8]


def test_no_games_are_refused() -> None:
    with pytest.raises(ValueError):
        examples_of([])


def test_planes_and_masks_are_the_rules_own(game: Game) -> None:
    record = play(game, [4, 0, 2, 6, 3, 5, 1, 7, 8])
    planes, legal_mask = encode(game, record.states)
    assert planes.dtype == np.float32 and legal_mask.dtype == np.bool_
    for row, state in enumerate(record.states):
        assert np.array_equal(planes[row], game.planes(state))
        assert np.array_equal(legal_mask[row], game.legal_mask(state))
