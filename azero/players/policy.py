"""The player policy: the legal move of the network's highest prior, without search."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from azero.games.game import Game
from azero.games.inputs import encode
from azero.network.inference import Inference, check_answers
from azero.players import ban_table
from azero.players.base import Deterministic
from azero.players.options import MUST, PlayerOptions

# relative to the highest; below, a legal action's prior would round to 0, as if illegal
LOWEST_LOGIT = -700.0


class NetworkPlayer(Deterministic):
    """The base of players that play by the network alone."""

    name: str

    def __init__(self, game: Game, inference: Inference) -> None:
        self.game, self.inference = game, inference
        self.planes = np.zeros((inference.batch_size, *game.planes_shape), np.float32)
        self.legal = np.zeros((inference.batch_size, game.num_actions), np.bool_)

    def infer(self, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Evaluate at most one batch of states [B, S]; return (logits [B, A], values [B]), set `legal`."""
        self.planes[: len(states)], self.legal[: len(states)] = encode(self.game, states)
        logits, values = (answer[: len(states)] for answer in self.inference.infer(self.planes, len(states)))
        check_answers(self.inference, logits, values)
        return logits, values


@dataclass(frozen=True)
class Options(PlayerOptions):
    """The legal move of the network's highest prior, without search."""

    network = MUST


class PolicyPlayer(NetworkPlayer):
    """Plays by the raw policy; of equal moves the first."""

    name = "policy"

    def choose(
        self, states: np.ndarray, games: np.ndarray, plies: np.ndarray, banned: np.ndarray | None = None
    ) -> np.ndarray:
        """Return the legal action of the highest prior for each of states [B, S]."""
        table = ban_table(self.game, states, banned)
        policies, _ = self.ask(states)
        return np.array(np.where(table, -1.0, policies).argmax(axis=1), np.int64)

    def ask(self, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Evaluate unfinished states [B, S] with the network.

        Returns:
            (priors [B, A] float64, 0 exactly for illegal actions; values [B] float64 for the player to move).
        """
        size = self.inference.batch_size
        batches = [self.ask_batch(states[start : start + size]) for start in range(0, len(states), size)]
        if not batches:
            return np.empty((0, self.game.num_actions)), np.empty(0)
        policies, values = zip(*batches, strict=True)
        return np.concatenate(policies), np.concatenate(values)

    def ask_batch(self, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Evaluate at most one batch; see `ask`."""
        logits, values = self.infer(states)
        legal = self.legal[: len(states)]
        masked = np.where(legal, logits.astype(np.float64), -np.inf)
        above = np.maximum(masked - masked.max(axis=1, keepdims=True), LOWEST_LOGIT)
        weights = np.where(legal, np.exp(above), 0.0)
        return weights / weights.sum(axis=1, keepdims=True), values.astype(np.float64)


def make(game: Game, options: Options, inference: Inference) -> PolicyPlayer:
    """Return the player; its only option is the network."""
    return PolicyPlayer(game, inference)
