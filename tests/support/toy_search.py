"""A search algorithm of one's own in one file: UCB1 (Auer et al. 2002), which does not read the prior.

Compiled kernels are kept on disk under the name of `Ucb`; rename it when you change a function.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from azero.config.schema import SearchConfig
from azero.kernels.compiled import kernel, part
from azero.search.algorithm import SearchKind
from azero.search.root import choose_action, normalize
from azero.search.tree import ROOT


class Ucb(NamedTuple):
    """The constants of the search."""

    exploration: float
    solver: bool


def make_ucb(search: SearchConfig, num_games: int, num_actions: int) -> Ucb:
    return Ucb(float(search.options.get("exploration", 1.4)), search.solver)


@part
def select_ucb(tree, b, node, ucb):  # type: ignore[no-untyped-def]
    """Return the action with the highest q + exploration * sqrt(ln(visits) / count), unvisited ones first."""
    best, best_score = -1, -math.inf
    for action in range(tree.edges.shape[2]):
        edge = tree.edges[b, node, action]
        if edge.prior < 0.0:
            continue
        score = math.inf
        if edge.child_visits > 0:
            spread = math.sqrt(math.log(tree.nodes[b, node].node_visits) / edge.child_visits)
            score = edge.child_value_sum / edge.child_visits + ucb.exploration * spread
        if score > best_score:
            best, best_score = action, score
    return best


@kernel
def begin_ucb(tree, b, ucb, temperature, stream):  # type: ignore[no-untyped-def]
    """Do nothing: the search needs no noise."""


@kernel
def root_visits(tree, b):  # type: ignore[no-untyped-def]
    visits = np.zeros(tree.edges.shape[2])
    for action in range(visits.shape[0]):
        visits[action] = tree.edges[b, ROOT, action].child_visits
    return visits


@kernel
def write_shares(tree, b, ucb, out):  # type: ignore[no-untyped-def]
    normalize(root_visits(tree, b), out)


@kernel
def root_mean(tree, b, ucb):  # type: ignore[no-untyped-def]
    return tree.nodes[b, ROOT].value_sum / tree.nodes[b, ROOT].node_visits


@kernel
def choose_visited(tree, b, ucb, temperature, stream):  # type: ignore[no-untyped-def]
    return choose_action(root_visits(tree, b), temperature, stream)


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
