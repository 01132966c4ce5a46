"""Proven values: MCTS-solver (Winands, Björnsson and Saito 2008, "Monte-Carlo Tree Search Solver").

Letters: B games, A actions.

The end of a game has an exact value. A node is proven when one action is a proven win for its player, or when all its actions are
proven: it is worth its best action, draws included (Cazenave and Saffidine 2010, "Score Bounded Monte-Carlo Tree Search"). Its
`raw_value` is then that value, and nothing below it is searched any more. `mcts.prove` carries proofs towards the root.

The tree knows no history: where a game forbids repetition a proof would be one for the game without that rule, so there are none
(`scores.sound_for`).
"""

from __future__ import annotations

import math

import numpy as np

from azero.search.kernels import kernel, part
from azero.search.tree import ROOT, SMALLEST_PRIOR, UNVISITED

WIN, LOSS = 1.0, -1.0  # nothing is better, nothing is worse


@part
def exact_value(tree, b, node, action):
    """The proven value of an action for the player to move at `node`; nan where it is not proven."""
    child = tree.edges[b, node, action].child
    if child == UNVISITED or not tree.nodes[b, child].proven:
        return math.nan
    same = tree.nodes[b, child].to_play == tree.nodes[b, node].to_play
    return np.float64(tree.nodes[b, child].raw_value if same else -tree.nodes[b, child].raw_value)


@kernel
def is_lost(tree, b, node, action):
    """Whether an action is a proven loss for the player to move at `node`."""
    return exact_value(tree, b, node, action) <= LOSS


@kernel
def find_proof(tree, b, node, action):
    """The value of a node now that `action` is proven, for its player to move; nan while it is not proven itself."""
    best = exact_value(tree, b, node, action)
    if best >= WIN:
        return best
    for other in range(tree.edges.shape[2]):
        if tree.edges[b, node, other].prior < 0.0:
            continue
        value = exact_value(tree, b, node, other)
        if math.isnan(value):
            return value
        best = max(best, value)
    return best


@kernel
def sure_value(tree, b, node):
    """What the player to move at a node is sure of: the best of its proven actions, LOSS without any."""
    sure = LOSS
    for action in range(tree.edges.shape[2]):
        value = exact_value(tree, b, node, action)
        if value > sure and tree.edges[b, node, action].prior >= 0.0:
            sure = value
    return sure


@kernel
def is_open(tree, b, node, action, sure):
    """Whether a legal action may be the best one of a node whose player is sure of `sure`: worse ones are known not to be.

    A proven loss is the best only where everything is lost.
    """
    if tree.edges[b, node, action].prior < 0.0:
        return False
    value = exact_value(tree, b, node, action)
    if math.isnan(value):
        return sure < WIN
    return value >= sure and (value > LOSS or tree.nodes[b, node].proven)


@kernel
def rule_out(tree, b, weights):
    """Take root actions that are proven not to be best out of weights [A]; if no other was visited, the others' priors count."""
    sure = sure_value(tree, b, ROOT)
    total, count = 0.0, 0
    for action in range(weights.shape[0]):
        if is_open(tree, b, ROOT, action, sure):
            total += weights[action]
            count += 1
    for action in range(weights.shape[0]):
        if count > 0 and not is_open(tree, b, ROOT, action, sure):
            weights[action] = 0.0
        elif count > 0 and total == 0.0:
            weights[action] = max(tree.edges[b, ROOT, action].prior, SMALLEST_PRIOR)
