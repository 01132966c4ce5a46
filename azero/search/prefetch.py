"""Prefetch: search one position fast, visit for visit as the plain search.

Letters: B games, N nodes, A actions, R rows of one wave, K key words, J entries of the journal.

A search of one position needs one leaf after another, but a network is fast with several. So while a leaf
waits, the search runs on with a guess in place of the answer: the mean value so far of the node above it. The
leaves that it reaches are probably needed next. They are evaluated together with the first and stored in the
cache, and the guesses are undone, bit for bit. The search continues with the true answer of the first leaf,
and finds most of the next ones in the cache.

Virtual loss, the usual way to several leaves, assumes that every waiting leaf is lost and builds on that, so
the search differs from the plain one. As a guess in this search it is right less often.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from azero.games.game import Game, rules_at
from azero.games.legal import copy_legal
from azero.kernels.compiled import borrowed, kernel, part, shared
from azero.kernels.words import copy_words, same_words
from azero.network.inference import gathers
from azero.search.cache import EvaluationCache, find, remember
from azero.search.counters import WorkerStats, infer_counted
from azero.search.dead_end import check_dead_end
from azero.search.exact import Exact
from azero.search.mcts import (
    backup,
    expand,
    expand_root,
    gather_logits,
    receive_evaluations,
    select,
    simulate,
)
from azero.search.scratch import make_scratch
from azero.search.tree import NO_LEAF, NO_PARENT, ROOT, UNVISITED, Tree

if TYPE_CHECKING:
    from azero.network.inference import Inference

# Simulations that run ahead for each row. More find hardly any new leaf (measured: 64 fill 1 % more rows).
GUESSES = 16
# Simulations without the network, of ends and cached positions, before the caller may read the clock.
SLICE = 1024
NO_EDGE = -1

ENTRY = np.dtype(
    [  # a node before a guess, and the edge of it that the guess went along
        ("node", np.int32),
        ("edge", np.int32),  # NO_EDGE at the end of the path
        ("node_visits", np.int32),
        ("value_sum", np.float32),
        ("child_visits", np.int32),
        ("child_value_sum", np.float32),
    ],
    align=True,
)


class Prefetched(NamedTuple):
    """The leaves of one wave. The search waits for row 0."""

    nodes: np.ndarray  # [R] int32
    keys: np.ndarray  # [R, K] uint64
    moves: np.ndarray  # [R, A] int32: the legal actions
    num_moves: np.ndarray  # [R] int64
    journal: np.ndarray  # [J] ENTRY


def make_prefetched(game: Game, rows: int) -> Prefetched:
    """Return empty buffers for `rows` leaves."""
    return Prefetched(
        nodes=np.zeros(rows, np.int32),
        keys=np.zeros((rows, game.key_words), np.uint64),
        moves=np.zeros((rows, game.num_actions), np.int32),
        num_moves=np.zeros(rows, np.int64),
        journal=np.zeros(rows * GUESSES * (game.max_plies + 1), ENTRY),
    )


def legal_rows(prefetched: Prefetched, rows: int) -> np.ndarray:
    """Return the legal moves of the first `rows` leaves, [R, most] int32, for `infer_counted`."""
    return prefetched.moves[:, : max(1, int(prefetched.num_moves[:rows].max(initial=0)))]


@shared
def note_path(tree, b, leaf, journal, length):
    """Write the path from a leaf up to the root into the journal, before a guess is backed up.

    Return the journal's length; -1 if it has no room, as when a game passes `max_plies`.
    """
    node, edge = leaf, NO_EDGE
    while node != NO_PARENT:
        if length == journal.shape[0]:
            return -1
        journal[length].node = node
        journal[length].edge = edge
        journal[length].node_visits = tree.nodes[b, node].node_visits
        journal[length].value_sum = tree.nodes[b, node].value_sum
        if edge != NO_EDGE:
            journal[length].child_visits = tree.edges[b, edge].child_visits
            journal[length].child_value_sum = tree.edges[b, edge].child_value_sum
        length += 1
        edge = tree.nodes[b, node].parent_edge
        node = tree.nodes[b, node].parent
    return length


@shared
def take_back(tree, b, journal, length, num_nodes, num_edges):
    """Restore what the journal holds, latest first, and forget what is beyond these nodes and edges."""
    while length > 0:
        length -= 1
        node, edge = journal[length].node, journal[length].edge
        tree.nodes[b, node].node_visits = journal[length].node_visits
        tree.nodes[b, node].value_sum = journal[length].value_sum
        if edge != NO_EDGE:
            tree.edges[b, edge].child_visits = journal[length].child_visits
            tree.edges[b, edge].child_value_sum = journal[length].child_value_sum
    for node in range(num_nodes, tree.searches[b].num_nodes):
        tree.edges[b, tree.nodes[b, node].parent_edge].child = UNVISITED
    tree.searches[b].num_nodes = num_nodes
    tree.searches[b].num_edges = num_edges


@part
def guess(tree, b, leaf):
    """Return the value of a leaf for its player to move: exact if known, else the mean of the node above."""
    if tree.nodes[b, leaf].proven or tree.nodes[b, leaf].expanded:
        return tree.nodes[b, leaf].raw_value
    parent = tree.nodes[b, leaf].parent
    mean = np.float32(tree.nodes[b, parent].value_sum / tree.nodes[b, parent].node_visits)
    return mean if tree.nodes[b, parent].to_play == tree.nodes[b, leaf].to_play else -mean


@kernel
def is_prefetched(prefetched, rows, leaf, key):
    """Return whether one of the first `rows` leaves is this node or has this key [K]."""
    for row in range(rows):
        if prefetched.nodes[row] == leaf or same_words(prefetched.keys[row], key):
            return True
    return False


@shared
def write_row(rules, tree, b, leaf, scratch, planes, prefetched, row):
    """Write a leaf, whose key is in the scratch, into a row of the wave."""
    state = tree.states[b, leaf]
    prefetched.nodes[row] = leaf
    copy_words(scratch.key, prefetched.keys[row])
    prefetched.num_moves[row] = copy_legal(rules, state, scratch.legal, prefetched.moves[row])
    rules.planes(state, planes[row])


@part
def prefetch(rules, tree, cache, b, algorithm, planes, prefetched, scratch, exact):
    """Write the leaf that game b's search waits for, and leaves that it will probably need next.

    Return how many. The tree is left as it was. At an unexpanded root nothing can be prefetched.
    """
    num_nodes, num_edges = tree.searches[b].num_nodes, tree.searches[b].num_edges
    leaf, key = tree.searches[b].leaf, scratch.key
    rules.evaluation_key(tree.states[b, leaf], key)
    write_row(rules, tree, b, leaf, scratch, planes, prefetched, 0)
    rows, length = 1, 0
    ahead = min(GUESSES * planes.shape[0], tree.searches[b].simulations_left) - 1 if leaf != ROOT else 0
    for _ in range(ahead):
        if rows == planes.shape[0]:
            break
        noted = note_path(tree, b, leaf, prefetched.journal, length)
        if noted < 0:
            break
        length = noted
        backup(tree, b, leaf, guess(tree, b, leaf))
        leaf = select(rules, tree, b, algorithm, exact)
        if tree.nodes[b, leaf].proven:
            continue
        rules.evaluation_key(tree.states[b, leaf], key)
        entry = find(cache, key)
        if entry >= 0:
            if leaf >= num_nodes:  # what was there before stays as it is, also a leaf that found no room
                expand(tree, b, leaf, cache.moves[entry], cache.num_moves[entry], cache.value[entry])
        elif not is_prefetched(prefetched, rows, leaf, key):
            write_row(rules, tree, b, leaf, scratch, planes, prefetched, rows)
            rows += prefetched.num_moves[rows] <= cache.moves.shape[1]  # else the cache would not keep it
    take_back(tree, b, prefetched.journal, length, num_nodes, num_edges)
    return rows


@kernel
def gather(addresses, tree, cache, b, algorithm, planes, prefetched, scratch, exact):
    """Search on in game b, SLICE simulations at most, until the network is needed.

    Write the rows of the wave and return how many. planes: [R, C, H, W] float32.
    exact: `exact.Exact`, or None.
    """
    rules = rules_at(addresses)
    tree, cache, algorithm = borrowed(tree), borrowed(cache), borrowed(algorithm)
    planes, prefetched = borrowed(planes), borrowed(prefetched)
    scratch, exact = borrowed(scratch), borrowed(exact)
    if tree.nodes[b, ROOT].expanded or not expand_root(rules, tree, cache, b, scratch.key):
        simulate(rules, tree, cache, b, algorithm, scratch.key, exact, SLICE)
    if tree.searches[b].leaf == NO_LEAF:
        return 0
    return prefetch(rules, tree, cache, b, algorithm, planes, prefetched, scratch, exact)


@kernel
def receive_prefetched(addresses, tree, cache, games, prefetched, rows, logits, values, scratch):
    """Expand and back up the leaf of row 0, which belongs to games [1]; cache the other evaluations.

    Return what `receive_evaluations` returns.

    logits: [R, A] float32, or more rows, of legal moves only if scratch.gathered. values: [R] float32.
    """
    for row in range(1, rows):
        count = prefetched.num_moves[row]
        if count > 0:
            gather_logits(logits[row], prefetched.moves[row], count, scratch.gathered, scratch.moves)
            remember(cache, prefetched.keys[row], scratch.moves, count, values[row])
    return receive_evaluations(addresses, tree, cache, games, 1, logits, values, scratch)


class Prefetch:
    """Searches one game of a tree at a time, wave by wave."""

    def __init__(self, game: Game, inference: Inference, cache: EvaluationCache, leaves: int) -> None:
        """Make the buffers of waves of at most `leaves` rows: 1, or with a cache up to those of a batch.

        Every number of leaves gives the same search.
        """
        self.game, self.inference, self.cache = game, inference, cache
        self.planes = np.zeros((inference.batch_size, *game.planes_shape), np.float32)
        self.rows = self.planes[:leaves]
        self.prefetched = make_prefetched(game, leaves)
        self.scratch = make_scratch(game, 0, gathers(inference))

    def wave(self, tree: Tree, b: int, algorithm: Any, stats: WorkerStats, exact: Exact | None) -> bool:
        """Search game b up to and with its next batch of evaluations, or SLICE simulations that need none.

        Return whether simulations are left to do.
        """
        prefetched, scratch, rules = self.prefetched, self.scratch, self.game.rule_addresses
        rows = gather(rules, tree, self.cache, b, algorithm, self.rows, prefetched, scratch, exact)
        if rows:
            moves = legal_rows(prefetched, rows)
            logits, values = infer_counted(self.inference, self.planes, rows, stats, moves)
            games = np.array([b])
            stuck = receive_prefetched(
                rules, tree, self.cache, games, prefetched, rows, logits, values, scratch
            )
            check_dead_end(self.game, tree, stuck)
        return bool(tree.searches["simulations_left"][b] > 0 and not tree.nodes["proven"][b, ROOT])
