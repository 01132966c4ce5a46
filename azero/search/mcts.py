"""Monte Carlo tree search: select, expand and backup, and the loop around them.

Letters: B games, N nodes, A actions, K key words, R rows of one inference batch.

A game's simulations run until one needs the network. Its leaf then waits in `leaf` while the other games go
on, so every wave gives the network a full batch. Ends of the game and cached positions need no evaluation and
are backed up at once. Noise, temperature and the move belong to the search algorithm.
"""

from __future__ import annotations

import math

import numpy as np

from azero.games.game import rules_at
from azero.kernels.compiled import borrowed, kernel, part, shared
from azero.search.algorithm import next_child
from azero.search.bounds import bounded_sum, tighten
from azero.search.cache import find, remember
from azero.search.exact import solve_leaf
from azero.search.tree import LOSS, NO_LEAF, NO_PARENT, ROOT, UNVISITED, WIN, add_child


@shared
def select(rules, tree, b, algorithm, exact):
    """Descend from the root along the algorithm's actions to a new or proven node, which is solved if near.

    exact: `exact.Exact`, or None.
    """
    leaf = descend(rules, tree, b, ROOT, next_child, algorithm)
    solve_leaf(rules, tree, b, leaf, exact)
    return leaf


@part
def descend(rules, tree, b, node, choose, settings):
    """Descend from `node` along the actions of ``choose(tree, b, node, settings)``.

    Return the first new or proven node. A new one is created.
    """
    while tree.nodes[b, node].expanded and not tree.nodes[b, node].proven:
        action = choose(tree, b, node, settings)
        child = tree.edges[b, node, action].child
        if child == UNVISITED:
            return add_child(rules, tree, b, node, action)
        node = child
    return node


@part
def expand(tree, b, node, prior, value):
    """Give a node its evaluation: prior [A] (ILLEGAL or a probability) and value, for its player to move."""
    for action in range(prior.shape[0]):
        tree.edges[b, node, action].prior = prior[action]
    tree.nodes[b, node].raw_value = value
    tree.nodes[b, node].expanded = True


@shared
def backup(tree, b, leaf, value):
    """Add the leaf's value, for its player to move, to every node and edge on the way to the root."""
    add_above(tree, b, leaf, value, 1)


@part
def add_above(tree, b, node, value, visits):
    """Add a value, for the player to move at `node`, and visits to the node and to all above it."""
    while True:
        bounded = tree.nodes[b, node].lower > LOSS or tree.nodes[b, node].upper < WIN
        before = bounded_sum(tree, b, node) if bounded else 0.0
        tree.nodes[b, node].node_visits += visits
        tree.nodes[b, node].value_sum += value
        if bounded:  # only what the bounds admit counts above
            value = np.float32(bounded_sum(tree, b, node) - before)
        parent = tree.nodes[b, node].parent
        if parent == NO_PARENT:
            return
        value = add_to_edge(tree, b, node, value, visits)
        node = parent


@part
def add_to_edge(tree, b, node, value, visits):
    """Add a value for the player to move at a node, and visits, to the edge above.

    Return the value for the player to move there.
    """
    parent, action = tree.nodes[b, node].parent, tree.nodes[b, node].parent_action
    if tree.nodes[b, parent].to_play != tree.nodes[b, node].to_play:
        value = -value  # the only place where a value changes its perspective
    tree.edges[b, parent, action].child_visits += visits
    tree.edges[b, parent, action].child_value_sum += value
    return value


@kernel
def prove(tree, b, node):
    """Tighten the bounds above a proven node and correct the sums there, as in lc0."""
    while tree.nodes[b, node].parent != NO_PARENT:
        node = tree.nodes[b, node].parent
        before = bounded_sum(tree, b, node)
        if not tighten(tree, b, node):
            return
        change = np.float32(bounded_sum(tree, b, node) - before)
        if tree.nodes[b, node].lower == tree.nodes[b, node].upper:
            write_proof(tree, b, node)
        if change != 0.0 and tree.nodes[b, node].parent != NO_PARENT:
            value = add_to_edge(tree, b, node, change, 0)
            add_above(tree, b, tree.nodes[b, node].parent, value, 0)


@kernel
def write_proof(tree, b, node):
    """Make a node whose bounds have met a proven one, with sums of that value to the last bit."""
    value, visits = np.float64(tree.nodes[b, node].lower), tree.nodes[b, node].node_visits
    tree.nodes[b, node].raw_value = value
    tree.nodes[b, node].proven = True
    tree.nodes[b, node].value_sum = value * visits


@shared
def simulate(rules, tree, cache, b, algorithm, key, exact):
    """Run game b's simulations until one needs the network; its leaf then waits in `leaf`.

    Return False if none is left to do, which includes a proven root. The root must be expanded. key: scratch,
    [K] uint64. exact: `exact.Exact`, or None.
    """
    while tree.searches[b].simulations_left > 0 and not tree.nodes[b, ROOT].proven:
        leaf = select(rules, tree, b, algorithm, exact)
        if not tree.nodes[b, leaf].proven and not expand_from_cache(rules, tree, cache, b, leaf, key):
            tree.searches[b].leaf = leaf
            return True
        backup(tree, b, leaf, tree.nodes[b, leaf].raw_value)
        if algorithm.solver and tree.nodes[b, leaf].proven:
            prove(tree, b, leaf)
        tree.searches[b].simulations_left -= 1
    return False


@part
def expand_root(rules, tree, cache, b, key):
    """Expand an unexpanded root from the cache, or let it wait for the network and return True.

    This is not a simulation.
    """
    if expand_from_cache(rules, tree, cache, b, ROOT, key):
        backup(tree, b, ROOT, tree.nodes[b, ROOT].raw_value)
        return False
    tree.searches[b].leaf = ROOT
    return True


@shared
def expand_from_cache(rules, tree, cache, b, node, key):
    """Expand a node if the cache knows its position. Return whether it does."""
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
    """Write the softmax of the legal logits into prior [A]; ILLEGAL elsewhere."""
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
    """Write the planes of waiting leaves into planes [R, C, H, W] and their games into games [R] int64.

    Return the number of rows, R at most. In self-play B <= R; a search of more positions calls again.
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
def receive_evaluations(addresses, tree, cache, games, rows, logits, values, scratch):
    """Expand and back up the leaves of the first `rows` of games [R] with the network's answers.

    Return -1, or a game whose leaf has no legal move although it is not over: that leaf still waits, as do
    those after it.

    logits: [R, A] float32. values: [R] float32, for the player to move at the leaf.
    """
    rules = rules_at(addresses)
    tree, cache, logits, scratch = borrowed(tree), borrowed(cache), borrowed(logits), borrowed(scratch)
    legal, key, prior = scratch.legal, scratch.key, scratch.prior
    for row in range(rows):
        b = games[row]
        leaf = tree.searches[b].leaf
        if not receive(rules, tree, b, logits[row], values[row], legal, prior):
            return b
        if cache.used.shape[0] > 0:
            rules.evaluation_key(tree.states[b, leaf], key)
            remember(cache, key, prior, values[row])
    return -1


@part
def receive(rules, tree, b, logits, value, legal, prior):
    """Expand and back up game b's leaf with the network's answer; return False if it has no legal move.

    legal, prior: scratch, [A] bool and float32; `prior` holds the leaf's afterwards.
    """
    leaf = tree.searches[b].leaf
    rules.legal_mask(tree.states[b, leaf], legal)
    if not legal.any():
        return False
    softmax_over_legal(logits, legal, prior)
    expand(tree, b, leaf, prior, value)
    backup(tree, b, leaf, value)
    tree.searches[b].leaf = NO_LEAF
    if leaf != ROOT:
        tree.searches[b].simulations_left -= 1
    return True


@kernel
def search_wave(addresses, tree, cache, games, algorithm, key, exact):
    """Advance the searches of `games` [any] until each waits for the network or is done.

    Return how many wait.
    """
    rules = rules_at(addresses)
    tree, cache, algorithm = borrowed(tree), borrowed(cache), borrowed(algorithm)
    waiting = 0
    for b in games:
        advance(rules, tree, cache, b, algorithm, key, exact)
        waiting += tree.searches[b].leaf != NO_LEAF
    return waiting


@part
def advance(rules, tree, cache, b, algorithm, key, exact):
    """Advance game b's search until it waits for the network or is done."""
    if tree.searches[b].leaf == NO_LEAF and (
        tree.nodes[b, ROOT].expanded or not expand_root(rules, tree, cache, b, key)
    ):
        simulate(rules, tree, cache, b, algorithm, key, exact)
