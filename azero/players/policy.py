"""A player that plays the network's favourite legal move, without any search."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from azero.games.game import Game
from azero.games.inputs import write_inputs

if TYPE_CHECKING:
    from azero.network.inference import Inference


class PolicyPlayer:
    """The raw policy: the same move for the same position always, the first of equals."""

    deterministic = True

    def __init__(self, game: Game, inference: Inference) -> None:
        self.name = "policy"
        self.game = game
        self.inference = inference
        self.planes = np.zeros((inference.batch_size, *game.planes_shape), np.float32)
        self.legal = np.zeros((inference.batch_size, game.num_actions), np.bool_)

    def new_games(self, seeds: np.ndarray) -> None:
        """Begin games; nothing here is random."""

    def choose(self, states: np.ndarray, games: np.ndarray, plies: np.ndarray, banned: np.ndarray | None = None) -> np.ndarray:
        """Return the legal action of the highest prior for each of states [B, S]."""
        policies = self.policies(states)
        return (policies if banned is None else np.where(banned, -1.0, policies)).argmax(axis=1)

    def policies(self, states: np.ndarray) -> np.ndarray:
        """Return the prior of every action for states [B, S]: [B, A] float64, 0 where illegal."""
        size = self.inference.batch_size
        batches = [self.policies_of_batch(states[start : start + size]) for start in range(0, len(states), size)]
        return np.concatenate(batches) if batches else np.empty((0, self.game.num_actions))

    def policies_of_batch(self, states: np.ndarray) -> np.ndarray:
        """Do the work of `policies` for at most one batch."""
        count = len(states)
        write_inputs(self.game.rule_addresses, np.ascontiguousarray(states), self.planes, self.legal)
        logits, _ = self.inference.infer(self.planes, count)
        masked = np.where(self.legal[:count], logits[:count].astype(np.float64), -np.inf)
        weights = np.exp(masked - masked.max(axis=1, keepdims=True))
        return weights / weights.sum(axis=1, keepdims=True)


def make(game: Game, *, inference: Inference) -> PolicyPlayer:
    """Return the player; it has no options beside its network."""
    return PolicyPlayer(game, inference)
