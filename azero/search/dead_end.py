"""A position without a legal move that is not over: no search can go on from it."""

from __future__ import annotations

from collections.abc import Iterable

from azero.games.game import Game
from azero.games.repetition import dead_end
from azero.search.tree import ROOT, Tree, action_to


def check_dead_end(game: Game, tree: Tree, b: int, before: Iterable[int] = ()) -> None:
    """Raise BrokenGame if b, from `receive_evaluations`, is a game whose leaf has no legal move.

    before: the actions that led to the root, as far as they are known.
    """
    if b < 0:
        return
    path, node = [], int(tree.searches["leaf"][b])
    while node != ROOT:
        path.append(action_to(tree, b, node))
        node = int(tree.nodes["parent"][b, node])
    raise dead_end(game, [*before, *reversed(path)])
