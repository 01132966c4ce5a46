"""Gumbel AlphaZero (Danihelka et al. 2022, "Policy improvement by planning with Gumbel").

It needs few simulations. At the root, Gumbel noise added to the logarithm of the prior draws some actions
without replacement. Sequential halving shares the simulations among them: all get the same number, the worse
half is dropped, and so on. Below the root the search is deterministic: it keeps the visits close to an
improved policy,

    improved(s, a) = softmax(ln prior(s, a)
                             + (maxvisit_init + max visits(s, .)) * value_scale * completed_q(s, a)).

completed_q is the mean value of a visited action and, for the others, a mix of the network's value and those
means. All are then stretched to [0, 1]. The improved policy of the root is the policy target. The constants
are those of mctx.

Letters: B games, A actions, M actions considered at most.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from azero.config.schema import SearchConfig
from azero.kernels.compiled import kernel, part
from azero.kernels.random_stream import next_float
from azero.search.algorithm import SearchKind
from azero.search.bounds import can_be_best, sure_value, within_bounds
from azero.search.tree import LOSS, ROOT, SMALLEST_PRIOR

ANY = -1  # any number of visits
# A range of completed_q below this is not stretched: sums in float32 are off by about 1e-7. mctx has 1e-8.
SMALLEST_RANGE = 1e-6


class Gumbel(NamedTuple):
    """The constants and arrays of the search; `config.schema.SearchConfig` documents the constants."""

    noise: np.ndarray  # [B, A] float64, Gumbel noise of each root; zeros for a deterministic search
    considered_visits: np.ndarray  # [M + 1, num_simulations] int32: visits an action must have to be next
    maxvisit_init: float
    value_scale: float
    solver: bool
    open: np.ndarray  # [A] bool, scratch: legal actions that can be the best
    advantage: np.ndarray  # [A] float64, scratch: the second term of the improved policy's logits
    improved: np.ndarray  # [A] float64, scratch


def make_gumbel(search: SearchConfig, num_games: int, num_actions: int) -> Gumbel:
    """Return the search's constants and its arrays for `num_games` games."""
    most = min(search.max_considered_actions, num_actions)
    visits = [visit_sequence(m, search.num_simulations) for m in range(most + 1)]
    return Gumbel(
        noise=np.zeros((num_games, num_actions)),
        considered_visits=np.array(visits, np.int32),
        maxvisit_init=float(search.maxvisit_init),
        value_scale=float(search.value_scale),
        solver=search.solver,
        open=np.zeros(num_actions, np.bool_),
        advantage=np.zeros(num_actions),
        improved=np.zeros(num_actions),
    )


def visit_sequence(considered: int, num_simulations: int) -> list[int]:
    """Return sequential halving as a list: how many earlier visits the action of each simulation has.

    4 actions and 8 simulations give 0 0 0 0 1 1 2 2: one visit for each, then two more for the best two.
    """
    if considered <= 1:
        return list(range(num_simulations))
    phases = math.ceil(math.log2(considered))
    visits = [0] * considered
    sequence: list[int] = []
    alive = considered
    while len(sequence) < num_simulations:
        for _ in range(max(1, num_simulations // (phases * alive))):
            sequence += visits[:alive]
            visits[:alive] = [count + 1 for count in visits[:alive]]
        alive = max(2, alive // 2)
    return sequence[:num_simulations]


@kernel
def draw_noise(gumbel, b, temperature, stream):
    """Draw the noise of game b's next search: temperature * Gumbel(0, 1) for each action."""
    for action in range(gumbel.noise.shape[1]):
        uniform = 1.0 - next_float(stream) if temperature > 0.0 else 0.5  # in (0, 1]
        gumbel.noise[b, action] = -temperature * math.log(max(-math.log(uniform), 1e-300))


@kernel
def begin_gumbel(tree, b, gumbel, temperature, stream):
    """Draw the noise of game b's next search."""
    draw_noise(gumbel, b, temperature, stream)


@kernel
def write_completed(tree, b, node, gumbel):
    """Write completed_q of each action of an expanded node, for its player, into gumbel.advantage [A].

    An unvisited action gets (v + visits * sum(prior * q) / sum(prior)) / (1 + visits), with the network's
    value v and sums over visited actions. Return the most visits of an action.
    """
    visits, most, prior_sum, weighted = 0, 0, 0.0, 0.0
    for action in range(gumbel.advantage.shape[0]):
        count = tree.edges[b, node, action].child_visits
        if count > 0:
            q = tree.edges[b, node, action].child_value_sum / count
            prior = max(tree.edges[b, node, action].prior, SMALLEST_PRIOR)
            gumbel.advantage[action] = q
            visits += count
            most = max(most, count)
            prior_sum += prior
            weighted += prior * q
    mixed = np.float64(tree.nodes[b, node].raw_value)
    if visits > 0:
        mixed = (mixed + visits * weighted / prior_sum) / (1.0 + visits)
    for action in range(gumbel.advantage.shape[0]):
        if tree.edges[b, node, action].child_visits == 0:
            gumbel.advantage[action] = mixed
    return most


@kernel
def write_advantages(tree, b, node, gumbel):
    """Write the second term of the improved policy's logits into gumbel.advantage [A].

    It is (maxvisit_init + max visits) * value_scale * completed_q, with completed_q stretched to [0, 1]. As
    in mctx, illegal actions count as unvisited, so their mixed value takes part in the stretching.
    """
    most = write_completed(tree, b, node, gumbel)
    low, high = math.inf, -math.inf
    for action in range(gumbel.advantage.shape[0]):
        low, high = min(low, gumbel.advantage[action]), max(high, gumbel.advantage[action])
    scale = (gumbel.maxvisit_init + most) * gumbel.value_scale / max(high - low, SMALLEST_RANGE)
    for action in range(gumbel.advantage.shape[0]):
        gumbel.advantage[action] = scale * (gumbel.advantage[action] - low)


@part
def log_prior(tree, b, node, action):
    return math.log(max(tree.edges[b, node, action].prior, SMALLEST_PRIOR))


@kernel
def write_open(tree, b, node, gumbel):
    """Write which legal actions of an expanded node can be the best into gumbel.open [A].

    All can without the solver, and also if every action loses but the node is not proven, as happens among
    guesses of `prefetch`.
    """
    sure, none = sure_value(tree, b, node) if gumbel.solver else LOSS, True
    for action in range(gumbel.open.shape[0]):
        legal = tree.edges[b, node, action].prior >= 0.0
        gumbel.open[action] = legal and (not gumbel.solver or can_be_best(tree, b, node, action, sure))
        none &= not gumbel.open[action]
    if none:
        for action in range(gumbel.open.shape[0]):
            gumbel.open[action] = tree.edges[b, node, action].prior >= 0.0


@kernel
def improved_policy(tree, b, node, gumbel, out):
    """Write softmax(ln prior + advantage) of a node's open actions into out [A]; 0 elsewhere."""
    write_advantages(tree, b, node, gumbel)
    write_open(tree, b, node, gumbel)
    highest = -math.inf
    for action in range(gumbel.advantage.shape[0]):
        if gumbel.open[action]:
            highest = max(highest, log_prior(tree, b, node, action) + gumbel.advantage[action])
    total = 0.0
    for action in range(gumbel.advantage.shape[0]):
        out[action] = 0.0
        if gumbel.open[action]:
            out[action] = math.exp(log_prior(tree, b, node, action) + gumbel.advantage[action] - highest)
            total += out[action]
    for action in range(gumbel.advantage.shape[0]):
        out[action] /= total


@kernel
def select_inner(tree, b, node, gumbel):
    """Return the action below the root with the greatest improved(a) - visits(a) / (1 + visits).

    It is the open action whose share of the visits lags most behind the improved policy, the first of equals.
    """
    improved_policy(tree, b, node, gumbel, gumbel.improved)
    visits = tree.nodes[b, node].node_visits  # of the children, and one for the node itself
    best, best_score = -1, -math.inf
    for action in range(gumbel.advantage.shape[0]):
        if gumbel.open[action]:
            score = gumbel.improved[action] - tree.edges[b, node, action].child_visits / visits
            if score > best_score:
                best, best_score = action, score
    return best


@kernel
def select_among(tree, b, gumbel, considered_visits):
    """Return the open root action with the greatest noise + ln prior + advantage, or -1.

    considered_visits: only actions with this number of visits; ANY for all.
    """
    write_advantages(tree, b, ROOT, gumbel)
    best, best_score = -1, -math.inf
    for action in range(gumbel.advantage.shape[0]):
        edge = tree.edges[b, ROOT, action]
        if gumbel.open[action] and (considered_visits == ANY or edge.child_visits == considered_visits):
            score = gumbel.noise[b, action] + log_prior(tree, b, ROOT, action) + gumbel.advantage[action]
            if score > best_score:
                best, best_score = action, score
    return best


@kernel
def select_root(tree, b, gumbel):
    """Return the next action of sequential halving at the root.

    If that action is not open, the best of all open actions replaces it.
    """
    legal, visits = 0, 0
    for action in range(gumbel.advantage.shape[0]):
        legal += tree.edges[b, ROOT, action].prior >= 0.0
        visits += tree.edges[b, ROOT, action].child_visits
    write_open(tree, b, ROOT, gumbel)
    row = min(legal, gumbel.considered_visits.shape[0] - 1)
    action = select_among(tree, b, gumbel, gumbel.considered_visits[row, visits])
    return action if action >= 0 else select_among(tree, b, gumbel, ANY)


@kernel
def select_next(tree, b, node, gumbel):
    """Return the action by which a simulation leaves a node."""
    return select_root(tree, b, gumbel) if node == ROOT else select_inner(tree, b, node, gumbel)


@kernel
def choose_gumbel(tree, b, gumbel, temperature, stream):
    """Return the move after the search: the best of the most visited open root actions.

    The temperature was in the noise.
    """
    write_open(tree, b, ROOT, gumbel)
    most = 0
    for action in range(gumbel.advantage.shape[0]):
        if gumbel.open[action]:
            most = max(most, tree.edges[b, ROOT, action].child_visits)
    return select_among(tree, b, gumbel, most)


@kernel
def improved_value(tree, b, gumbel):
    """Return the value of game b's root for its player: the mean of completed_q under the improved policy.

    A proven value is exact. The mean of all simulations would be too low, because sequential halving tries
    bad moves as often as good ones at first. (Measured in solved positions of Connect Four: 0.17 too low far
    from the end of the game, and 0.1 further from the exact value.)
    """
    if tree.nodes[b, ROOT].proven:
        return np.float64(tree.nodes[b, ROOT].raw_value)
    improved_policy(tree, b, ROOT, gumbel, gumbel.improved)
    write_completed(tree, b, ROOT, gumbel)
    value = 0.0
    for action in range(gumbel.advantage.shape[0]):
        value += gumbel.improved[action] * gumbel.advantage[action]
    return within_bounds(tree, b, ROOT, value)


@kernel
def write_improved(tree, b, gumbel, out):
    """Write the policy target, the improved policy of game b's root, into out [A] float32."""
    improved_policy(tree, b, ROOT, gumbel, out)


KIND = SearchKind(
    name="gumbel",
    make=make_gumbel,
    next_child=select_next,
    begin_search=begin_gumbel,
    write_target=write_improved,
    search_value=improved_value,
    choose_move=choose_gumbel,
    draw_noise=draw_noise,
    reuses_tree=False,
    anytime=False,
    widen="raise selfplay.temperature or selfplay.opening_fraction, lower search.value_scale",
)
