"""The search tree: one record of arrays for many games at once.

Letters: B games, N nodes, E edges, A actions, S state words.

Every game owns row b of every array and fills its nodes in order of creation, so a child's index is always
above its parent's. A node keeps its state: the search never replays moves. An edge is a legal move of a node
that has been expanded, and names its action; a node's edges lie side by side in its game's pool, in rising
order of their actions. So a game with thousands of actions, of which few are legal, costs what the few cost.
Statistics of an edge are stored in it, where selection reads them. Nodes and edges are arrays of small
structures, because a descent reads all fields of one node together (measured: 348 ns a simulation, 571 with
an array for each field). In Python, `edges_of(tree, b, ROOT)` is an array like any other.

The pool has room for `legal_room(game)` edges a node. A node for whose edges there is none left stays a leaf:
it is evaluated again whenever a simulation reaches it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from azero.games.game import Game
from azero.games.legal import legal_room
from azero.kernels.compiled import inner, kernel, part
from azero.kernels.words import copy_words, same_words

ROOT = 0
UNVISITED = -1  # child: no node yet behind this edge
NO_PARENT = -1
NO_LEAF = -1  # leaf: the game waits for no evaluation
LOSS, WIN = -1.0, 1.0  # nothing is worse, nothing is better
SMALLEST_PRIOR = 1e-38  # lower bound of priors in logarithms and shares: float32 still holds its logarithm

NODE = np.dtype(
    [
        ("parent", np.int32),  # NO_PARENT at the root
        ("parent_edge", np.int32),  # the edge that led here, a place in the pool
        ("first_edge", np.int32),  # of its edges, a place in the pool
        ("num_edges", np.int32),  # 0 unless it is expanded
        ("node_visits", np.int32),  # evaluation of the node itself included
        ("value_sum", np.float32),  # sum of backed-up values, for to_play
        ("raw_value", np.float32),  # the network's value or, if proven, the exact one, for to_play
        ("lower", np.float32),  # bound of its value for to_play: LOSS while nothing is known
        ("upper", np.float32),  # bound of its value for to_play: WIN while nothing is known
        ("to_play", np.int8),  # 0 or 1
        ("terminal", np.bool_),
        ("proven", np.bool_),  # an end of the game, a solved leaf, or with `search.solver` lower == upper
        ("expanded", np.bool_),  # it has its edges
        ("logits", np.bool_),  # their priors are logits as yet, see `soften`
    ],
    align=True,
)
EDGE = np.dtype(
    [
        ("action", np.int32),
        ("prior", np.float32),  # a probability, or the network's logit
        ("child", np.int32),  # node index or UNVISITED
        ("child_visits", np.int32),
        ("child_value_sum", np.float32),  # for the player to move at the parent
    ]
)
MOVE = np.dtype([("action", np.int32), ("prior", np.float32)])  # an edge to be, its prior mostly a logit
SEARCH = np.dtype(
    [
        ("num_nodes", np.int32),
        ("num_edges", np.int32),  # the part of the pool that is in use
        ("leaf", np.int32),  # the node that waits for its evaluation, or NO_LEAF
        ("simulations_left", np.int32),
    ],
    align=True,
)


class Tree(NamedTuple):
    """Search trees of B games."""

    states: np.ndarray  # [B, N, S] uint64
    nodes: np.ndarray  # [B, N] NODE
    edges: np.ndarray  # [B, E] EDGE
    searches: np.ndarray  # [B] SEARCH


def make_tree(num_games: int, num_nodes: int, moves: int, state_words: int) -> Tree:
    """Return empty trees; call `reset` for each game before its first search.

    moves: those of a node for which its game's pool has room, on average.
    """
    tree = Tree(
        states=np.zeros((num_games, num_nodes, state_words), np.uint64),
        nodes=np.zeros((num_games, num_nodes), NODE),
        edges=np.zeros((num_games, num_nodes * moves), EDGE),
        searches=np.zeros(num_games, SEARCH),
    )
    tree.searches["leaf"] = NO_LEAF
    tree.nodes["lower"], tree.nodes["upper"] = LOSS, WIN
    return tree


def moves_a_node(game: Game, num_nodes: int) -> int:
    """Return the moves of a node for which the pool of a tree has room, at least for those of any root."""
    return max(legal_room(game), -(-game.num_actions // num_nodes))


def trees_of(game: Game, num_games: int, num_nodes: int) -> Tree:
    """Return empty trees of games with `num_nodes` nodes each, see `make_tree`."""
    return make_tree(num_games, num_nodes, moves_a_node(game, num_nodes), game.state_words)


def node_bytes(game: Game, num_nodes: int) -> int:
    """Return the bytes of a node with its state and its edges, in a tree of `num_nodes`."""
    return NODE.itemsize + 8 * game.state_words + EDGE.itemsize * moves_a_node(game, num_nodes)


def edges_of(tree: Tree, b: int, node: int) -> np.ndarray:
    """Return the edges of a node of game b, a view [legal moves] EDGE; none unless it is expanded."""
    first, count = (int(tree.nodes[name][b, node]) for name in ("first_edge", "num_edges"))
    return tree.edges[b, first : first + count]


def edge_to(tree: Tree, b: int, node: int, action: int) -> np.void | None:
    """Return the edge of an action at a node of game b; None if there is none."""
    edges = edges_of(tree, b, node)
    place = int(np.searchsorted(edges["action"], action))
    return edges[place] if place < len(edges) and edges["action"][place] == action else None


def action_to(tree: Tree, b: int, node: int) -> int:
    """Return the action that led to a node of game b, not its root."""
    return int(tree.edges["action"][b, tree.nodes["parent_edge"][b, node]])


def visits_of(tree: Tree, games: np.ndarray, num_actions: int) -> np.ndarray:
    """Return the visits of each action at the roots of `games` [B], [B, A] int32."""
    visits = np.zeros((len(games), num_actions), np.int32)
    for row, b in enumerate(games.tolist()):
        edges = edges_of(tree, b, ROOT)
        visits[row, edges["action"]] = edges["child_visits"]
    return visits


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
def first_edge(tree, b, node):
    """Return the place of a node's first edge in the pool."""
    return np.int64(tree.nodes[b, node].first_edge)


@part
def edge_range(tree, b, node):
    """Return the places of a node's edges in the pool."""
    return range(
        tree.nodes[b, node].first_edge, tree.nodes[b, node].first_edge + tree.nodes[b, node].num_edges
    )


@part
def clear_node(tree, b, node):
    """Make a new node of row b: no statistics, no edges."""
    tree.nodes[b, node].expanded = False
    tree.nodes[b, node].logits = False
    tree.nodes[b, node].terminal = False
    tree.nodes[b, node].proven = False
    set_bounds(tree, b, node, LOSS, WIN)
    tree.nodes[b, node].node_visits = 0
    tree.nodes[b, node].value_sum = 0.0
    tree.nodes[b, node].first_edge = 0
    tree.nodes[b, node].num_edges = 0


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
    tree.searches[b].num_edges = 0
    tree.searches[b].leaf = NO_LEAF
    copy_words(state, tree.states[b, ROOT])
    describe_node(rules, tree, b, ROOT)


@part
def add_child(rules, tree, b, parent, edge):
    """Create the node that `edge` of `parent` leads to and return its index. The row must have room."""
    child = tree.searches[b].num_nodes
    tree.searches[b].num_nodes = child + 1
    clear_node(tree, b, child)
    tree.nodes[b, child].parent = parent
    tree.nodes[b, child].parent_edge = edge
    tree.edges[b, edge].child = child
    rules.step(tree.states[b, parent], tree.edges[b, edge].action, tree.states[b, child])
    describe_node(rules, tree, b, child)
    return child


@part
def add_edges(tree, b, node, moves, count, logits):
    """Expand a node with edges for moves [count or more] MOVE, if the pool has room for them.

    logits: whether their priors are logits.
    """
    first = np.int64(tree.searches[b].num_edges)  # as a number of 64 bits, like all places
    if first + count > tree.edges.shape[1]:
        return
    for place in range(count):
        edge = first + place
        tree.edges[b, edge].action = moves[place].action
        tree.edges[b, edge].prior = moves[place].prior
        tree.edges[b, edge].child = UNVISITED
        tree.edges[b, edge].child_visits = 0
        tree.edges[b, edge].child_value_sum = 0.0
    tree.searches[b].num_edges = first + count
    tree.nodes[b, node].first_edge = first
    tree.nodes[b, node].num_edges = count
    tree.nodes[b, node].expanded = True
    tree.nodes[b, node].logits = logits


@inner
def softmax(moves):
    """Turn the logits of moves [M], MOVE or EDGE, into priors."""
    highest = -math.inf
    for place in range(moves.shape[0]):
        highest = max(highest, moves[place].prior)
    total = 0.0
    for place in range(moves.shape[0]):
        weight = math.exp(moves[place].prior - highest)
        total += weight
        moves[place].prior = weight
    for place in range(moves.shape[0]):
        moves[place].prior /= total


@kernel
def soften(tree, b, node):
    """Turn the logits of an expanded node's edges into priors, if they are logits.

    That happens when a simulation first leaves the node, because most nodes are never left (measured in
    Gomoku: the exponentials of their logits took a third of a simulation).
    """
    if tree.nodes[b, node].logits:
        tree.nodes[b, node].logits = False
        first = first_edge(tree, b, node)
        softmax(tree.edges[b, first : first + tree.nodes[b, node].num_edges])


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
    for edge in edge_range(tree, b, ROOT):
        visits += tree.edges[b, edge].child_visits
        values += tree.edges[b, edge].child_value_sum
    mean = values / visits
    tree.nodes[b, ROOT].proven = False
    tree.nodes[b, ROOT].raw_value = mean
    tree.nodes[b, ROOT].value_sum = mean * tree.nodes[b, ROOT].node_visits


@inner
def move_node(tree, b, source, target, first):
    """Copy a node to `target`, its edges to `first` and so on, where they have no children yet.

    The children, still at their old places, learn of their new parent edge. A node that was expanded later
    than its successors, for want of room, may find its edges overwritten: then it is a leaf again.
    """
    old, count = np.int64(tree.nodes[b, source].first_edge), tree.nodes[b, source].num_edges
    if target != source:
        copy_words(tree.states[b, source], tree.states[b, target])
        tree.nodes[b, target] = tree.nodes[b, source]
    if count > 0 and old < first:
        tree.nodes[b, target].expanded = False
        tree.nodes[b, target].logits = False
        count = 0
    for place in range(count):
        edge = first + place
        tree.edges[b, edge] = tree.edges[b, old + place]
        child = tree.edges[b, edge].child
        if child != UNVISITED:
            tree.nodes[b, child].parent_edge = edge
            tree.edges[b, edge].child = UNVISITED
    tree.nodes[b, target].first_edge = first
    tree.nodes[b, target].num_edges = count


@kernel
def reroot(tree, b, new_root, room, new_index):
    """Keep the subtree of `new_root` as row b's tree, moved to the front, and leave `room` nodes free.

    Nodes that do not fit are forgotten, the latest created first, as are those whose edges do not. The
    statistics of their edges stay, and a later descent creates them again. The new root must be proven again,
    see `forget_proof`. new_index: scratch, [N] int32. Nodes can move in place because a child's index is
    above its parent's, and its edges are behind its parent's.
    """
    places = tree.states.shape[1] - room
    edge_places = places * (tree.edges.shape[1] // tree.states.shape[1])
    kept, first = 0, 0
    for node in range(new_root, tree.searches[b].num_nodes):
        parent, is_root = tree.nodes[b, node].parent, node == new_root
        new_index[node] = UNVISITED
        inside = parent >= new_root and new_index[parent] != UNVISITED
        if not is_root and not (inside and tree.nodes[b, new_index[parent]].expanded):
            continue
        if kept >= places or (not is_root and first + tree.nodes[b, node].num_edges > edge_places):
            continue
        target = kept
        kept += 1
        new_index[node] = target
        move_node(tree, b, node, target, first)
        first += tree.nodes[b, target].num_edges
        tree.nodes[b, target].parent = NO_PARENT if is_root else new_index[parent]
        if not is_root:
            tree.edges[b, tree.nodes[b, target].parent_edge].child = target
    tree.searches[b].num_nodes = kept
    tree.searches[b].num_edges = first
    tree.searches[b].leaf = NO_LEAF
    soften(tree, b, ROOT)
    if not tree.nodes[b, ROOT].terminal:
        forget_proof(tree, b)


@kernel
def find_state(tree, b, state):
    """Return the most visited node of row b with that state, or -1."""
    found = -1
    for node in range(tree.searches[b].num_nodes):
        is_more = found < 0 or tree.nodes[b, node].node_visits > tree.nodes[b, found].node_visits
        if is_more and same_words(tree.states[b, node], state):
            found = node
    return found
