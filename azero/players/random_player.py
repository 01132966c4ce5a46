"""A player that moves at random: the floor that every other player must beat."""

from __future__ import annotations

import numpy as np
from numba import njit

from azero.games.game import Game, rules_at
from azero.players import ban_table
from azero.players.streams import Drawing
from azero.search.random_moves import mask_words, pick_legal


@njit(cache=True, nogil=True)
def random_moves(addresses: np.ndarray, states: np.ndarray, streams: np.ndarray, banned: np.ndarray, actions: np.ndarray) -> None:
    """Write a legal action that is not banned [B, A] for each of states [B, S], all equally likely; streams [B, 2] advance."""
    rules = rules_at(addresses)
    words = mask_words(banned.shape[1])
    legal = words.view(np.bool_)[: banned.shape[1]]
    for row in range(states.shape[0]):
        rules.legal_mask(states[row], legal)
        for action in range(banned.shape[1]):
            legal[action] &= not banned[row, action]
        actions[row] = pick_legal(words, streams[row])


class RandomPlayer(Drawing):
    """Every legal move equally likely."""

    def __init__(self, game: Game) -> None:
        super().__init__()
        self.name = "random"
        self.game = game

    def choose(self, states: np.ndarray, games: np.ndarray, plies: np.ndarray, banned: np.ndarray | None = None) -> np.ndarray:
        """Return one legal action for each of states [B, S]."""
        actions = np.empty(len(states), np.int64)
        with self.streams.of(games) as streams:
            random_moves(
                self.game.rule_addresses, np.ascontiguousarray(states), streams, ban_table(self.game, states, banned), actions
            )
        return actions


def make(game: Game) -> RandomPlayer:
    """Return the player; it has no options."""
    return RandomPlayer(game)
