"""Monte Carlo tree search as three verbs, select, expand and backup, and the loop around them.

Letters: B games, N nodes, A actions, R rows of one inference batch.

The loop knows no noise, temperature or move; those live at the root (`root.py`). A game's simulations run until one needs the
network; its leaf then waits in `leaf` while the other games go on, so every wave gives the network one full batch. Ends of the
game and cached positions cost no evaluation and are backed up at once.
"""

from __future__ import annotations

import math

import numpy as np

from azero.games.game import rules_at
from azero.search.cache import find, remember
from azero.search.kernels import borrowed, kernel, part
from azero.search.proof import bounded_sum, tighten
from azero.search.scores import next_child
from azero.search.spread import set_square_sum, square_sum
from azero.search.tree import LOSS, NO_LEAF, NO_PARENT, ROOT, UNVISITED, WIN, add_child


@part
def select(rules, tree, b, score):
    """Descend from the root along the best scores to a node that is new or proven, creating it if needed."""
    node = ROOT
    while tree.nodes[b, node].expanded and not tree.nodes[b, node].proven:
        action = next_child(tree, b, node, score)
        child = tree.edges[b, node, action].child
        if child == UNVISITED:
            return add_child(rules, tree, b, node, action)
        node = child
    return node


@part
def expand(tree, b, node, prior, value):
    """Give a node its evaluation: prior [A] (ILLEGAL or a probability) and value for its player to move."""
    for action in range(prior.shape[0]):
        tree.edges[b, node, action].prior = prior[action]
    tree.nodes[b, node].raw_value = value
    tree.nodes[b, node].expanded = True


@part
def backup(tree, b, leaf, value):
    """Add the leaf's value, meant for the player to move there, to every node and edge on the way to the root."""
    add_above(tree, b, leaf, value, 1)


@part
def add_above(tree, b, node, value, visits):
    """Add a value, meant for the player to move at a node, and so many visits to it and to all on the way to the root."""
    while True:
        bounded = tree.nodes[b, node].least > LOSS or tree.nodes[b, node].most < WIN
        before = bounded_sum(tree, b, node) if bounded else 0.0
        tree.nodes[b, node].node_visits += visits
        tree.nodes[b, node].value_sum += value
        set_square_sum(tree.nodes, b, node, square_sum(tree.nodes, b, node) + visits * value * value)
        if bounded:
            value = np.float32(bounded_sum(tree, b, node) - before)  # as much of it as the bounds allow to count above
        parent = tree.nodes[b, node].parent
        if parent == NO_PARENT:
            return
        value = add_to_edge(tree, b, node, value, visits)
        node = parent


@part
def add_to_edge(tree, b, node, value, visits):
    """Add a value for the player to move at a node, and visits, to the edge above; return it for the player to move there."""
    parent, action = tree.nodes[b, node].parent, tree.nodes[b, node].parent_action
    if tree.nodes[b, parent].to_play != tree.nodes[b, node].to_play:
        value = -value  # the one place where a value changes its perspective
    tree.edges[b, parent, action].child_visits += visits
    tree.edges[b, parent, action].child_value_sum += value
    return value


@kernel
def prove(tree, b, node):
    """Carry a proven node's value up as far as it tells anything of the nodes above, and put right what they count, as in lc0."""
    while tree.nodes[b, node].parent != NO_PARENT:
        node = tree.nodes[b, node].parent
        before = bounded_sum(tree, b, node)
        if not tighten(tree, b, node):
            return
        change = np.float32(bounded_sum(tree, b, node) - before)
        if tree.nodes[b, node].least == tree.nodes[b, node].most:
            write_proof(tree, b, node)
        if change != 0.0 and tree.nodes[b, node].parent != NO_PARENT:
            value = add_to_edge(tree, b, node, change, 0)
            add_above(tree, b, tree.nodes[b, node].parent, value, 0)


@kernel
def write_proof(tree, b, node):
    """Make a node whose bounds have met a proven one: its value is what every visit brought, to the last bit."""
    value, visits = np.float64(tree.nodes[b, node].least), tree.nodes[b, node].node_visits
    tree.nodes[b, node].raw_value = value
    tree.nodes[b, node].proven = True
    tree.nodes[b, node].value_sum = value * visits
    set_square_sum(tree.nodes, b, node, value * value * visits)


@part
def simulate(rules, tree, cache, b, score, key):
    """Run game b's simulations until one needs the network (True; its leaf waits in `leaf`) or none is left to do (False).

    None is when the root is proven. The root must be expanded. key: scratch, [K] uint64.
    """
    while tree.searches[b].simulations_left > 0 and not tree.nodes[b, ROOT].proven:
        leaf = select(rules, tree, b, score)
        if not tree.nodes[b, leaf].proven and not expand_from_cache(rules, tree, cache, b, leaf, key):
            tree.searches[b].leaf = leaf
            return True
        backup(tree, b, leaf, tree.nodes[b, leaf].raw_value)
        if score.solver and tree.nodes[b, leaf].proven:
            prove(tree, b, leaf)
        tree.searches[b].simulations_left -= 1
    return False


@part
def expand_root(rules, tree, cache, b, key):
    """Expand an unexpanded root from the cache (False) or let it wait for the network (True). It is no simulation."""
    if expand_from_cache(rules, tree, cache, b, ROOT, key):
        backup(tree, b, ROOT, tree.nodes[b, ROOT].raw_value)
        return False
    tree.searches[b].leaf = ROOT
    return True


@part
def expand_from_cache(rules, tree, cache, b, node, key):
    if cache.used.shape[0] == 0:
        return False
    rules.evaluation_key(tree.states[b, node], key)
    entry = find(cache, key)
    if entry < 0:
        return False
    expand(tree, b, node, cache.prior[entry], cache.value[entry])
    return True


@part
def softmax_over_legal(logits, legal, prior):
    """prior [A]: softmax of the legal logits; ILLEGAL elsewhere."""
    highest = -math.inf
    for action in range(logits.shape[0]):
        if legal[action] and logits[action] > highest:
            highest = logits[action]
    total = 0.0
    for action in range(logits.shape[0]):
        if legal[action]:
            weight = math.exp(logits[action] - highest)
            total += weight
            prior[action] = weight
        else:
            prior[action] = -1.0
    for action in range(logits.shape[0]):
        if legal[action]:
            prior[action] /= total


@kernel
def write_rows(addresses, tree, planes, games):
    """Write the planes of every waiting leaf, one row each, and its game to games [R] int64. Returns the number of rows.

    At most R = planes.shape[0] leaves are taken; B <= R in self-play, and searches of more positions call again.
    """
    rules = rules_at(addresses)
    tree, planes = borrowed(tree), borrowed(planes)
    rows = 0
    for b in range(tree.searches.shape[0]):
        if tree.searches[b].leaf != NO_LEAF and rows < planes.shape[0]:
            rules.planes(tree.states[b, tree.searches[b].leaf], planes[rows])
            games[rows] = b
            rows += 1
    return rows


@kernel
def absorb(addresses, tree, cache, games, rows, logits, values, legal, key, prior):
    """Expand and back up the leaves of the first `rows` games with the network's answer.

    logits: [R, A] float32. values: [R] float32, for the player to move at the leaf. legal, key, prior: scratch, [A] [K] [A].
    """
    rules = rules_at(addresses)
    tree, cache, logits = borrowed(tree), borrowed(cache), borrowed(logits)
    for row in range(rows):
        b = games[row]
        leaf = tree.searches[b].leaf
        state = tree.states[b, leaf]
        rules.legal_mask(state, legal)
        softmax_over_legal(logits[row], legal, prior)
        expand(tree, b, leaf, prior, values[row])
        backup(tree, b, leaf, values[row])
        tree.searches[b].leaf = NO_LEAF
        if leaf != ROOT:
            tree.searches[b].simulations_left -= 1
        if cache.used.shape[0] > 0:
            rules.evaluation_key(state, key)
            remember(cache, key, prior, values[row])


@kernel
def search_wave(addresses, tree, cache, games, score, key):
    """Move the searches of `games` [any] on until each waits for the network or is done. Returns how many wait."""
    rules = rules_at(addresses)
    tree, cache, score = borrowed(tree), borrowed(cache), borrowed(score)
    waiting = 0
    for b in games:
        if tree.searches[b].leaf == NO_LEAF and (tree.nodes[b, ROOT].expanded or not expand_root(rules, tree, cache, b, key)):
            simulate(rules, tree, cache, b, score, key)
        waiting += tree.searches[b].leaf != NO_LEAF
    return waiting
