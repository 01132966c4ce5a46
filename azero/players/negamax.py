"""The player negamax: a search to a fixed depth without pruning, to compare alpha-beta with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from azero.classic.deepening import Searcher
from azero.games.game import Game
from azero.heuristics import AUTO, choose_heuristic
from azero.players import check_number
from azero.players.alpha_beta import AlphaBetaPlayer, default_depth

if TYPE_CHECKING:
    from azero.network.inference import Inference

MOST_LINES = 2_000_000  # of play searched for one move at the default depth: a second or two


def make(
    game: Game, *, depth: int | None = None, heuristic: str = AUTO, inference: Inference | None = None
) -> AlphaBetaPlayer:
    """Return the player; it plays the moves of alpha_beta and takes much longer.

    Args:
        depth: plies to search; 0 for the end of the game, in the smallest games only; None for that of
            alpha_beta, or less if there are too many lines of play.
        heuristic: see `azero.players.alpha_beta.make`.
        inference: the network for heuristic=network.
    """
    if depth is None:
        depth = default_depth(game)
        while depth > 1 and game.num_actions**depth > MOST_LINES:
            depth -= 1
    check_number("negamax", "depth", depth, 0, 1_000_000)
    chosen = choose_heuristic(heuristic, game, inference)
    searcher = Searcher(game, depth, heuristic=chosen, table=0, prune=False, ordered=False)
    return AlphaBetaPlayer("negamax", searcher)
