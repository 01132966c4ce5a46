"""A player that looks one ply ahead by the network's value alone, without its policy and without any search."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from azero.games.game import Game
from azero.games.inputs import write_inputs
from azero.players import ban_table
from azero.search.look_ahead import look_ahead

if TYPE_CHECKING:
    from azero.network.inference import Inference


class ValuePlayer:
    """The move after which the network's value is best, ends of the game exact; the first of equals."""

    deterministic = True

    def __init__(self, game: Game, inference: Inference) -> None:
        self.name = "value"
        self.game, self.inference = game, inference
        self.planes = np.zeros((inference.batch_size, *game.planes_shape), np.float32)
        self.legal = np.zeros((inference.batch_size, game.num_actions), np.bool_)

    def new_games(self, seeds: np.ndarray) -> None:
        """Begin games; nothing here is random."""

    def choose(self, states: np.ndarray, games: np.ndarray, plies: np.ndarray, banned: np.ndarray | None = None) -> np.ndarray:
        """Return the action of the highest value for each of states [B, S]."""
        return self.action_values(states, banned).argmax(axis=1)

    def action_values(self, states: np.ndarray, banned: np.ndarray | None = None) -> np.ndarray:
        """Return the value after every action, for the player to move before it: [B, A] float64, UNKNOWN if illegal."""
        shape = (len(states), self.game.num_actions)
        values, successors = np.empty(shape), np.empty((shape[0] * shape[1], self.game.state_words), np.uint64)
        places, signs = np.empty(len(successors), np.int64), np.empty(len(successors))
        table = ban_table(self.game, states, banned)
        count = look_ahead(*(self.game.rule_addresses, np.ascontiguousarray(states), table, values, successors, places, signs))
        size = self.inference.batch_size
        for start in range(0, count, size):
            rows = slice(start, min(start + size, count))
            write_inputs(self.game.rule_addresses, successors[rows], self.planes, self.legal)
            _, judged = self.inference.infer(self.planes, rows.stop - start)
            values.ravel()[places[rows]] = signs[rows] * judged[: rows.stop - start]
        return values


def make(game: Game, *, inference: Inference) -> ValuePlayer:
    """Return the player; it has no options beside its network."""
    return ValuePlayer(game, inference)
