"""PUCT, AlphaZero's search (Silver et al. 2018, "Search"). It selects the action with the highest

    q(s, a) + c(s) * prior(s, a) * sqrt(visits(s)) / (1 + visits(s, a)),
    c(s) = c_puct + ln((1 + visits(s) + c_puct_base) / c_puct_base).

First-play urgency gives unvisited actions a value.

Letters: B games, N nodes, A actions. A stream is uint64 [2], see `kernels/random_stream.py`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from azero.config.schema import SearchConfig
from azero.kernels.compiled import kernel, part
from azero.kernels.random_stream import next_gamma
from azero.search.algorithm import SearchKind
from azero.search.bounds import can_be_best, cannot_improve, prefer_sure, rule_out, sure_value, within_bounds
from azero.search.root import choose_action, normalize
from azero.search.tree import ROOT


class Puct(NamedTuple):
    """The constants of PUCT; `config.schema.SearchConfig` documents them."""

    c_puct: float
    c_puct_base: float  # 0: c is constant
    extra_visits: int  # added to the children's visits under the square root: 1 or 0
    fpu_from_parent: bool
    fpu: float
    fpu_by_prior: bool = False  # fpu is multiplied by the square root of the visited actions' prior
    dirichlet_alpha: float = 1.0
    dirichlet_fraction: float = 0.0
    solver: bool = False


def make_puct(search: SearchConfig, num_games: int = 1, num_actions: int = 1) -> Puct:
    """Return the constants of a search, the same for any number of games and actions."""
    return Puct(
        c_puct=float(search.c_puct),
        c_puct_base=float(search.c_puct_base),
        extra_visits=int(search.puct_visits == "node"),
        fpu_from_parent=search.fpu_mode == "parent",
        fpu=float(search.fpu),
        fpu_by_prior=search.fpu_mode == "explored",
        dirichlet_alpha=float(search.dirichlet_alpha),
        dirichlet_fraction=float(search.dirichlet_fraction),
        solver=search.solver,
    )


@part
def exploration(puct, child_visits_sum):
    """Return c(s) * sqrt(visits(s)), the factor of the score that all actions share."""
    visits = child_visits_sum + puct.extra_visits
    c = puct.c_puct
    if puct.c_puct_base > 0.0:
        c += math.log((1.0 + visits + puct.c_puct_base) / puct.c_puct_base)
    return c * math.sqrt(visits)


@part
def select_child(tree, b, node, puct):
    """Return the action of the highest score at an expanded node."""
    visits = tree.nodes[b, node].node_visits
    scale = exploration(puct, visits - 1)
    unvisited_q = puct.fpu
    if puct.fpu_from_parent:
        unvisited_q = tree.nodes[b, node].value_sum / visits - puct.fpu
    elif puct.fpu_by_prior:
        unvisited_q = tree.nodes[b, node].value_sum / visits - puct.fpu * explored_share(tree, b, node, puct)
    best = best_action(tree, b, node, scale, unvisited_q, puct.solver)
    return best if best >= 0 else first_legal(tree, b, node)


@part
def best_action(tree, b, node, scale, unvisited_q, solver):
    """Return the first legal action of the largest q + scale * prior / (1 + visits), or -1.

    The solver skips actions that cannot improve the node's lower bound.
    """
    best, best_score = -1, -math.inf
    for action in range(tree.edges.shape[2]):
        prior = tree.edges[b, node, action].prior
        if prior < 0.0:
            continue
        count = tree.edges[b, node, action].child_visits
        q = tree.edges[b, node, action].child_value_sum / count if count > 0 else unvisited_q
        score = q + scale * prior / (1.0 + count)
        if score > best_score and not (solver and cannot_improve(tree, b, node, action)):
            best, best_score = action, score
    return best


@kernel
def explored_share(tree, b, node, puct):
    """Return the square root of the visited actions' prior.

    At a root with noise it is 0, because all actions should be tried there.
    """
    if puct.dirichlet_fraction > 0.0 and node == ROOT:
        return 0.0
    explored = 0.0
    for action in range(tree.edges.shape[2]):
        if tree.edges[b, node, action].child_visits > 0:
            explored += tree.edges[b, node, action].prior
    return math.sqrt(explored)


@kernel
def first_legal(tree, b, node):
    """Return the first legal action of an expanded node.

    It is selected if no action can improve the node: any of them proves it, or is a guess of `prefetch`.
    """
    action = 0
    while tree.edges[b, node, action].prior < 0.0:
        action += 1
    return action


@kernel
def begin_puct(tree, b, puct, temperature, stream):
    """Widen the search from game b's expanded root by Dirichlet noise."""
    add_noise(tree, b, puct.dirichlet_alpha, puct.dirichlet_fraction, stream)


@kernel
def add_noise(tree, b, alpha, fraction, stream):
    """Mix Dirichlet(alpha) noise into the root's prior: (1 - fraction) * prior + fraction * noise."""
    if fraction == 0.0:
        return
    noise, total = np.zeros(tree.edges.shape[2]), 0.0
    for action in range(noise.shape[0]):
        if tree.edges[b, ROOT, action].prior >= 0.0:
            noise[action] = next_gamma(stream, alpha)
            total += noise[action]
    if total < 1e-300:
        return  # every number underflowed, which only a tiny alpha can cause
    for action in range(noise.shape[0]):
        prior = tree.edges[b, ROOT, action].prior
        if prior >= 0.0:
            tree.edges[b, ROOT, action].prior = (1.0 - fraction) * prior + fraction * noise[action] / total


@kernel
def move_weights(tree, b, puct):
    """Return the weight of each root action after a search, [A] float64.

    It is the number of visits, corrected for proofs.
    """
    weights = np.empty(tree.edges.shape[2])
    for action in range(weights.shape[0]):
        weights[action] = tree.edges[b, ROOT, action].child_visits
    if puct.solver:
        rule_out(tree, b, weights)
        prefer_sure(tree, b, weights)
    return weights


@kernel
def write_visit_shares(tree, b, puct, out):
    """Write the policy target, out [A] float32: the weights of the root actions over their sum."""
    normalize(move_weights(tree, b, puct), out)


@kernel
def choose_by_visits(tree, b, puct, temperature, stream):
    """Return an action drawn with probability proportional to its weight ** (1 / temperature)."""
    return choose_action(move_weights(tree, b, puct), temperature, stream)


@kernel
def mean_value(tree, b, puct):
    """Return the mean value of game b's search for its player, the exact value if it is proven.

    The root's own evaluation counts. Simulations through actions that cannot be best do not, because nobody
    has to play them.
    """
    if not puct.solver or tree.nodes[b, ROOT].proven:
        return np.float64(tree.nodes[b, ROOT].value_sum) / tree.nodes[b, ROOT].node_visits
    sure = sure_value(tree, b, ROOT)
    total, visits = np.float64(tree.nodes[b, ROOT].raw_value), 1
    for action in range(tree.edges.shape[2]):
        if can_be_best(tree, b, ROOT, action, sure):
            total += tree.edges[b, ROOT, action].child_value_sum
            visits += tree.edges[b, ROOT, action].child_visits
    return max(within_bounds(tree, b, ROOT, total / visits), np.float64(sure))


KIND = SearchKind(
    name="puct",
    make=make_puct,
    next_child=select_child,
    begin_search=begin_puct,
    write_target=write_visit_shares,
    search_value=mean_value,
    choose_move=choose_by_visits,
    play_settings={"dirichlet_fraction": 0.0},
    widen="raise search.dirichlet_fraction or search.c_puct",
)
