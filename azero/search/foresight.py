"""Foresight: one position searched fast, visit for visit as the plain search does it.

Letters: B games, N nodes, A actions, R rows of one wave, K key words, J entries of the journal.

A search of one position wants the network for one leaf after another, and a network is fast with several. So while a leaf
waits, the search runs on with a guess in place of the answer: the mean value so far of the node above it. The leaves that it
comes to then are those which it will probably want next. They are evaluated together with the first and remembered in the cache,
and what was guessed is taken back, bit for bit. The search goes on with the true answer of the first leaf, and finds most of the
next ones in the cache.

Virtual loss, the usual way to several leaves, guesses that every waiting leaf is lost and builds on that: another search than the
plain one. As a guess in this one it is right less often.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from azero.games.game import Game, rules_at
from azero.search.cache import EvaluationCache, find, remember
from azero.search.figures import LaneFigures
from azero.search.kernels import borrowed, kernel, part
from azero.search.mcts import absorb, backup, expand, expand_root, select, simulate, softmax_over_legal
from azero.search.scores import Score
from azero.search.spread import set_square_sum, square_sum
from azero.search.tree import NO_LEAF, NO_PARENT, ROOT, UNVISITED, Tree

if TYPE_CHECKING:
    from azero.network.inference import Inference

GUESSES = (
    16  # simulations that run ahead for each row; more find hardly any new leaf (measured: 64 fill one row in a hundred more)
)
SLICE = 1024  # simulations without the network, of ends and known positions, before the caller may look at a clock
NO_ACTION = -1

ENTRY = np.dtype(
    [  # a node before a guess, and the edge of it that the guess went along
        ("node", np.int32),
        ("action", np.int32),  # NO_ACTION at the end of the path
        ("node_visits", np.int32),
        ("value_sum", np.float32),
        ("square_sum", np.float32),
        ("expanded", np.bool_),
        ("child_visits", np.int32),
        ("child_value_sum", np.float32),
    ],
    align=True,
)


class Foreseen(NamedTuple):
    """The leaves of one wave; row 0 is the one that the search waits for."""

    nodes: np.ndarray  # [R] int32
    keys: np.ndarray  # [R, K] uint64
    legal: np.ndarray  # [R, A] bool
    journal: np.ndarray  # [J] ENTRY


def make_foreseen(game: Game, rows: int) -> Foreseen:
    """Room for so many leaves."""
    return Foreseen(
        nodes=np.zeros(rows, np.int32),
        keys=np.zeros((rows, game.key_words), np.uint64),
        legal=np.zeros((rows, game.num_actions), np.bool_),
        journal=np.zeros(rows * GUESSES * (game.max_plies + 1), ENTRY),
    )


@part
def note_path(tree, b, leaf, journal, length):
    """Write the path from a leaf up to the root into the journal, before a guess is backed up. Returns the journal's length."""
    node, action = leaf, NO_ACTION
    while node != NO_PARENT:
        journal[length].node = node
        journal[length].action = action
        journal[length].node_visits = tree.nodes[b, node].node_visits
        journal[length].value_sum = tree.nodes[b, node].value_sum
        journal[length].square_sum = square_sum(tree.nodes, b, node)
        journal[length].expanded = tree.nodes[b, node].expanded
        if action != NO_ACTION:
            journal[length].child_visits = tree.edges[b, node, action].child_visits
            journal[length].child_value_sum = tree.edges[b, node, action].child_value_sum
        length += 1
        action = tree.nodes[b, node].parent_action
        node = tree.nodes[b, node].parent
    return length


@part
def take_back(tree, b, journal, length, num_nodes):
    """Restore what the journal holds, latest first, and forget all nodes beyond the first `num_nodes`."""
    while length > 0:
        length -= 1
        node, action = journal[length].node, journal[length].action
        tree.nodes[b, node].node_visits = journal[length].node_visits
        tree.nodes[b, node].value_sum = journal[length].value_sum
        set_square_sum(tree.nodes, b, node, journal[length].square_sum)
        tree.nodes[b, node].expanded = journal[length].expanded
        if action != NO_ACTION:
            tree.edges[b, node, action].child_visits = journal[length].child_visits
            tree.edges[b, node, action].child_value_sum = journal[length].child_value_sum
    for node in range(num_nodes, tree.searches[b].num_nodes):
        tree.edges[b, tree.nodes[b, node].parent, tree.nodes[b, node].parent_action].child = UNVISITED
    tree.searches[b].num_nodes = num_nodes


@part
def guess(tree, b, leaf):
    """The value of a leaf, for its player to move: exact if known, else the mean so far of the node above."""
    if tree.nodes[b, leaf].proven or tree.nodes[b, leaf].expanded:
        return tree.nodes[b, leaf].raw_value
    parent = tree.nodes[b, leaf].parent
    mean = tree.nodes[b, parent].value_sum / tree.nodes[b, parent].node_visits
    return mean if tree.nodes[b, parent].to_play == tree.nodes[b, leaf].to_play else -mean


@kernel
def is_foreseen(foreseen, rows, leaf, key):
    """Whether one of the first `rows` leaves is this node or has this key [K]."""
    for row in range(rows):
        if foreseen.nodes[row] == leaf:
            return True
        same = True
        for word in range(key.shape[0]):
            same &= foreseen.keys[row, word] == key[word]
        if same:
            return True
    return False


@part
def write_row(rules, tree, b, leaf, key, planes, foreseen, row):
    """Make a leaf one of the wave."""
    state = tree.states[b, leaf]
    foreseen.nodes[row] = leaf
    for word in range(key.shape[0]):
        foreseen.keys[row, word] = key[word]
    rules.legal_mask(state, foreseen.legal[row])
    rules.planes(state, planes[row])


@part
def foresee(rules, tree, cache, b, score, planes, foreseen, key):
    """Write the leaf that game b's search waits for, and those that it will probably want next. Returns how many.

    The tree is left as it was. At an unexpanded root nothing can be foreseen.
    """
    num_nodes, leaf = tree.searches[b].num_nodes, tree.searches[b].leaf
    rules.evaluation_key(tree.states[b, leaf], key)
    write_row(rules, tree, b, leaf, key, planes, foreseen, 0)
    rows, length = 1, 0
    ahead = min(GUESSES * planes.shape[0], tree.searches[b].simulations_left) - 1 if leaf != ROOT else 0
    for _ in range(ahead):
        if rows == planes.shape[0]:
            break
        length = note_path(tree, b, leaf, foreseen.journal, length)
        backup(tree, b, leaf, guess(tree, b, leaf))
        leaf = select(rules, tree, b, score)
        if tree.nodes[b, leaf].proven:
            continue
        rules.evaluation_key(tree.states[b, leaf], key)
        entry = find(cache, key)
        if entry >= 0:
            expand(tree, b, leaf, cache.prior[entry], cache.value[entry])
        elif not is_foreseen(foreseen, rows, leaf, key):
            write_row(rules, tree, b, leaf, key, planes, foreseen, rows)
            rows += 1
    take_back(tree, b, foreseen.journal, length, num_nodes)
    return rows


@kernel
def gather(addresses, tree, cache, b, score, planes, foreseen, key):
    """Search on in game b, SLICE simulations at most, until the network is needed; write the wave's rows and return how many.

    planes: [R, C, H, W] float32. key: scratch, [K] uint64.
    """
    rules = rules_at(addresses)
    tree, cache, score = borrowed(tree), borrowed(cache), borrowed(score)
    planes, foreseen = borrowed(planes), borrowed(foreseen)
    if tree.nodes[b, ROOT].expanded or not expand_root(rules, tree, cache, b, key):
        later = max(0, tree.searches[b].simulations_left - SLICE)
        tree.searches[b].simulations_left -= later
        simulate(rules, tree, cache, b, score, key)
        tree.searches[b].simulations_left += later
    return foresee(rules, tree, cache, b, score, planes, foreseen, key) if tree.searches[b].leaf != NO_LEAF else 0


@kernel
def take_in(addresses, tree, cache, games, foreseen, rows, logits, values, key, prior):
    """Expand and back up the leaf of row 0, which is that of games [1], and remember the others.

    logits: [R, A] float32, or more rows. values: [R] float32. key, prior: scratch, [K] [A].
    """
    for row in range(1, rows):
        softmax_over_legal(logits[row], foreseen.legal[row], prior)
        remember(cache, foreseen.keys[row], prior, values[row])
    absorb(addresses, tree, cache, games, 1, logits, values, foreseen.legal[0], key, prior)


class Foresight:
    """Searches one game of a tree at a time, wave by wave."""

    def __init__(self, game: Game, inference: Inference, cache: EvaluationCache, score: Score, leaves: int) -> None:
        """`leaves`: rows of a wave, R: 1, or with a cache up to those of a batch. The search is the same with each."""
        self.game, self.inference, self.cache, self.score = game, inference, cache, score
        self.planes = np.zeros((inference.batch_size, *game.planes_shape), np.float32)
        self.rows = self.planes[:leaves]
        self.foreseen = make_foreseen(game, leaves)
        self.key, self.prior = np.zeros(game.key_words, np.uint64), np.zeros(game.num_actions, np.float32)

    def wave(self, tree: Tree, b: int, figures: LaneFigures) -> bool:
        """Search game b on to its next answer of the network, or by some simulations without one. False: none is left to do."""
        addresses, scratch = self.game.rule_addresses, (self.key, self.prior)
        rows = gather(addresses, tree, self.cache, b, self.score, self.rows, self.foreseen, self.key)
        if rows:
            began = time.perf_counter()
            logits, values = self.inference.infer(self.planes, rows)
            figures.inference_seconds += time.perf_counter() - began
            take_in(addresses, tree, self.cache, np.array([b]), self.foreseen, rows, logits, values, *scratch)
            figures.evaluations += rows
            figures.rows += len(logits)
        return bool(tree.searches["simulations_left"][b] > 0 and not tree.nodes["proven"][b, ROOT])
