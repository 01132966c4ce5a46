"""What searches share at the root: the temperature of the move, choosing it, and the policy target.

Letters: M legal moves of the root, in the order of its edges; S state words. A stream is uint64 [2], see
`kernels/random_stream.py`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from azero.games.legal import list_legal
from azero.kernels.compiled import kernel, part
from azero.kernels.random_stream import next_float
from azero.search.tree import ROOT, WIN, edge_range

NO_WIN = -1


class Temperature(NamedTuple):
    """A schedule of the move's temperature.

    It is `initial` for the first `plies`, then falls linearly to `final` over `decay_plies`.
    """

    initial: float
    plies: int
    decay_plies: int
    final: float


@kernel
def temperature_at(schedule, ply):
    """Return the temperature at a ply, counted from 0 at the start of the game."""
    if ply < schedule.plies:
        return schedule.initial
    past = ply - schedule.plies
    if past >= schedule.decay_plies:
        return schedule.final
    return schedule.initial + (schedule.final - schedule.initial) * (past + 1) / (schedule.decay_plies + 1)


@kernel
def normalize(weights, out):
    """Write weights [M] over their sum into out [M or more] float32."""
    total = 0.0
    for weight in weights:
        total += weight
    for place in range(weights.shape[0]):
        out[place] = weights[place] / total


@kernel
def choose_place(weights, temperature, stream):
    """Return a place drawn with probability proportional to weights [M] ** (1 / temperature).

    Temperature 0 returns the first place with the greatest weight.
    """
    best, most = 0, 0.0
    for place in range(weights.shape[0]):
        if weights[place] > most:
            best, most = place, weights[place]
    if temperature == 0.0:
        return best
    total = 0.0
    for weight in weights:
        total += tempered(weight, most, temperature)
    remaining = next_float(stream) * total
    for place in range(weights.shape[0]):
        remaining -= tempered(weights[place], most, temperature)
        if remaining < 0.0:
            return place
    return best  # rounding left a remainder


@kernel
def tempered(weight, most, temperature):
    """Return (weight / most) ** (1 / temperature). Dividing first prevents overflow."""
    return (weight / most) ** (1.0 / temperature) if weight > 0.0 else 0.0


@part
def is_won(rules, state, player):
    """Return whether the game is over and a player, 0 or 1, has won."""
    if not rules.is_terminal(state):
        return False
    value = rules.outcome(state)
    return (value if rules.to_play(state) == player else -value) >= WIN


@part
def win_at_once(rules, state, legal, successor):
    """Return the first action that wins at once in an unfinished state, or NO_WIN.

    legal, successor [S]: scratch.
    """
    player = rules.to_play(state)
    for place in range(list_legal(rules, state, legal)):
        rules.step(state, legal.actions[place], successor)
        if is_won(rules, successor, player):
            return np.int64(legal.actions[place])
    return NO_WIN


@part
def prefer_end(rules, tree, b, chosen, successor):
    """Return an edge of game b's root: one that wins at once if a win is proven there, else `chosen`.

    All edges that are proven to win are equal to the search, and `chosen` may begin the longest win. A win at
    once need not be in the tree. successor: scratch, [S].
    """
    if tree.nodes[b, ROOT].lower < WIN:
        return chosen
    best = -1
    for edge in edge_range(tree, b, ROOT):
        if best != chosen:
            rules.step(tree.states[b, ROOT], tree.edges[b, edge].action, successor)
            if is_won(rules, successor, tree.nodes[b, ROOT].to_play) and (best < 0 or edge == chosen):
                best = edge
    return best if best >= 0 else chosen
