"""UCT in which a player first chooses a group of moves and then a move of that group.

Letters: N nodes, A actions, K choices of all nodes, S state words.

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
from azero.games.legal import Legal, draw_legal, list_allowed, list_legal, make_legal
from azero.kernels.compiled import borrowed, kernel, part
from azero.kernels.random_stream import next_below
from azero.kernels.words import copy_words

NOT_EXPANDED = -1
NO_GROUP = -1
# Not a plain 0: a literal argument would make Numba compile every function that takes it twice.
ROOT: Any = np.int64(0)
ROOM_BYTES = 2**30  # the most memory of all choices; after that leaves are not expanded


class GroupedSettings(NamedTuple):
    """The settings of a search."""

    exploration: float  # constant of UCB1; sqrt(2) for rewards in [0, 1]
    # visits, each with a rollout, before a leaf is expanded, at least 1; the root is expanded at once
    threshold: int
    max_plies: int  # no game is longer


class GroupedTree(NamedTuple):
    """The tree of one search. Row n is node n: a position, or a position with only the moves of one group.

    A node's choices, groups or moves, lie in adjacent places, in the order in which they are first tried: the
    first ``tried`` have a child.
    """

    states: np.ndarray  # [N, S] uint64
    group: np.ndarray  # [N] int64: the group that was chosen, NO_GROUP at a position
    below_root: np.ndarray  # [N] bool: the root or a group of it, where moves may be banned
    choices: np.ndarray  # [K] int64
    children: np.ndarray  # [K] int64: the node of each choice that was tried
    num_choices_used: np.ndarray  # [1] int64: places in use
    first_choice: np.ndarray  # [N] int64: the place of a node's first choice
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
    present: np.ndarray  # [groups] bool: the groups that have a move at the current node; False between uses
    moves: Legal  # those of the current node


def new_tree(num_simulations: int, max_plies: int, groups: np.ndarray, state_words: int) -> GroupedTree:
    """Return an empty tree; a simulation adds at most one node. groups: [A], see `begin_search`."""
    nodes, num_groups = num_simulations + 1, int(groups.max()) + 1
    most = max(num_groups, int(np.bincount(groups).max()))
    places = max(min(nodes * most, ROOM_BYTES // 16), 2 * most)
    return GroupedTree(
        states=np.zeros((nodes, state_words), np.uint64),
        group=np.zeros(nodes, np.int64),
        below_root=np.zeros(nodes, np.bool_),
        choices=np.empty(places, np.int64),
        children=np.empty(places, np.int64),
        num_choices_used=np.zeros(1, np.int64),
        first_choice=np.zeros(nodes, np.int64),
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
        moves=make_legal(len(groups)),
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
    """List a node's moves in `tree.moves`: legal, not banned at the root, of its group if it is one.

    Return how many.
    """
    if tree.below_root[node]:
        listed = list_allowed(rules, tree.states[node], tree.moves, banned)
    else:
        listed = list_legal(rules, tree.states[node], tree.moves)
    if tree.group[node] == NO_GROUP:
        return listed
    count = 0
    for place in range(listed):
        action = tree.moves.actions[place]
        tree.moves.actions[count] = action  # overwritten by the next one of the group
        count += groups[action] == tree.group[node]
    return count


@part
def list_groups(tree, groups, count, first):
    """Write the groups of `count` moves, rising, into the choices from place `first` on. Return how many."""
    found = 0
    for move in range(count):
        group = groups[tree.moves.actions[move]]
        if not tree.present[group]:
            tree.present[group] = True
            place = first + found
            while place > first and tree.choices[place - 1] > group:
                tree.choices[place] = tree.choices[place - 1]
                place -= 1
            tree.choices[place] = group
            found += 1
    for place in range(first, first + found):
        tree.present[tree.choices[place]] = False
    return found


@part
def expand(rules, tree, groups, node, banned):
    """List the groups of a position, or the moves of a group, if there is room; none is tried yet."""
    count, first = find_moves(rules, tree, groups, node, banned), tree.num_choices_used[0]
    most = min(count, tree.present.shape[0]) if tree.group[node] == NO_GROUP else count
    if first + most > tree.choices.shape[0]:
        return
    if tree.group[node] == NO_GROUP:
        count = list_groups(tree, groups, count, first)
    else:
        for move in range(count):
            tree.choices[first + move] = tree.moves.actions[move]
    tree.own_visits[node] = tree.visits[node]
    tree.first_choice[node] = first
    tree.num_choices[node] = count
    tree.num_choices_used[0] = first + count


@part
def try_choice(rules, tree, node, child, stream):
    """Make node `child` from a random untried choice of `node`."""
    tried = tree.tried[node]
    place = tree.first_choice[node] + tried
    drawn = place + next_below(stream, tree.num_choices[node] - tried)
    choice = tree.choices[drawn]
    tree.choices[drawn] = tree.choices[place]
    tree.choices[place] = choice
    tree.children[place] = child
    tree.tried[node] = tried + 1
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
    first = tree.first_choice[node]
    best, best_score = tree.children[first], -1.0
    for place in range(first, first + tree.num_choices[node]):
        child = tree.children[place]
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
        move = next_below(stream, find_moves(rules, tree, groups, node, banned))
        rules.step(tree.states[node], np.int64(tree.moves.actions[move]), here)
    plies = 0
    over = rules.is_terminal(here)
    while not over and plies < settings.max_plies:
        action = draw_legal(rules, here, tree.moves, stream)
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
        if tree.num_choices[node] <= 0:  # not over, but without a legal move, or without room
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
    """Return the place of the first most visited child of `node`; at least one must have been tried."""
    best = first = tree.first_choice[node]
    for place in range(first + 1, first + tree.tried[node]):
        if tree.visits[tree.children[place]] > tree.visits[tree.children[best]]:
            best = place
    return best


@kernel
def begin_search(addresses, tree, state):
    """Begin a new tree with `state` [S], not terminal, at the root."""
    rules = rules_at(addresses)
    copy_words(state, tree.states[ROOT])
    add_node(rules, tree, ROOT, NO_GROUP, True)
    tree.num_nodes[0] = 1
    tree.num_choices_used[0] = 0


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
        group = tree.children[tree.first_choice[ROOT] + slot]
        for place in range(tree.first_choice[group], tree.first_choice[group] + tree.tried[group]):
            visit_counts[tree.choices[place]] = tree.visits[tree.children[place]]
    group = tree.children[most_visited(tree, ROOT)]
    if tree.tried[group] > 0:
        return tree.choices[most_visited(tree, group)]
    count = find_moves(rules, tree, groups, group, banned)
    return np.int64(tree.moves.actions[next_below(stream, count)])
