"""A player that searches every line of play to its depth, without pruning: what alpha-beta agrees with, and why it exists."""

from __future__ import annotations

from typing import TYPE_CHECKING

from azero.evaluations import AUTO, choose_evaluation
from azero.games.game import Game
from azero.players import check_number
from azero.players.alpha_beta import AlphaBetaPlayer, default_depth
from azero.search.deepening import Searcher

if TYPE_CHECKING:
    from azero.network.inference import Inference


MOST_LINES = 2_000_000  # of play, looked at for one move where nobody told how deep: a second or two


def affordable_depth(game: Game) -> int:
    """How far it looks that nobody told: as far as alpha_beta would, but less where its lines of play are too many."""
    depth = default_depth(game)
    while depth > 1 and game.num_actions**depth > MOST_LINES:
        depth -= 1
    return depth


def make(game: Game, *, depth: int | None = None, evaluation: str = AUTO, inference: Inference | None = None) -> AlphaBetaPlayer:
    """Return the player; it plays what alpha_beta plays and takes much longer.

    Args:
        game: the game it plays.
        depth: plies it looks ahead; 0 searches to the end, which only the smallest games allow; None is as in alpha_beta, but
            less on large boards.
        evaluation: name of what an unfinished game is worth there (`azero/evaluations`); "auto" is the game's own where it has
            one, "" is none: then it counts as a draw.
        inference: the network that evaluation=network asks.
    """
    depth = affordable_depth(game) if depth is None else depth
    check_number("negamax", "depth", depth, 0, 1_000_000)
    chosen = choose_evaluation(evaluation, game, inference)
    return AlphaBetaPlayer("negamax", Searcher(game, depth, evaluation=chosen, table=0, prune=False, ordered=False))
