"""Alpha-beta against plain negamax, and the tic-tac-toe game that is published."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from azero.games import make_game
from azero.games.game import Game
from azero.search.alpha_beta import best_moves
from azero.search.solvers import solve

DOUBLE_MOVE = str(Path(__file__).parent / "games" / "double_move.py")


def search(game: Game, states: np.ndarray, depth: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """The first of the best moves and the value of each of states [B, S]."""
    actions, values = np.zeros(len(states), np.int64), np.zeros(len(states))
    banned = np.zeros((len(states), game.num_actions), np.bool_)
    best_moves(game.rule_addresses, states, depth or game.max_plies, banned, actions, values)
    return actions, values


def negamax(game: Game, state: np.ndarray, depth: int) -> tuple[int, float]:
    """The plain twin: no pruning, first of equal moves."""

    @cache
    def best(words: bytes, left: int) -> tuple[int, float]:
        here = np.frombuffer(words, np.uint64)
        if game.is_terminal(here):
            return -1, game.outcome(here)
        if left == 0:
            return -1, 0.0
        chosen, value = -1, -2.0
        for action in game.legal_actions(here):
            below = game.step(here, action)
            sign = 1.0 if game.to_play(below) == game.to_play(here) else -1.0
            reply = sign * best(below.tobytes(), left - 1)[1]
            if reply > value:
                chosen, value = action, reply
        return chosen, value

    return best(state.tobytes(), depth)


def play(game: Game, *actions: int) -> np.ndarray:
    """The state after some moves."""
    state = game.initial_state()
    for action in actions:
        state = game.step(state, action)
    return state


def test_tictactoe_against_itself_is_the_published_game() -> None:
    game = make_game("tictactoe")
    state, moves = game.initial_state(), []
    while not game.is_terminal(state):
        moves.append(int(search(game, state[None])[0][0]))
        state = game.step(state, moves[-1])
    assert moves == [0, 4, 1, 2, 6, 3, 5, 7, 8]


@pytest.mark.parametrize("name", ["tictactoe", DOUBLE_MOVE], ids=["tictactoe", "double_move"])
def test_every_position_has_its_exact_value_and_the_first_move_that_keeps_it(name: str) -> None:
    game = make_game(name)
    solution = solve(game)
    rows = np.flatnonzero(solution.unfinished)
    actions, values = search(game, solution.states[rows])
    np.testing.assert_array_equal(values, solution.value[rows])
    first_best = (solution.action_value[rows] == solution.value[rows][:, None]).argmax(axis=1)
    np.testing.assert_array_equal(actions, first_best)


@pytest.mark.parametrize("name", ["tictactoe", DOUBLE_MOVE], ids=["tictactoe", "double_move"])
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_a_limited_depth_agrees_with_plain_negamax(name: str, depth: int) -> None:
    game = make_game(name)
    solution = solve(game)
    states = solution.states[solution.unfinished][::40].copy()
    actions, values = search(game, states, depth)
    for state, action, value in zip(states, actions.tolist(), values.tolist(), strict=True):
        assert (action, value) == negamax(game, state, depth)


# Moves that lead to the position. Whoever owns 0, 4 and 6 threatens 2 and 3 at once.
FORCED_WINS = {
    "first player": {1: (0, 3, 1, 5), 2: (0, 1, 4, 8, 6), 3: (0, 1, 4, 8)},
    "second player": {1: (8, 0, 3, 1, 7), 2: (1, 0, 7, 4, 8, 6), 3: (1, 0, 7, 4, 8)},
}


@pytest.mark.parametrize("winner", FORCED_WINS)
@pytest.mark.parametrize("depth, value", [(1, 1.0), (2, -1.0), (3, 1.0)])
def test_a_forced_win_is_seen_at_its_depth_and_not_before(winner: str, depth: int, value: float) -> None:
    game = make_game("tictactoe")
    state = play(game, *FORCED_WINS[winner][depth])[None]
    assert float(search(game, state, depth)[1][0]) == value
    if depth > 1:
        assert float(search(game, state, depth - 1)[1][0]) == 0.0


def test_a_side_that_moves_twice_sees_the_win_of_two_stones_at_depth_2() -> None:
    game = make_game(DOUBLE_MOVE)
    state = play(game, 3, 0, 8, 4, 7)  # X 3 4 7, O 0 8; O places two stones: 1 and 2 complete a line, as do 2 and 5
    assert game.to_play(state) == 1
    assert float(search(game, state[None], depth=1)[1][0]) == 0.0
    action, value = search(game, state[None], depth=2)
    assert (int(action[0]), float(value[0])) == (1, 1.0)
    after_one = game.step(state, 1)
    assert game.to_play(after_one) == 1
    assert float(search(game, after_one[None], depth=1)[1][0]) == 1.0
