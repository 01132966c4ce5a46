"""The player that looks one ply ahead by the network's value."""

from __future__ import annotations

import numpy as np
import pytest
from places import DOUBLE_MOVE
from searching import FakeInference, after, random_states

from azero.classic.look_ahead import UNKNOWN
from azero.games import make_game
from azero.players import make_player
from azero.players.value import ValuePlayer


@pytest.mark.parametrize(
    "name", ["tictactoe", DOUBLE_MOVE, "connect_four"], ids=["tictactoe", "double_move", "connect_four"]
)
def test_a_move_is_worth_what_the_network_or_the_rules_say_of_the_position_behind_it(name: str) -> None:
    game = make_game(name)
    inference, states = FakeInference(game, batch_size=7), np.array(random_states(game, 40, seed=3))
    values = ValuePlayer(game, inference).action_values(states)
    network = 0
    for row, state in enumerate(states):
        for action in range(game.num_actions):
            if action not in game.legal_actions(state):
                assert values[row, action] == UNKNOWN
                continue
            successor = game.step(state, action)
            over = game.is_terminal(successor)
            network += not over
            value = game.outcome(successor) if over else inference.answer(game.planes(successor))[1]
            assert values[row, action] == (
                value if game.to_play(successor) == game.to_play(state) else -value
            )
    assert inference.calls == -(-network // 7)  # whole batches, but for the last


def test_the_best_move_is_chosen_the_first_of_equals_and_never_a_banned_one() -> None:
    game = make_game("tictactoe")
    flat = FakeInference(game, lambda _planes: (np.zeros(9, np.float32), np.float32(0.25)))
    player = make_player("value", game, inference=flat)
    states = np.stack([after(game, 4), after(game, 0, 3, 1, 4), after(game, 0, 3, 1, 4)])
    banned = np.zeros((3, 9), np.bool_)
    banned[2, 2] = True  # it would win
    assert player.choose(states, np.arange(3), np.zeros(3, np.int64), banned).tolist() == [
        0,
        2,
        5,
    ]  # 5 wins for the other only
    assert player.choose(states, np.arange(3), np.zeros(3, np.int64)).tolist() == [0, 2, 2]
    assert player.choose(states[:0], np.arange(0), np.zeros(0, np.int64)).tolist() == []
