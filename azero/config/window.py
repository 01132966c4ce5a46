"""The optimizer steps of a cycle."""

from __future__ import annotations

from azero.config.schema import TrainConfig


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
