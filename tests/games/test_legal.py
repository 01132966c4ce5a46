"""Legal moves in compiled code: a game that writes a mask, and its twin that writes a list."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import twins
from searching import FakeInference, random_game, random_states, searched

from azero.config.schema import BrokenGame, SearchConfig
from azero.games import make_game
from azero.games.game import LEGAL_ACTIONS, Game, rule, rules_at
from azero.games.legal import (
    ROOM_GAMES,
    ROOM_PLIES,
    Legal,
    draw_legal,
    leave_out,
    legal_room,
    list_legal,
    make_legal,
    mask_legal,
)
from azero.kernels.compiled import kernel
from azero.kernels.random_stream import new_stream, next_below


@rule(LEGAL_ACTIONS)
def none(state: np.ndarray, actions: np.ndarray) -> int:
    return 0


@kernel
def listed(addresses: Any, state: Any, legal: Any) -> int:
    return list_legal(rules_at(addresses), state, legal)


@kernel
def masked(addresses: Any, state: Any, legal: Any) -> None:
    mask_legal(rules_at(addresses), state, legal)


@kernel
def drawn(addresses: Any, state: Any, legal: Any, stream: Any) -> int:
    return draw_legal(rules_at(addresses), state, legal, stream)


@kernel
def left_over(actions: Any, count: int, banned: Any) -> int:
    return leave_out(actions, count, banned)


def without_moves() -> Game:
    """Return tic-tac-toe that lists no move."""
    game = twins.listed(make_game("tictactoe"))
    return replace(game, rules=game.rules._replace(legal_actions=none))


GAMES = {"mask": make_game("tictactoe"), "list": twins.listed(make_game("tictactoe"))}


@pytest.fixture(params=GAMES)
def game(request: pytest.FixtureRequest) -> Game:
    return GAMES[request.param]


def used(num_actions: int) -> Legal:
    """Return scratch in which an earlier position has left its moves."""
    legal = make_legal(num_actions)
    legal.mask[:], legal.actions[:] = True, num_actions - 1
    return legal


def test_both_forms_are_the_legal_moves_of_the_rules(game: Game) -> None:
    for state in random_states(GAMES["mask"], 60, seed=1):
        expected = GAMES["mask"].legal_mask(state)
        legal = used(game.num_actions)
        assert (
            legal.actions[: listed(game.rule_addresses, state, legal)].tolist()
            == np.flatnonzero(expected).tolist()
        )
        legal = used(game.num_actions)
        masked(game.rule_addresses, state, legal)
        assert (legal.mask == expected).all()
        assert (game.legal_mask(state) == expected).all()


def test_a_position_may_have_no_move() -> None:
    game, dead = without_moves(), GAMES["mask"]
    full = np.array([0b101_010_101, 0b010_101_010], np.uint64)  # a mask without a move
    for each, state in ((game, game.initial_state()), (dead, full)):
        legal = used(9)
        assert listed(each.rule_addresses, state, legal) == 0
        masked(each.rule_addresses, state, legal)
        assert not legal.mask.any()
        assert drawn(each.rule_addresses, state, used(9), new_stream(1)) == -1


def test_a_mask_and_a_list_draw_the_same_moves_each_as_often() -> None:
    for state in random_states(GAMES["mask"], 30, seed=2):
        streams, moves = (new_stream(3), new_stream(3)), []
        for _ in range(20):
            pair = [
                int(drawn(each.rule_addresses, state, used(9), stream))
                for each, stream in zip(GAMES.values(), streams, strict=True)
            ]
            assert pair[0] == pair[1]
            moves += pair
        assert (streams[0] == streams[1]).all() and set(moves) <= set(GAMES["mask"].legal_actions(state))
    state, stream = GAMES["list"].step(GAMES["list"].initial_state(), 4), new_stream(4)
    counts = np.bincount(
        [int(drawn(GAMES["list"].rule_addresses, state, used(9), stream)) for _ in range(4000)], minlength=9
    )
    assert counts[4] == 0
    np.testing.assert_allclose(np.delete(counts, 4) / 4000, 1 / 8, atol=5 * (7 / 64 / 4000) ** 0.5)


@pytest.mark.parametrize(
    ("actions", "banned", "expected"),
    [
        ([1, 3, 4, 6], [3], [1, 4, 6]),
        ([1, 3, 4, 6], [0, 2, 5], [1, 3, 4, 6]),
        ([1, 3, 4, 6], [1, 6], [3, 4]),
        ([1, 3], [1, 3, 4], []),
        ([], [1], []),
    ],
)
def test_banned_moves_are_left_out_in_order(
    actions: list[int], banned: list[int], expected: list[int]
) -> None:
    found = np.array([*actions, 6, 6], np.int32)
    left = left_over(found, len(actions), np.isin(np.arange(7), banned))
    assert found[:left].tolist() == expected


@pytest.mark.parametrize(
    ("name", "options", "most"),
    [("tictactoe", {}, 9), ("connect_four", {}, 7), ("hex", {"size": 3, "swap": False}, 9)],
)
def test_room_is_for_the_most_moves_where_the_first_position_has_them(
    name: str, options: dict[str, Any], most: int
) -> None:
    assert legal_room(make_game(name, **options)) == most


def test_room_counts_what_random_games_meet() -> None:
    """In Othello most positions have more moves than the first. The plain count of the same random games."""
    game = make_game("othello", size=6)
    stream, most, left, legal = new_stream(1), 0, ROOM_PLIES, make_legal(game.num_actions)
    for _ in range(ROOM_GAMES):
        state = game.initial_state()
        while not game.is_terminal(state) and left:
            moves = game.legal_actions(state)
            most, left = max(most, len(moves)), left - 1
            state = game.step(state, moves[next_below(stream, len(moves))])
    assert legal_room(game) == most > listed(game.rule_addresses, game.initial_state(), legal) == 4


def test_room_of_a_list_is_that_of_its_mask_and_never_none() -> None:
    assert legal_room(GAMES["list"]) == legal_room(GAMES["mask"]) == 9
    assert legal_room(without_moves()) == 1


@pytest.mark.parametrize("kind", ["puct", "gumbel"])
@pytest.mark.parametrize("cache", [0, 512])
def test_a_search_of_the_list_is_that_of_the_mask(kind: str, cache: int) -> None:
    config = SearchConfig(kind=kind, num_simulations=40, tree_reuse=False, solver=True, exact_plies=3)
    states = random_game(GAMES["mask"], np.random.default_rng(6))
    found = [
        searched(each, states, config, FakeInference(each), cache).visit_counts(np.arange(len(states)))
        for each in GAMES.values()
    ]
    assert (found[0] == found[1]).all() and found[0].any()


@pytest.mark.parametrize(("first", "second"), [(1, 0), (0, 0), (0, 9), (-1, 0)])
def test_a_list_that_cannot_be_is_one_sentence(first: int, second: int) -> None:
    @rule(LEGAL_ACTIONS)
    def legal_actions(state: np.ndarray, actions: np.ndarray) -> int:
        actions[0], actions[1] = first, second
        return 2

    game = twins.listed(make_game("tictactoe"))
    game = replace(game, rules=game.rules._replace(legal_actions=legal_actions))
    with pytest.raises(BrokenGame, match="lists legal actions that do not rise, or that it does not have"):
        legal_room(game)


def test_a_list_that_counts_more_than_all_actions_is_cut() -> None:
    """Nine actions are listed and 1,000 counted: others write no more than nine."""

    @rule(LEGAL_ACTIONS)
    def legal_actions(state: np.ndarray, actions: np.ndarray) -> int:
        for action in range(9):
            actions[action] = action
        return 1000

    game = twins.listed(make_game("tictactoe"))
    assert legal_room(replace(game, rules=game.rules._replace(legal_actions=legal_actions))) == 9
