"""A player that uses plain UCT with random rollouts: a search without a network, to measure networks against."""

from __future__ import annotations

import math

import numpy as np

from azero.games.game import Game
from azero.players import ban_table, check_number
from azero.players.streams import GameStreams
from azero.search.uct import search_positions


class UctPlayer:
    """UCT from scratch for every move; it plays the most visited move, the first of equals."""

    deterministic = False

    def __init__(self, game: Game, num_simulations: int, exploration: float, expansion_threshold: int) -> None:
        self.name = f"uct {num_simulations}"
        self.game = game
        self.num_simulations = num_simulations
        self.exploration = exploration
        self.expansion_threshold = expansion_threshold
        self.streams = GameStreams()

    def new_games(self, seeds: np.ndarray) -> None:
        """Begin games whose randomness comes from ``seeds`` [G] uint64."""
        self.streams.start(seeds)

    def choose(self, states: np.ndarray, games: np.ndarray, plies: np.ndarray, banned: np.ndarray | None = None) -> np.ndarray:
        """Return the most visited move for each of states [B, S]."""
        return self.visit_counts(states, games, banned).argmax(axis=1)

    def visit_counts(self, states: np.ndarray, games: np.ndarray, banned: np.ndarray | None = None) -> np.ndarray:
        """Search each of states [B, S] and return how often each action was visited, [B, A] int64."""
        counts = np.zeros((len(states), self.game.num_actions), np.int64)
        with self.streams.of(games) as streams:
            search_positions(
                self.game.rule_addresses,
                np.ascontiguousarray(states),
                streams,
                self.num_simulations,
                self.exploration,
                self.expansion_threshold,
                self.game.max_plies,
                ban_table(self.game, states, banned),
                counts,
            )
        return counts


def make(
    game: Game, *, num_simulations: int = 100, exploration: float = math.sqrt(2.0), expansion_threshold: int = 1
) -> UctPlayer:
    """Return the player.

    Args:
        game: the game it plays.
        num_simulations: simulations before each move.
        exploration: constant of UCB1 for rewards in [0, 1].
        expansion_threshold: visits before a leaf is expanded.
    """
    check_number("uct", "num_simulations", num_simulations, 1, 100_000_000)
    check_number("uct", "exploration", exploration, 0.0, 1000.0, whole=False)
    check_number("uct", "expansion_threshold", expansion_threshold, 1, 1_000_000)
    return UctPlayer(game, num_simulations, float(exploration), expansion_threshold)
