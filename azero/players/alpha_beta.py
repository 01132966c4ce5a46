"""A player that searches with alpha-beta: to the end of the game it plays perfectly, and takes the first of equal moves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from azero.evaluations import AUTO, choose_evaluation
from azero.games.game import Game
from azero.players import check_number
from azero.search.deepening import Found, Searcher

if TYPE_CHECKING:
    from azero.network.inference import Inference

SMALL_PLIES = 10  # of a game that is searched to its end in no time
DEFAULT_DEPTH = 4


class AlphaBetaPlayer:
    """Alpha-beta or plain negamax of one depth, the same move for the same position always."""

    deterministic = True

    def __init__(self, name: str, searcher: Searcher) -> None:
        self.name = name
        self.searcher = searcher
        self.found: list[Found] = []  # of each position that was asked for last

    def new_games(self, seeds: np.ndarray) -> None:
        """Begin games; nothing here is random."""

    def choose(self, states: np.ndarray, games: np.ndarray, plies: np.ndarray, banned: np.ndarray | None = None) -> np.ndarray:
        """Return the first of the best moves for each of states [B, S]."""
        self.found = [self.searcher.search(state, None if banned is None else banned[row]) for row, state in enumerate(states)]
        return np.array([found.action for found in self.found], np.int64)

    def analyse(self, state: np.ndarray) -> Found:
        """Return move, value and effort for one state [S]."""
        return self.searcher.search(state)


def default_depth(game: Game) -> int:
    """How far a player looks that nobody told: to the end of a small game (0), some plies in others."""
    return 0 if game.max_plies <= SMALL_PLIES else DEFAULT_DEPTH


def make(
    game: Game,
    *,
    depth: int | None = None,
    evaluation: str = AUTO,
    table: int = 262_144,
    inference: Inference | None = None,
) -> AlphaBetaPlayer:
    """Return the player.

    Args:
        game: the game it plays.
        depth: plies it looks ahead; 0 searches to the end; None does so in games of up to SMALL_PLIES plies, else DEFAULT_DEPTH.
        evaluation: name of what an unfinished game is worth there (`azero/evaluations`); "auto" is the game's own where it has
            one, "" is none: then it counts as a draw.
        table: positions that the transposition table remembers, 0 for none; the moves are the same.
        inference: the network that evaluation=network asks.
    """
    depth = default_depth(game) if depth is None else depth
    check_number("alpha_beta", "depth", depth, 0, 1_000_000)
    check_number("alpha_beta", "table", table, 0, 50_000_000)
    chosen = choose_evaluation(evaluation, game, inference)
    return AlphaBetaPlayer("alpha_beta", Searcher(game, depth, evaluation=chosen, table=table))
