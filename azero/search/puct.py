"""PUCT, AlphaZero's search (Silver et al. 2018, "Search"). It selects the action with the highest

    q(s, a) + c(s) * prior(s, a) * sqrt(visits(s)) / (1 + visits(s, a)),
    c(s) = c_puct + ln((1 + visits(s) + c_puct_base) / c_puct_base).

KataGo's additions are optional. With `c_puct_deviation`, c(s) follows the standard deviation of the values
below s ("Dynamic Variance-Scaled cPUCT" in KataGoMethods.md). First-play urgency gives unvisited actions a
value. Forced simulations with policy-target pruning (Wu 2019, "Accelerating Self-Play Learning in Go",
sections 3.2 and 3.5) apply to the roots of full searches in self-play: a visited action is visited again
while it has fewer than sqrt(forced * prior * visits) visits. After the search, visits that the score alone
would not have brought are removed from the policy target.

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
from azero.search.root import choose_action, normalize, tempered
from azero.search.tree import NODE, ROOT, SPREAD_NODE
from azero.search.variance import square_sum

USUAL_DEVIATION = 0.4  # assumed standard deviation of values in [-1, 1] at a new node; KataGo's
USUAL_WEIGHT = 2.0  # visits that this assumption counts for; KataGo's


class RootTemperature(NamedTuple):
    """The temperature of the root's prior: it halves its distance to `final` every `halflife` plies."""

    initial: float = 1.0
    final: float = 1.0
    halflife: float = 8.0


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
    root_temperature: RootTemperature = RootTemperature()
    forced: float = 0.0
    solver: bool = False
    c_puct_deviation: float = 0.0


def make_puct(
    search: SearchConfig, num_games: int = 1, num_actions: int = 1, fast_simulations: int = 0
) -> Puct:
    """Return the constants of a search, the same for any number of games, actions and fast simulations."""
    return Puct(
        c_puct=float(search.c_puct),
        c_puct_base=float(search.c_puct_base),
        extra_visits=int(search.puct_visits == "node"),
        fpu_from_parent=search.fpu_mode == "parent",
        fpu=float(search.fpu),
        fpu_by_prior=search.fpu_mode == "explored",
        dirichlet_alpha=float(search.dirichlet_alpha),
        dirichlet_fraction=float(search.dirichlet_fraction),
        root_temperature=RootTemperature(
            float(search.root_temperature),
            float(search.root_temperature_final),
            float(search.root_temperature_halflife),
        ),
        forced=float(search.forced_simulations),
        solver=search.solver,
        c_puct_deviation=float(search.c_puct_deviation),
    )


def node_type(search: SearchConfig) -> np.dtype:
    """Return the dtype of the nodes: with sums of squares only if `c_puct_deviation` needs them."""
    return SPREAD_NODE if search.c_puct_deviation > 0.0 else NODE


@part
def exploration(puct, child_visits_sum):
    """Return c(s) * sqrt(visits(s)), the factor of the score that all actions share."""
    visits = child_visits_sum + puct.extra_visits
    c = puct.c_puct
    if puct.c_puct_base > 0.0:
        c += math.log((1.0 + visits + puct.c_puct_base) / puct.c_puct_base)
    return c * math.sqrt(visits)


@kernel
def deviation_factor(tree, b, node, puct):
    """Return the factor on c, above 1 if a node's values vary more than usual.

    It is 1 + c_puct_deviation * (s / USUAL_DEVIATION - 1). s is the standard deviation of the node's N
    backed-up values around their mean m, together with USUAL_WEIGHT assumed values:
    s^2 = (USUAL_WEIGHT * (m^2 + USUAL_DEVIATION^2) + sum of squares) / (USUAL_WEIGHT + N - 1) - m^2.
    """
    visits = np.float64(tree.nodes[b, node].node_visits)
    if visits <= 1.0:
        return 1.0
    square = (tree.nodes[b, node].value_sum / visits) ** 2
    # never below the squared mean: proofs change sums after their squares were added
    squares = max(np.float64(square_sum(tree.nodes, b, node)), square * visits)
    assumed = USUAL_WEIGHT * (square + USUAL_DEVIATION**2)
    variance = (assumed + squares) / (USUAL_WEIGHT + visits - 1.0) - square
    return 1.0 + puct.c_puct_deviation * (math.sqrt(max(variance, 0.0)) / USUAL_DEVIATION - 1.0)


@part
def exploration_at(tree, b, node, puct):
    """Return `exploration` of an expanded node, scaled by the deviation of its values if that is on."""
    scale = exploration(puct, tree.nodes[b, node].node_visits - 1)
    return scale * deviation_factor(tree, b, node, puct) if puct.c_puct_deviation > 0.0 else scale


@part
def select_child(tree, b, node, puct):
    """Return the action of the highest score at an expanded node, unless a root action lacks visits."""
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
    if puct.dirichlet_fraction > 0.0 and node == ROOT and not tree.searches[b].fast:
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
def forced_visits(tree, b, action, puct):
    """Return how many visits a visited root action must have: sqrt(forced * prior * visits of all)."""
    return math.sqrt(puct.forced * tree.edges[b, ROOT, action].prior * (tree.nodes[b, ROOT].node_visits - 1))


@kernel
def next_forced(tree, b, puct):
    """Return the first visited root action that lacks forced visits and can improve the root, or -1."""
    for action in range(tree.edges.shape[2]):
        count = tree.edges[b, ROOT, action].child_visits
        lacks = count > 0 and count < forced_visits(tree, b, action, puct)
        if lacks and not (puct.solver and cannot_improve(tree, b, ROOT, action)):
            return action
    return -1


@kernel
def prune_forced(tree, b, puct, weights):
    """Remove forced visits from weights [A], the root's visits.

    Every action but the most visited one loses up to its number of forced visits, as long as its score stays
    below that of the most visited one. An action that keeps a single visit loses it as well.
    """
    best = weights.argmax()
    scale = exploration_at(tree, b, ROOT, puct)
    highest = visited_score(tree, b, best, scale, tree.edges[b, ROOT, best].child_visits)
    for action in range(weights.shape[0]):
        if action == best or weights[action] == 0.0 or tree.edges[b, ROOT, action].child_visits == 0:
            continue
        fewest = weights[action] - forced_visits(tree, b, action, puct)
        while (
            weights[action] - 1 >= fewest
            and visited_score(tree, b, action, scale, weights[action] - 1) < highest
        ):
            weights[action] -= 1
        if weights[action] <= 1.0:
            weights[action] = 0.0


@part
def visited_score(tree, b, action, scale, count):
    """Return the score that a visited root action would have with `count` visits and the same mean value."""
    edge = tree.edges[b, ROOT, action]
    return edge.child_value_sum / edge.child_visits + scale * edge.prior / (1.0 + count)


@kernel
def begin_puct(tree, b, puct, temperature, ply, stream):
    """Widen the search from game b's expanded root, unless it is a fast one.

    The prior gets its temperature first, then Dirichlet noise.
    """
    if not tree.searches[b].fast:
        soften_prior(tree, b, root_temperature_at(puct.root_temperature, ply))
        add_noise(tree, b, puct.dirichlet_alpha, puct.dirichlet_fraction, stream)


@kernel
def root_temperature_at(schedule, ply):
    """Return the temperature of the root's prior at a ply."""
    return schedule.final + (schedule.initial - schedule.final) * 0.5 ** (ply / schedule.halflife)


@kernel
def soften_prior(tree, b, temperature):
    """Raise the root's prior to the power of 1 / temperature and normalize it."""
    if temperature == 1.0:
        return
    highest, total = 0.0, 0.0
    for action in range(tree.edges.shape[2]):
        highest = max(highest, tree.edges[b, ROOT, action].prior)
    for action in range(tree.edges.shape[2]):
        total += tempered(tree.edges[b, ROOT, action].prior, highest, temperature)
    for action in range(tree.edges.shape[2]):
        prior = tree.edges[b, ROOT, action].prior
        if prior >= 0.0:
            tree.edges[b, ROOT, action].prior = tempered(prior, highest, temperature) / total


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

    It is the number of visits, corrected for proofs and forced visits.
    """
    weights = np.empty(tree.edges.shape[2])
    for action in range(weights.shape[0]):
        weights[action] = tree.edges[b, ROOT, action].child_visits
    if puct.solver:
        rule_out(tree, b, weights)
    if puct.forced > 0.0 and not tree.searches[b].fast:
        prune_forced(tree, b, puct, weights)
    if puct.solver:
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
    node_type=node_type,
    play_settings={"dirichlet_fraction": 0.0, "forced_simulations": 0.0},
    widen="raise search.dirichlet_fraction or search.c_puct",
)
