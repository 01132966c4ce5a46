"""A player that plays the network's favourite legal move, without any search."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from azero.games.game import Game
from azero.games.inputs import write_inputs

if TYPE_CHECKING:
    from azero.network.inference import Inference

LEAST_LOGIT = -700.0  # beside the highest; below, the prior of a legal action would be 0, which says that it is illegal


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
        policies, _ = self.ask(states)
        return (policies if banned is None else np.where(banned, -1.0, policies)).argmax(axis=1)

    def ask(self, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What the network says of unfinished states [B, S].

        Returns:
            ([B, A] float64, the prior of every action, 0 exactly where illegal; [B] float64, the value for the player to move).
        """
        size = self.inference.batch_size
        batches = [self.ask_batch(states[start : start + size]) for start in range(0, len(states), size)]
        if not batches:
            return np.empty((0, self.game.num_actions)), np.empty(0)
        policies, values = zip(*batches, strict=True)
        return np.concatenate(policies), np.concatenate(values)

    def ask_batch(self, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Do the work of `ask` for at most one batch."""
        count = len(states)
        write_inputs(self.game.rule_addresses, np.ascontiguousarray(states), self.planes, self.legal)
        logits, values = self.inference.infer(self.planes, count)
        masked = np.where(self.legal[:count], logits[:count].astype(np.float64), -np.inf)
        above = np.maximum(masked - masked.max(axis=1, keepdims=True), LEAST_LOGIT)
        weights = np.where(self.legal[:count], np.exp(above), 0.0)
        return weights / weights.sum(axis=1, keepdims=True), values[:count].astype(np.float64)


def make(game: Game, *, inference: Inference) -> PolicyPlayer:
    """Return the player; it has no options beside its network."""
    return PolicyPlayer(game, inference)
