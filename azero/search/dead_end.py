"""A position without a legal move that is not over: no search can go on from it."""

from __future__ import annotations

from collections.abc import Iterable

from azero.config.schema import BrokenGame
from azero.games.game import Game
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


def dead_end(game: Game, actions: Iterable[int]) -> BrokenGame:
    """Return the error of a game that goes on after these actions, but has no legal move."""
    moves = " ".join(game.action_name(action) for action in actions)
    where = f"after {moves}" if moves else "in the position to search"
    return BrokenGame(
        f"{game.name} is not over {where}, but has no legal move there; correct is_terminal or legal_mask, "
        "and try azero check_game."
    )
