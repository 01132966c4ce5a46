"""A player that searches with alpha-beta: to the end of the game it plays perfectly, and takes the first of equal moves."""

from __future__ import annotations

import numpy as np

from azero.games.game import Game
from azero.players import ban_table, check_number
from azero.search.alpha_beta import best_moves


class AlphaBetaPlayer:
    """Negamax with alpha-beta, the same move for the same position always."""

    deterministic = True

    def __init__(self, game: Game, depth: int) -> None:
        self.name = "alpha_beta"
        self.game = game
        self.depth = min(depth or game.max_plies, game.max_plies)

    def new_games(self, seeds: np.ndarray) -> None:
        """Begin games; nothing here is random."""

    def choose(self, states: np.ndarray, games: np.ndarray, plies: np.ndarray, banned: np.ndarray | None = None) -> np.ndarray:
        """Return the first of the best moves for each of states [B, S]."""
        actions, values = np.empty(len(states), np.int64), np.empty(len(states))
        best_moves(
            *(self.game.rule_addresses, np.ascontiguousarray(states), self.depth, ban_table(self.game, states, banned)),
            *(actions, values),
        )
        return actions


def make(game: Game, *, depth: int = 0) -> AlphaBetaPlayer:
    """Return the player.

    Args:
        game: the game it plays.
        depth: plies it looks ahead, where an unfinished game counts as a draw; 0 searches to the end.
    """
    check_number("alpha_beta", "depth", depth, 0, 1_000_000)
    return AlphaBetaPlayer(game, depth)
