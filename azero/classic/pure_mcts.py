"""Pure MCTS: PV-MCTS with random or uniform priors and random rollouts instead of a network.

Letters: N nodes, A actions, S state words.

Tree, score, expand and backup are those of the search with a network (`azero/search`), so a comparison shows
what a trained network adds.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from azero.classic.rollouts import Judge, Room, rollout
from azero.games.game import rules_at
from azero.games.legal import leave_out, list_legal
from azero.kernels.compiled import borrowed, kernel, part
from azero.kernels.random_stream import next_float
from azero.search.mcts import backup, descend
from azero.search.puct import Puct, select_child
from azero.search.scratch import Scratch
from azero.search.tree import ROOT, Tree, add_edges, reset

ONLY = 0  # the one row of the tree


class PureSettings(NamedTuple):
    """The settings of one search."""

    puct: Puct
    root_puct: Puct  # the constants at the root
    judge: Judge
    uniform: bool  # whether all legal moves have the same prior, else random ones


@part
def next_edge(tree: Tree, b: int, node: int, settings: PureSettings) -> int:
    """Return the edge of the best score at a node."""
    return select_child(tree, b, node, settings.root_puct if node == ROOT else settings.puct)


@part
def draw_priors(
    actions: np.ndarray, count: int, uniform: bool, stream: np.ndarray, moves: np.ndarray
) -> None:
    """Write `count` actions [count or more] with equal or random probabilities into moves [A] MOVE."""
    total = 0.0
    for place in range(count):
        weight = 1.0 if uniform else next_float(stream)
        moves[place].action = actions[place]
        moves[place].prior = weight
        total += weight
    for place in range(count):
        moves[place].prior /= total


@kernel
def search_on(
    addresses: np.ndarray,
    tree: Tree,
    settings: PureSettings,
    state: np.ndarray,
    banned: np.ndarray,
    room: Room,
    scratch: Scratch,
    stream: np.ndarray,
    begin: int,
    end: int,
) -> None:
    """Run simulations begin .. end - 1 for a state [S], not terminal, without its banned moves [A].

    Simulation 0 makes the root and does not count. The visit counts are at the root of `tree`, which has one
    row. stream [2] advances.
    """
    rules = rules_at(addresses)
    tree, room, stream, scratch = borrowed(tree), borrowed(room), borrowed(stream), borrowed(scratch)
    actions, moves = scratch.legal.actions, scratch.moves
    if begin == 0:
        reset(rules, tree, ONLY, state)
    for simulation in range(begin, end):
        leaf = descend(rules, tree, ONLY, ROOT, next_edge, settings)
        if not tree.nodes[ONLY, leaf].terminal:
            count = list_legal(rules, tree.states[ONLY, leaf], scratch.legal)
            if simulation == 0:
                count = leave_out(actions, count, banned)
            draw_priors(actions, count, settings.uniform, stream, moves)
            value = 2.0 * rollout(rules, tree.states[ONLY, leaf], settings.judge, room, stream) - 1.0
            add_edges(tree, ONLY, leaf, moves, count, False)
            tree.nodes[ONLY, leaf].raw_value = value if tree.nodes[ONLY, leaf].to_play == 0 else -value
            tree.nodes[ONLY, leaf].proven = count == 0  # not over, but nothing leads on
        backup(tree, ONLY, leaf, tree.nodes[ONLY, leaf].raw_value)
