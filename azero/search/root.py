"""What happens at the root only: noise, policy target, the move.

Letters: B games, N nodes, A actions. A stream is uint64 [2], see `random_stream.py`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from azero.search.kernels import kernel
from azero.search.proof import is_open, prefer_sure, rule_out, sure_value, within_bounds
from azero.search.puct import prune_forced
from azero.search.random_stream import next_float
from azero.search.tree import ROOT, SMALLEST_PRIOR


class Temperature(NamedTuple):
    """The temperature of a move by its ply: `initial` for the first `plies`, then linearly to `final` over `decay_plies`."""

    initial: float
    plies: int
    decay_plies: int
    final: float


@kernel
def temperature_at(schedule, ply):
    """The temperature at a ply, counted from 0 at the start of the game."""
    if ply < schedule.plies:
        return schedule.initial
    past = ply - schedule.plies
    if past >= schedule.decay_plies:
        return schedule.final
    return schedule.initial + (schedule.final - schedule.initial) * (past + 1) / (schedule.decay_plies + 1)


class Fading(NamedTuple):
    """A number that falls from `early` towards `final`, half of the way in each `halflife` plies."""

    early: float
    final: float
    halflife: float


@kernel
def faded(fading, ply):
    """The number at a ply."""
    return fading.final + (fading.early - fading.final) * 0.5 ** (ply / fading.halflife)


@kernel
def next_normal(stream):
    """A standard normal number (Box and Muller 1958)."""
    radius = math.sqrt(-2.0 * math.log(1.0 - next_float(stream)))
    return radius * math.cos(2.0 * math.pi * next_float(stream))


@kernel
def next_gamma(stream, shape):
    """A gamma number of scale 1 (Marsaglia and Tsang 2000; for shape < 1 with their boost u ** (1 / shape))."""
    boost = 1.0
    if shape < 1.0:
        boost = (1.0 - next_float(stream)) ** (1.0 / shape)
        shape += 1.0
    d = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        x = next_normal(stream)
        v = (1.0 + c * x) ** 3
        if v > 0.0 and math.log(1.0 - next_float(stream)) < 0.5 * x * x + d - d * v + d * math.log(v):
            return boost * d * v


@kernel
def begin_puct(tree, b, policy, ply, stream, noise):
    """Let the search from game b's expanded root try more than the network likes best, unless it is a fast one."""
    if not tree.searches[b].fast:
        soften_prior(tree, b, faded(policy.root_temperature, ply))
        add_noise(tree, b, policy.dirichlet_alpha, policy.dirichlet_fraction, stream, noise)


@kernel
def soften_prior(tree, b, temperature):
    """Raise the root's prior to the power of 1 / temperature, and make it sum to 1 again."""
    if temperature == 1.0:
        return
    highest, total = 0.0, 0.0
    for action in range(tree.edges.shape[2]):
        highest = max(highest, tree.edges[b, ROOT, action].prior)
    for action in range(tree.edges.shape[2]):
        total += chance(tree.edges[b, ROOT, action].prior, highest, temperature)
    for action in range(tree.edges.shape[2]):
        if tree.edges[b, ROOT, action].prior >= 0.0:
            tree.edges[b, ROOT, action].prior = chance(tree.edges[b, ROOT, action].prior, highest, temperature) / total


@kernel
def add_noise(tree, b, alpha, fraction, stream, noise):
    """Mix Dirichlet(alpha) noise into the root's prior: (1 - fraction) * prior + fraction * noise. noise: scratch, [A]."""
    if fraction == 0.0:
        return
    total = 0.0
    for action in range(tree.edges.shape[2]):
        if tree.edges[b, ROOT, action].prior >= 0.0:
            noise[action] = next_gamma(stream, alpha)
            total += noise[action]
    if total < 1e-300:
        return  # every number underflowed or lost its digits, possible only for a tiny alpha
    for action in range(tree.edges.shape[2]):
        prior = tree.edges[b, ROOT, action].prior
        if prior >= 0.0:
            tree.edges[b, ROOT, action].prior = (1.0 - fraction) * prior + fraction * noise[action] / total


@kernel
def move_weights(tree, b, puct):
    """[A] float64: how much each root action counts after a search: its visits, but for proofs and forced visits."""
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
def mean_value(tree, b, puct):
    """The mean value of the simulations of game b's search, its root's own evaluation among them; exact where it is proven.

    Those through actions that are known to be no better than others do not count: nobody need play there.
    """
    if not puct.solver or tree.nodes[b, ROOT].proven:
        return np.float64(tree.nodes[b, ROOT].value_sum) / tree.nodes[b, ROOT].node_visits
    sure = sure_value(tree, b, ROOT)
    total, visits = np.float64(tree.nodes[b, ROOT].raw_value), 1
    for action in range(tree.edges.shape[2]):
        if is_open(tree, b, ROOT, action, sure):
            total += tree.edges[b, ROOT, action].child_value_sum
            visits += tree.edges[b, ROOT, action].child_visits
    return max(within_bounds(tree, b, ROOT, total / visits), np.float64(sure))


@kernel
def policy_target(weights, out):
    """out [A] float32: the weights [A] of the moves over their sum. Temperature never touches it."""
    total = weights.sum()
    for action in range(out.shape[0]):
        out[action] = weights[action] / total


@kernel
def divergence(target, prior):
    """KL(target || prior) in nats of two distributions [A] over the same legal actions."""
    total = 0.0
    for action in range(target.shape[0]):
        if target[action] > 0.0:
            total += target[action] * math.log(target[action] / max(prior[action], SMALLEST_PRIOR))
    return max(total, 0.0)


@kernel
def choose_action(weights, temperature, stream):
    """An action with probability proportional to weights [A] ** (1 / temperature); 0 takes the first with the greatest weight."""
    best, most = 0, 0.0
    for action in range(weights.shape[0]):
        if weights[action] > most:
            best, most = action, weights[action]
    if temperature == 0.0:
        return best
    total = 0.0
    for action in range(weights.shape[0]):
        total += chance(weights[action], most, temperature)
    remaining = next_float(stream) * total
    for action in range(weights.shape[0]):
        remaining -= chance(weights[action], most, temperature)
        if remaining < 0.0:
            return action
    return best  # rounding left a sliver


@kernel
def chance(weight, most, temperature):
    """(weight / most) ** (1 / temperature): divided first, so that a small temperature does not overflow."""
    return (weight / most) ** (1.0 / temperature) if weight > 0.0 else 0.0
