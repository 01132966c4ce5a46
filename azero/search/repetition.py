"""Moves that a game's history forbids, removed at the root. Letters: A actions."""

from __future__ import annotations

from azero.kernels.compiled import kernel
from azero.search.tree import NO_PARENT, ROOT, UNVISITED, edge_range, first_edge


@kernel
def ban(tree, b, banned):
    """Remove banned [A] actions from game b's expanded root, with what earlier searches found behind them."""
    first, left, kept = first_edge(tree, b, ROOT), 0.0, 0
    for edge in edge_range(tree, b, ROOT):
        child = tree.edges[b, edge].child
        if banned[tree.edges[b, edge].action]:
            tree.nodes[b, ROOT].node_visits -= tree.edges[b, edge].child_visits
            tree.nodes[b, ROOT].value_sum -= tree.edges[b, edge].child_value_sum
            if child != UNVISITED:
                tree.nodes[b, child].parent = NO_PARENT
            continue
        left += tree.edges[b, edge].prior
        tree.edges[b, first + kept] = tree.edges[b, edge]
        if child != UNVISITED:
            tree.nodes[b, child].parent_edge = first + kept
        kept += 1
    tree.nodes[b, ROOT].num_edges = kept
    for edge in edge_range(tree, b, ROOT):
        tree.edges[b, edge].prior = tree.edges[b, edge].prior / left if left > 0.0 else 1.0 / kept
