"""The player random: a random legal move, the weakest reference."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from azero.games.game import Game, rules_at
from azero.kernels.random_moves import mask_words, pick_legal
from azero.players.base import Drawing
from azero.players.options import PlayerOptions


@dataclass(frozen=True)
class Options(PlayerOptions):
    """A random legal move, the weakest reference."""


@njit(cache=True, nogil=True)
def random_moves(
    addresses: np.ndarray, states: np.ndarray, streams: np.ndarray, banned: np.ndarray, actions: np.ndarray
) -> None:
    """Write a random legal action for each of states [B, S], not banned [B, A]; streams [B, 2] advance."""
    rules = rules_at(addresses)
    words = mask_words(banned.shape[1])
    legal = words.view(np.bool_)[: banned.shape[1]]
    for row in range(states.shape[0]):
        rules.legal_mask(states[row], legal)
        for action in range(banned.shape[1]):
            legal[action] &= not banned[row, action]
        actions[row] = pick_legal(words, streams[row])


class RandomPlayer(Drawing):
    """Plays every legal move with equal probability."""

    def moves(self, states: np.ndarray, banned: np.ndarray, streams: np.ndarray) -> np.ndarray:
        """Return one legal action for each of states [B, S]."""
        actions = np.empty(len(states), np.int64)
        random_moves(self.game.rule_addresses, states, streams, banned, actions)
        return actions


def make(game: Game, options: Options) -> RandomPlayer:
    """Return the player; it has no options."""
    return RandomPlayer("random", game)
