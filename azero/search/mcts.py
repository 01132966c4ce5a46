"""Monte Carlo tree search: select, expand and backup, and the loop around them.

Letters: B games, N nodes, A actions, M legal moves, K key words, R rows of one inference batch.

A game's simulations run until one needs the network. Its leaf then waits in `leaf` while the other games go
on, so every wave gives the network a full batch. Ends of the game and cached positions need no evaluation and
are backed up at once. Noise, temperature and the move belong to the search algorithm.
"""

from __future__ import annotations

import numpy as np

from azero.games.game import Game, rules_at
from azero.games.legal import copy_legal, list_legal, make_legal
from azero.kernels.compiled import borrowed, kernel, part, shared
from azero.network.inference import Inference, gathers
from azero.search.algorithm import next_child
from azero.search.bounds import bounded_sum, tighten
from azero.search.cache import find, remember
from azero.search.exact import solve_leaf
from azero.search.tree import (
    LOSS,
    NO_LEAF,
    NO_PARENT,
    ROOT,
    UNVISITED,
    WIN,
    Tree,
    add_child,
    add_edges,
    edge_range,
    soften,
)

ALL = 1 << 40  # simulations: more than any search makes


@shared
def select(rules, tree, b, algorithm, exact):
    """Descend from the root along the algorithm's edges to a new or proven node, which is solved if near.

    exact: `exact.Exact`, or None.
    """
    leaf = descend(rules, tree, b, ROOT, next_child, algorithm)
    solve_leaf(rules, tree, b, leaf, exact)
    return leaf


@part
def descend(rules, tree, b, node, choose, settings):
    """Descend from `node` along the edges of ``choose(tree, b, node, settings)``.

    Return the first new or proven node. A new one is created.
    """
    while tree.nodes[b, node].expanded and not tree.nodes[b, node].proven:
        if tree.nodes[b, node].logits:
            soften(tree, b, node)
        edge = choose(tree, b, node, settings)
        child = tree.edges[b, edge].child
        if child == UNVISITED:
            return add_child(rules, tree, b, node, edge)
        node = child
    return node


@part
def expand(tree, b, node, moves, count, value):
    """Give a node its evaluation: moves with logits [count or more] MOVE, and its player's value."""
    add_edges(tree, b, node, moves, count, True)
    tree.nodes[b, node].raw_value = value
    if node == ROOT:
        soften(tree, b, node)


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
    parent, edge = tree.nodes[b, node].parent, tree.nodes[b, node].parent_edge
    if tree.nodes[b, parent].to_play != tree.nodes[b, node].to_play:
        value = -value  # the only place where a value changes its perspective
    tree.edges[b, edge].child_visits += visits
    tree.edges[b, edge].child_value_sum += value
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


@part
def take_win(rules, tree, b, action):
    """Visit the move of game b's expanded root that wins at once, which proves the root."""
    for edge in edge_range(tree, b, ROOT):
        if tree.edges[b, edge].action == action:
            child = tree.edges[b, edge].child
            if child == UNVISITED:
                child = add_child(rules, tree, b, ROOT, edge)
                backup(tree, b, child, tree.nodes[b, child].raw_value)
            prove(tree, b, child)


@shared
def simulate(rules, tree, cache, b, algorithm, key, exact, most):
    """Run game b's simulations until one needs the network; its leaf then waits in `leaf`.

    Return False if `most` were made, or none is left to do, which includes a proven root. The root must be
    expanded. key: scratch, [K] uint64. exact: `exact.Exact`, or None.
    """
    least = max(0, tree.searches[b].simulations_left - most)
    while tree.searches[b].simulations_left > least and not tree.nodes[b, ROOT].proven:
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
    expand(tree, b, node, cache.moves[entry], cache.num_moves[entry], cache.value[entry])
    return True


@part
def gather_logits(logits, actions, count, gathered, moves):
    """Write `count` actions [count or more] with their logits into moves [A] MOVE.

    logits: [A] by action, or if they are gathered [count or more] by move.
    """
    for place in range(count):
        moves[place].action = actions[place]
        moves[place].prior = logits[place if gathered else np.int64(actions[place])]


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
def write_legal_rows(addresses, tree, games, rows, legal, moves):
    """Write the legal actions of the leaves of the first `rows` of games [R] into moves [R, A].

    Return the most of a leaf. What is behind a leaf's own is any action. legal: scratch.
    """
    rules, most = rules_at(addresses), 1
    for row in range(rows):
        state = tree.states[games[row], tree.searches[games[row]].leaf]
        most = max(most, copy_legal(rules, state, legal, moves[row]))
    return most


class LegalRows:
    """The legal moves of waiting leaves, for a backend that gathers their logits; empty for others."""

    def __init__(self, game: Game, inference: Inference) -> None:
        rows = inference.batch_size if gathers(inference) else 0
        self.addresses, self.legal = game.rule_addresses, make_legal(game.num_actions)
        self.moves = np.zeros((rows, game.num_actions), np.int32)

    def of_leaves(self, tree: Tree, games: np.ndarray, rows: int) -> np.ndarray:
        """Return the moves of the leaves of the first `rows` of games [R], [R, most] int32."""
        if not len(self.moves):
            return self.moves
        most = write_legal_rows(self.addresses, tree, games, rows, self.legal, self.moves)
        return self.moves[:, : int(most)]


@kernel
def receive_evaluations(addresses, tree, cache, games, rows, logits, values, scratch):
    """Expand and back up the leaves of the first `rows` of games [R] with the network's answers.

    Return -1, or a game whose leaf has no legal move although it is not over: that leaf still waits, as do
    those after it.

    logits: [R, A] float32, of legal moves only if scratch.gathered. values: [R] float32, for the player to
    move at the leaf.
    """
    rules = rules_at(addresses)
    tree, cache, logits, scratch = borrowed(tree), borrowed(cache), borrowed(logits), borrowed(scratch)
    for row in range(rows):
        if receive_and_remember(rules, tree, cache, games[row], logits[row], values[row], scratch) == 0:
            return games[row]
    return -1


@part
def receive_and_remember(rules, tree, cache, b, logits, value, scratch):
    """Do as `receive`, and keep the answer in the cache."""
    leaf = tree.searches[b].leaf
    count = receive(rules, tree, b, logits, value, scratch)
    if count > 0 and cache.used.shape[0] > 0:
        rules.evaluation_key(tree.states[b, leaf], scratch.key)
        remember(cache, scratch.key, scratch.moves, count, value)
    return count


@part
def receive(rules, tree, b, logits, value, scratch):
    """Expand and back up game b's leaf with the network's answer, if it has a legal move.

    Return how many it has; scratch.moves [A] MOVE holds them afterwards.
    """
    leaf = tree.searches[b].leaf
    count = list_legal(rules, tree.states[b, leaf], scratch.legal)
    if count == 0:
        return 0
    gather_logits(logits, scratch.legal.actions, count, scratch.gathered, scratch.moves)
    expand(tree, b, leaf, scratch.moves, count, value)
    backup(tree, b, leaf, value)
    tree.searches[b].leaf = NO_LEAF
    if leaf != ROOT:
        tree.searches[b].simulations_left -= 1
    return count


@kernel
def search_wave(addresses, tree, cache, games, algorithm, key, exact):
    """Advance the searches of `games` [any] until each waits for the network or is done.

    Return how many wait.
    """
    rules = rules_at(addresses)
    tree, cache = borrowed(tree), borrowed(cache)
    algorithm, key, exact = borrowed(algorithm), borrowed(key), borrowed(exact)
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
        simulate(rules, tree, cache, b, algorithm, key, exact, ALL)
