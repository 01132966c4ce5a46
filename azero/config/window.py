"""The size of the replay window, and the optimizer steps of a cycle."""

from __future__ import annotations

from azero.config.schema import TrainConfig


def window_size(train: TrainConfig, made: float) -> int:
    """Return how many examples the replay window holds after `made` examples of the run.

    That is c = `window`, or with `window_beta` KataGo's power law (Wu 2019)
    c (1 + beta ((made / c) ^ alpha - 1) / alpha).
    Each new example lengthens a full window by beta at first, and by less later.
    """
    growth = max(1.0, made / train.window) ** train.window_alpha - 1
    return int(train.window * (1 + train.window_beta * growth / train.window_alpha))


def train_steps(train: TrainConfig, examples: float, new: float) -> int:
    """Return the optimizer steps of a cycle.

    A cycle makes `epochs` passes over the window's `examples`, but at most `max_uses` draws for each of its
    `new` examples. An example stays for several cycles, and in a full window it is drawn `max_uses` times at
    most. The first examples are drawn more often, because there are fewer of them.
    """
    draws = examples * train.epochs
    if train.max_uses:
        draws = min(draws, new * train.max_uses)
    return max(1, round(draws / train.batch_size))
