"""Gumbel AlphaZero: few simulations, spent where they tell most.

Danihelka et al. 2022, "Policy improvement by planning with Gumbel". At the root, Gumbel noise added to the prior's logarithm
draws some actions without repetition, and sequential halving shares the simulations among them: all get the same number, the
worse half is dropped, and so on. Below the root the search is deterministic: it keeps the visits close to an improved policy,

    improved(s, a) = softmax(ln prior(s, a) + (maxvisit_init + max visits(s, .)) * value_scale * completed_q(s, a)).

completed_q is the mean value of a visited child and, for the others, a mix of the network's value and those means; all of them
are then stretched to [0, 1]. The improved policy of the root is the policy target. The constants are those of mctx.

Letters: B games, A actions, M actions considered at most.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from azero.config import SearchConfig
from azero.search.kernels import kernel, part
from azero.search.proof import is_open, sure_value, within_bounds
from azero.search.random_stream import next_float
from azero.search.tree import LOSS, ROOT, SMALLEST_PRIOR

ANY = -1  # number of visits
SMALLEST_RANGE = 1e-6  # of completed_q; below it nothing is stretched, for sums in float32 are off by some 1e-7 (mctx 1e-8)


class Gumbel(NamedTuple):
    """What the kernels need of this search; meanings in `config.SearchConfig`."""

    noise: np.ndarray  # [B, A] float64, Gumbel noise of each root; zeros for a search without chance
    considered_visits: np.ndarray  # [2, M + 1, num_simulations] int32: visits an action must have to be next, full and fast
    maxvisit_init: float
    value_scale: float
    solver: bool
    open: np.ndarray  # [A] bool, scratch: legal actions that are not known to be no better than others
    advantage: np.ndarray  # [A] float64, scratch: the second term of the improved policy's logits
    improved: np.ndarray  # [A] float64, scratch


def make_gumbel(config: SearchConfig, num_games: int, num_actions: int, fast_simulations: int = 0) -> Gumbel:
    """The search of a config for so many games; `fast_simulations`: of the searches that are marked fast."""
    most = min(config.max_considered_actions, num_actions)
    unused = [0] * (config.num_simulations - fast_simulations)
    full_visits = [visit_sequence(m, config.num_simulations) for m in range(most + 1)]
    fast_visits = [visit_sequence(m, fast_simulations) + unused for m in range(most + 1)]
    return Gumbel(
        noise=np.zeros((num_games, num_actions)),
        considered_visits=np.array([full_visits, fast_visits], np.int32),
        maxvisit_init=float(config.maxvisit_init),
        value_scale=float(config.value_scale),
        solver=config.solver,
        open=np.zeros(num_actions, np.bool_),
        advantage=np.zeros(num_actions),
        improved=np.zeros(num_actions),
    )


def visit_sequence(considered: int, num_simulations: int) -> list[int]:
    """Sequential halving as a list: how many visits the action of each simulation has had before.

    With 4 actions and 8 simulations: each of the four once, then the two best twice more: 0 0 0 0 1 1 2 2.
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
def draw_noise(gumbel, b, scale, stream):
    """New noise for game b's next search: scale * Gumbel(0, 1) for each action. Scale 0 makes the search's choice certain."""
    for action in range(gumbel.noise.shape[1]):
        uniform = 1.0 - next_float(stream) if scale > 0.0 else 0.5  # in (0, 1]
        gumbel.noise[b, action] = -scale * math.log(max(-math.log(uniform), 1e-300))


@kernel
def write_completed(tree, b, node, gumbel):
    """gumbel.advantage [A]: completed_q of each action of an expanded node, for its player. Returns the most visits of an action.

    That of an unvisited action mixes the network's value v with the visited ones' prior-weighted mean, in proportion 1 to the
    number of visits: (v + visits * sum(prior * q) / sum(prior)) / (1 + visits), sums over visited actions.
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
    """gumbel.advantage [A]: (maxvisit_init + max visits) * value_scale * completed_q, stretched to [0, 1], of an expanded node.

    As in mctx, illegal actions are unvisited ones here, so the mix takes part in the stretching wherever there are any.
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
    """gumbel.open [A]: legal actions of an expanded node, without those that the solver knows to be no better than others.

    Where all are ends of the game that lose, and nobody has carried that up, as among the guesses of `foresight`, it is all.
    """
    sure, none = sure_value(tree, b, node) if gumbel.solver else LOSS, True
    for action in range(gumbel.open.shape[0]):
        legal = tree.edges[b, node, action].prior >= 0.0
        gumbel.open[action] = legal and (not gumbel.solver or is_open(tree, b, node, action, sure))
        none &= not gumbel.open[action]
    if none:
        for action in range(gumbel.open.shape[0]):
            gumbel.open[action] = tree.edges[b, node, action].prior >= 0.0


@kernel
def improved_policy(tree, b, node, gumbel, out):
    """out [A]: softmax(ln prior + advantage) over the open actions of an expanded node; 0 elsewhere."""
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
    """Below the root: the open action whose share of the visits lags most behind the improved policy; of equal ones the first.

    The greatest improved(a) - visits(a) / (1 + visits).
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
    """The open root action with the greatest noise + ln prior + advantage among those with so many visits or ANY; -1 if none."""
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
    """At the root: the next action of sequential halving. The best of the others takes the place of one that is not open."""
    legal, visits = 0, 0
    for action in range(gumbel.advantage.shape[0]):
        legal += tree.edges[b, ROOT, action].prior >= 0.0
        visits += tree.edges[b, ROOT, action].child_visits
    write_open(tree, b, ROOT, gumbel)
    row = min(legal, gumbel.considered_visits.shape[1] - 1)
    action = select_among(tree, b, gumbel, gumbel.considered_visits[int(tree.searches[b].fast), row, visits])
    return action if action >= 0 else select_among(tree, b, gumbel, ANY)


@kernel
def select_next(tree, b, node, gumbel):
    """The action by which a simulation leaves a node."""
    return select_root(tree, b, gumbel) if node == ROOT else select_inner(tree, b, node, gumbel)


@kernel
def choose_gumbel(tree, b, gumbel):
    """The move after the search: the best of the most visited open root actions."""
    write_open(tree, b, ROOT, gumbel)
    most = 0
    for action in range(gumbel.advantage.shape[0]):
        if gumbel.open[action]:
            most = max(most, tree.edges[b, ROOT, action].child_visits)
    return select_among(tree, b, gumbel, most)


@kernel
def improved_value(tree, b, gumbel):
    """What the search found game b's root to be worth for its player: completed_q under the improved policy; a proof is exact.

    The mean of all simulations is worth less than that: sequential halving tries bad moves as often as good ones before it drops
    them. In solved positions of Connect Four it was 0.17 too low where the game is long, and 0.1 further from the truth.
    """
    if tree.nodes[b, ROOT].proven:
        return np.float64(tree.nodes[b, ROOT].raw_value)
    improved_policy(tree, b, ROOT, gumbel, gumbel.improved)
    write_completed(tree, b, ROOT, gumbel)
    value = 0.0
    for action in range(gumbel.advantage.shape[0]):
        value += gumbel.improved[action] * gumbel.advantage[action]
    return within_bounds(tree, b, ROOT, value)
