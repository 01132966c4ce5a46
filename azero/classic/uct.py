"""Plain UCT: UCB1 in the tree, random rollouts at its leaves, no network.

Letters: B positions, N nodes, A actions, S state words.

Kocsis & Szepesvari, "Bandit based Monte-Carlo planning" (2006). Rewards lie in [0, 1]: 1 for a win, 0.5 for a
draw. They are summed for player 0 and turned for the player to move at a node, so a player may move twice in
a row.

UCB1 is q + C sqrt(ln n / n_child) (Auer, Cesa-Bianchi & Fischer, "Finite-time analysis of the multiarmed
bandit problem", 2002). Its proof wants C = sqrt(2) for rewards in [0, 1]. The bonus must grow with the range
of the rewards: who counts -1 for a loss and 1 for a win has rewards twice as far apart, and needs twice the
constant for the same choices.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from azero.classic.rollouts import Judge, Room, end_reward, new_room, rollout
from azero.games.game import rules_at
from azero.games.legal import list_allowed, list_legal
from azero.kernels.compiled import borrowed, kernel, part
from azero.kernels.random_stream import next_below
from azero.kernels.words import copy_words

NOT_EXPANDED = -1
# Not a plain 0: a literal argument would make Numba compile every function that takes it twice.
ROOT: Any = np.int64(0)
ROOM_BYTES = 2**30  # the most memory of a tree; after that its leaves are not expanded
LOG_TABLE = 2**16  # visit counts with a stored logarithm
MOST_AT_ONCE = 1000  # rollouts of a leaf that are backed up together, which a stop waits for

# A node is a legal move and its position. The children of a node are adjacent, in the order in which they are
# first tried. Only the first `tried` of the `num_children` have a state, statistics and children.
NODE = np.dtype(
    [
        ("reward_sum", np.float64),  # for player 0
        ("visits", np.int32),
        ("own_visits", np.int32),  # visits before it had children
        ("first_child", np.int32),  # NOT_EXPANDED before its moves are listed
        ("num_children", np.int32),
        ("tried", np.int32),
        ("action", np.int32),
        ("to_play", np.int8),
        ("terminal", np.bool_),
        ("turned", np.bool_),  # the player who chooses this move wants the rewards of player 1
    ],
    align=True,
)


class UctTree(NamedTuple):
    """The tree of one search and its scratch memory. Row n is node n."""

    states: np.ndarray  # [N, S] uint64
    nodes: np.ndarray  # [N] NODE
    q: np.ndarray  # [N] float64: mean reward for the player who chooses this move
    width: np.ndarray  # [N] float64: 1 / sqrt(visits)
    scores: np.ndarray  # [N] float64, written only with `largest_child`
    num_nodes: np.ndarray  # [1] int64: rows in use
    path: np.ndarray  # [max_plies + 2] int64: the nodes of the current simulation
    leaf: np.ndarray  # [2] int64: of the current simulation, the length of its path and its rollouts left
    sqrt_log: np.ndarray  # [LOG_TABLE] float64: sqrt(ln n), 0 at n = 0
    room: Room


class Uct(NamedTuple):
    """The settings of one search."""

    exploration: float  # C
    expansion_threshold: int  # visits, each with a rollout, before a leaf is expanded; the root is at once
    rollouts: int  # at each visit of a leaf; each counts as a simulation
    judge: Judge
    for_root: bool  # choose by the rewards of the player at the root, not of the player to move
    log_of_total: bool  # n in the logarithm is the simulations of the search, not those through the node
    largest_child: bool  # the score of an expanded move is its children's largest, not its own


def new_tree(
    num_simulations: int, threshold: int, max_plies: int, num_actions: int, state_words: int
) -> UctTree:
    """Return an empty tree for `num_simulations`; memory is used when it is first written.

    A simulation expands at most one node, which has at least `threshold` visits. There is room for A children
    of each, so a tree that is not full never lacks it; those of illegal moves are never written.
    """
    bytes_each = NODE.itemsize + 3 * 8 + 8 * state_words
    wanted = 1 + num_actions * (num_simulations // threshold + 2)
    nodes = max(min(wanted, ROOM_BYTES // bytes_each), 1 + num_actions)
    counts = np.arange(1, min(num_simulations + 2, LOG_TABLE))
    return UctTree(
        states=np.empty((nodes, state_words), np.uint64),
        nodes=np.empty(nodes, NODE),
        q=np.empty(nodes),
        width=np.empty(nodes),
        scores=np.empty(nodes),
        num_nodes=np.zeros(1, np.int64),
        path=np.zeros(max_plies + 2, np.int64),
        leaf=np.zeros(2, np.int64),
        sqrt_log=np.array([0.0, *(math.sqrt(math.log(n)) for n in counts.tolist())]),
        room=new_room(num_actions, state_words),
    )


@part
def add_node(rules, tree, node):
    """Begin node `node`, whose state and action are set."""
    tree.nodes[node].reward_sum = 0.0
    tree.nodes[node].visits = 0
    tree.nodes[node].own_visits = 0
    tree.nodes[node].first_child = NOT_EXPANDED
    tree.nodes[node].to_play = rules.to_play(tree.states[node])
    tree.nodes[node].terminal = rules.is_terminal(tree.states[node])


@part
def is_expanded(tree, node):
    """Return whether the node's moves are listed."""
    return tree.nodes[node].first_child != NOT_EXPANDED


@part
def expand(tree, node, count):
    """Make the first `count` moves of `room.moves` the node's children, none tried, if there is room."""
    first = tree.num_nodes[0]
    if first + count > tree.nodes.shape[0]:
        return
    for place in range(count):
        tree.nodes[first + place].action = tree.room.moves.actions[place]
        tree.nodes[first + place].first_child = NOT_EXPANDED
    tree.nodes[node].first_child = first
    tree.nodes[node].num_children = count
    tree.nodes[node].tried = 0
    tree.nodes[node].own_visits = tree.nodes[node].visits
    tree.num_nodes[0] = first + count


@part
def first_child_of(tree, node):
    """Return the first child of an expanded node."""
    return np.int64(tree.nodes[node].first_child)


@part
def try_action(rules, tree, uct, node, stream):
    """Begin a random untried child of `node` and return it."""
    tried = tree.nodes[node].tried
    child = first_child_of(tree, node) + tried
    drawn = child + next_below(stream, tree.nodes[node].num_children - tried)
    action = tree.nodes[drawn].action
    tree.nodes[drawn].action = tree.nodes[child].action
    tree.nodes[child].action = action
    tree.nodes[node].tried = tried + 1
    rules.step(tree.states[node], action, tree.states[child])
    add_node(rules, tree, child)
    chooser = ROOT if uct.for_root else node
    tree.nodes[child].turned = tree.nodes[chooser].to_play != 0
    return child


@part
def sqrt_log_of(tree, uct, node):
    """Return sqrt(ln n) for the children of an expanded node."""
    n = tree.nodes[ROOT].visits if uct.log_of_total else tree.nodes[node].visits - tree.nodes[node].own_visits
    return tree.sqrt_log[n] if n < tree.sqrt_log.shape[0] else math.sqrt(math.log(n))


@part
def select(tree, uct, node):
    """Return the first child of the highest UCB1; every child must have been tried."""
    scale = uct.exploration * sqrt_log_of(tree, uct, node)
    best = first = first_child_of(tree, node)
    best_score = -1.0
    for child in range(first, first + tree.nodes[node].num_children):
        score = tree.q[child] + scale * tree.width[child]
        best = child if score > best_score else best
        best_score = score if score > best_score else best_score
    return best


@part
def score_all(tree, uct):
    """Score every listed move, from last to first, so that children come before their parents."""
    for node in range(tree.num_nodes[0] - 1, -1, -1):
        if not is_expanded(tree, node):
            continue
        scale = uct.exploration * sqrt_log_of(tree, uct, node)
        first = first_child_of(tree, node)
        largest = -1.0
        for child in range(first, first + tree.nodes[node].num_children):
            if child >= first + tree.nodes[node].tried:
                tree.scores[child] = math.inf
            elif not is_expanded(tree, child):
                tree.scores[child] = tree.q[child] + scale * tree.width[child]
            largest = max(largest, tree.scores[child])
        tree.scores[node] = largest


@part
def select_largest(tree, node):
    """Return the first child of the largest score in `tree.scores`."""
    best = first_child_of(tree, node)
    for child in range(best + 1, best + tree.nodes[node].num_children):
        best = child if tree.scores[child] > tree.scores[best] else best
    return best


@part
def backup(tree, length, reward, rollouts):
    """Add the summed reward of `rollouts` rollouts to the first `length` nodes of the path."""
    for step in range(length):
        node = tree.path[step]
        visits = tree.nodes[node].visits + rollouts
        reward_sum = tree.nodes[node].reward_sum + reward
        tree.nodes[node].visits = visits
        tree.nodes[node].reward_sum = reward_sum
        mean = reward_sum * (1.0 / visits)
        tree.q[node] = 1.0 - mean if tree.nodes[node].turned else mean
        tree.width[node] = 1.0 / math.sqrt(visits)


@part
def descend(rules, tree, uct, stream):
    """Choose the path of a simulation and return its length."""
    if uct.largest_child:
        score_all(tree, uct)
    node, length = ROOT, 1
    tree.path[0] = ROOT
    while length < tree.path.shape[0]:  # shorter only if a game passes max_plies
        if not is_expanded(tree, node):
            if tree.nodes[node].terminal or tree.nodes[node].visits < uct.expansion_threshold:
                break
            expand(tree, node, list_legal(rules, tree.states[node], tree.room.moves))
            if not is_expanded(tree, node):  # the tree is full
                break
        if tree.nodes[node].num_children == 0:  # not over, but without a legal move
            break
        if tree.nodes[node].tried < tree.nodes[node].num_children:
            node = try_action(rules, tree, uct, node, stream)
        elif uct.largest_child:
            node = select_largest(tree, node)
        else:
            node = select(tree, uct, node)
        tree.path[length] = node
        length += 1
    return length


@part
def simulate(rules, tree, uct, stream, most):
    """Make at most `most` rollouts from a leaf, the one before until it has had all, and return their number.

    How many it makes at a time depends on nothing but `uct.rollouts`, so a search may pause between any two
    calls and finds the same.
    """
    if tree.leaf[1] == 0:
        tree.leaf[0], tree.leaf[1] = descend(rules, tree, uct, stream), uct.rollouts
    length = tree.leaf[0]
    node = tree.path[length - 1]
    rollouts = min(most, tree.leaf[1], MOST_AT_ONCE)
    tree.leaf[1] -= rollouts
    if tree.nodes[node].terminal:
        reward = rollouts * end_reward(rules, tree.states[node])
    else:
        reward = 0.0
        for _ in range(rollouts):
            reward += rollout(rules, tree.states[node], uct.judge, tree.room, stream)
    backup(tree, length, reward, rollouts)
    return rollouts


@kernel
def begin_search(addresses, tree, state, banned):
    """Begin a new tree with `state` [S], not terminal, at the root, without its banned moves [A]."""
    rules = rules_at(addresses)
    tree = borrowed(tree)
    copy_words(state, tree.states[ROOT])
    add_node(rules, tree, ROOT)
    tree.nodes[ROOT].turned = tree.nodes[ROOT].to_play != 0
    tree.num_nodes[0], tree.leaf[1] = 1, 0
    expand(tree, ROOT, list_allowed(rules, state, tree.room.moves, banned))


@kernel
def continue_search(addresses, tree, uct, left, most, stream):
    """Search on, at `most` leaves; return how many of `left` simulations are left. stream [2] advances."""
    rules = rules_at(addresses)
    tree, stream = borrowed(tree), borrowed(stream)
    while left > 0 and most > 0:
        left -= simulate(rules, tree, uct, stream, left)
        most -= 1
    return left


@kernel
def read_visit_counts(tree, visit_counts):
    """Write the visits of each action of the root into visit_counts [A] int64."""
    for action in range(visit_counts.shape[0]):
        visit_counts[action] = 0
    first = first_child_of(tree, ROOT)
    for child in range(first, first + tree.nodes[ROOT].tried):
        visit_counts[tree.nodes[child].action] = tree.nodes[child].visits


@kernel
def search_positions(addresses, tree, uct, states, banned, num_simulations, streams, visit_counts):
    """Search states [B, S], none terminal, one after another without their banned [B, A] moves.

    Write the visits of each action into visit_counts [B, A] int64. Advance streams [B, 2].
    """
    for row in range(states.shape[0]):
        begin_search(addresses, tree, states[row], banned[row])
        continue_search(addresses, tree, uct, num_simulations, num_simulations, streams[row])
        read_visit_counts(tree, visit_counts[row])
