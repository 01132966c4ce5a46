"""PUCT, the score that chooses a child (Silver et al. 2018, "Search"):

q(s, a) + c(s) * prior(s, a) * sqrt(visits(s)) / (1 + visits(s, a))
c(s) = c_puct + ln((1 + visits(s) + c_puct_base) / c_puct_base)

With `c_puct_deviation` c(s) follows the spread of the values below s, as in KataGo ("Dynamic Variance-Scaled cPUCT" of its
KataGoMethods.md): much is tried where outcomes differ, little where all moves are worth the same.

Beside it KataGo's first-play urgency, and its forced simulations with policy-target pruning (Wu 2019, "Accelerating Self-Play
Learning in Go", sections 3.2 and 3.5): at a root that is searched to learn from, an action that has been visited is visited again
while it has fewer than sqrt(forced * prior * visits) visits. Afterwards the visits that its score alone would not have brought
are taken out of what counts.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from azero.config import SearchConfig
from azero.search.kernels import kernel, part
from azero.search.proof import adds_nothing
from azero.search.spread import square_sum
from azero.search.tree import NODE, ROOT, SPREAD_NODE

USUAL_DEVIATION = 0.4  # of values in [-1, 1], where none is known; KataGo's
USUAL_WEIGHT = 2.0  # visits that it counts for; KataGo's


class Puct(NamedTuple):
    """The constants of the score, as the kernels take them; meanings in `config.SearchConfig`."""

    c_puct: float
    c_puct_base: float  # 0: c is constant
    extra_visits: int  # added to the children's visits under the root sign: 1 or 0
    fpu_from_parent: bool
    fpu: float
    fpu_by_prior: bool = False  # fpu is multiplied by the square root of the visited actions' prior
    noisy_root: bool = False  # at the root, unless the search is a fast one
    forced: float = 0.0
    solver: bool = False
    c_puct_deviation: float = 0.0


def make_puct(config: SearchConfig) -> Puct:
    """The constants of a config."""
    return Puct(
        c_puct=float(config.c_puct),
        c_puct_base=float(config.c_puct_base),
        extra_visits=int(config.puct_visits == "node"),
        fpu_from_parent=config.fpu_mode == "parent",
        fpu=float(config.fpu),
        fpu_by_prior=config.fpu_mode == "explored",
        noisy_root=config.dirichlet_fraction > 0.0,
        forced=float(config.forced_simulations),
        solver=config.solver,
        c_puct_deviation=float(config.c_puct_deviation),
    )


def node_type(search: SearchConfig) -> np.dtype:
    """The nodes of the trees that such a search needs."""
    return SPREAD_NODE if search.c_puct_deviation > 0.0 else NODE


@part
def exploration(puct, child_visits_sum):
    """c(s) * sqrt(visits(s)), the part of the score that all children share."""
    visits = child_visits_sum + puct.extra_visits
    c = puct.c_puct
    if puct.c_puct_base > 0.0:
        c += math.log((1.0 + visits + puct.c_puct_base) / puct.c_puct_base)
    return c * math.sqrt(visits)


@kernel
def deviation_factor(tree, b, node, puct):
    """The factor on c, above 1 where a node's values differ more than usual: 1 + c_puct_deviation * (s / USUAL_DEVIATION - 1).

    s is the standard deviation of its N backed-up values around their mean m, USUAL_WEIGHT values of usual spread counting too:
    s^2 = (USUAL_WEIGHT * (m^2 + USUAL_DEVIATION^2) + sum of squares) / (USUAL_WEIGHT + N - 1) - m^2.
    """
    visits = np.float64(tree.nodes[b, node].node_visits)
    if visits <= 1.0:
        return 1.0
    square = (tree.nodes[b, node].value_sum / visits) ** 2
    # the mean's squares at least: proofs change sums after their squares were added
    squares = max(np.float64(square_sum(tree.nodes, b, node)), square * visits)
    variance = (USUAL_WEIGHT * (square + USUAL_DEVIATION**2) + squares) / (USUAL_WEIGHT + visits - 1.0) - square
    return 1.0 + puct.c_puct_deviation * (math.sqrt(max(variance, 0.0)) / USUAL_DEVIATION - 1.0)


@part
def exploration_at(tree, b, node, puct):
    """`exploration` of an expanded node, by the spread of its values where that counts."""
    scale = exploration(puct, tree.nodes[b, node].node_visits - 1)
    return scale * deviation_factor(tree, b, node, puct) if puct.c_puct_deviation > 0.0 else scale


@part
def select_child(tree, b, node, puct):
    """The legal action with the greatest score at an expanded node; of equal ones the first. With the solver it is one that may
    bring more than the node is sure of.
    """
    if puct.forced > 0.0 and node == ROOT and not tree.searches[b].fast:
        forced = next_forced(tree, b, puct)
        if forced >= 0:
            return forced
    visits = tree.nodes[b, node].node_visits
    scale = exploration_at(tree, b, node, puct)
    unvisited_q = puct.fpu
    if puct.fpu_from_parent:
        unvisited_q = tree.nodes[b, node].value_sum / visits - puct.fpu
    elif puct.fpu_by_prior:
        unvisited_q = tree.nodes[b, node].value_sum / visits - puct.fpu * explored_share(tree, b, node, puct)
    best_action = -1
    best_score = -math.inf
    for action in range(tree.edges.shape[2]):
        prior = tree.edges[b, node, action].prior
        if prior < 0.0:
            continue
        count = tree.edges[b, node, action].child_visits
        q = tree.edges[b, node, action].child_value_sum / count if count > 0 else unvisited_q
        score = q + scale * prior / (1.0 + count)
        if score > best_score and not (puct.solver and adds_nothing(tree, b, node, action)):
            best_score = score
            best_action = action
    return best_action if best_action >= 0 else first_legal(tree, b, node)


@kernel
def explored_share(tree, b, node, puct):
    """The square root of the prior of a node's visited actions; 0 at a root with noise, where all are to be tried."""
    if puct.noisy_root and node == ROOT and not tree.searches[b].fast:
        return 0.0
    explored = 0.0
    for action in range(tree.edges.shape[2]):
        if tree.edges[b, node, action].child_visits > 0:
            explored += tree.edges[b, node, action].prior
    return math.sqrt(explored)


@kernel
def forced_visits(tree, b, action, puct):
    """The least visits of a root action that is visited at all: sqrt(forced * prior * visits of all)."""
    return math.sqrt(puct.forced * tree.edges[b, ROOT, action].prior * (tree.nodes[b, ROOT].node_visits - 1))


@kernel
def next_forced(tree, b, puct):
    """The first visited root action that lacks forced visits, and may bring more than the root is sure of; -1 if none does."""
    for action in range(tree.edges.shape[2]):
        count = tree.edges[b, ROOT, action].child_visits
        lacks = count > 0 and count < forced_visits(tree, b, action, puct)
        if lacks and not (puct.solver and adds_nothing(tree, b, ROOT, action)):
            return action
    return -1


@kernel
def prune_forced(tree, b, puct, weights):
    """Take forced visits out of weights [A], the root's visits: of each action but the most visited, as many as leave its score
    below that one's. An action that keeps one visit alone loses it too.
    """
    best = weights.argmax()
    scale = exploration_at(tree, b, ROOT, puct)
    highest = visited_score(tree, b, best, scale, tree.edges[b, ROOT, best].child_visits)
    for action in range(weights.shape[0]):
        if action == best or weights[action] == 0.0 or tree.edges[b, ROOT, action].child_visits == 0:
            continue
        fewest = weights[action] - forced_visits(tree, b, action, puct)
        while weights[action] - 1 >= fewest and visited_score(tree, b, action, scale, weights[action] - 1) < highest:
            weights[action] -= 1
        if weights[action] <= 1.0:
            weights[action] = 0.0


@part
def visited_score(tree, b, action, scale, count):
    """The score of a visited root action if it had `count` visits and the same mean value."""
    edge = tree.edges[b, ROOT, action]
    return edge.child_value_sum / edge.child_visits + scale * edge.prior / (1.0 + count)


@kernel
def first_legal(tree, b, node):
    """The first legal action of an expanded node: where none may bring more, any one proves it, or is a guess of `foresight`."""
    action = 0
    while tree.edges[b, node, action].prior < 0.0:
        action += 1
    return action
