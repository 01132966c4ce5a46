"""Proven values: MCTS-solver (Winands, Björnsson and Saito 2008, "Monte-Carlo Tree Search Solver"), with bounds.

Letters: B games, A actions.

Of every node it is known what it is worth at least and at most for its player to move (Cazenave and Saffidine 2010, "Score
Bounded Monte-Carlo Tree Search"): of the end of a game that is its value, of a new node nothing, LOSS to WIN, and above them

    least(s) = max over actions of what each is worth at least,    most(s) = max of what each is worth at most.

A node of which both are alike is proven: by one winning action, by a draw where no other action can win, or because all lose.
Its `raw_value` is then that value, and nothing below it is searched any more. Nor does PUCT search an action that is worth at
most what its node is sure of, or Gumbel one that is besides not sure of as much itself. `mcts.prove` carries bounds towards the
root, and what a node has brought counts above it only as far as its bounds allow (`bounded_sum`).

The tree knows no history: where a game forbids repetition a proof would be one for the game without that rule, so there are none
(`scores.sound_for`).
"""

from __future__ import annotations

import numpy as np

from azero.search.kernels import kernel, part
from azero.search.tree import LOSS, ROOT, SMALLEST_PRIOR, UNVISITED, WIN, set_bounds


@part
def bounds_of(tree, b, node, action):
    """What a legal action is worth at least and at most for the player to move at `node`."""
    child = tree.edges[b, node, action].child
    if child == UNVISITED:
        return np.float32(LOSS), np.float32(WIN)
    least, most = tree.nodes[b, child].least, tree.nodes[b, child].most
    same = tree.nodes[b, child].to_play == tree.nodes[b, node].to_play
    return (least, most) if same else (-most, -least)


@kernel
def adds_nothing(tree, b, node, action):
    """Whether an action is known to be worth no more than its node is sure of: nothing would be learnt from searching it."""
    return bounds_of(tree, b, node, action)[1] <= tree.nodes[b, node].least


@kernel
def tighten(tree, b, node):
    """Read the bounds of an expanded node from its actions. Returns whether that told anything new."""
    known_least, known_most = tree.nodes[b, node].least, tree.nodes[b, node].most
    least, most = known_least, np.float32(LOSS)
    for action in range(tree.edges.shape[2]):
        if tree.edges[b, node, action].prior >= 0.0:
            action_least, action_most = bounds_of(tree, b, node, action)
            least, most = max(least, action_least), max(most, action_most)
    most = min(most, known_most)  # a kept tree may have forgotten what that stood on
    set_bounds(tree, b, node, least, most)
    return least > known_least or most < known_most


@part
def within_bounds(tree, b, node, value):
    """The nearest value to `value` that a node may have."""
    return min(max(value, tree.nodes[b, node].least), tree.nodes[b, node].most)


@part
def bounded_sum(tree, b, node):
    """What a node's visits count for its player to move: the sum of their values, but no mean beyond its bounds."""
    total, visits = np.float64(tree.nodes[b, node].value_sum), np.float64(tree.nodes[b, node].node_visits)
    return min(max(total, visits * tree.nodes[b, node].least), visits * tree.nodes[b, node].most)


@kernel
def sure_value(tree, b, node):
    """What the player to move at a node is sure of: the most that one of its actions is worth at least, LOSS without any."""
    sure = np.float32(LOSS)
    for action in range(tree.edges.shape[2]):
        if tree.edges[b, node, action].prior >= 0.0:
            sure = max(sure, bounds_of(tree, b, node, action)[0])
    return sure


@kernel
def is_open(tree, b, node, action, sure):
    """Whether an action may be the best one of a node whose player is sure of `sure`.

    It is legal and may be worth more, or is sure of as much itself. A proven loss is the best only where everything is lost.
    """
    if tree.edges[b, node, action].prior < 0.0:
        return False
    least, most = bounds_of(tree, b, node, action)
    return most > sure or (least >= sure and (sure > LOSS or tree.nodes[b, node].proven))


@kernel
def rule_out(tree, b, weights):
    """Take root actions that are known to be no better than others out of weights [A]; if no other was visited, priors count."""
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


@kernel
def prefer_sure(tree, b, weights):
    """Give weights [A] of root actions that have brought less until now than is sure to the best action that is sure of it.

    PUCT does not search a proven draw any more, only the others for something better: their visits say nothing against it. Of
    several sure actions that with the greatest mean takes the weights, of equal ones the first.
    """
    sure, taker, highest = sure_value(tree, b, ROOT), -1, LOSS
    for action in range(weights.shape[0]):
        if sure > LOSS and is_sure_of(tree, b, action, sure) and mean_of(tree, b, action) > highest:
            taker, highest = action, mean_of(tree, b, action)
    for action in range(weights.shape[0]):
        if taker >= 0 and weights[action] > 0.0 and not is_sure_of(tree, b, action, sure) and mean_of(tree, b, action) < sure:
            weights[taker] += weights[action]
            weights[action] = 0.0


@part
def is_sure_of(tree, b, action, sure):
    """Whether a root action is worth that much at least."""
    return tree.edges[b, ROOT, action].prior >= 0.0 and bounds_of(tree, b, ROOT, action)[0] >= sure


@part
def mean_of(tree, b, action):
    """The mean value of a root action, for the player to move; WIN, which may be, before it is visited."""
    count = tree.edges[b, ROOT, action].child_visits
    return tree.edges[b, ROOT, action].child_value_sum / count if count > 0 else WIN
