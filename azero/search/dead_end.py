"""A position without a legal move that is not over: no search can go on from it."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from azero.config.schema import BrokenGame
from azero.games.game import Game, rules_at
from azero.kernels.compiled import kernel
from azero.search.tree import ROOT, Tree


def check_dead_end(game: Game, tree: Tree, b: int, before: Iterable[int] = ()) -> None:
    """Raise BrokenGame if b, from `receive_evaluations`, is a game whose leaf has no legal move.

    before: the actions that led to the root, as far as they are known.
    """
    if b < 0:
        return
    path, node = [], int(tree.searches["leaf"][b])
    while node != ROOT:
        path.append(int(tree.nodes["parent_action"][b, node]))
        node = int(tree.nodes["parent"][b, node])
    raise dead_end(game, [*before, *reversed(path)])


def dead_end(game: Game, actions: Iterable[int], repeats: bool = False) -> BrokenGame:
    """Return the error of a game that goes on after these actions, but has no legal move.

    repeats: it has some, but the history forbids them all.
    """
    moves = " ".join(game.action_name(action) for action in actions)
    where = f"after {moves}" if moves else "in the position to search"
    why, cure = "", "correct is_terminal or legal_mask"
    if repeats:
        why = ", because each repeats an earlier position"
        cure = "add a move that never repeats, such as a pass"
    return BrokenGame(
        f"{game.name} is not over {where}, but has no legal move there{why}; {cure}, "
        "and try azero check_game."
    )


def check_moves(game: Game, states: np.ndarray, banned: np.ndarray) -> None:
    """Raise BrokenGame if nothing but banned [B, A] moves is legal in one of states [B, S]."""
    row = first_without_moves(game.rule_addresses, states, banned)
    if row >= 0:
        raise dead_end(game, (), repeats=bool(banned[row].any()))


@kernel
def first_without_moves(addresses: np.ndarray, states: np.ndarray, banned: np.ndarray) -> int:
    """Return the first row of states [B, S] without a legal move that is not banned [B, A], or -1."""
    rules = rules_at(addresses)
    legal = np.empty(banned.shape[1], np.bool_)
    for row in range(states.shape[0]):
        rules.legal_mask(states[row], legal)
        if not (legal & ~banned[row]).any():
            return row
    return -1
