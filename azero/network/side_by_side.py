"""Several inferences as one: the rows of a batch are computed side by side, each part in a thread of its own.

A search of one position has nothing else to do meanwhile. Lanes do not need it: they are threads already.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from azero.network.inference import Inference


class SideBySide:
    """An inference whose batch is as large as those of its parts together."""

    def __init__(self, parts: Sequence[Inference]) -> None:
        """`parts`: of the same network, precision and batch size, two or more."""
        self.parts = parts
        self.batch_size = sum(part.batch_size for part in parts)
        self.threads = ThreadPoolExecutor(len(parts) - 1, "inference")

    def infer(self, planes: np.ndarray, rows: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Evaluate a batch, always a whole one; see `Inference.infer`."""
        first, *others = np.split(planes, len(self.parts))
        waiting = [self.threads.submit(part.infer, rows) for part, rows in zip(self.parts[1:], others, strict=True)]
        answers = [self.parts[0].infer(first), *(answer.result() for answer in waiting)]
        logits, value = zip(*answers, strict=True)
        return np.concatenate(logits), np.concatenate(value)
