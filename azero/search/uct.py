"""Plain UCT: UCB1 in the tree, random rollouts at its leaves, no network; many independent searches in one kernel call.

Letters: B positions, N nodes, A actions, S state words.

Kocsis & Szepesvari, "Bandit based Monte-Carlo planning" (2006). Rewards lie in [0, 1]: 1 for a win, 0.5 for a draw. They are
summed for the player who moves first in the game and turned for the mover of a node, so either side may move twice in a row.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from azero.games.game import rules_at
from azero.search.random_moves import mask_words, pick_legal
from azero.search.random_stream import next_below

NOT_EXPANDED = -1
# Not a plain 0: a literal argument would make Numba compile every function that takes it twice.
ROOT: Any = np.int64(0)


class UctTree(NamedTuple):
    """One search's tree. Row n is node n, nodes are numbered in the order in which they were first visited.

    A node's legal actions are listed in the order in which they are first tried: slots below ``tried`` have a child.
    """

    states: np.ndarray  # [N, S] uint64
    actions: np.ndarray  # [N, A] int32: the legal action of each slot
    children: np.ndarray  # [N, A] int32: the child node of each slot below `tried`
    tried: np.ndarray  # [N] int64
    num_legal: np.ndarray  # [N] int64: slots in use, NOT_EXPANDED before they are listed
    visits: np.ndarray  # [N] int64
    reward_sum: np.ndarray  # [N] float64: rewards for player 0
    to_play: np.ndarray  # [N] int64
    terminal: np.ndarray  # [N] bool
    path: np.ndarray  # [max_plies + 2] int64: the nodes of the current simulation
    scratch: np.ndarray  # [2, S] uint64: the current and the next state of a rollout
    legal: np.ndarray  # [A] bool: the legal mask of the state at hand
    legal_words: np.ndarray  # [ceil(A / 8)] uint64: the same bytes, eight to a word
    none_banned: np.ndarray  # [A] bool, all False: only a root's moves may be banned


class Roots(NamedTuple):
    """Functions of a visit count n = 0 .. num_simulations, computed once, since UCB1 asks for them all the time."""

    sqrt_log: np.ndarray  # sqrt(ln n), 0 at n = 0
    inverse: np.ndarray  # 1 / n, 0 at n = 0
    inverse_sqrt: np.ndarray  # 1 / sqrt(n), 0 at n = 0


@njit(cache=True, nogil=True, error_model="numpy")
def new_tree(num_simulations: int, max_plies: int, num_actions: int, state_words: int) -> UctTree:
    """Return room for one search; a simulation adds at most one node."""
    nodes = num_simulations + 1
    legal_words = mask_words(num_actions)
    return UctTree(
        np.zeros((nodes, state_words), np.uint64),
        np.zeros((nodes, num_actions), np.int32),
        np.zeros((nodes, num_actions), np.int32),
        np.zeros(nodes, np.int64),
        np.zeros(nodes, np.int64),
        np.zeros(nodes, np.int64),
        np.zeros(nodes, np.float64),
        np.zeros(nodes, np.int64),
        np.zeros(nodes, np.bool_),
        np.zeros(max_plies + 2, np.int64),
        np.zeros((2, state_words), np.uint64),
        legal_words.view(np.bool_)[:num_actions],
        legal_words,
        np.zeros(num_actions, np.bool_),
    )


@njit(cache=True, nogil=True, error_model="numpy")
def new_roots(num_simulations: int) -> Roots:
    """Return the table up to ``num_simulations`` visits."""
    roots = Roots(np.zeros(num_simulations + 1), np.zeros(num_simulations + 1), np.zeros(num_simulations + 1))
    for n in range(1, num_simulations + 1):
        roots.sqrt_log[n] = math.sqrt(math.log(n))
        roots.inverse[n] = 1.0 / n
        roots.inverse_sqrt[n] = 1.0 / math.sqrt(n)
    return roots


@njit(cache=True, nogil=True, error_model="numpy")
def first_reward(rules: Any, state: np.ndarray) -> float:
    """Return the reward of a terminal state for player 0, in [0, 1]."""
    value = rules.outcome(state)
    return 0.5 + 0.5 * value if rules.to_play(state) == 0 else 0.5 - 0.5 * value


@njit(cache=True, nogil=True, error_model="numpy")
def rollout(rules: Any, start: np.ndarray, tree: UctTree, stream: np.ndarray) -> float:
    """Play random moves from ``start`` to the end and return the reward for player 0."""
    here, there = tree.scratch[0], tree.scratch[1]
    for word in range(start.shape[0]):  # Numba's assignment of rows costs seconds of compilation
        here[word] = start[word]
    while not rules.is_terminal(here):
        rules.legal_mask(here, tree.legal)
        rules.step(here, pick_legal(tree.legal_words, stream), there)
        here, there = there, here
    return first_reward(rules, here)


@njit(cache=True, nogil=True, error_model="numpy", forceinline=True)
def add_node(rules: Any, tree: UctTree, node: int) -> None:
    """Begin node ``node``, whose state is written already."""
    tree.num_legal[node] = NOT_EXPANDED
    tree.visits[node] = 0
    tree.reward_sum[node] = 0.0
    tree.to_play[node] = rules.to_play(tree.states[node])
    tree.terminal[node] = rules.is_terminal(tree.states[node])


@njit(cache=True, nogil=True, error_model="numpy", forceinline=True)
def expand(rules: Any, tree: UctTree, node: int, banned: np.ndarray) -> None:
    """List the node's legal actions without the banned ones [A], none of them tried."""
    rules.legal_mask(tree.states[node], tree.legal)
    count = 0
    for action in range(tree.legal.shape[0]):
        tree.actions[node, count] = action  # overwritten by the next unless legal
        count += tree.legal[action] and not banned[action]
    tree.num_legal[node] = count
    tree.tried[node] = 0


@njit(cache=True, nogil=True, error_model="numpy", forceinline=True)
def try_action(rules: Any, tree: UctTree, node: int, child: int, stream: np.ndarray) -> None:
    """Make node ``child`` of one of the actions of ``node`` that were not tried, all equally likely."""
    slot = tree.tried[node]
    chosen = slot + next_below(stream, tree.num_legal[node] - slot)
    action = tree.actions[node, chosen]
    tree.actions[node, chosen] = tree.actions[node, slot]
    tree.actions[node, slot] = action
    tree.children[node, slot] = child
    tree.tried[node] = slot + 1
    rules.step(tree.states[node], action, tree.states[child])
    add_node(rules, tree, child)


@njit(cache=True, nogil=True, error_model="numpy", forceinline=True)
def select(tree: UctTree, roots: Roots, node: int, children_visits: int, exploration: float) -> int:
    """Return the child of the highest UCB1, q + exploration * sqrt(ln(n) / n_child); q is for the mover of ``node``."""
    scale = exploration * roots.sqrt_log[children_visits]
    turn = tree.to_play[node] != 0
    best_score, best = -1.0, tree.children[node, 0]
    for slot in range(tree.num_legal[node]):
        child = tree.children[node, slot]
        visits = tree.visits[child]
        q = tree.reward_sum[child] * roots.inverse[visits]
        score = (1.0 - q if turn else q) + scale * roots.inverse_sqrt[visits]
        if score > best_score:
            best_score, best = score, child
    return best


@njit(cache=True, nogil=True, error_model="numpy", forceinline=True)
def simulate(
    rules: Any, tree: UctTree, roots: Roots, nodes: int, exploration: float, expansion_threshold: int, stream: np.ndarray
) -> int:
    """Run one simulation and return the new number of nodes."""
    node, length = ROOT, 1
    tree.path[0] = ROOT
    while not tree.terminal[node] and (node == ROOT or tree.visits[node] >= expansion_threshold):
        if tree.num_legal[node] == NOT_EXPANDED:
            expand(rules, tree, node, tree.none_banned)
        if tree.tried[node] < tree.num_legal[node]:
            try_action(rules, tree, node, nodes, stream)
            node = nodes
            nodes += 1
        else:
            own_visits = 0 if node == ROOT else expansion_threshold  # spent before the node had children
            node = np.int64(select(tree, roots, node, tree.visits[node] - own_visits, exploration))
        tree.path[length] = node
        length += 1
    state = tree.states[node]
    reward = first_reward(rules, state) if tree.terminal[node] else rollout(rules, state, tree, stream)
    for step in range(length):
        tree.visits[tree.path[step]] += 1
        tree.reward_sum[tree.path[step]] += reward
    return nodes


@njit(cache=True, nogil=True, error_model="numpy")
def search_positions(
    addresses: np.ndarray,
    states: np.ndarray,
    streams: np.ndarray,
    num_simulations: int,
    exploration: float,
    expansion_threshold: int,
    max_plies: int,
    banned: np.ndarray,
    visit_counts: np.ndarray,
) -> None:
    """Search every position on its own and write how often each of its actions was visited.

    Args:
        addresses: the game's `rule_addresses`.
        states: [B, S] uint64, none of them terminal.
        streams: [B, 2] uint64, the random stream of each search; advanced.
        num_simulations: simulations for each position, at least 1.
        exploration: constant of UCB1; sqrt(2) for rewards in [0, 1].
        expansion_threshold: visits, each with a rollout, before a leaf is expanded, at least 1; the root is expanded at once.
        max_plies: no game is longer.
        banned: [B, A] bool, moves left out at the root.
        visit_counts: [B, A] int64, written.
    """
    rules = rules_at(addresses)
    tree = new_tree(num_simulations, max_plies, visit_counts.shape[1], states.shape[1])
    roots = new_roots(num_simulations)
    for row in range(states.shape[0]):
        tree.states[ROOT] = states[row]
        add_node(rules, tree, ROOT)
        expand(rules, tree, ROOT, banned[row])
        nodes = ROOT + 1
        for _ in range(num_simulations):
            nodes = simulate(rules, tree, roots, nodes, exploration, expansion_threshold, streams[row])
        for action in range(visit_counts.shape[1]):
            visit_counts[row, action] = 0
        for slot in range(tree.tried[ROOT]):
            visit_counts[row, tree.actions[ROOT, slot]] = tree.visits[tree.children[ROOT, slot]]
