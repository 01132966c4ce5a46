"""Proven values: MCTS-Solver (Winands, Björnsson and Saito 2008) with bounds.

Letters: B games, M moves of a node, in the order of its edges.

Every node has a lower and an upper bound of its value for its player to move (Cazenave and Saffidine 2010,
"Score Bounded Monte-Carlo Tree Search"). Both are the value at an end of the game, and LOSS and WIN at a new
node. Above them

    lower(s) = max over edges of their lower bounds,    upper(s) = max of their upper bounds.

A node with equal bounds is proven: one action wins, or one draws and no other can win, or all lose. Its
`raw_value` is then that value, and the search does not enter it any more. PUCT also skips an edge whose
upper bound does not exceed the node's lower bound, and Gumbel one that cannot be best. `mcts.prove`
carries bounds towards the root, and a node counts above it only within its bounds (`bounded_sum`).

The tree does not know the history. In a game that forbids repetition a proof would hold for the game without
that rule, so there are none (`algorithm.sound_for`).
"""

from __future__ import annotations

import numpy as np

from azero.kernels.compiled import kernel, part
from azero.search.tree import LOSS, ROOT, SMALLEST_PRIOR, UNVISITED, WIN, edge_range, first_edge, set_bounds


@part
def bounds_of(tree, b, node, edge):
    """Return the lower and upper bound of an edge of `node` for the player to move there."""
    child = tree.edges[b, edge].child
    if child == UNVISITED:
        return np.float32(LOSS), np.float32(WIN)
    lower, upper = tree.nodes[b, child].lower, tree.nodes[b, child].upper
    same = tree.nodes[b, child].to_play == tree.nodes[b, node].to_play
    return (lower, upper) if same else (-upper, -lower)


@kernel
def cannot_improve(tree, b, node, edge):
    """Return whether an edge's upper bound does not exceed its node's lower bound.

    Searching it brings nothing.
    """
    return bounds_of(tree, b, node, edge)[1] <= tree.nodes[b, node].lower


@kernel
def tighten(tree, b, node):
    """Compute the bounds of an expanded node from its edges. Return whether they have become tighter."""
    known_lower, known_upper = tree.nodes[b, node].lower, tree.nodes[b, node].upper
    lower, upper = known_lower, np.float32(LOSS)
    for edge in edge_range(tree, b, node):
        edge_lower, edge_upper = bounds_of(tree, b, node, edge)
        lower, upper = max(lower, edge_lower), max(upper, edge_upper)
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
    """Return the greatest lower bound of a node's edges for its player to move; LOSS without any."""
    sure = np.float32(LOSS)
    for edge in edge_range(tree, b, node):
        sure = max(sure, bounds_of(tree, b, node, edge)[0])
    return sure


@kernel
def can_be_best(tree, b, node, edge, sure):
    """Return whether an edge may be the best one of a node whose greatest lower bound is `sure`.

    Its upper bound is above `sure` or its lower bound equals it. A proven loss is the best only if everything
    loses.
    """
    lower, upper = bounds_of(tree, b, node, edge)
    return upper > sure or (lower >= sure and (sure > LOSS or tree.nodes[b, node].proven))


@kernel
def rule_out(tree, b, weights):
    """Set weights [M] of root moves that cannot be best to 0. If no other was visited, priors count."""
    sure = sure_value(tree, b, ROOT)
    first = first_edge(tree, b, ROOT)
    total, count = 0.0, 0
    for place in range(weights.shape[0]):
        if can_be_best(tree, b, ROOT, first + place, sure):
            total += weights[place]
            count += 1
    for place in range(weights.shape[0]):
        if count > 0 and not can_be_best(tree, b, ROOT, first + place, sure):
            weights[place] = 0.0
        elif count > 0 and total == 0.0:
            weights[place] = max(tree.edges[b, first + place].prior, SMALLEST_PRIOR)


@kernel
def prefer_sure(tree, b, weights):
    """Move weights [M] to the best root move whose lower bound is the greatest one.

    They come from moves with a mean below that bound. PUCT does not search a proven draw any more, only the
    other moves for something better, so their visits do not speak against it. The best is the one with the
    greatest mean, the first of equals.
    """
    sure, taker, highest = sure_value(tree, b, ROOT), -1, LOSS
    first = first_edge(tree, b, ROOT)
    for place in range(weights.shape[0]):
        edge = first + place
        if sure > LOSS and is_sure_of(tree, b, edge, sure) and mean_of(tree, b, edge) > highest:
            taker, highest = place, mean_of(tree, b, edge)
    for place in range(weights.shape[0]):
        edge = first + place
        if (
            taker >= 0
            and weights[place] > 0.0
            and not is_sure_of(tree, b, edge, sure)
            and mean_of(tree, b, edge) < sure
        ):
            weights[taker] += weights[place]
            weights[place] = 0.0


@part
def is_sure_of(tree, b, edge, sure):
    """Return whether a root edge's lower bound is at least `sure`."""
    return bounds_of(tree, b, ROOT, edge)[0] >= sure


@part
def mean_of(tree, b, edge):
    """Return the mean value of an edge for the player to move, WIN before it is visited."""
    count = tree.edges[b, edge].child_visits
    return tree.edges[b, edge].child_value_sum / count if count > 0 else WIN
