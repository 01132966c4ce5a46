"""A player that moves at random: the floor that every other player must beat."""

from __future__ import annotations

import numpy as np
from numba import njit

from azero.games.game import Game, rules_at
from azero.players.streams import GameStreams
from azero.search.random_moves import mask_words, pick_legal


@njit(cache=True, nogil=True)
def random_moves(addresses: np.ndarray, states: np.ndarray, streams: np.ndarray, num_actions: int, actions: np.ndarray) -> None:
    """Write a legal action for each of states [B, S], all equally likely; streams [B, 2] advance."""
    rules = rules_at(addresses)
    words = mask_words(num_actions)
    legal = words.view(np.bool_)[:num_actions]
    for row in range(states.shape[0]):
        rules.legal_mask(states[row], legal)
        actions[row] = pick_legal(words, streams[row])


class RandomPlayer:
    """Every legal move equally likely."""

    def __init__(self, game: Game) -> None:
        self.name = "random"
        self.game = game
        self.streams = GameStreams()

    def new_games(self, seeds: np.ndarray) -> None:
        """Begin games whose randomness comes from ``seeds`` [G] uint64."""
        self.streams.start(seeds)

    def choose(self, states: np.ndarray, games: np.ndarray, plies: np.ndarray) -> np.ndarray:
        """Return one legal action for each of states [B, S]."""
        actions = np.empty(len(states), np.int64)
        with self.streams.of(games) as streams:
            random_moves(self.game.rule_addresses, np.ascontiguousarray(states), streams, self.game.num_actions, actions)
        return actions


def make(game: Game) -> RandomPlayer:
    """Return the player; it has no options."""
    return RandomPlayer(game)
