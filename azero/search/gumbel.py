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

Letters: B games, A actions, M legal moves of a node in the order of its edges, C moves considered at most.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from azero.config.schema import SearchConfig
from azero.kernels.compiled import kernel, part
from azero.kernels.random_stream import uint64_at, unit_float
from azero.kernels.words import copy_words
from azero.search.algorithm import SearchKind
from azero.search.bounds import can_be_best, sure_value, within_bounds
from azero.search.tree import LOSS, ROOT, SMALLEST_PRIOR, edge_range, first_edge

ANY = -1  # any number of visits
# A range of completed_q below this is not stretched: sums in float32 are off by about 1e-7. mctx has 1e-8.
SMALLEST_RANGE = 1e-6


class Gumbel(NamedTuple):
    """The constants and arrays of the search; `config.schema.SearchConfig` documents the constants."""

    noise: np.ndarray  # [B, A] float64, of each root's moves; zeros for a deterministic search
    drawn: np.ndarray  # [B] bool: `noise` is that of `draws`
    draws: np.ndarray  # [B, 2] uint64, the stream at which the noise of action 0 is drawn
    temperature: np.ndarray  # [B] float64, of that noise
    considered_visits: np.ndarray  # [C + 1, num_simulations] int32: visits a move must have to be next
    maxvisit_init: float
    value_scale: float
    solver: bool
    open: np.ndarray  # [A] bool, scratch: moves that can be the best
    advantage: np.ndarray  # [A] float64, scratch: the second term of the improved policy's logits
    improved: np.ndarray  # [A] float64, scratch


def make_gumbel(search: SearchConfig, num_games: int, num_actions: int) -> Gumbel:
    """Return the search's constants and its arrays for `num_games` games."""
    most = min(search.max_considered_actions, num_actions)
    visits = [visit_sequence(m, search.num_simulations) for m in range(most + 1)]
    return Gumbel(
        noise=np.zeros((num_games, num_actions)),
        drawn=np.ones(num_games, np.bool_),
        draws=np.zeros((num_games, 2), np.uint64),
        temperature=np.zeros(num_games),
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
    """Draw the noise of game b's next search: temperature * Gumbel(0, 1) for each action.

    Each action has its own number of the stream, and `write_noise` takes those of legal moves.
    """
    copy_words(stream, gumbel.draws[b])
    gumbel.temperature[b] = temperature
    gumbel.drawn[b] = False
    if temperature > 0.0:
        stream[1] += np.uint64(gumbel.noise.shape[1])


@kernel
def write_noise(tree, b, gumbel):
    """Write the noise that `draw_noise` has drawn for the moves of game b's expanded root."""
    if gumbel.drawn[b]:
        return
    gumbel.drawn[b] = True
    temperature, first = gumbel.temperature[b], first_edge(tree, b, ROOT)
    seed, before = gumbel.draws[b, 0], gumbel.draws[b, 1] + np.uint64(1)
    for place in range(tree.nodes[b, ROOT].num_edges):
        uniform = 0.5
        if temperature > 0.0:
            counter = before + np.uint64(tree.edges[b, first + place].action)
            uniform = 1.0 - unit_float(uint64_at(seed, counter))  # in (0, 1]
        gumbel.noise[b, place] = -temperature * math.log(max(-math.log(uniform), 1e-300))


@kernel
def begin_gumbel(tree, b, gumbel, temperature, stream):
    """Draw the noise of game b's next search."""
    draw_noise(gumbel, b, temperature, stream)


@kernel
def write_completed(tree, b, node, gumbel):
    """Write completed_q of each move of an expanded node, for its player, into gumbel.advantage [M].

    An unvisited move gets (v + visits * sum(prior * q) / sum(prior)) / (1 + visits), with the network's
    value v and sums over visited moves. Return the most visits of a move, and what an unvisited one gets.
    """
    visits, most, prior_sum, weighted = 0, 0, 0.0, 0.0
    first, moves = first_edge(tree, b, node), tree.nodes[b, node].num_edges
    for place in range(moves):
        count = tree.edges[b, first + place].child_visits
        if count > 0:
            q = tree.edges[b, first + place].child_value_sum / count
            prior = max(tree.edges[b, first + place].prior, SMALLEST_PRIOR)
            gumbel.advantage[place] = q
            visits += count
            most = max(most, count)
            prior_sum += prior
            weighted += prior * q
    mixed = np.float64(tree.nodes[b, node].raw_value)
    if visits > 0:
        mixed = (mixed + visits * weighted / prior_sum) / (1.0 + visits)
    for place in range(moves):
        if tree.edges[b, first + place].child_visits == 0:
            gumbel.advantage[place] = mixed
    return most, mixed


@kernel
def write_advantages(tree, b, node, gumbel):
    """Write the second term of the improved policy's logits into gumbel.advantage [M].

    It is (maxvisit_init + max visits) * value_scale * completed_q, with completed_q stretched to [0, 1]. As
    in mctx, illegal actions count as unvisited, so their mixed value takes part in the stretching.
    """
    most, mixed = write_completed(tree, b, node, gumbel)
    low, high, moves = math.inf, -math.inf, tree.nodes[b, node].num_edges
    if moves < gumbel.advantage.shape[0]:
        low = high = mixed
    for place in range(moves):
        low, high = min(low, gumbel.advantage[place]), max(high, gumbel.advantage[place])
    scale = (gumbel.maxvisit_init + most) * gumbel.value_scale / max(high - low, SMALLEST_RANGE)
    for place in range(moves):
        gumbel.advantage[place] = scale * (gumbel.advantage[place] - low)


@part
def log_prior(tree, b, edge):
    return math.log(max(tree.edges[b, edge].prior, SMALLEST_PRIOR))


@kernel
def write_open(tree, b, node, gumbel):
    """Write which moves of an expanded node can be the best into gumbel.open [M].

    All can without the solver, and also if every move loses but the node is not proven, as happens among
    guesses of `prefetch`.
    """
    sure, none = sure_value(tree, b, node) if gumbel.solver else LOSS, True
    first, moves = first_edge(tree, b, node), tree.nodes[b, node].num_edges
    for place in range(moves):
        gumbel.open[place] = not gumbel.solver or can_be_best(tree, b, node, first + place, sure)
        none &= not gumbel.open[place]
    if none:
        for place in range(moves):
            gumbel.open[place] = True


@kernel
def improved_policy(tree, b, node, gumbel, out):
    """Write softmax(ln prior + advantage) of a node's open moves into out [M or more]; 0 for the others."""
    write_advantages(tree, b, node, gumbel)
    write_open(tree, b, node, gumbel)
    first, moves, highest = first_edge(tree, b, node), tree.nodes[b, node].num_edges, -math.inf
    for place in range(moves):
        if gumbel.open[place]:
            highest = max(highest, log_prior(tree, b, first + place) + gumbel.advantage[place])
    total = 0.0
    for place in range(moves):
        out[place] = 0.0
        if gumbel.open[place]:
            out[place] = math.exp(log_prior(tree, b, first + place) + gumbel.advantage[place] - highest)
            total += out[place]
    for place in range(moves):
        out[place] /= total


@kernel
def select_inner(tree, b, node, gumbel):
    """Return the edge below the root with the greatest improved(a) - visits(a) / (1 + visits).

    It is the open move whose share of the visits lags most behind the improved policy, the first of equals.
    """
    improved_policy(tree, b, node, gumbel, gumbel.improved)
    visits = tree.nodes[b, node].node_visits  # of the children, and one for the node itself
    best, best_score, first = -1, -math.inf, first_edge(tree, b, node)
    for place in range(tree.nodes[b, node].num_edges):
        if gumbel.open[place]:
            score = gumbel.improved[place] - tree.edges[b, first + place].child_visits / visits
            if score > best_score:
                best, best_score = first + place, score
    return best


@kernel
def select_among(tree, b, gumbel, considered_visits):
    """Return the open root edge with the greatest noise + ln prior + advantage, or -1.

    considered_visits: only edges with this number of visits; ANY for all.
    """
    write_noise(tree, b, gumbel)
    write_advantages(tree, b, ROOT, gumbel)
    best, best_score, first = -1, -math.inf, first_edge(tree, b, ROOT)
    for place in range(tree.nodes[b, ROOT].num_edges):
        visits = tree.edges[b, first + place].child_visits
        if gumbel.open[place] and (considered_visits == ANY or visits == considered_visits):
            score = gumbel.noise[b, place] + log_prior(tree, b, first + place) + gumbel.advantage[place]
            if score > best_score:
                best, best_score = first + place, score
    return best


@kernel
def select_root(tree, b, gumbel):
    """Return the next edge of sequential halving at the root.

    If that edge is not open, the best of all open edges replaces it.
    """
    visits = 0
    for edge in edge_range(tree, b, ROOT):
        visits += tree.edges[b, edge].child_visits
    write_open(tree, b, ROOT, gumbel)
    row = min(np.int64(tree.nodes[b, ROOT].num_edges), gumbel.considered_visits.shape[0] - 1)
    edge = select_among(tree, b, gumbel, gumbel.considered_visits[row, visits])
    return edge if edge >= 0 else select_among(tree, b, gumbel, ANY)


@kernel
def select_next(tree, b, node, gumbel):
    """Return the edge by which a simulation leaves a node."""
    return select_root(tree, b, gumbel) if node == ROOT else select_inner(tree, b, node, gumbel)


@kernel
def choose_gumbel(tree, b, gumbel, temperature, stream):
    """Return the root edge to play after the search: the best of the most visited open ones.

    The temperature was in the noise.
    """
    write_open(tree, b, ROOT, gumbel)
    most, first = 0, first_edge(tree, b, ROOT)
    for place in range(tree.nodes[b, ROOT].num_edges):
        if gumbel.open[place]:
            most = max(most, tree.edges[b, first + place].child_visits)
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
    for place in range(tree.nodes[b, ROOT].num_edges):
        value += gumbel.improved[place] * gumbel.advantage[place]
    return within_bounds(tree, b, ROOT, value)


@kernel
def write_improved(tree, b, gumbel, out):
    """Write the policy target, the improved policy of game b's root, into out [M or more] float32."""
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
