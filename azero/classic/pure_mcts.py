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
from azero.kernels.compiled import borrowed, kernel, part
from azero.kernels.random_stream import next_float
from azero.search.mcts import backup, descend, expand
from azero.search.puct import Puct, select_child
from azero.search.tree import ILLEGAL, ROOT, Tree, reset

ONLY = 0  # the one row of the tree


class PureSettings(NamedTuple):
    """The settings of one search."""

    puct: Puct
    root_puct: Puct  # the constants at the root
    judge: Judge
    uniform: bool  # whether all legal moves have the same prior, else random ones


@part
def next_action(tree: Tree, b: int, node: int, settings: PureSettings) -> int:
    """Return the action of the best score at a node."""
    return select_child(tree, b, node, settings.root_puct if node == ROOT else settings.puct)


@part
def draw_priors(legal: np.ndarray, uniform: bool, stream: np.ndarray, prior: np.ndarray) -> None:
    """Write equal or random probabilities of the legal actions into prior [A], ILLEGAL elsewhere."""
    total = 0.0
    for action in range(legal.shape[0]):
        weight = 1.0
        if legal[action] and not uniform:
            weight = next_float(stream)
        prior[action] = weight if legal[action] else ILLEGAL
        total += weight if legal[action] else 0.0
    for action in range(legal.shape[0]):
        if legal[action]:
            prior[action] /= total


@kernel
def search_on(
    addresses: np.ndarray,
    tree: Tree,
    settings: PureSettings,
    state: np.ndarray,
    banned: np.ndarray,
    room: Room,
    stream: np.ndarray,
    begin: int,
    end: int,
) -> None:
    """Run simulations begin .. end - 1 for a state [S], not terminal, without its banned moves [A].

    Simulation 0 makes the root and does not count. The visit counts are at the root of `tree`, which has one
    row. stream [2] advances.
    """
    rules = rules_at(addresses)
    tree, room, stream = borrowed(tree), borrowed(room), borrowed(stream)
    if begin == 0:
        reset(rules, tree, ONLY, state)
    for simulation in range(begin, end):
        leaf = descend(rules, tree, ONLY, ROOT, next_action, settings)
        if not tree.nodes[ONLY, leaf].terminal:
            rules.legal_mask(tree.states[ONLY, leaf], room.legal)
            if simulation == 0:
                for action in range(banned.shape[0]):
                    room.legal[action] &= not banned[action]
            draw_priors(room.legal, settings.uniform, stream, room.prior)
            stuck = not room.legal.any()
            value = 2.0 * rollout(rules, tree.states[ONLY, leaf], settings.judge, room, stream) - 1.0
            expand(tree, ONLY, leaf, room.prior, value if tree.nodes[ONLY, leaf].to_play == 0 else -value)
            tree.nodes[ONLY, leaf].proven = stuck  # not over, but nothing leads on
        backup(tree, ONLY, leaf, tree.nodes[ONLY, leaf].raw_value)
