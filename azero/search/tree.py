"""The search tree: one record of arrays for many games at once.

Letters: B games, N nodes, A actions, S state words.

Every game owns row b of every array and fills its nodes in order of creation, so a child's index is always
above its parent's. A node keeps its state: the search never replays moves. Statistics of an edge are stored
in the parent's row, where selection reads them. Nodes and edges are arrays of small structures, because a
descent reads all fields of one node together (measured: 348 ns a simulation, 571 with an array for each
field). In Python, `tree.edges["child_visits"][b, ROOT]` is an array like any other.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from azero.games.game import Game
from azero.kernels.compiled import kernel, part
from azero.kernels.words import copy_words, same_words

ROOT = 0
UNVISITED = -1  # child: no node yet for this action
NO_PARENT = -1
NO_LEAF = -1  # leaf: the game waits for no evaluation
LOSS, WIN = -1.0, 1.0  # nothing is worse, nothing is better
SMALLEST_PRIOR = 1e-38  # lower bound of priors in logarithms and shares: float32 still holds its logarithm
ILLEGAL = np.float32(-1.0)  # prior of an action that the rules forbid

NODE = np.dtype(
    [
        ("parent", np.int32),  # NO_PARENT at the root
        ("parent_action", np.int32),  # the action that led here
        ("node_visits", np.int32),  # evaluation of the node itself included
        ("value_sum", np.float32),  # sum of backed-up values, for to_play
        ("raw_value", np.float32),  # the network's value or, if proven, the exact one, for to_play
        ("lower", np.float32),  # bound of its value for to_play: LOSS while nothing is known
        ("upper", np.float32),  # bound of its value for to_play: WIN while nothing is known
        ("to_play", np.int8),  # 0 or 1
        ("terminal", np.bool_),
        ("proven", np.bool_),  # an end of the game, a solved leaf, or with `search.solver` lower == upper
        ("expanded", np.bool_),  # the priors are known
    ],
    align=True,
)
EDGE = np.dtype(
    [
        ("prior", np.float32),  # ILLEGAL or a probability
        ("child", np.int32),  # node index or UNVISITED
        ("child_visits", np.int32),
        ("child_value_sum", np.float32),  # for the player to move at the parent
    ]
)
SEARCH = np.dtype(
    [
        ("num_nodes", np.int32),
        ("leaf", np.int32),  # the node that waits for its evaluation, or NO_LEAF
        ("simulations_left", np.int32),
    ],
    align=True,
)


class Tree(NamedTuple):
    """Search trees of B games."""

    states: np.ndarray  # [B, N, S] uint64
    nodes: np.ndarray  # [B, N] NODE
    edges: np.ndarray  # [B, N, A] EDGE
    searches: np.ndarray  # [B] SEARCH


def make_tree(num_games: int, num_nodes: int, num_actions: int, state_words: int) -> Tree:
    """Return empty trees; call `reset` for each game before its first search."""
    tree = Tree(
        states=np.zeros((num_games, num_nodes, state_words), np.uint64),
        nodes=np.zeros((num_games, num_nodes), NODE),
        edges=np.zeros((num_games, num_nodes, num_actions), EDGE),
        searches=np.zeros(num_games, SEARCH),
    )
    tree.searches["leaf"] = NO_LEAF
    tree.nodes["lower"], tree.nodes["upper"] = LOSS, WIN
    return tree


def node_bytes(game: Game) -> int:
    """Return the bytes of a node with its state and its edges."""
    return NODE.itemsize + 8 * game.state_words + EDGE.itemsize * game.num_actions


def nodes_needed(num_simulations: int, tree_reuse: bool) -> int:
    """Return how many nodes a game needs: the root and one a simulation, three times that to keep subtrees.

    `reroot` forgets what a kept subtree has beyond that; the oldest nodes stay.
    """
    return (3 if tree_reuse else 1) * num_simulations + 1


@part
def set_bounds(tree, b, node, lower, upper):
    """Set the bounds of a node's value for its player to move."""
    tree.nodes[b, node].lower = lower
    tree.nodes[b, node].upper = upper


@part
def clear_node(tree, b, node):
    """Make a new node of row b: no statistics, no children, priors unknown."""
    tree.nodes[b, node].expanded = False
    tree.nodes[b, node].terminal = False
    tree.nodes[b, node].proven = False
    set_bounds(tree, b, node, LOSS, WIN)
    tree.nodes[b, node].node_visits = 0
    tree.nodes[b, node].value_sum = 0.0
    for action in range(tree.edges.shape[2]):
        tree.edges[b, node, action].prior = ILLEGAL
        tree.edges[b, node, action].child = UNVISITED
        tree.edges[b, node, action].child_visits = 0
        tree.edges[b, node, action].child_value_sum = 0.0


@part
def describe_node(rules, tree, b, node):
    """Read from the rules who moves at a node whose state is set, whether the game is over, and its value."""
    state = tree.states[b, node]
    tree.nodes[b, node].to_play = rules.to_play(state)
    if rules.is_terminal(state):
        tree.nodes[b, node].terminal = True
        tree.nodes[b, node].proven = True
        value = rules.outcome(state)
        tree.nodes[b, node].raw_value = value
        set_bounds(tree, b, node, value, value)


@part
def reset(rules, tree, b, state):
    """Start row b anew with `state` at the root, not yet evaluated."""
    clear_node(tree, b, ROOT)
    tree.nodes[b, ROOT].parent = NO_PARENT
    tree.searches[b].num_nodes = 1
    tree.searches[b].leaf = NO_LEAF
    copy_words(state, tree.states[b, ROOT])
    describe_node(rules, tree, b, ROOT)


@part
def add_child(rules, tree, b, parent, action):
    """Create the node that `action` leads to and return its index. The row must have room."""
    child = tree.searches[b].num_nodes
    tree.searches[b].num_nodes = child + 1
    clear_node(tree, b, child)
    tree.nodes[b, child].parent = parent
    tree.nodes[b, child].parent_action = action
    tree.edges[b, parent, action].child = child
    rules.step(tree.states[b, parent], action, tree.states[b, child])
    describe_node(rules, tree, b, child)
    return child


@kernel
def move_node(tree, b, source, target):
    """Copy a node with its links, of which only `parent_action` is right at its new place."""
    copy_words(tree.states[b, source], tree.states[b, target])
    tree.nodes[b, target] = tree.nodes[b, source]
    for action in range(tree.edges.shape[2]):
        tree.edges[b, target, action] = tree.edges[b, source, action]


@kernel
def forget_proof(tree, b):
    """Reset the bounds and the proof of row b's root.

    The nodes behind them may be forgotten, or their moves banned here. The evaluation of a proven root is
    lost. The mean of its children replaces it, so that its sums hold nothing of the proof. A root that was
    solved as a leaf has no children: it is new again.
    """
    set_bounds(tree, b, ROOT, LOSS, WIN)
    if not tree.nodes[b, ROOT].proven:
        return
    if not tree.nodes[b, ROOT].expanded:
        clear_node(tree, b, ROOT)
        return
    visits, values = 0, 0.0
    for action in range(tree.edges.shape[2]):
        visits += tree.edges[b, ROOT, action].child_visits
        values += tree.edges[b, ROOT, action].child_value_sum
    mean = values / visits
    tree.nodes[b, ROOT].proven = False
    tree.nodes[b, ROOT].raw_value = mean
    tree.nodes[b, ROOT].value_sum = mean * tree.nodes[b, ROOT].node_visits


@kernel
def reroot(tree, b, new_root, room, new_index):
    """Keep the subtree of `new_root` as row b's tree, moved to the front, and leave `room` nodes free.

    Nodes that do not fit are forgotten, the latest created first. The statistics of their edges stay, and a
    later descent creates them again. The new root must be proven again, see `forget_proof`. new_index:
    scratch, [N] int32. Nodes can move in place because a child's index is above its parent's.
    """
    places = tree.states.shape[1] - room
    kept = 0
    for node in range(new_root, tree.searches[b].num_nodes):
        parent = tree.nodes[b, node].parent
        inside = node == new_root or (parent >= new_root and new_index[parent] != UNVISITED)
        new_index[node] = UNVISITED
        if not inside or kept >= places:
            continue
        target = kept
        kept += 1
        new_index[node] = target
        if target != node:
            move_node(tree, b, node, target)
        tree.nodes[b, target].parent = NO_PARENT if node == new_root else new_index[parent]
        for action in range(tree.edges.shape[2]):
            tree.edges[b, target, action].child = UNVISITED
        if node != new_root:
            tree.edges[b, new_index[parent], tree.nodes[b, target].parent_action].child = target
    if not tree.nodes[b, ROOT].terminal:
        forget_proof(tree, b)
    tree.searches[b].num_nodes = kept
    tree.searches[b].leaf = NO_LEAF


@kernel
def find_state(tree, b, state):
    """Return the most visited node of row b with that state, or -1."""
    found = -1
    for node in range(tree.searches[b].num_nodes):
        is_more = found < 0 or tree.nodes[b, node].node_visits > tree.nodes[b, found].node_visits
        if is_more and same_words(tree.states[b, node], state):
            found = node
    return found
