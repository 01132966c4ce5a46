"""A player that searches with alpha-beta one ply deep, then two, and so on, for a number of seconds a move."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from azero.evaluations import AUTO, choose_evaluation
from azero.games.game import Game
from azero.players import check_number
from azero.search.deepening import Found, Searcher

if TYPE_CHECKING:
    from azero.network.inference import Inference


class IterativeDeepening:
    """It plays the best move of the last depth that it finished, and sooner where that is exact or there is no choice."""

    name = "iterative_deepening"
    deterministic = True

    def __init__(self, searcher: Searcher, seconds: float) -> None:
        self.searcher, self.seconds = searcher, seconds
        self.found: list[Found] = []  # of each position that was asked for last
        searcher.deepen(searcher.game.initial_state(), 0.0)  # compiles what must not take the first move's time

    def new_games(self, seeds: np.ndarray) -> None:
        """Begin games; nothing here is random, though how deep a search comes depends on the machine and what else it does."""

    def choose(self, states: np.ndarray, games: np.ndarray, plies: np.ndarray, banned: np.ndarray | None = None) -> np.ndarray:
        """Return a move for each of states [B, S], after `seconds` for each."""
        self.found = [
            self.searcher.deepen(state, self.seconds, None if banned is None else banned[row]) for row, state in enumerate(states)
        ]
        return np.array([found.action for found in self.found], np.int64)

    def analyse(self, state: np.ndarray) -> Found:
        """Return move, value and effort for one state [S]."""
        return self.searcher.deepen(state, self.seconds)


def make(
    game: Game,
    *,
    seconds: float = 0.1,
    depth: int = 0,
    evaluation: str = AUTO,
    table: int = 1_048_576,
    inference: Inference | None = None,
) -> IterativeDeepening:
    """Return the player.

    Args:
        game: the game it plays.
        seconds: for each move. The clock is read every millisecond.
        depth: most plies it looks ahead; 0 for the end of the game.
        evaluation: name of what an unfinished game is worth (`azero/evaluations`); "auto" is the game's own where it has one,
            "" is none: then it counts as a draw.
        table: positions that the transposition table remembers, 0 for none.
        inference: the network that evaluation=network asks.
    """
    check_number("iterative_deepening", "seconds", seconds, 0.001, 1_000_000, whole=False)
    check_number("iterative_deepening", "depth", depth, 0, 1_000_000)
    check_number("iterative_deepening", "table", table, 0, 50_000_000)
    chosen = choose_evaluation(evaluation, game, inference)
    return IterativeDeepening(Searcher(game, depth, evaluation=chosen, table=table), float(seconds))
