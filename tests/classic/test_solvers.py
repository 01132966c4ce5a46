"""Exact values against hand-worked positions and plain negamax."""

from __future__ import annotations

import numpy as np
import pytest
from places import DOUBLE_MOVE

from azero.classic.solve import NO_POSITION, Solution, solve, unique_states
from azero.config.schema import UserError
from azero.games import make_game


@pytest.fixture(scope="module")
def solution() -> Solution:
    return solve(make_game("tictactoe"))


def row_after(solution: Solution, *actions: int) -> int:
    """The row of the position after some moves."""
    row = 0
    for action in actions:
        row = int(solution.successor[row, action])
    return row


def test_row_0_is_the_initial_position_and_every_state_is_there_once(solution: Solution) -> None:
    assert solution.states[0].tolist() == [0, 0]
    assert len(unique_states(solution.states)[0]) == len(solution.states)


def test_successors_are_what_the_rules_say(solution: Solution) -> None:
    game = make_game("tictactoe")
    for row in range(0, len(solution.states), 97):
        legal = game.legal_actions(solution.states[row]) if not solution.terminal[row] else []
        assert np.flatnonzero(solution.successor[row] != NO_POSITION).tolist() == legal
        assert np.flatnonzero(~np.isnan(solution.action_value[row])).tolist() == legal
        for action in legal:
            below = game.step(solution.states[row], action)
            np.testing.assert_array_equal(solution.states[solution.successor[row, action]], below)


def test_only_the_middle_holds_against_a_corner(solution: Solution) -> None:
    row = row_after(solution, 0)
    assert solution.value[row] == 0.0
    # replies 1 2 3 and 5 6 7 8 lose
    assert solution.action_value[row].tolist()[1:] == [-1, -1, -1, 0, -1, -1, -1, -1]
    assert np.isnan(solution.action_value[row, 0])


def test_a_double_threat_is_lost_for_the_side_to_move(solution: Solution) -> None:
    assert solution.value[row_after(solution, 0, 1, 4, 8, 6)] == -1.0
    assert solution.value[row_after(solution, 0, 1, 4, 8)] == 1.0


def test_keeps_value_tells_good_moves_from_bad_and_illegal_ones(solution: Solution) -> None:
    row = row_after(solution, 0)
    assert solution.keeps_value(np.array([row, row, row]), np.array([4, 1, 0])).tolist() == [
        True,
        False,
        False,
    ]


def test_a_game_whose_sides_move_twice_is_solved_without_turning_the_sign_in_between() -> None:
    game = make_game(DOUBLE_MOVE)
    solution = solve(game)
    for row in range(0, len(solution.states), 13):
        for action in np.flatnonzero(solution.successor[row] != NO_POSITION):
            below = solution.successor[row, action]
            sign = 1.0 if solution.to_play[below] == solution.to_play[row] else -1.0
            assert solution.action_value[row, action] == sign * solution.value[below]
    decided = solution.states[solution.terminal]
    np.testing.assert_array_equal(
        solution.value[solution.terminal], [game.outcome(state) for state in decided]
    )


def test_a_game_with_too_many_positions_is_refused() -> None:
    with pytest.raises(UserError, match="more than 100 positions"):
        solve(make_game("tictactoe"), most_positions=100)


def test_unique_states_gives_the_first_row_and_the_way_back() -> None:
    states = np.array([[2, 1], [1, 2], [2, 1], [1, 1]], np.uint64)
    distinct, first, inverse = unique_states(states)
    assert distinct.tolist() == [[1, 1], [1, 2], [2, 1]]
    assert first.tolist() == [3, 1, 0]
    np.testing.assert_array_equal(distinct[inverse], states)
