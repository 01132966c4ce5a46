"""The player perfect: it never loses, knows when it is not exact, and agrees with other solvers."""

from __future__ import annotations

import numpy as np
import pytest
from places import DOUBLE_MOVE
from plain_solvers import PlainConnectFour, othello_lead

from azero.config.schema import UserError
from azero.games import make_game
from azero.games.game import Game
from azero.players import make_player
from azero.players.perfect import PerfectPlayer


def perfect(game: Game, seconds: float = 30.0) -> PerfectPlayer:
    """Return the player with enough time and a small table."""
    player = make_player("perfect", game, seconds=seconds, table=1_000_000)
    assert isinstance(player, PerfectPlayer)
    return player


def worst_result(game: Game, player: PerfectPlayer, side: int) -> float:
    """Return the worst result of the player as first (0) or second (1) mover over every line of play."""
    known: dict[bytes, float] = {}

    def worst(state: np.ndarray) -> float:
        key = state.tobytes()
        if key not in known:
            if game.is_terminal(state):
                known[key] = game.outcome(state) * (1.0 if game.to_play(state) == side else -1.0)
            elif game.to_play(state) == side:
                known[key] = worst(game.step(state, player.analyse(state).action))
            else:
                known[key] = min(worst(game.step(state, action)) for action in game.legal_actions(state))
        return known[key]

    return worst(game.initial_state())


@pytest.mark.parametrize("side", [0, 1])
def test_it_never_loses_at_tictactoe_whatever_the_opponent_does(side: int) -> None:
    game = make_game("tictactoe")
    player = perfect(game)
    assert player.solved
    assert worst_result(game, player, side) == 0.0


@pytest.mark.parametrize(
    "name, options, side, worst",
    [
        ("connect_four", {"rows": 4, "columns": 4}, 0, 0.0),
        ("connect_four", {"rows": 4, "columns": 4}, 1, 0.0),
        ("othello", {"size": 4}, 1, 1.0),  # the second player wins
    ],
)
def test_it_gets_the_exact_value_of_larger_games_whatever_the_opponent_does(
    name: str, options: dict[str, int], side: int, worst: float
) -> None:
    game = make_game(name, **options)
    player = perfect(game)
    assert not player.solved
    assert worst_result(game, player, side) == worst


def test_a_solved_game_takes_the_first_of_equal_moves() -> None:
    game, moves = make_game("tictactoe"), list[int]()
    player, state = perfect(game), game.initial_state()
    while not game.is_terminal(state):
        moves.append(int(player.choose(state[None], np.zeros(1, np.int64), np.zeros(1, np.int64))[0]))
        assert [found.exact for found in player.found] == [True]
        state = game.step(state, moves[-1])
    assert moves == [0, 4, 1, 2, 6, 3, 5, 7, 8]


def test_a_game_of_one_s_own_is_solved_too() -> None:
    game = make_game(DOUBLE_MOVE)
    player = perfect(game)
    assert player.analyse(game.initial_state()).exact
    assert worst_result(game, player, 0) == player.analyse(game.initial_state()).value


def test_the_ends_of_connect_four_are_exact_and_agree_with_an_independent_solver() -> None:
    game, plain = make_game("connect_four"), PlainConnectFour(6, 7)
    player, rng, values = perfect(game), np.random.default_rng(5), list[float]()
    while len(values) < 8:
        moves, state = list[int](), game.initial_state()
        while len(moves) < 27 and not game.is_terminal(state):
            moves.append(int(rng.choice(game.legal_actions(state))))
            state = game.step(state, moves[-1])
        if game.is_terminal(state):
            continue
        found = player.analyse(state)
        assert found.exact and found.value == plain.value(*plain.position(moves))
        after = game.step(state, found.action)
        if not game.is_terminal(after):
            assert plain.value(*plain.position([*moves, found.action])) == -found.value
        values.append(found.value)
    assert len(set(values)) > 1


def test_othello_4x4_agrees_with_an_independent_solver() -> None:
    game = make_game("othello", size=4)
    assert (
        othello_lead("." * 5 + "ox." + ".xo." + "." * 4, 4) == -8
    )  # as published: 8 discs for the second player
    player = perfect(game)
    found = player.analyse(game.initial_state())
    assert (found.value, found.exact) == (-1.0, True)
    rng = np.random.default_rng(1)
    for _ in range(60):
        state = game.initial_state()
        for _ in range(int(rng.integers(0, 8))):
            state = game.step(state, int(rng.choice(game.legal_actions(state))))
            if game.is_terminal(state):
                break
        else:
            board = "".join(
                "x" if int(state[0]) >> c & 1 else "o" if int(state[1]) >> c & 1 else "." for c in range(16)
            )
            found = player.analyse(state)
            assert found.exact and found.value == np.sign(othello_lead(board, 4))


def test_it_says_when_a_move_is_not_exact() -> None:
    game = make_game("connect_four")
    player = perfect(game, seconds=0.02)
    player.choose(game.initial_state()[None], np.zeros(1, np.int64), np.zeros(1, np.int64))
    assert not player.found[0].exact


@pytest.mark.parametrize(
    "name, sentence",
    [
        ("go", "player perfect cannot play go: its legal moves depend on history"),
        (
            "gomoku",
            "player perfect cannot solve gomoku of up to 225 plies; it plays connect_four and othello",
        ),
        ("hex", "player perfect cannot solve hex of up to 49 plies"),
    ],
)
def test_games_that_it_cannot_play_are_refused_in_one_sentence(name: str, sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        make_player("perfect", make_game(name))
