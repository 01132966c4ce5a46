"""The compiled search against its plain twin, and against positions whose right move can be seen."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from places import DOUBLE_MOVE
from plain_mcts import PlainSearch, assert_same_tree
from puct_cases import CONFIGS, LOSS_AT_DEPTH_2, WIN_AT_DEPTH_1, WIN_AT_DEPTH_3, mistaken, uniform
from searching import FakeInference, after, planes_network, random_states, searched
from trees import by_action, child_of

from azero.config.schema import SearchConfig
from azero.games import make_game
from azero.games.game import Game
from azero.search.tree import ROOT

GAMES = ("tictactoe", DOUBLE_MOVE)


@pytest.mark.parametrize("name", GAMES, ids=["tictactoe", "double_move"])
@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_compiled_search_equals_the_plain_twin_visit_for_visit(name: str, config: SearchConfig) -> None:
    game = make_game(name)
    config = replace(config, num_simulations=60, tree_reuse=False)
    states = random_states(game, 24, seed=3)
    player = searched(game, states, config)
    for b, state in enumerate(states):
        root = PlainSearch(game, planes_network(game), config).run(state, 60)
        assert_same_tree(player.tree, b, ROOT, root)


def best_and_value(
    game: Game, moves: tuple[int, ...], inference: FakeInference, num_simulations: int = 400
) -> tuple[int, float]:
    """The most visited action and the root's value for its player to move."""
    player = searched(
        game, [after(game, *moves)], SearchConfig(num_simulations=num_simulations, c_puct_base=0.0), inference
    )
    return int(player.visit_counts(np.array([0]))[0].argmax()), float(player.root_values(np.array([0]))[0])


@pytest.mark.parametrize(("moves", "winning", "advised"), WIN_AT_DEPTH_1.values(), ids=WIN_AT_DEPTH_1)
def test_a_win_at_depth_1_is_found_against_the_networks_advice(
    moves: tuple[int, ...], winning: int, advised: int
) -> None:
    game = make_game("tictactoe")
    action, value = best_and_value(game, moves, mistaken(game, advised))
    assert action == winning
    assert value > 0.8


@pytest.mark.parametrize("kind", ["puct", "gumbel"])
@pytest.mark.parametrize("tree_reuse", [False, True])
def test_the_solver_finds_a_win_at_once_however_unlikely_the_network_finds_it(
    kind: str, tree_reuse: bool
) -> None:
    """X to move wins by c1 alone; the network gives it e^-30. Rows from the top, three in a row win:

    . . . .
    . O . O
    . . . .
    X X . .
    """
    game = make_game("gomoku", rows=4, columns=4, connect=3)
    state = game.position("..../.O.O/..../XX.. X")
    win = game.parse_action(state, "c1")
    logits = np.where(np.arange(game.num_actions) == win, -30.0, 0.0).astype(np.float32)
    inference = FakeInference(game, lambda planes: (logits, np.float32(0.0)))
    config = SearchConfig(kind=kind, solver=True, tree_reuse=tree_reuse and kind == "puct", num_simulations=8)
    player = searched(game, [state, game.initial_state()], config, inference)
    visits = player.visit_counts(np.arange(2))
    assert visits[0].tolist() == (np.arange(game.num_actions) == win).tolist() and visits[1].sum() == 8
    assert player.root_values(np.arange(2)).tolist()[0] == 1.0
    assert player.choose(state[None], np.array([0]), np.array([4])).tolist() == [win]
    player.search_states(state[None], np.array([1]), (np.arange(game.num_actions) == win)[None])
    assert player.visit_counts(np.array([1]))[0].sum() == 8  # a banned one is none
    without = searched(game, [state], replace(config, solver=False), inference)
    assert without.visit_counts(np.array([0]))[0, win] == 0


@pytest.mark.parametrize("moves", LOSS_AT_DEPTH_2.values(), ids=LOSS_AT_DEPTH_2)
def test_a_loss_at_depth_2_is_seen_by_the_side_to_move(moves: tuple[int, ...]) -> None:
    game = make_game("tictactoe")
    _, value = best_and_value(game, moves, uniform(game))
    assert value < -0.8


@pytest.mark.parametrize(("moves", "winning", "advised"), WIN_AT_DEPTH_3.values(), ids=WIN_AT_DEPTH_3)
def test_a_win_at_depth_3_is_found_against_the_networks_advice(
    moves: tuple[int, ...], winning: int, advised: int
) -> None:
    game = make_game("tictactoe")
    action, value = best_and_value(game, moves, mistaken(game, advised), num_simulations=1000)
    assert action == winning
    assert value > 0.8


def test_ends_of_the_game_cost_no_evaluation() -> None:
    # X X O
    # O O X     X plays 8 and the game is a draw: the root is evaluated, and that is all
    # X O 8
    game = make_game("tictactoe")
    inference = uniform(game)
    player = searched(
        game, [after(game, 0, 2, 1, 3, 5, 4, 6, 7)], SearchConfig(num_simulations=50), inference
    )
    assert inference.calls == 1
    assert player.visit_counts(np.array([0]))[0].tolist() == [0, 0, 0, 0, 0, 0, 0, 0, 50]
    assert player.root_values(np.array([0]))[0] == 0.0


def test_a_cache_changes_nothing_but_the_number_of_evaluations() -> None:
    game = make_game("tictactoe")
    config = SearchConfig(num_simulations=80)
    states = random_states(game, 20, seed=5)
    without, with_cache = FakeInference(game), FakeInference(game)
    plain = searched(game, states, config, without)
    cached = searched(game, states, config, with_cache, cache=4096)
    everyone = np.arange(20)
    assert (plain.visit_counts(everyone) == cached.visit_counts(everyone)).all()
    assert (plain.root_values(everyone) == cached.root_values(everyone)).all()
    assert with_cache.calls < without.calls


def test_more_positions_than_rows_are_searched_the_same() -> None:
    game = make_game("tictactoe")
    states = random_states(game, 20, seed=6)
    config = SearchConfig(num_simulations=30)
    everyone = np.arange(20)
    narrow = searched(game, states, config, FakeInference(game, batch_size=3)).visit_counts(everyone)
    wide = searched(game, states, config, FakeInference(game, batch_size=64)).visit_counts(everyone)
    assert (narrow == wide).all()


def test_a_reused_tree_goes_on_from_its_visits() -> None:
    """After 0 and 4 the tree of the first search knows the position; 30 new simulations come on top of what
    it knew.
    """
    game = make_game("tictactoe")
    player = searched(game, [after(game)], SearchConfig(num_simulations=300), uniform(game))
    grandchild = child_of(player.tree, 0, child_of(player.tree, 0, ROOT, 0), 4)
    before = int(player.tree.nodes[0, grandchild]["node_visits"])
    counts_before = by_action(player.tree, 0, grandchild, "child_visits", 9)
    assert before > 2
    player.search_states(after(game, 0, 4)[None], np.array([0]))
    assert player.tree.nodes[0, ROOT]["node_visits"] == before + 300
    assert (player.visit_counts(np.array([0]))[0] >= counts_before).all()


def test_a_full_tree_forgets_its_latest_nodes_and_searches_on() -> None:
    game = make_game("tictactoe")
    config = SearchConfig(num_simulations=40)
    player = searched(game, [after(game)], config, uniform(game))
    for moves in ((), (), (), (0,), (0, 4), (0, 4), (0, 4)):
        player.search_states(after(game, *moves)[None], np.array([0]))
        assert player.tree.searches[0]["num_nodes"] <= player.tree.nodes.shape[1]
        assert player.visit_counts(np.array([0]))[0].sum() >= 40
