"""The player iterative_deepening: alpha-beta to depth 1, 2, 3, …, for some seconds a move."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from azero.classic.deepening import Found, Searcher
from azero.games.game import Game
from azero.heuristics import AUTO, choose_heuristic
from azero.players import check_number
from azero.players.alpha_beta import AlphaBetaPlayer

if TYPE_CHECKING:
    from azero.network.inference import Inference


class IterativeDeepening(AlphaBetaPlayer):
    """Plays the best move of the last finished depth; it stops early if that is exact or forced.

    Nothing is random, but the depth of a search depends on the machine and its load.
    """

    def __init__(self, searcher: Searcher, seconds: float) -> None:
        super().__init__("iterative_deepening", searcher)
        self.seconds = seconds
        searcher.deepen(searcher.game.initial_state(), 0.0)  # compile before the first move

    def analyse(self, state: np.ndarray, banned: np.ndarray | None = None) -> Found:
        """Return move, value and effort for one state [S] without its banned moves [A]."""
        return self.searcher.deepen(state, self.seconds, banned)


def make(
    game: Game,
    *,
    seconds: float = 0.1,
    depth: int = 0,
    heuristic: str = AUTO,
    table: int = 1_048_576,
    inference: Inference | None = None,
) -> IterativeDeepening:
    """Return the player.

    Args:
        seconds: time for each move; the clock is read every millisecond.
        depth: most plies to search; 0 for the end of the game.
        heuristic: see `azero.players.alpha_beta.make`.
        table: size of the transposition table in positions, 0 for none.
        inference: the network for heuristic=network.
    """
    check_number("iterative_deepening", "seconds", seconds, 0.001, 1_000_000, whole=False)
    check_number("iterative_deepening", "depth", depth, 0, 1_000_000)
    check_number("iterative_deepening", "table", table, 0, 50_000_000)
    chosen = choose_heuristic(heuristic, game, inference)
    return IterativeDeepening(Searcher(game, depth, heuristic=chosen, table=table), float(seconds))
