"""The player value: one ply ahead by the network's value, without policy and without search."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from azero.classic.look_ahead import count_moves, look_ahead
from azero.games.game import Game
from azero.games.legal import make_legal
from azero.network.inference import Inference
from azero.players import ban_table
from azero.players.options import MUST, PlayerOptions
from azero.players.policy import NetworkPlayer


@dataclass(frozen=True)
class Options(PlayerOptions):
    """One ply ahead by the network's value, without policy and without search."""

    network = MUST


class ValuePlayer(NetworkPlayer):
    """Plays the move with the best value after it, exact at the end of the game; of equal moves the first."""

    name = "value"

    def choose(
        self, states: np.ndarray, games: np.ndarray, plies: np.ndarray, banned: np.ndarray | None = None
    ) -> np.ndarray:
        """Return the action of the highest value for each of states [B, S]."""
        return np.array(self.action_values(states, banned).argmax(axis=1), np.int64)

    def action_values(self, states: np.ndarray, banned: np.ndarray | None = None) -> np.ndarray:
        """Return the value after every action for its player, [B, A] float64; UNKNOWN: it is not known."""
        game, states, table = self.game, np.ascontiguousarray(states), ban_table(self.game, states, banned)
        values, legal = np.empty((len(states), game.num_actions)), make_legal(game.num_actions)
        moves = count_moves(game.rule_addresses, states, legal)
        successors = np.empty((moves, game.state_words), np.uint64)
        places, signs = np.empty(moves, np.int64), np.empty(moves)
        count = look_ahead(game.rule_addresses, states, table, legal, values, successors, places, signs)
        size = self.inference.batch_size
        for start in range(0, count, size):
            rows = slice(start, min(start + size, count))
            values.ravel()[places[rows]] = signs[rows] * self.infer(successors[rows])[1]
            if self.pause is not None and self.pause():
                break  # the other moves stay UNKNOWN
        return values


def make(game: Game, options: Options, inference: Inference) -> ValuePlayer:
    """Return the player; its only option is the network."""
    return ValuePlayer(game, inference)
