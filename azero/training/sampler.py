"""The order in which a train stage draws its examples."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np


class Sampler:
    """Batches of example numbers: every example once in random order, then again in another order.

    All batches are full: one that the end of an order leaves short is filled from the next order.

    Attributes:
        steps: the number of batches.
    """

    def __init__(self, examples: int, batch_size: int, steps: int, generator: np.random.Generator) -> None:
        """Draw `steps` batches of `batch_size` from `examples` examples with `generator`."""
        self.steps = steps
        self._examples = examples
        self._batch_size = batch_size
        self._generator = generator

    def __len__(self) -> int:
        """Return the number of batches."""
        return self.steps

    def __iter__(self) -> Iterator[np.ndarray]:
        """Yield the batches, each [batch_size] int64."""
        left = np.empty(0, np.int64)
        for _ in range(self.steps):
            while len(left) < self._batch_size:
                left = np.concatenate([left, self._generator.permutation(self._examples)])
            yield left[: self._batch_size]
            left = left[self._batch_size :]
