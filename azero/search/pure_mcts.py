"""Pure MCTS: the search that a network guides, without the network: priors are random or uniform, the value is a random rollout.

Letters: N nodes, A actions, S state words.

The tree, the score and the three verbs are those of the search with a network (`tree.py`, `puct.py`, `mcts.py`), so that what a
trained network adds to it can be measured.
"""

from __future__ import annotations

from azero.games.game import rules_at
from azero.search.kernels import borrowed, kernel, part
from azero.search.mcts import backup, expand
from azero.search.puct import select_child
from azero.search.random_stream import next_float
from azero.search.rollouts import rollout
from azero.search.tree import ILLEGAL, ROOT, UNVISITED, add_child, reset

ONLY = 0  # the one row of the tree


@part
def descend(rules, tree, puct, root_puct):
    """A node that is new or terminal, reached along the best scores; the root has constants of its own."""
    node = ROOT
    while tree.nodes[ONLY, node].expanded and not tree.nodes[ONLY, node].terminal:
        constants = root_puct if node == ROOT else puct
        action = select_child(tree, ONLY, node, constants)
        child = tree.edges[ONLY, node, action].child
        if child == UNVISITED:
            return add_child(rules, tree, ONLY, node, action)
        node = child
    return node


@part
def draw_priors(legal, uniform, stream, prior):
    """prior [A]: equal or random probabilities of the legal actions, ILLEGAL elsewhere."""
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
def search_position(addresses, tree, state, banned, puct, root_puct, judge, uniform, num_simulations, board, prior, stream):
    """Search a state [S], not terminal, without its banned moves [A]; the visit counts stand at the root of `tree`, of one row.

    root_puct: the constants at the root. uniform: whether every legal move has the same prior. prior: scratch, [A] float32.
    stream [2] advances.
    """
    rules = rules_at(addresses)
    tree, board, stream = borrowed(tree), borrowed(board), borrowed(stream)
    reset(rules, tree, ONLY, state)
    for simulation in range(num_simulations + 1):  # the first expands the root, and is not counted
        leaf = descend(rules, tree, puct, root_puct)
        if not tree.nodes[ONLY, leaf].terminal:
            rules.legal_mask(tree.states[ONLY, leaf], board.legal)
            if simulation == 0:
                for action in range(banned.shape[0]):
                    board.legal[action] &= not banned[action]
            draw_priors(board.legal, uniform, stream, prior)
            value = 2.0 * rollout(rules, tree.states[ONLY, leaf], judge, board, stream) - 1.0
            expand(tree, ONLY, leaf, prior, value if tree.nodes[ONLY, leaf].to_play == 0 else -value)
        backup(tree, ONLY, leaf, tree.nodes[ONLY, leaf].raw_value)
