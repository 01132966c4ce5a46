"""PUCT, AlphaZero's search (Silver et al. 2018, "Search"). It selects the move with the highest

    q(s, a) + c(s) * prior(s, a) * sqrt(visits(s)) / (1 + visits(s, a)),
    c(s) = c_puct + ln((1 + visits(s) + c_puct_base) / c_puct_base).

First-play urgency gives unvisited moves a value.

Letters: B games, N nodes, A actions, M legal moves of the root. A stream is uint64 [2], see
`kernels/random_stream.py`.
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
from azero.search.root import choose_place, normalize
from azero.search.tree import ROOT, edge_range, first_edge


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
    scratch: np.ndarray = np.zeros(0)  # [A] float64, of noise and weights; a search alone needs none


def make_puct(search: SearchConfig, num_games: int, num_actions: int) -> Puct:
    """Return the constants of a search, the same for any number of games, and its scratch."""
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
        scratch=np.zeros(num_actions),
    )


@part
def exploration(puct, child_visits_sum):
    """Return c(s) * sqrt(visits(s)), the factor of the score that all edges share."""
    visits = child_visits_sum + puct.extra_visits
    c = puct.c_puct
    if puct.c_puct_base > 0.0:
        c += math.log((1.0 + visits + puct.c_puct_base) / puct.c_puct_base)
    return c * math.sqrt(visits)


@part
def select_child(tree, b, node, puct):
    """Return the edge of the highest score at an expanded node."""
    visits = tree.nodes[b, node].node_visits
    scale = exploration(puct, visits - 1)
    unvisited_q = puct.fpu
    if puct.fpu_from_parent:
        unvisited_q = tree.nodes[b, node].value_sum / visits - puct.fpu
    elif puct.fpu_by_prior:
        unvisited_q = tree.nodes[b, node].value_sum / visits - puct.fpu * explored_share(tree, b, node, puct)
    best = best_edge(tree, b, node, scale, unvisited_q, puct.solver)
    # if no edge can improve the node, any of them proves it, or is a guess of `prefetch`
    return best if best >= 0 else first_edge(tree, b, node)


@part
def best_edge(tree, b, node, scale, unvisited_q, solver):
    """Return the first edge of the largest q + scale * prior / (1 + visits), or -1.

    The solver skips edges that cannot improve the node's lower bound.
    """
    best, best_score = -1, -math.inf
    for edge in edge_range(tree, b, node):
        count = tree.edges[b, edge].child_visits
        score = unvisited_q + scale * tree.edges[b, edge].prior
        if count > 0:  # a division takes longer than all the rest
            q = tree.edges[b, edge].child_value_sum / count
            score = q + scale * tree.edges[b, edge].prior / (1.0 + count)
        if score > best_score and not (solver and cannot_improve(tree, b, node, edge)):
            best, best_score = edge, score
    return best


@kernel
def explored_share(tree, b, node, puct):
    """Return the square root of the visited edges' prior.

    At a root with noise it is 0, because all moves should be tried there.
    """
    if puct.dirichlet_fraction > 0.0 and node == ROOT:
        return 0.0
    explored = 0.0
    for edge in edge_range(tree, b, node):
        if tree.edges[b, edge].child_visits > 0:
            explored += tree.edges[b, edge].prior
    return math.sqrt(explored)


@kernel
def begin_puct(tree, b, puct, temperature, stream):
    """Widen the search from game b's expanded root by Dirichlet noise."""
    add_noise(tree, b, puct.dirichlet_alpha, puct.dirichlet_fraction, stream, puct.scratch)


@kernel
def add_noise(tree, b, alpha, fraction, stream, noise):
    """Mix Dirichlet(alpha) noise into the root's prior: (1 - fraction) * prior + fraction * noise.

    noise: scratch, [A] float64.
    """
    if fraction == 0.0:
        return
    first, count, total = first_edge(tree, b, ROOT), tree.nodes[b, ROOT].num_edges, 0.0
    for place in range(count):
        noise[place] = next_gamma(stream, alpha)
        total += noise[place]
    if total < 1e-300:
        return  # every number underflowed, which only a tiny alpha can cause
    for place in range(count):
        prior = tree.edges[b, first + place].prior
        tree.edges[b, first + place].prior = (1.0 - fraction) * prior + fraction * noise[place] / total


@part
def move_weights(tree, b, puct):
    """Return the weight of each root move after a search, [M] float64, a view of scratch."""
    write_weights(tree, b, puct)
    return puct.scratch[: tree.nodes[b, ROOT].num_edges]


@kernel
def write_weights(tree, b, puct):
    """Write these weights into scratch: the numbers of visits, corrected for proofs."""
    first, weights = first_edge(tree, b, ROOT), puct.scratch[: tree.nodes[b, ROOT].num_edges]
    for place in range(weights.shape[0]):
        weights[place] = tree.edges[b, first + place].child_visits
    if puct.solver:
        rule_out(tree, b, weights)
        prefer_sure(tree, b, weights)


@kernel
def write_visit_shares(tree, b, puct, out):
    """Write the policy target, out [M or more] float32: the weights of the root moves over their sum."""
    normalize(move_weights(tree, b, puct), out)


@kernel
def choose_by_visits(tree, b, puct, temperature, stream):
    """Return a root edge drawn with probability proportional to its weight ** (1 / temperature)."""
    return first_edge(tree, b, ROOT) + choose_place(move_weights(tree, b, puct), temperature, stream)


@kernel
def mean_value(tree, b, puct):
    """Return the mean value of game b's search for its player, the exact value if it is proven.

    The root's own evaluation counts. Simulations through moves that cannot be best do not, because nobody
    has to play them.
    """
    if not puct.solver or tree.nodes[b, ROOT].proven:
        return np.float64(tree.nodes[b, ROOT].value_sum) / tree.nodes[b, ROOT].node_visits
    sure = sure_value(tree, b, ROOT)
    total, visits = np.float64(tree.nodes[b, ROOT].raw_value), 1
    for edge in edge_range(tree, b, ROOT):
        if can_be_best(tree, b, ROOT, edge, sure):
            total += tree.edges[b, edge].child_value_sum
            visits += tree.edges[b, edge].child_visits
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
