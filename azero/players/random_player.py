"""The player random: a random legal move, the weakest reference."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from azero.games.game import Game, rules_at
from azero.games.legal import Legal, list_allowed, make_legal
from azero.kernels.compiled import borrowed, kernel
from azero.kernels.random_stream import next_below
from azero.players.base import Drawing
from azero.players.options import PlayerOptions


@dataclass(frozen=True)
class Options(PlayerOptions):
    """A random legal move, the weakest reference."""


@kernel
def random_moves(
    addresses: np.ndarray,
    states: np.ndarray,
    streams: np.ndarray,
    banned: np.ndarray,
    legal: Legal,
    actions: np.ndarray,
) -> None:
    """Write a random legal action for each of states [B, S], not banned [B, A], or -1 without any.

    streams [B, 2] advance. legal: scratch.
    """
    rules = rules_at(addresses)
    states, streams, banned, legal = borrowed(states), borrowed(streams), borrowed(banned), borrowed(legal)
    for row in range(states.shape[0]):
        count = list_allowed(rules, states[row], legal, banned[row])
        actions[row] = legal.actions[next_below(streams[row], count)] if count > 0 else -1


class RandomPlayer(Drawing):
    """Plays every legal move with equal probability."""

    def moves(self, states: np.ndarray, banned: np.ndarray, streams: np.ndarray) -> np.ndarray:
        """Return one legal action for each of states [B, S]."""
        actions, legal = np.empty(len(states), np.int64), make_legal(self.game.num_actions)
        random_moves(self.game.rule_addresses, states, streams, banned, legal, actions)
        return actions


def make(game: Game, options: Options) -> RandomPlayer:
    """Return the player; it has no options."""
    return RandomPlayer("random", game)
