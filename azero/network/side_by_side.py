"""Several inferences as one: parts of a batch are computed side by side, each in a thread of its own.

A search of one position has nothing else to do meanwhile. Workers are threads already and do not need this.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from azero.network.inference import Inference, gathers


class SideBySideInference:
    """An inference whose batch is the sum of its parts' batches."""

    def __init__(self, parts: Sequence[Inference]) -> None:
        """Join two or more inferences of the same network, precision and batch size."""
        self.parts = parts
        self.batch_size = sum(part.batch_size for part in parts)
        self.gathers = gathers(parts[0])
        self.threads = ThreadPoolExecutor(len(parts) - 1, "inference")

    def infer(
        self, planes: np.ndarray, rows: int | None = None, *moves: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Evaluate a batch, in as many parts as its rows need; see `Inference.infer`."""
        rows, size = len(planes) if rows is None else rows, self.parts[0].batch_size
        parts = (slice(start, start + size) for start in range(0, rows, size))
        asked: list[Any] = [
            (planes[part], min(size, rows - part.start), *(each[part] for each in moves)) for part in parts
        ]
        waiting = [
            self.threads.submit(part.infer, *what)
            for part, what in zip(self.parts[1:], asked[1:], strict=False)
        ]
        answers = [self.parts[0].infer(*asked[0]), *(answer.result() for answer in waiting)]
        logits, value = zip(*answers, strict=True)
        return np.concatenate(logits), np.concatenate(value)
