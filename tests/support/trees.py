"""Trees made by hand and read by action, for tests of the search."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from azero.games.game import Game
from azero.search.tree import EDGE, NO_PARENT, ROOT, UNVISITED, Tree, edge_to, edges_of, make_tree, soften


def give_edges(tree: Tree, node: int, actions: Sequence[int], **columns: Any) -> np.ndarray:
    """Expand a node of game 0 with edges of these actions, at the end of the pool. Return the edges.

    columns: fields of EDGE, [legal moves] each; what is left out is 0, and `child` UNVISITED. Children learn
    of their parent and of their edge.
    """
    search, nodes = tree.searches[0], tree.nodes[0]
    first = int(search["num_edges"])
    search["num_edges"] += len(actions)
    nodes["expanded"][node], nodes["first_edge"][node], nodes["num_edges"][node] = True, first, len(actions)
    edges = edges_of(tree, 0, node)
    assert len(edges) == len(actions)  # the pool has room for them
    edges["action"], edges["child"] = actions, UNVISITED
    for name, values in columns.items():
        edges[name] = values
    for edge, child in enumerate(edges["child"].tolist(), first):
        if child != UNVISITED:
            nodes["parent"][child], nodes["parent_edge"][child] = node, edge
    return edges


def root_with(
    prior: Sequence[float | None],
    visits: Sequence[int] | None = None,
    value_sums: Sequence[float] | None = None,
    root_value: float = 0.0,
    num_nodes: int = 1,
) -> Tree:
    """Return one expanded root, as after its evaluation and the simulations that `visits` counts.

    Args:
        prior: [A], None where an action is illegal, so that it has no edge.
        visits: [A] child visits.
        value_sums: [A] sums of backed-up values, for the player to move at the root.
        root_value: the network's value of the root.
        num_nodes: for which the tree has room.
    """
    legal = [action for action, share in enumerate(prior) if share is not None]
    tree = make_tree(1, num_nodes, len(prior), 1)
    edges = give_edges(
        tree,
        ROOT,
        legal,
        prior=[prior[action] for action in legal],
        child_visits=[visits[action] for action in legal] if visits else 0,
        child_value_sum=[value_sums[action] for action in legal] if value_sums else 0.0,
    )
    tree.searches["num_nodes"] = 1
    root = tree.nodes[0, ROOT]
    root["node_visits"], root["raw_value"] = 1 + edges["child_visits"].sum(), root_value
    root["value_sum"] = np.float32(root_value + edges["child_value_sum"].sum())
    return tree


def by_action(tree: Tree, b: int, node: int, field: str, num_actions: int, missing: float = 0) -> np.ndarray:
    """Return a field of a node's edges by action, [A]; `missing` where an action has no edge."""
    edges = edges_of(tree, b, node)
    found = np.full(num_actions, missing, edges.dtype[field])
    found[edges["action"]] = edges[field]
    return found


def child_of(tree: Tree, b: int, node: int, action: int) -> int:
    """Return the node behind an action, or UNVISITED."""
    edge = edge_to(tree, b, node, action)
    return UNVISITED if edge is None else int(edge["child"])


def action_at(tree: Tree, edge: int) -> int:
    """Return the action of an edge of game 0, a place in its pool."""
    return int(tree.edges["action"][0, edge])


def assert_same_edges(tree: Tree, other: Tree) -> None:
    """Assert that every node of game 0 has the same edges in both trees, in the same places.

    Logits are turned into priors first, which a guess of `prefetch` may have done already.
    """
    for node in range(int(tree.searches["num_nodes"][0])):
        for each in (tree, other):
            soften(each, 0, node)
        assert tree.nodes["first_edge"][0, node] == other.nodes["first_edge"][0, node]
        assert (edges_of(tree, 0, node) == edges_of(other, 0, node)).all()


def with_pool(tree: Tree, edges: int) -> Tree:
    """Return an empty tree whose pools have that many edges a game, [B, edges] EDGE."""
    return tree._replace(edges=np.zeros((len(tree.searches), edges), EDGE))


def assert_consistent(game: Game, tree: Tree, b: int) -> None:
    """Assert that game b's nodes, their edges and their visits fit together.

    Expanded nodes share no edge, their actions are legal ones, links agree in both directions, and a node was
    visited once for itself and once for each visit of a child, or more often where it was a leaf for long.
    """
    count, in_use = int(tree.searches["num_nodes"][b]), int(tree.searches["num_edges"][b])
    assert count <= tree.nodes.shape[1] and in_use <= tree.edges.shape[1]
    nodes, edges, states = tree.nodes[b, :count], tree.edges[b, :in_use], tree.states[b]
    linked = np.flatnonzero(nodes["parent"] != NO_PARENT)  # not the root, nor banned
    parents, places = nodes["parent"][linked], nodes["parent_edge"][linked]
    above = nodes[parents]
    assert (parents < linked).all() and above["expanded"].all()
    assert (above["first_edge"] <= places).all()
    assert (places < above["first_edge"] + above["num_edges"]).all() and (places < in_use).all()
    assert (edges["child"][places] == linked).all()
    for child, parent, action in zip(linked, parents, edges["action"][places].tolist(), strict=True):
        assert (game.step(states[parent], action) == states[child]).all()
    assert (nodes["expanded"] == (nodes["num_edges"] > 0)).all()
    assert not (nodes["terminal"] & nodes["expanded"]).any()
    for index in np.flatnonzero(nodes["expanded"]).tolist():
        actions, legal = edges_of(tree, b, index)["action"].tolist(), game.legal_actions(states[index])
        assert actions == legal or (index == ROOT and actions == sorted(set(actions) & set(legal)))
    counts = nodes["num_edges"]
    owner = np.repeat(np.arange(count), counts)
    own = nodes["first_edge"][owner] + np.arange(len(owner)) - (np.cumsum(counts) - counts)[owner]
    assert (own < in_use).all() and len(set(own.tolist())) == len(own)
    children, visits = edges["child"][own], edges["child_visits"][own]
    least = 1 + np.bincount(owner, visits, count)
    assert (nodes["node_visits"] >= least)[nodes["expanded"]].all()
    sums = np.bincount(owner, edges["prior"][own], count)
    assert (abs(sums - 1.0) < 1e-5)[nodes["expanded"] & ~nodes["logits"]].all()
    seen = children != UNVISITED
    visited, visits, owner = children[seen], visits[seen], owner[seen]
    assert (visited < count).all() and (nodes["parent"][visited] == owner).all()
    assert (0 <= nodes["node_visits"][visited]).all() and (nodes["node_visits"][visited] <= visits).all()
