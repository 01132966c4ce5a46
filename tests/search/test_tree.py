"""The tree's record of arrays: nodes are added, found, and kept when a move is played."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from places import DOUBLE_MOVE
from searching import FakeInference, after, searched
from trees import give_edges

from azero.config.schema import SearchConfig
from azero.games import make_game
from azero.games.game import Game, rules_at
from azero.kernels.compiled import kernel
from azero.search.tree import (
    EDGE,
    NO_LEAF,
    NO_PARENT,
    NODE,
    ROOT,
    UNVISITED,
    Tree,
    action_to,
    add_child,
    edges_of,
    find_state,
    make_tree,
    nodes_needed,
    reroot,
    reset,
    soften,
)

GAMES = ("tictactoe", DOUBLE_MOVE)


@kernel
def begin(addresses: Any, tree: Any, b: int, state: Any) -> None:
    reset(rules_at(addresses), tree, b, state)


@kernel
def add_behind(addresses: Any, tree: Any, b: int, parent: int, edge: int) -> int:
    return add_child(rules_at(addresses), tree, b, parent, edge)


def grow(game: Game, tree: Tree, parent: int, action: int) -> int:
    """Add the node behind an action of game 0's node, which is expanded first if it is not."""
    if not tree.nodes["expanded"][0, parent]:
        give_edges(tree, parent, game.legal_actions(tree.states[0, parent]))
    edge = tree.nodes["first_edge"][0, parent] + edges_of(tree, 0, parent)["action"].tolist().index(action)
    return int(add_behind(game.rule_addresses, tree, 0, parent, edge))


@pytest.fixture(scope="module", params=GAMES, ids=["tictactoe", "double_move"])
def grown(request: pytest.FixtureRequest) -> Tree:
    """Two trees with real statistics: from the start, and from a position in the middle."""
    game = make_game(request.param)
    return searched(
        game, [after(game), after(game, 4, 0)], SearchConfig(num_simulations=80), FakeInference(game)
    ).tree


def copy_of(tree: Tree) -> Tree:
    return Tree(*(array.copy() for array in tree))


class Kept(NamedTuple):
    """All that a node says, without indices of other nodes."""

    place: int
    state: tuple[int, ...]
    node: tuple[Any, ...]
    edges: list[tuple[Any, ...]]


NODE_FIELDS = [name for name in NODE.names or () if name not in ("parent", "parent_edge", "first_edge")]
EDGE_FIELDS = [name for name in EDGE.names or () if name != "child"]


def by_path(tree: Tree, b: int, root: int = ROOT) -> dict[tuple[int, ...], Kept]:
    """Every node below `root`, whose priors are none of logits, by the actions that lead to it.

    Links must agree in both directions.
    """
    soften(tree, b, root)
    found: dict[tuple[int, ...], Kept] = {}
    todo: list[tuple[int, tuple[int, ...]]] = [(root, ())]
    while todo:
        index, path = todo.pop()
        row = tree.nodes[b, index]
        found[path] = Kept(
            index,
            tuple(int(word) for word in tree.states[b, index]),
            tuple(row[name].item() for name in NODE_FIELDS),
            [tuple(edge[name].item() for name in EDGE_FIELDS) for edge in edges_of(tree, b, index)],
        )
        for place, edge in enumerate(edges_of(tree, b, index), int(row["first_edge"])):
            child = int(edge["child"])
            if child != UNVISITED:
                assert index < child < tree.searches["num_nodes"][b]
                assert tree.nodes["parent"][b, child] == index
                assert tree.nodes["parent_edge"][b, child] == place
                todo.append((child, (*path, int(edge["action"]))))
    return found


def without_place(kept: dict[tuple[int, ...], Kept]) -> dict[tuple[int, ...], tuple[Any, ...]]:
    return {path: node[1:] for path, node in kept.items()}


def rerooted(tree: Tree, b: int, new_root: int, room: int) -> Tree:
    copy = copy_of(tree)
    reroot(copy, b, new_root, room, np.zeros(tree.states.shape[1], np.int32))
    return copy


def test_an_empty_tree_waits_for_nothing() -> None:
    tree = make_tree(3, 5, 9, 2)
    assert tree.states.shape == (3, 5, 2) and tree.nodes.shape == (3, 5) and tree.edges.shape == (3, 45)
    assert (tree.searches["leaf"] == NO_LEAF).all()


def test_nodes_needed_counts_the_root_and_three_searches_when_trees_are_kept() -> None:
    assert nodes_needed(20, tree_reuse=False) == 21
    assert nodes_needed(20, tree_reuse=True) == 61


def test_reset_leaves_one_node_and_nothing_of_the_game_before(game: Game) -> None:
    tree = make_tree(2, 4, 9, 2)
    begin(game.rule_addresses, tree, 0, after(game))
    grow(game, tree, ROOT, 4)
    tree.edges[0]["prior"], tree.nodes["node_visits"][0, ROOT], tree.nodes["logits"][0, ROOT] = 0.1, 7, True
    tree.searches["leaf"][0] = 1
    untouched = copy_of(tree)
    begin(game.rule_addresses, tree, 0, after(game, 8))
    root = tree.nodes[0, ROOT]
    assert tree.searches[0]["num_nodes"] == 1 and tree.searches[0]["leaf"] == NO_LEAF
    assert (tree.states[0, ROOT] == after(game, 8)).all()
    assert (root["parent"], root["node_visits"], root["value_sum"], root["to_play"]) == (NO_PARENT, 0, 0.0, 1)
    assert not root["expanded"] and not root["terminal"] and not root["logits"]
    assert len(edges_of(tree, 0, ROOT)) == tree.searches[0]["num_edges"] == 0
    assert all((now[1] == then[1]).all() for now, then in zip(tree, untouched, strict=True))


def test_a_child_has_the_successor_s_state_and_its_parent_s_link(game: Game) -> None:
    tree = make_tree(1, 4, 9, 2)
    begin(game.rule_addresses, tree, 0, after(game))
    child = grow(game, tree, ROOT, 4)
    grandchild = grow(game, tree, child, 2)
    other = grow(game, tree, ROOT, 1)
    assert (child, grandchild, other) == (1, 2, 3)
    assert tree.searches[0]["num_nodes"] == 4
    assert (tree.states[0, grandchild] == after(game, 4, 2)).all()
    assert tree.nodes["parent"][0].tolist() == [NO_PARENT, 0, 1, 0]
    assert [action_to(tree, 0, node) for node in (1, 2, 3)] == [4, 2, 1]
    assert tree.nodes["to_play"][0].tolist() == [0, 1, 0, 1]
    assert {4: child, 1: other} == {
        edge["action"]: edge["child"] for edge in edges_of(tree, 0, ROOT) if edge["child"] != UNVISITED
    }


def test_a_child_that_ends_the_game_holds_the_outcome_for_its_player_to_move(game: Game) -> None:
    # X X 2
    # O O 5     X completes 0 1 2: O would be to play, and has lost
    # 6 7 8
    tree = make_tree(1, 3, 9, 2)
    begin(game.rule_addresses, tree, 0, after(game, 0, 3, 1, 4))
    won, on = grow(game, tree, ROOT, 2), grow(game, tree, ROOT, 5)
    assert tree.nodes["terminal"][0].tolist() == [False, True, False]
    assert (tree.nodes[0, won]["raw_value"], tree.nodes[0, won]["to_play"]) == (-1.0, 1)
    assert not tree.nodes[0, on]["terminal"]


def test_a_state_is_found_where_it_was_visited_most(game: Game) -> None:
    tree = make_tree(1, 8, 9, 2)
    begin(game.rule_addresses, tree, 0, after(game))
    leaves = []
    for moves in ((0, 4, 8), (8, 4, 0)):  # X 1 2
        node = ROOT  #                      3 O 5     reached in two orders
        for action in moves:  #             6 7 X
            node = grow(game, tree, node, action)
        leaves.append(node)
    tree.nodes["node_visits"][0, leaves] = [2, 5]
    assert find_state(tree, 0, after(game, 0, 4, 8)) == leaves[1]
    tree.nodes["node_visits"][0, leaves] = [5, 5]
    assert find_state(tree, 0, after(game, 0, 4, 8)) == leaves[0]
    assert find_state(tree, 0, after(game)) == ROOT
    assert find_state(tree, 0, after(game, 1)) == -1
    tree.searches["num_nodes"][0] = leaves[0] + 1  # what lies beyond is of another time
    tree.nodes["node_visits"][0, leaves] = [2, 5]
    assert find_state(tree, 0, after(game, 0, 4, 8)) == leaves[0]


def test_a_search_keeps_visits(grown: Tree) -> None:
    """A node was visited once for itself and once for each visit of a child; an end of the game has no
    children.
    """
    for b in range(2):
        nodes = grown.nodes[b, : grown.searches["num_nodes"][b]]
        below = np.array([edges_of(grown, b, node)["child_visits"].sum() for node in range(len(nodes))])
        edges = grown.edges[b, : grown.searches["num_edges"][b]]
        ends = nodes["terminal"]
        assert (nodes["node_visits"][~ends] == 1 + below[~ends]).all()
        assert (below[ends] == 0).all() and (nodes["node_visits"] >= 1).all()
        linked = edges["child"] != UNVISITED
        assert (nodes["node_visits"][edges["child"][linked]] == edges["child_visits"][linked]).all()
        assert (edges["child_visits"][~linked] == 0).all()
        assert (nodes["node_visits"][ROOT]) == 81


def test_reroot_keeps_the_subtree_of_any_node_and_nothing_else(grown: Tree) -> None:
    for b in range(2):
        for new_root in range(grown.searches["num_nodes"][b]):
            after_move = rerooted(grown, b, new_root, room=0)
            kept = by_path(after_move, b)
            assert without_place(kept) == without_place(by_path(grown, b, new_root))
            assert after_move.searches[b]["num_nodes"] == len(kept)
            assert after_move.searches[b]["leaf"] == NO_LEAF
            assert after_move.nodes["parent"][b, ROOT] == NO_PARENT
            other = 1 - b
            assert all((now[other] == then[other]).all() for now, then in zip(after_move, grown, strict=True))


def test_reroot_at_the_root_changes_nothing(grown: Tree) -> None:
    assert by_path(rerooted(grown, 0, ROOT, room=0), 0) == by_path(grown, 0)


def test_when_room_is_short_the_latest_nodes_are_forgotten_and_their_edges_keep_the_statistics(
    grown: Tree,
) -> None:
    num_nodes = grown.states.shape[1]
    edges = edges_of(grown, 0, ROOT)
    child = int(edges["child"][edges["child_visits"].argmax()])
    for new_root in (ROOT, child):
        whole = by_path(grown, 0, new_root)
        for most in (1, 2, 3, len(whole) // 2, len(whole) - 1, len(whole)):
            oldest = sorted(whole, key=lambda path: whole[path].place)[:most]
            after_move = rerooted(grown, 0, new_root, room=num_nodes - most)
            kept = by_path(after_move, 0)
            assert without_place(kept) == without_place({path: whole[path] for path in oldest})
            assert sorted(kept, key=lambda path: kept[path].place) == oldest
            assert after_move.searches[0]["num_nodes"] == most


def test_a_search_goes_on_in_a_tree_that_has_forgotten(game: Game) -> None:
    """Visits of a node stay 1 + its children's; a child that was made anew has fewer visits than the edge
    that leads to it.
    """
    config = SearchConfig(num_simulations=60)
    player = searched(game, [after(game)], config, FakeInference(game))
    player.search_states(after(game)[None], np.zeros(1, np.int64))
    player.search_states(
        after(game)[None], np.zeros(1, np.int64)
    )  # 181 visits in 181 places, and 60 must be free: some are forgotten
    player.search_states(after(game)[None], np.zeros(1, np.int64))
    tree = player.tree
    nodes = tree.nodes[0, : tree.searches["num_nodes"][0]]
    assert nodes["node_visits"][ROOT] == 1 + 4 * 60
    running = ~nodes["terminal"]
    grown_anew = 0
    for index in np.flatnonzero(running):
        edges = edges_of(tree, 0, int(index))
        assert nodes["node_visits"][index] == 1 + edges["child_visits"].sum()
        for child, visits in zip(edges["child"], edges["child_visits"], strict=True):
            if child != UNVISITED:
                assert nodes["node_visits"][child] <= visits
                grown_anew += nodes["node_visits"][child] < visits
    assert grown_anew > 0
