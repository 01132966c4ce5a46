"""UCT in which a player first chooses a group of moves and then a move of that group.

Letters: N nodes, A actions, K the most choices at one node, S state words.

Saito, Winands, Uiterwijk & van den Herik, "Grouping nodes for Monte-Carlo tree search" (2007). A group is an
ordinary node in which the same player moves again: it has its own visits and rewards, and UCB1 chooses it
like any other. Rewards lie in [0, 1]. They are summed for player 0 and turned for the player to move at a
node.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from azero.classic.rollouts import end_reward
from azero.games.game import rules_at
from azero.kernels.compiled import borrowed, kernel, part
from azero.kernels.random_moves import mask_words, pick_legal
from azero.kernels.random_stream import next_below
from azero.kernels.words import copy_words

NOT_EXPANDED = -1
NO_GROUP = -1
# Not a plain 0: a literal argument would make Numba compile every function that takes it twice.
ROOT: Any = np.int64(0)


class GroupedSettings(NamedTuple):
    """The settings of a search."""

    exploration: float  # constant of UCB1; sqrt(2) for rewards in [0, 1]
    # visits, each with a rollout, before a leaf is expanded, at least 1; the root is expanded at once
    threshold: int
    max_plies: int  # no game is longer


class GroupedTree(NamedTuple):
    """The tree of one search. Row n is node n: a position, or a position with only the moves of one group.

    A node's choices, groups or moves, are in the order in which they are first tried: those below ``tried``
    have a child.
    """

    states: np.ndarray  # [N, S] uint64
    group: np.ndarray  # [N] int64: the group that was chosen, NO_GROUP at a position
    below_root: np.ndarray  # [N] bool: the root or a group of it, where moves may be banned
    choices: np.ndarray  # [N, K] int64
    children: np.ndarray  # [N, K] int64: the node of each choice below `tried`
    tried: np.ndarray  # [N] int64
    num_choices: np.ndarray  # [N] int64, NOT_EXPANDED before they are listed
    visits: np.ndarray  # [N] int64
    own_visits: np.ndarray  # [N] int64: visits before the choices were listed
    reward_sum: np.ndarray  # [N] float64: rewards for player 0
    to_play: np.ndarray  # [N] int64
    terminal: np.ndarray  # [N] bool
    num_nodes: np.ndarray  # [1] int64: rows in use
    path: np.ndarray  # [2 * max_plies + 2] int64: the nodes of the current simulation
    scratch: np.ndarray  # [2, S] uint64: the current and the next state of a rollout
    present: np.ndarray  # [groups] bool: the groups that have a move at the current node
    legal: np.ndarray  # [A] bool: the moves of the current node
    legal_words: np.ndarray  # [ceil(A / 8)] uint64: the same bytes, eight to a word


def new_tree(num_simulations: int, max_plies: int, groups: np.ndarray, state_words: int) -> GroupedTree:
    """Return an empty tree; a simulation adds at most one node. groups: [A], see `begin_search`."""
    nodes, num_groups = num_simulations + 1, int(groups.max()) + 1
    most = max(num_groups, int(np.bincount(groups).max()))
    legal_words = mask_words(len(groups))
    return GroupedTree(
        states=np.zeros((nodes, state_words), np.uint64),
        group=np.zeros(nodes, np.int64),
        below_root=np.zeros(nodes, np.bool_),
        choices=np.zeros((nodes, most), np.int64),
        children=np.zeros((nodes, most), np.int64),
        tried=np.zeros(nodes, np.int64),
        num_choices=np.zeros(nodes, np.int64),
        visits=np.zeros(nodes, np.int64),
        own_visits=np.zeros(nodes, np.int64),
        reward_sum=np.zeros(nodes),
        to_play=np.zeros(nodes, np.int64),
        terminal=np.zeros(nodes, np.bool_),
        num_nodes=np.zeros(1, np.int64),
        path=np.zeros(2 * max_plies + 2, np.int64),
        scratch=np.zeros((2, state_words), np.uint64),
        present=np.zeros(num_groups, np.bool_),
        legal=legal_words.view(np.bool_)[: len(groups)],
        legal_words=legal_words,
    )


@part
def add_node(rules, tree, node, group, below_root):
    """Begin node `node`, whose state is written already."""
    tree.group[node] = group
    tree.below_root[node] = below_root
    tree.num_choices[node] = NOT_EXPANDED
    tree.tried[node] = 0
    tree.visits[node] = 0
    tree.reward_sum[node] = 0.0
    tree.to_play[node] = rules.to_play(tree.states[node])
    tree.terminal[node] = rules.is_terminal(tree.states[node])


@part
def find_moves(rules, tree, groups, node, banned):
    """Write a node's moves into `tree.legal`: legal, not banned at the root, of its group if it is one."""
    rules.legal_mask(tree.states[node], tree.legal)
    for action in range(groups.shape[0]):
        if tree.below_root[node] and banned[action]:
            tree.legal[action] = False
        if tree.group[node] != NO_GROUP and groups[action] != tree.group[node]:
            tree.legal[action] = False


@part
def expand(rules, tree, groups, node, banned):
    """List the groups of a position, or the moves of a group; none is tried yet."""
    find_moves(rules, tree, groups, node, banned)
    tree.own_visits[node] = tree.visits[node]
    count = 0
    if tree.group[node] == NO_GROUP:
        tree.present[:] = False
        for action in range(groups.shape[0]):
            tree.present[groups[action]] |= tree.legal[action]
        for group in range(tree.present.shape[0]):
            if tree.present[group]:
                tree.choices[node, count] = group
                count += 1
    else:
        for action in range(groups.shape[0]):
            if tree.legal[action]:
                tree.choices[node, count] = action
                count += 1
    tree.num_choices[node] = count


@part
def try_choice(rules, tree, node, child, stream):
    """Make node `child` from a random untried choice of `node`."""
    slot = tree.tried[node]
    drawn = slot + next_below(stream, tree.num_choices[node] - slot)
    choice = tree.choices[node, drawn]
    tree.choices[node, drawn] = tree.choices[node, slot]
    tree.choices[node, slot] = choice
    tree.children[node, slot] = child
    tree.tried[node] = slot + 1
    if tree.group[node] == NO_GROUP:
        copy_words(tree.states[node], tree.states[child])
        add_node(rules, tree, child, choice, tree.below_root[node])
    else:
        rules.step(tree.states[node], choice, tree.states[child])
        add_node(rules, tree, child, NO_GROUP, False)


@part
def select(tree, node, exploration):
    """Return the child of the highest UCB1, q + exploration * sqrt(ln n / n_child), for to_play of `node`."""
    scale = exploration * math.sqrt(math.log(tree.visits[node] - tree.own_visits[node]))
    best, best_score = tree.children[node, 0], -1.0
    for slot in range(tree.num_choices[node]):
        child = tree.children[node, slot]
        q = tree.reward_sum[child] / tree.visits[child]
        score = (q if tree.to_play[node] == 0 else 1.0 - q) + scale / math.sqrt(tree.visits[child])
        if score > best_score:
            best, best_score = child, score
    return best


@part
def rollout(rules, tree, settings, groups, node, banned, stream):
    """Play random moves to the end, the first from the node's group if it is one; return the reward.

    A game that is not over after `max_plies`, or has no legal move, is a draw.
    """
    here, there = tree.scratch[0], tree.scratch[1]
    if tree.group[node] == NO_GROUP:
        copy_words(tree.states[node], here)
    else:
        find_moves(rules, tree, groups, node, banned)
        rules.step(tree.states[node], pick_legal(tree.legal_words, stream), here)
    plies = 0
    over = rules.is_terminal(here)
    while not over and plies < settings.max_plies:
        rules.legal_mask(here, tree.legal)
        action = pick_legal(tree.legal_words, stream)
        if action < 0:
            break
        rules.step(here, action, there)
        here, there = there, here
        plies += 1
        over = rules.is_terminal(here)
    return end_reward(rules, here) if over else 0.5


@part
def simulate(rules, tree, settings, groups, nodes, banned, stream):
    """Run one simulation and return the new number of nodes."""
    node, length = ROOT, 1
    tree.path[0] = ROOT
    while (
        length < tree.path.shape[0]  # longer only if a game passes max_plies
        and not tree.terminal[node]
        and (node == ROOT or tree.visits[node] >= settings.threshold)
    ):
        if tree.num_choices[node] == NOT_EXPANDED:
            expand(rules, tree, groups, node, banned)
        if tree.num_choices[node] == 0:  # not over, but without a legal move
            break
        if tree.tried[node] < tree.num_choices[node]:
            try_choice(rules, tree, node, nodes, stream)
            node = nodes
            nodes += 1
        else:
            node = select(tree, node, settings.exploration)
        tree.path[length] = node
        length += 1
    reward = rollout(rules, tree, settings, groups, node, banned, stream)
    for step in range(length):
        tree.visits[tree.path[step]] += 1
        tree.reward_sum[tree.path[step]] += reward
    return nodes


@part
def most_visited(tree, node):
    """Return the slot of the first most visited child of `node`; at least one must have been tried."""
    best = 0
    for slot in range(1, tree.tried[node]):
        if tree.visits[tree.children[node, slot]] > tree.visits[tree.children[node, best]]:
            best = slot
    return best


@kernel
def begin_search(addresses, tree, state):
    """Begin a new tree with `state` [S], not terminal, at the root."""
    rules = rules_at(addresses)
    copy_words(state, tree.states[ROOT])
    add_node(rules, tree, ROOT, NO_GROUP, True)
    tree.num_nodes[0] = 1


@kernel
def continue_search(addresses, tree, settings, groups, banned, stream, num_simulations):
    """Run `num_simulations` more simulations without the root's banned moves [A]; stream [2] advances.

    groups: [A] int64, the group of each action, numbered from 0.
    """
    rules = rules_at(addresses)
    tree, groups, stream, banned = borrowed(tree), borrowed(groups), borrowed(stream), borrowed(banned)
    nodes = tree.num_nodes[0]
    for _ in range(num_simulations):
        nodes = simulate(rules, tree, settings, groups, nodes, banned, stream)
    tree.num_nodes[0] = nodes


@kernel
def choose(addresses, tree, groups, banned, stream, visit_counts):
    """Return the most visited move of the most visited group; a random move of it if none was tried.

    Write the visits of each move of the root into visit_counts [A]. A simulation that ended in a group,
    before one of its moves was tried, counts for none.
    """
    rules, tree = rules_at(addresses), borrowed(tree)
    visit_counts[:] = 0
    for slot in range(tree.tried[ROOT]):
        group = tree.children[ROOT, slot]
        for place in range(tree.tried[group]):
            visit_counts[tree.choices[group, place]] = tree.visits[tree.children[group, place]]
    group = tree.children[ROOT, most_visited(tree, ROOT)]
    if tree.tried[group] > 0:
        return tree.choices[group, most_visited(tree, group)]
    find_moves(rules, tree, groups, group, banned)
    return np.int64(pick_legal(tree.legal_words, stream))
