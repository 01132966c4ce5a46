"""How much is trained on: the size of the replay window, and the steps that a cycle makes on it."""

from __future__ import annotations

from azero.config import TrainConfig


def window_size(train: TrainConfig, made: float) -> int:
    """Examples that the replay window has room for, once so many were made since the run began.

    That is c = `window`, or with `window_beta` by KataGo's power law (Wu 2019) c (1 + beta ((made / c) ^ alpha - 1) / alpha):
    once the window is full, each new example lengthens it by beta at first and by less and less later.
    """
    growth = max(1.0, made / train.window) ** train.window_alpha - 1
    return int(train.window * (1 + train.window_beta * growth / train.window_alpha))


def train_steps(train: TrainConfig, examples: float, new: float) -> int:
    """Optimizer steps of a cycle: `epochs` passes over its examples, but at most `max_uses` draws for each new one.

    An example stays for several cycles. Once the window is full, each is drawn `max_uses` times in all at most; the first ones
    more often, because there are fewer of them to draw from.
    """
    draws = examples * train.epochs
    if train.max_uses:
        draws = min(draws, new * train.max_uses)
    return max(1, round(draws / train.batch_size))
