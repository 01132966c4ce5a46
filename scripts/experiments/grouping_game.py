"""UCT on complete trees whose leaves have a payoff by formula, with decisions split into smaller ones.

Letters: D levels, N nodes, G games, P parameters of a payoff.

Two players in turn choose one of M moves. The moves, read as the digits of an integer, name the leaf that
they reach. The first player wants the payoff of that leaf, which lies in [0, 1], to be high, the second
gets one minus the payoff. A grouped player splits each decision into several smaller ones, the first of which
says in which group the move lies, the next in which smaller group of it, and so on: 256 = 16 x 16 moves. Such
a group is an ordinary node in which the same side moves again.

The search is UCT with mean + exploration * sqrt(2 ln n / n_child), Kocsis & Szepesvari, "Bandit based
Monte-Carlo planning" (2006). Expanding a node plays one rollout from each of its children, and all of them
count. Only visited nodes and their children are kept. A `Reading` makes the choices that the source leaves
open.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from azero.kernels.compiled import kernel
from azero.kernels.random_stream import next_below, next_uint64

# kinds of payoffs; x is the leaf's number, u that number as a share of the largest one
LINEAR = 0  # u
X_SIN_X = 1  # |t sin t| / k where t = k * u; k is parameter 0
SINES = 2  # |sum of a_i sin(x / (2 i - 1))|, i = 1 .. P; a_i is parameter i - 1
TABLE = 3  # parameter x

# in which order children are tried
SHUFFLED = 0  # drawn anew for each node
FORWARD = 1  # 0, 1, 2, ..., as a plain loop does
BACKWARD = 2  # from the last to the first

MOST_LEAVES = 2**53  # beyond that a leaf's number is no exact float
NOT_EXPANDED = -1
# Not a plain 0: a literal argument would make Numba compile every function that takes it twice.
ROOT: Any = np.int64(0)


class Levels(NamedTuple):
    """A game as a player sees it: what is decided at each level from the root to the leaves."""

    choices: np.ndarray  # [D] int64: into how many parts the level splits what is left
    to_play: np.ndarray  # [D] int64: 0 or 1
    leaves: np.ndarray  # [D + 1] int64: how many leaves lie below a node of the level


class Payoff(NamedTuple):
    """What the leaves of one game are worth."""

    kind: int
    parameters: np.ndarray  # [P] float64
    leaves: int


class Reading(NamedTuple):
    """What the text of the experiment leaves open; both players of a game share it."""

    order: int  # SHUFFLED, FORWARD or BACKWARD: which children a last expansion without enough rollouts tries
    by_mean: bool  # play the child of the best mean, not the most visited one
    threshold: int  # visits before a leaf is expanded; until then every visit plays one rollout from it


class Tree(NamedTuple):
    """One search's tree. Row n is node n; the children of a node are neighbours."""

    first_child: np.ndarray  # [N] int64, or NOT_EXPANDED
    level: np.ndarray  # [N] int64
    number: np.ndarray  # [N] int64: the node's place among all nodes of its level, from left to right
    visits: np.ndarray  # [N] int64
    payoff_sum: np.ndarray  # [N] float64: as the first player wants it
    path: np.ndarray  # [D + 1] int64: the nodes of the current simulation
    order: np.ndarray  # [most choices] int64: in which order children are tried


def make_levels(splits: Sequence[int], plies: int) -> Levels:
    """Return the levels of a game of `plies` plies in which every move is decided in steps.

    Args:
        splits: the choices of each step, such as (16, 16); (256,) decides a move at once.
        plies: moves of a game, the two players in turn.

    Raises:
        ValueError: a step without a choice, or more leaves than can be counted.
    """
    if not splits or min(splits) < 2 or plies < 1:
        raise ValueError(f"splits {tuple(splits)} and {plies} plies make no game")
    if math.prod(splits) ** plies > MOST_LEAVES:
        raise ValueError(f"{math.prod(splits)} moves in {plies} plies are more than 2**53 leaves")
    choices = list(splits) * plies
    to_play = [ply % 2 for ply in range(plies) for _ in splits]
    leaves = [math.prod(choices[level:]) for level in range(len(choices) + 1)]
    return Levels(np.array(choices), np.array(to_play), np.array(leaves))


@kernel
def worth(payoff, leaf):
    """The payoff of leaf number `leaf`, in [0, 1] for parameters that keep it there."""
    if payoff.kind == TABLE:
        return payoff.parameters[leaf]
    if payoff.kind == SINES:
        total = 0.0
        for i in range(payoff.parameters.shape[0]):
            total += payoff.parameters[i] * math.sin(leaf / (2.0 * i + 1.0))
        return abs(total)
    share = leaf / (payoff.leaves - 1.0)
    if payoff.kind == LINEAR:
        return share
    k = payoff.parameters[0]
    return abs(share * math.sin(k * share))


@kernel
def new_tree(levels, rollouts):
    """Room for one search; only the last expansion can make children that get no rollout."""
    most = levels.choices.max()
    nodes = rollouts + most + 1
    return Tree(
        np.zeros(nodes, np.int64),
        np.zeros(nodes, np.int64),
        np.zeros(nodes, np.int64),
        np.zeros(nodes, np.int64),
        np.zeros(nodes),
        np.zeros(levels.choices.shape[0] + 1, np.int64),
        np.zeros(most, np.int64),
    )


@kernel
def add_node(tree, node, level, number):
    """Begin node `node`."""
    tree.first_child[node] = NOT_EXPANDED
    tree.level[node] = level
    tree.number[node] = number
    tree.visits[node] = 0
    tree.payoff_sum[node] = 0.0


@kernel
def rollout(levels, payoff, level, number, stream):
    """Return the payoff of a random leaf below a node, as random moves would reach it."""
    leaves = levels.leaves[level]
    below = np.int64(next_uint64(stream) % np.uint64(leaves))
    return worth(payoff, number * leaves + below)


@kernel
def backup(tree, length, value):
    """Count a payoff in the first `length` nodes of the path."""
    for step in range(length):
        tree.visits[tree.path[step]] += 1
        tree.payoff_sum[tree.path[step]] += value


@kernel
def select(levels, tree, node, exploration):
    """The child of the highest upper bound, the first of equals; all children were visited."""
    level = tree.level[node]
    second = levels.to_play[level] == 1
    scale = exploration * math.sqrt(2.0 * math.log(tree.visits[node]))
    best, best_score = tree.first_child[node], -1.0
    for child in range(tree.first_child[node], tree.first_child[node] + levels.choices[level]):
        mean = tree.payoff_sum[child] / tree.visits[child]
        score = (1.0 - mean if second else mean) + scale / math.sqrt(tree.visits[child])
        if score > best_score:
            best, best_score = child, score
    return best


@kernel
def descend(levels, tree, exploration):
    """Follow the highest bounds to a node without children; write the path and return its length."""
    node, length = ROOT, 1
    tree.path[0] = ROOT
    while tree.first_child[node] != NOT_EXPANDED:
        node = select(levels, tree, node, exploration)
        tree.path[length] = node
        length += 1
    return length


@kernel
def shuffle(order, count, stream):
    """Write 0 .. count - 1 in random order."""
    for place in range(count):
        other = next_below(stream, place + 1)
        order[place] = order[other]
        order[other] = place


@kernel
def expand(levels, payoff, tree, order, length, first_child, rollouts, stream):
    """Give the last node of the path its children, and each child a rollout; returns how many there were.

    If fewer `rollouts` are left than there are children, the first of the `order` get one.
    """
    node = tree.path[length - 1]
    level, choices = tree.level[node], levels.choices[tree.level[node]]
    tree.first_child[node] = first_child
    for choice in range(choices):
        tree.order[choice] = choices - 1 - choice if order == BACKWARD else choice
        add_node(tree, first_child + choice, level + 1, tree.number[node] * choices + choice)
    played = min(rollouts, choices)
    if order == SHUFFLED and played < choices:
        shuffle(tree.order, choices, stream)
    for place in range(played):
        child = first_child + tree.order[place]
        tree.path[length] = child
        backup(tree, length + 1, rollout(levels, payoff, level + 1, tree.number[child], stream))
    return played


@kernel
def search(levels, payoff, tree, reading, level, number, rollouts, exploration, stream):
    """Search from node `number` of `level`, not the last, with `rollouts` rollouts; return the choice.

    A leaf of the game that is reached again counts as a rollout. The choice is the child visited most, of
    equals the one of the best mean; `by_mean` asks for the mean first. Of equals again it is the first.
    """
    add_node(tree, ROOT, level, number)
    nodes, left = 1, rollouts
    while left > 0:
        length = descend(levels, tree, exploration)
        node = tree.path[length - 1]
        if tree.level[node] == levels.choices.shape[0]:
            backup(tree, length, worth(payoff, tree.number[node]))
            left -= 1
        elif node != ROOT and tree.visits[node] < reading.threshold:
            backup(tree, length, rollout(levels, payoff, tree.level[node], tree.number[node], stream))
            left -= 1
        else:
            left -= expand(levels, payoff, tree, reading.order, length, nodes, left, stream)
            nodes += levels.choices[tree.level[node]]
    best, best_score = tree.first_child[ROOT], (-1.0, -1.0)
    for child in range(tree.first_child[ROOT], tree.first_child[ROOT] + levels.choices[level]):
        if tree.visits[child] > 0:
            mean = tree.payoff_sum[child] / tree.visits[child]
            mean = mean if levels.to_play[level] == 0 else 1.0 - mean
            visits = np.float64(tree.visits[child])
            score = (mean, visits) if reading.by_mean else (visits, mean)
            if score > best_score:
                best, best_score = child, score
    return best - tree.first_child[ROOT]


@kernel
def decide(levels, steps, payoff, tree, reading, ply, number, rollouts, exploration, stream):
    """Choose a move at node `number` of `ply`, one search for each step; return the node reached.

    The shares are equal; where they cannot be, the first searches get one rollout more.
    """
    for step in range(steps):
        level = ply * steps + step
        share = rollouts // steps + (1 if step < rollouts % steps else 0)
        choice = search(levels, payoff, tree, reading, level, number, share, exploration, stream)
        number = number * levels.choices[level] + choice
    return number


@kernel
def play_games(kind, parameters, first, second, reading, plies, rollouts, exploration, streams, payoffs):
    """Play games between two ways to see them.

    Args:
        kind: LINEAR, X_SIN_X, SINES or TABLE.
        parameters: [G, P] float64, the payoff of each game.
        first: `Levels` of the player who moves first.
        second: of the other; both come from `make_levels` with splits of the same product and the same plies.
        reading: `Reading` of both players.
        plies: moves of a game.
        rollouts: for each move, at least as many as a move has steps.
        exploration: the constant of the search.
        streams: [G, 2] uint64, the random stream of each game; advanced.
        payoffs: [G] float64, written: the payoff of the leaf that each game reached.
    """
    trees = (new_tree(first, rollouts), new_tree(second, rollouts))
    for game in range(parameters.shape[0]):
        payoff = Payoff(kind, parameters[game], first.leaves[0])
        number = np.int64(0)
        for ply in range(plies):
            levels, tree = (first, trees[0]) if ply % 2 == 0 else (second, trees[1])
            steps = levels.choices.shape[0] // plies
            number = decide(
                levels, steps, payoff, tree, reading, ply, number, rollouts, exploration, streams[game]
            )
        payoffs[game] = worth(payoff, number)
