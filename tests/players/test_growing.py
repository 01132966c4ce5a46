"""Searches that grow: they end with what their players find, and can be read, stopped and continued."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from playing import play
from searching import FakeInference, columns_of

from azero.config.schema import SearchConfig, UserError
from azero.games import make_game
from azero.games.game import Game
from azero.games.playing import GameInProgress
from azero.players import Player, Thought, make_player, move_of
from azero.players.growing import growing_search, whole_search
from azero.players.uct import UctPlayer

# X . .
# . O .     X is to move, and 3 completes the left column
# X O .
NEARLY_WON = "0 4 6 7"


def player_of(game: Game, name: str, simulations: int) -> Player:
    """Return pv_mcts with a fake network, or uct."""
    if name == "pv_mcts":
        search = SearchConfig(num_simulations=simulations, solver=True)
        return make_player(name, game, inference=FakeInference(game), search=search)
    return make_player(name, game, num_simulations=simulations)


@pytest.mark.parametrize("name", ["pv_mcts", "uct"])
def test_grown_in_pieces_it_is_the_search_of_the_player(name: str) -> None:
    game = make_game("connect_four")
    state = play(game, "4 4 3")
    player, twin = player_of(game, name, 300), player_of(game, name, 300)
    twin.new_games(np.zeros(1, np.uint64))
    move_of(twin, GameInProgress(game, state=state))
    visits, _ = columns_of(twin.read(), game.num_actions)  # type: ignore[attr-defined]
    search = growing_search(player)
    search.begin(state)
    pieces = 1
    while search.grow(0.0):
        pieces += 1
    thought = search.read()
    assert thought is not None and pieces > 1
    assert {move.action: move.visits for move in thought.moves} == dict(enumerate(visits.tolist()))
    assert thought.visits == visits.sum() and thought.best == visits.argmax()


def test_uct_with_many_rollouts_finds_the_same_however_it_is_interrupted() -> None:
    game = make_game("connect_four")
    options: dict[str, Any] = {"num_simulations": 21_300, "rollouts": 2500, "rollout_depth": 6}
    options["heuristic"] = "lines"

    def whole() -> Thought | None:
        search = growing_search(make_player("uct", game, **options))
        search.begin(game.initial_state())
        assert not search.grow(math.inf)
        return search.read()

    def in_pieces(seconds: float) -> Thought | None:
        search = growing_search(make_player("uct", game, **options))
        search.begin(game.initial_state())
        while search.grow(seconds):
            pass
        return search.read()

    thought = whole()
    assert thought is not None and thought.visits == 21_300 and len(thought.moves) == 7
    assert in_pieces(0.0) == in_pieces(0.003) == thought


@pytest.mark.parametrize("name", ["pv_mcts", "uct"])
def test_it_finds_the_win_and_says_so_for_the_player_to_move(name: str) -> None:
    game = make_game("tictactoe")
    search = growing_search(player_of(game, name, 400))
    thought = whole_search(search, play(game, NEARLY_WON))  # X at 0 and 6: 3 wins
    assert thought.best == 3
    won = next(move for move in thought.moves if move.action == 3)
    assert won.value == 1.0 and won.line == (3,)
    assert (won.lower, won.upper) == ((1.0, 1.0) if name == "pv_mcts" else (-1.0, 1.0))
    assert search.read((3,)) is None  # the game is over there, so nothing was searched


@pytest.mark.parametrize("name", ["pv_mcts", "uct"])
def test_the_tree_can_be_read_below_its_root(name: str) -> None:
    game = make_game("connect_four")
    search = growing_search(player_of(game, name, 500))
    root = whole_search(search, game.initial_state())
    line = root.moves[0].line
    below = search.read(line[:1])
    assert len(line) >= 2 and below is not None
    assert below.moves[0].action == line[1]
    assert root.moves[0].visits - 1 <= below.visits + 1 <= root.moves[0].visits + 1
    assert search.read([0] * 7) is None  # a full column


def test_banned_moves_are_left_out_and_a_search_begins_anew() -> None:
    game = make_game("connect_four")
    banned = np.zeros(7, np.bool_)
    banned[3] = True
    for name in ("pv_mcts", "uct"):
        search = growing_search(player_of(game, name, 100))
        for _ in range(2):
            thought = whole_search(search, game.initial_state(), banned)
            assert thought.visits == 100
            assert sorted(move.action for move in thought.moves) == [0, 1, 2, 4, 5, 6]


def test_before_the_first_simulation() -> None:
    game = make_game("tictactoe")
    uct = growing_search(make_player("uct", game))
    uct.begin(game.initial_state())
    thought = uct.read()
    assert thought is not None and thought.visits == 0 and np.isnan(thought.value)
    network = growing_search(player_of(game, "pv_mcts", 10))
    network.begin(game.initial_state())
    assert network.read() is None  # not evaluated yet


def test_other_players_have_no_search_to_watch() -> None:
    with pytest.raises(UserError, match=r"^player random has no search to show; choose pv_mcts or uct\.$"):
        growing_search(make_player("random", make_game("tictactoe")))
    assert isinstance(make_player("uct", make_game("tictactoe")), UctPlayer)
