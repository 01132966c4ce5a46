"""Stats of a worker: what a thread that plays games with a network did, and where its time went."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from azero.network.inference import Inference, check_answers, gathers


@dataclass
class WorkerStats:
    """The stats of one worker."""

    games: int = 0
    plies: int = 0
    simulations: int = 0
    searches: int = 0
    evaluations: int = 0
    rows: int = 0  # rows of all batches, used or not
    cache_asked: int = 0
    cache_found: int = 0
    seconds: float = 0.0  # wall-clock at work, from the first wave to the last
    inference_seconds: float = 0.0  # part of `seconds`: inside the network
    full_seconds: float = 0.0  # part of `seconds`: in waves with a full batch
    full_evaluations: int = 0  # in those waves, which the thin ends of a stage do not affect
    idle_seconds: float = 0.0  # not in `seconds`: nothing to do while other workers play

    def add(self, other: WorkerStats) -> None:
        """Add the stats of another worker."""
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)

    @property
    def batch_fill(self) -> float:
        """The share of the rows of network calls that carried a position."""
        return self.evaluations / max(self.rows, 1)

    @property
    def idle_share(self) -> float:
        """The share of its time in which it had nothing to do."""
        return self.idle_seconds / max(self.seconds + self.idle_seconds, 1e-9)


def infer_counted(
    inference: Inference, planes: np.ndarray, rows: int, stats: WorkerStats, moves: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return logits [R, A] and values [R] of planes [R, C, H, W], and add the cost to stats.

    Only the first `rows` rows count; the others are padding. A backend that `gathers` reads the legal moves
    [R, M] int32 and returns their logits [R, M].

    Raises:
        UserError: an answer is no number, or a value lies beyond ±1.
    """
    began = time.perf_counter()
    asked = (moves,) if gathers(inference) else ()
    logits, values = inference.infer(planes, rows, *asked)
    check_answers(inference, logits[:rows], values[:rows])
    stats.inference_seconds += time.perf_counter() - began
    stats.evaluations += rows
    stats.rows += len(values)
    return logits, values


class StageStats(WorkerStats):
    """The sum over the workers of a stage.

    Attributes:
        workers: the stats of each worker.
        game_seconds: mean time of a game from its beginning to its end, beside others in flight; 0 before one
            has ended.
    """

    def __init__(self, workers: Sequence[WorkerStats]) -> None:
        super().__init__()
        self.workers = tuple(workers)
        self.game_seconds = 0.0
        for worker in workers:
            self.add(worker)

    def shares(self, stage: str) -> dict[str, float]:
        """Return batch fill and idle share by tag, of the stage and of each worker, counted from 1."""
        tags = {f"{stage}/batch_fill": self.batch_fill, f"{stage}/idle_share": self.idle_share}
        for number, worker in enumerate(self.workers, 1):
            tags |= {
                f"{stage}/batch_fill_{number}": worker.batch_fill,
                f"{stage}/idle_share_{number}": worker.idle_share,
            }
        return tags
