"""What happens at the root only: noise, policy target, the move.

Letters: B games, N nodes, A actions. A stream is uint64 [2], see `random_stream.py`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from azero.search.kernels import kernel
from azero.search.random_stream import next_float
from azero.search.tree import ROOT


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
def begin_puct(tree, b, policy, stream, noise):
    """Bring chance into the expanded root of game b, unless its search is a fast one."""
    if not tree.searches[b].fast:
        add_noise(tree, b, policy.dirichlet_alpha, policy.dirichlet_fraction, stream, noise)


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
def policy_target(tree, b, out):
    """out [A] float32: the root's visit counts over their sum. Temperature never touches it."""
    total = 0
    for action in range(out.shape[0]):
        total += tree.edges[b, ROOT, action].child_visits
    for action in range(out.shape[0]):
        out[action] = tree.edges[b, ROOT, action].child_visits / total


@kernel
def choose_action(tree, b, temperature, stream):
    """An action with probability proportional to the root's visit counts ** (1 / temperature); 0 takes the first most visited."""
    best, most = 0, 0
    for action in range(tree.edges.shape[2]):
        if tree.edges[b, ROOT, action].child_visits > most:
            best, most = action, tree.edges[b, ROOT, action].child_visits
    if temperature == 0.0:
        return best
    total = 0.0
    for action in range(tree.edges.shape[2]):
        total += weight(tree.edges[b, ROOT, action].child_visits, most, temperature)
    remaining = next_float(stream) * total
    for action in range(tree.edges.shape[2]):
        remaining -= weight(tree.edges[b, ROOT, action].child_visits, most, temperature)
        if remaining < 0.0:
            return action
    return best  # rounding left a sliver


@kernel
def weight(count, most, temperature):
    """(count / most) ** (1 / temperature): divided first, so that a small temperature does not overflow."""
    return (count / most) ** (1.0 / temperature) if count > 0 else 0.0
