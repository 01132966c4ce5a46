"""Proven values: MCTS-Solver (Winands, Björnsson and Saito 2008) with bounds.

Letters: B games, A actions.

Every node has a lower and an upper bound of its value for its player to move (Cazenave and Saffidine 2010,
"Score Bounded Monte-Carlo Tree Search"). Both are the value at an end of the game, and LOSS and WIN at a new
node. Above them

    lower(s) = max over actions of their lower bounds,    upper(s) = max of their upper bounds.

A node with equal bounds is proven: one action wins, or one draws and no other can win, or all lose. Its
`raw_value` is then that value, and the search does not enter it any more. PUCT also skips an action whose
upper bound does not exceed the node's lower bound, and Gumbel an action that cannot be best. `mcts.prove`
carries bounds towards the root, and a node counts above it only within its bounds (`bounded_sum`).

The tree does not know the history. In a game that forbids repetition a proof would hold for the game without
that rule, so there are none (`algorithm.sound_for`).
"""

from __future__ import annotations

import numpy as np

from azero.kernels.compiled import kernel, part
from azero.search.tree import LOSS, ROOT, SMALLEST_PRIOR, UNVISITED, WIN, set_bounds


@part
def bounds_of(tree, b, node, action):
    """Return the lower and upper bound of a legal action for the player to move at `node`."""
    child = tree.edges[b, node, action].child
    if child == UNVISITED:
        return np.float32(LOSS), np.float32(WIN)
    lower, upper = tree.nodes[b, child].lower, tree.nodes[b, child].upper
    same = tree.nodes[b, child].to_play == tree.nodes[b, node].to_play
    return (lower, upper) if same else (-upper, -lower)


@kernel
def cannot_improve(tree, b, node, action):
    """Return whether an action's upper bound does not exceed its node's lower bound.

    Searching it brings nothing.
    """
    return bounds_of(tree, b, node, action)[1] <= tree.nodes[b, node].lower


@kernel
def tighten(tree, b, node):
    """Compute the bounds of an expanded node from its actions. Return whether they have become tighter."""
    known_lower, known_upper = tree.nodes[b, node].lower, tree.nodes[b, node].upper
    lower, upper = known_lower, np.float32(LOSS)
    for action in range(tree.edges.shape[2]):
        if tree.edges[b, node, action].prior >= 0.0:
            action_lower, action_upper = bounds_of(tree, b, node, action)
            lower, upper = max(lower, action_lower), max(upper, action_upper)
    upper = min(upper, known_upper)  # a kept tree may have forgotten what that stood on
    set_bounds(tree, b, node, lower, upper)
    return lower > known_lower or upper < known_upper


@part
def within_bounds(tree, b, node, value):
    """Return the value closest to `value` within a node's bounds."""
    return min(max(value, tree.nodes[b, node].lower), tree.nodes[b, node].upper)


@part
def bounded_sum(tree, b, node):
    """Return the sum of a node's values for its player to move, with their mean kept within its bounds."""
    total, visits = np.float64(tree.nodes[b, node].value_sum), np.float64(tree.nodes[b, node].node_visits)
    return min(max(total, visits * tree.nodes[b, node].lower), visits * tree.nodes[b, node].upper)


@kernel
def sure_value(tree, b, node):
    """Return the greatest lower bound of a node's actions for its player to move; LOSS without any."""
    sure = np.float32(LOSS)
    for action in range(tree.edges.shape[2]):
        if tree.edges[b, node, action].prior >= 0.0:
            sure = max(sure, bounds_of(tree, b, node, action)[0])
    return sure


@kernel
def can_be_best(tree, b, node, action, sure):
    """Return whether an action may be the best one of a node whose greatest lower bound is `sure`.

    It is legal, and its upper bound is above `sure` or its lower bound equals it. A proven loss is the best
    only if everything loses.
    """
    if tree.edges[b, node, action].prior < 0.0:
        return False
    lower, upper = bounds_of(tree, b, node, action)
    return upper > sure or (lower >= sure and (sure > LOSS or tree.nodes[b, node].proven))


@kernel
def rule_out(tree, b, weights):
    """Set weights [A] of root actions that cannot be best to 0. If no other was visited, priors count."""
    sure = sure_value(tree, b, ROOT)
    total, count = 0.0, 0
    for action in range(weights.shape[0]):
        if can_be_best(tree, b, ROOT, action, sure):
            total += weights[action]
            count += 1
    for action in range(weights.shape[0]):
        if count > 0 and not can_be_best(tree, b, ROOT, action, sure):
            weights[action] = 0.0
        elif count > 0 and total == 0.0:
            weights[action] = max(tree.edges[b, ROOT, action].prior, SMALLEST_PRIOR)


@kernel
def prefer_sure(tree, b, weights):
    """Move weights [A] to the best root action whose lower bound is the greatest one.

    They come from actions with a mean below that bound. PUCT does not search a proven draw any more, only the
    other actions for something better, so their visits do not speak against it. The best is the one with the
    greatest mean, the first of equals.
    """
    sure, taker, highest = sure_value(tree, b, ROOT), -1, LOSS
    for action in range(weights.shape[0]):
        if sure > LOSS and is_sure_of(tree, b, action, sure) and mean_of(tree, b, action) > highest:
            taker, highest = action, mean_of(tree, b, action)
    for action in range(weights.shape[0]):
        if (
            taker >= 0
            and weights[action] > 0.0
            and not is_sure_of(tree, b, action, sure)
            and mean_of(tree, b, action) < sure
        ):
            weights[taker] += weights[action]
            weights[action] = 0.0


@part
def is_sure_of(tree, b, action, sure):
    """Return whether a root action's lower bound is at least `sure`."""
    return tree.edges[b, ROOT, action].prior >= 0.0 and bounds_of(tree, b, ROOT, action)[0] >= sure


@part
def mean_of(tree, b, action):
    """Return the mean value of a root action for the player to move, WIN before it is visited."""
    count = tree.edges[b, ROOT, action].child_visits
    return tree.edges[b, ROOT, action].child_value_sum / count if count > 0 else WIN
