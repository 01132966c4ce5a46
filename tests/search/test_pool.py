"""A pool without room for the edges of all nodes: those without stay leaves, and the rest goes on as ever."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hand_driven import PLAIN, HandDriven
from hypothesis import given, settings
from hypothesis import strategies as st
from places import DOUBLE_MOVE
from plain_mcts import PlainGumbel, PlainSearch, assert_same_tree
from searching import FakeInference, after, planes_network, random_states, searched
from trees import assert_consistent, assert_same_edges, give_edges, root_with, with_pool

from azero.config.schema import SearchConfig
from azero.games import make_game
from azero.games.game import Game
from azero.games.legal import legal_room
from azero.games.playing import ONLY_GAME
from azero.players.pv_mcts import PvMcts
from azero.search.repetition import ban
from azero.search.tree import ROOT, UNVISITED, Tree, edges_of, reroot, soften, trees_of

PUCT = SearchConfig(num_simulations=60, tree_reuse=False)
SEARCHES = {
    "puct": PUCT,
    "puct, solver": replace(PUCT, solver=True),
    "gumbel": replace(PUCT, kind="gumbel"),
    "gumbel, solver": replace(PUCT, kind="gumbel", solver=True),
}
GAMES: dict[str, tuple[str, dict[str, Any]]] = {
    "tictactoe": ("tictactoe", {}),
    "double_move": (DOUBLE_MOVE, {}),
    "connect_four": ("connect_four", {"rows": 4, "columns": 5, "connect": 3}),
    "go": ("go", {"size": 2, "komi": 0.5, "max_plies": 40}),
}


def player_with_pool(game: Game, config: SearchConfig, games: int, edges: int, leaves: int = 0) -> PvMcts:
    """Return a player of that many games whose pools have room for that many edges each."""
    inference, cache = FakeInference(game, batch_size=max(leaves, 8)), 4096 if leaves else 0
    player = PvMcts(game, inference, config, cache=cache, leaves=leaves or 1)
    player.new_games(np.zeros(games, np.uint64))
    player.searches.tree = with_pool(player.tree, edges)
    return player


@pytest.mark.parametrize("name", ["tictactoe", "double_move"])
@pytest.mark.parametrize("config", SEARCHES.values(), ids=SEARCHES)
def test_a_node_without_room_is_a_leaf_that_is_evaluated_again(name: str, config: SearchConfig) -> None:
    """As in the plain twin with as little room, visit for visit: the values are those of the network."""
    game = make_game(GAMES[name][0])
    states, full = random_states(game, 24, seed=5), 0
    for edges in (9, 20, 60):
        player = player_with_pool(game, config, len(states), edges)
        player.search_states(np.stack(states), np.arange(len(states)))
        for b, state in enumerate(states):
            twin = PlainSearch(game, planes_network(game), config)
            if config.kind == "gumbel":
                twin = PlainGumbel(game, planes_network(game), config, [0.0] * game.num_actions)
            twin.room = edges
            root = twin.run(state, config.num_simulations)
            assert_same_tree(player.tree, b, ROOT, root)
            assert_consistent(game, player.tree, b)
            assert root.visits == 61 or root.proven
            nodes = player.tree.nodes[b, : player.tree.searches["num_nodes"][b]]
            full += int((~nodes["expanded"] & ~nodes["proven"] & (nodes["node_visits"] > 1)).sum())
    assert full > 100


@settings(max_examples=40)
@given(
    seed=st.integers(0, 10_000),
    leaves=st.integers(2, 24),
    edges=st.integers(9, 120),
    kind=st.sampled_from(list(SEARCHES)),
)
def test_prefetch_finds_the_same_without_room(seed: int, leaves: int, edges: int, kind: str) -> None:
    game = make_game("tictactoe")
    state = random_states(game, 20, seed)[seed % 20]
    ahead = player_with_pool(game, SEARCHES[kind], 1, edges, leaves)
    plain = player_with_pool(game, SEARCHES[kind], 2, edges)
    ahead.search_states(state[None], ONLY_GAME)
    plain.search_states(np.stack([state, state]), np.arange(2))
    assert ahead.tree.searches[0] == plain.tree.searches[0]
    assert_same_edges(ahead.tree, plain.tree)
    assert (ahead.root_values(ONLY_GAME) == plain.root_values(ONLY_GAME)).all()
    assert_consistent(game, ahead.tree, 0)


@settings(max_examples=40)
@given(seed=st.integers(0, 10_000), leaves=st.integers(2, 24), moves=st.integers(1, 4), solver=st.booleans())
def test_prefetch_leaves_nodes_of_a_kept_tree_as_they_are(
    seed: int, leaves: int, moves: int, solver: bool
) -> None:
    """A node that found no room before the reroot may find some in a guess, which is taken back."""
    game = make_game("tictactoe")
    config = SearchConfig(num_simulations=40, solver=solver)
    ahead = player_with_pool(game, config, 1, 121 * moves, leaves)
    plain = player_with_pool(game, config, 2, 121 * moves)
    state = game.initial_state()
    while not game.is_terminal(state):
        ahead.begin(state[None], ONLY_GAME, ONLY_GAME)
        while ahead.wave(0):
            assert_consistent(game, ahead.tree, 0)
        plain.search_states(np.stack([state, state]), np.arange(2))
        assert_same_edges(ahead.tree, plain.tree)
        legal = game.legal_actions(state)
        state, seed = game.step(state, legal[seed % len(legal)]), seed // len(legal)


@pytest.mark.parametrize("name", GAMES)
@settings(max_examples=12)
@given(
    seed=st.integers(0, 10_000), moves=st.integers(1, 6), simulations=st.integers(1, 40), solver=st.booleans()
)
def test_whole_games_of_kept_trees_stay_consistent(
    name: str, seed: int, moves: int, simulations: int, solver: bool
) -> None:
    """After every wave, with pools of a few moves a node, and in Go with moves that the history forbids."""
    game = make_game(GAMES[name][0], **GAMES[name][1])
    solver = solver and not game.repetition_words
    search = SearchConfig(dirichlet_fraction=0.25, solver=solver)
    played = HandDriven(game, 3, PLAIN._replace(num_simulations=simulations), seed, search=search)
    nodes = played.tree.nodes.shape[1]
    played.tree = with_pool(played.tree, nodes * max(moves, -(-game.num_actions // nodes)))
    while played.wave() < 3 or played.make_room():
        for b in range(3):
            assert_consistent(game, played.tree, b)
        played.evaluate()
    for b in range(3):
        for ply in range(played.worker.ply[b]):
            assert played.target(b, ply).sum() == pytest.approx(1.0, abs=1e-5)


def test_room_on_the_average_is_room_enough() -> None:
    """Trees as they are made, of games with about as many legal moves everywhere, lack none."""
    game = make_game("connect_four", rows=4, columns=5, connect=3)
    tree = searched(game, random_states(game, 20, seed=1), SearchConfig(num_simulations=100)).tree
    assert tree.edges.shape == (20, 301 * legal_room(game)) and legal_room(game) == 5
    for b in range(20):
        nodes = tree.nodes[b, : tree.searches["num_nodes"][b]]
        assert (nodes["expanded"] | nodes["terminal"]).all()


def paths(tree: Tree, root: int = ROOT) -> dict[tuple[int, ...], int]:
    """Return the nodes of game 0 from a root down, by the actions that lead to them."""
    found, todo = dict[tuple[int, ...], int](), list[tuple[tuple[int, ...], int]]([((), root)])
    while todo:
        path, node = todo.pop()
        found[path] = node
        children = [edge for edge in edges_of(tree, 0, node) if edge["child"] != UNVISITED]
        todo += [((*path, int(edge["action"])), int(edge["child"])) for edge in children]
    return found


def assert_kept(before: Tree, root: int, now: Tree) -> list[tuple[int, ...]]:
    """Assert that each node kept is as it was below `root`. Return the paths of those without their edges."""
    were, lost = paths(before, root), []
    for path, node in paths(now).items():
        old, new = before.nodes[0, were[path]], now.nodes[0, node]
        assert (before.states[0, were[path]] == now.states[0, node]).all()
        for name in ("node_visits", "value_sum", "raw_value", "lower", "upper", "to_play", "terminal"):
            assert old[name] == new[name]
        edges, kept = edges_of(before, 0, were[path]), edges_of(now, 0, node)
        if len(edges) and not len(kept):
            lost.append(path)
            continue
        for name in ("action", "prior", "child_visits", "child_value_sum"):
            assert (edges[name] == kept[name]).all()
    return lost


@settings(max_examples=60)
@given(seed=st.integers(0, 10_000), moves=st.integers(1, 9), data=st.data())
def test_reroot_keeps_what_has_room(seed: int, moves: int, data: st.DataObject) -> None:
    """Several times, so that later trees have nodes which were expanded later than their successors."""
    game = make_game("tictactoe")
    config, scratch = SearchConfig(num_simulations=50), np.zeros(151, np.int32)
    player = player_with_pool(game, config, 1, 151 * moves)
    state = random_states(game, 20, seed)[seed % 20]
    for _ in range(3):
        player.search_states(state[None], ONLY_GAME)
        tree, before = player.tree, Tree(*(array.copy() for array in player.tree))
        assert_consistent(game, tree, 0)
        children = [int(child) for child in edges_of(tree, 0, ROOT)["child"] if child != UNVISITED]
        running = [child for child in children if not tree.nodes["terminal"][0, child]]
        if not running:
            break
        root = data.draw(st.sampled_from(running))
        soften(before, 0, root)
        reroot(tree, 0, root, data.draw(st.integers(0, 150)), scratch)
        assert_consistent(game, tree, 0)
        assert len(paths(tree)) == tree.searches["num_nodes"][0]
        assert_kept(before, root, tree)
        state = tree.states[0, ROOT].copy()


def late(edges_of_first: int) -> Tree:
    """A root with two children, of which the second was expanded before the first, with one child."""
    tree = root_with([0.5, 0.5], [4, 5], [0.0, 1.0], num_nodes=8)
    tree.nodes["parent"][0, ROOT], tree.searches["num_nodes"][0] = -1, 4
    tree.edges["child"][0, :2] = [1, 2]
    tree.nodes["parent"][0, 1:3], tree.nodes["parent_edge"][0, 1:3] = ROOT, [0, 1]
    give_edges(tree, 2, [0, 1], child=[UNVISITED, 3], child_visits=[0, 1], child_value_sum=[0, 0.5])
    give_edges(tree, 1, range(edges_of_first), prior=1 / edges_of_first, child_visits=1)
    tree.nodes["node_visits"][0, :4] = [10, 4, 5, 1]
    tree.nodes["value_sum"][0, 2] = 1.0
    return tree


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_node_expanded_later_than_its_successors_takes_the_edges_of_one(count: int) -> None:
    """Edges are moved in the order of the nodes: those of node 1 to the places where node 2 has its own.

    Node 2 is a leaf again, with its visits and its value, and its child is forgotten.
    """
    tree = late(count)
    before = Tree(*(array.copy() for array in tree))
    reroot(tree, 0, ROOT, 0, np.zeros(8, np.int32))
    assert assert_kept(before, ROOT, tree) == [(1,)]
    assert paths(tree) == {(): 0, (0,): 1, (1,): 2}
    assert tree.searches[0]["num_nodes"] == 3 and tree.searches[0]["num_edges"] == 2 + count
    node = tree.nodes[0, 2]
    assert not node["expanded"] and node["num_edges"] == 0
    assert (node["node_visits"], node["value_sum"]) == (5, 1.0)
    assert tree.edges["child_visits"][0, :2].tolist() == [4, 5]
    assert edges_of(tree, 0, 1)["action"].tolist() == list(range(count))


def test_alone_the_later_node_s_edges_and_the_earlier_ones_are_kept() -> None:
    for root, expected in ((1, [0, 1, 2]), (2, [0, 1])):
        tree = late(3)
        reroot(tree, 0, root, 0, np.zeros(8, np.int32))
        assert edges_of(tree, 0, ROOT)["action"].tolist() == expected
        assert tree.searches[0]["num_nodes"] == root and tree.searches[0]["num_edges"] == len(expected)


@pytest.mark.parametrize("name", ["tictactoe", "double_move"])
@settings(max_examples=30)
@given(seed=st.integers(0, 10_000), data=st.data())
def test_a_ban_takes_edges_away_and_leaves_the_rest_right(name: str, seed: int, data: st.DataObject) -> None:
    game = make_game(GAMES[name][0])
    states = random_states(game, 20, seed)
    tree = searched(game, [states[seed % 20]], SearchConfig(num_simulations=60)).tree
    legal = edges_of(tree, 0, ROOT)["action"].tolist()
    gone = data.draw(st.lists(st.sampled_from(legal), max_size=len(legal) - 1, unique=True))
    before, edges = Tree(*(array.copy() for array in tree)), edges_of(tree, 0, ROOT).copy()
    stays = ~np.isin(edges["action"], gone)
    ban(tree, 0, np.isin(np.arange(game.num_actions), gone))

    assert_consistent(game, tree, 0)
    left, root = edges_of(tree, 0, ROOT), tree.nodes[0, ROOT]
    for field in ("action", "child", "child_visits", "child_value_sum"):
        assert (left[field] == edges[field][stays]).all()
    assert left["prior"] == pytest.approx(edges["prior"][stays] / edges["prior"][stays].sum(), abs=1e-6)
    assert root["node_visits"] == 1 + left["child_visits"].sum()
    sums = before.nodes["value_sum"][0, ROOT] - edges["child_value_sum"][~stays].sum()
    assert root["value_sum"] == pytest.approx(sums, abs=1e-5)
    found = {path: node for path, node in paths(before).items() if not path or path[0] not in gone}
    assert paths(tree) == found

    again = Tree(*(array.copy() for array in tree))
    reroot(again, 0, ROOT, 0, np.zeros(tree.nodes.shape[1], np.int32))
    assert_consistent(game, again, 0)
    assert set(paths(again)) == set(found) and again.searches["num_nodes"][0] == len(found)
    assert assert_kept(tree, ROOT, again) == []
    for child in left["child"][left["child"] != UNVISITED].tolist():
        moved = Tree(*(array.copy() for array in tree))
        soften(moved, 0, child)
        was = Tree(*(array.copy() for array in moved))
        reroot(moved, 0, child, 0, np.zeros(tree.nodes.shape[1], np.int32))
        assert_consistent(game, moved, 0)
        assert assert_kept(was, child, moved) == [] and len(paths(moved)) == len(paths(was, child))
        assert moved.searches["num_nodes"][0] == len(paths(moved))


def test_a_search_goes_on_after_a_ban_at_the_same_root() -> None:
    game = make_game("tictactoe")
    player = searched(game, [after(game)], SearchConfig(num_simulations=60))
    for cell in (4, 0, 8):
        banned = np.isin(np.arange(9), cell)
        visits = player.visit_counts(ONLY_GAME)[0]
        player.search_states(after(game)[None], ONLY_GAME, banned[None])
        assert_consistent(game, player.tree, 0)
        now = player.visit_counts(ONLY_GAME)[0]
        assert now[cell] == 0 and now.sum() == visits.sum() - visits[cell] + 60
    assert edges_of(player.tree, 0, ROOT)["action"].tolist() == [1, 2, 3, 5, 6, 7]
    assert trees_of(game, 1, 181).edges.shape == player.tree.edges.shape
