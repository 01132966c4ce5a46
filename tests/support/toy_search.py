"""A search algorithm of one's own in one file: UCB1 (Auer et al. 2002), which does not read the prior."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from azero.config.schema import SearchConfig
from azero.kernels.compiled import kernel, part
from azero.search.algorithm import SearchKind
from azero.search.root import choose_place, normalize
from azero.search.tree import ROOT, edge_range, first_edge


class Ucb(NamedTuple):
    """The constants of the search, and scratch."""

    exploration: float
    solver: bool
    weights: np.ndarray  # [A] float64: visits of the root's moves, in the order of its edges


def make_ucb(search: SearchConfig, num_games: int, num_actions: int) -> Ucb:
    return Ucb(float(search.options.get("exploration", 1.4)), search.solver, np.zeros(num_actions))


@part
def select_ucb(tree, b, node, ucb):  # type: ignore[no-untyped-def]
    """Return the edge with the highest q + exploration * sqrt(ln(visits) / count), unvisited ones first."""
    best, best_score = -1, -math.inf
    for edge in edge_range(tree, b, node):
        count, score = tree.edges[b, edge].child_visits, math.inf
        if count > 0:
            spread = math.sqrt(math.log(tree.nodes[b, node].node_visits) / count)
            score = tree.edges[b, edge].child_value_sum / count + ucb.exploration * spread
        if score > best_score:
            best, best_score = edge, score
    return best


@kernel
def begin_ucb(tree, b, ucb, temperature, stream):  # type: ignore[no-untyped-def]
    """Do nothing: the search needs no noise."""


@kernel
def root_visits(tree, b, ucb):  # type: ignore[no-untyped-def]
    """Return the visits of the root's moves, in the order of its edges."""
    first, weights = first_edge(tree, b, ROOT), ucb.weights[: tree.nodes[b, ROOT].num_edges]
    for place in range(weights.shape[0]):
        weights[place] = tree.edges[b, first + place].child_visits
    return weights


@kernel
def write_shares(tree, b, ucb, out):  # type: ignore[no-untyped-def]
    normalize(root_visits(tree, b, ucb), out)


@kernel
def root_mean(tree, b, ucb):  # type: ignore[no-untyped-def]
    return tree.nodes[b, ROOT].value_sum / tree.nodes[b, ROOT].node_visits


@kernel
def choose_visited(tree, b, ucb, temperature, stream):  # type: ignore[no-untyped-def]
    """Return an edge of the root."""
    return first_edge(tree, b, ROOT) + choose_place(root_visits(tree, b, ucb), temperature, stream)


KIND = SearchKind(
    name="ucb",
    make=make_ucb,
    next_child=select_ucb,
    begin_search=begin_ucb,
    write_target=write_shares,
    search_value=root_mean,
    choose_move=choose_visited,
    options={"exploration": 1.4},
)
