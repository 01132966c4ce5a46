"""Moves that a game's history forbids, removed at the root. Letters: B positions, A actions."""

from __future__ import annotations

from azero.kernels.compiled import kernel
from azero.search.tree import ILLEGAL, ROOT


@kernel
def ban(tree, b, banned):
    """Remove banned [A] actions from game b's expanded root, with what earlier searches found behind them."""
    left, count = 0.0, 0
    for action in range(banned.shape[0]):
        if tree.edges[b, ROOT, action].prior < 0.0:
            continue
        if not banned[action]:
            left += tree.edges[b, ROOT, action].prior
            count += 1
            continue
        tree.nodes[b, ROOT].node_visits -= tree.edges[b, ROOT, action].child_visits
        tree.nodes[b, ROOT].value_sum -= tree.edges[b, ROOT, action].child_value_sum
        tree.edges[b, ROOT, action].prior = ILLEGAL
        tree.edges[b, ROOT, action].child_visits = 0
        tree.edges[b, ROOT, action].child_value_sum = 0.0
    for action in range(banned.shape[0]):
        if tree.edges[b, ROOT, action].prior >= 0.0:
            tree.edges[b, ROOT, action].prior = (
                tree.edges[b, ROOT, action].prior / left if left > 0.0 else 1.0 / count
            )


@kernel
def ban_roots(tree, games, banned):
    """Remove banned [B, A] actions from the expanded roots of `games` [B]."""
    for row in range(games.shape[0]):
        ban(tree, games[row], banned[row])
