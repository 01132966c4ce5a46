"""The steps of a stage: each draws a batch and trains on it. On an NVIDIA GPU a step becomes one CUDA graph.

A step is hundreds of short launches, which a fast GPU does sooner than Python makes them. On an H200 a whole
stage trained on 139,000 examples a second so, and with a graph on 256,000, to the same weights in bits
(10 blocks x 128 channels, batches of 2,048, bf16). The first steps are launched one by one: libraries take
their memory then, and a lack of memory shows before a graph is recorded.

Letters: B a batch.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor

from azero.games.game import Game
from azero.training.batches import TrainingData, batch_of, draw_batch
from azero.training.trainer import Ledger, Trainer

STEPS_BEFORE = 3  # launched one by one, before the graph is recorded
_REFUSED: list[str] = []  # why this process could not record a graph


class Steps:
    """Makes steps with batches of some examples.

    Attributes:
        replay: makes a step by the graph; None before there is one.
    """

    def __init__(self, trainer: Trainer, data: TrainingData, game: Game, ledger: Ledger) -> None:
        """Make none yet. The stats go into the ledger."""
        self.trainer, self.data, self.game, self.ledger = trainer, data, game, ledger
        self.records, self.made = can_record(trainer), 0
        self.replay: Callable[[], None] | None = None

    def make(self, numbers: np.ndarray, symmetries: np.ndarray | None, lr: float) -> None:
        """Make a step with the examples of those numbers [B], each turned by its symmetry [B]; None: none."""
        device = self.trainer.device
        if not self.records:
            self.trainer.step(batch_of(self.data, self.game, numbers, symmetries), lr, self.ledger)
            return
        if not self.made:  # a graph always reads the same memory
            self.rows = torch.zeros(len(numbers), dtype=torch.int64, device=device)
            self.turns = None if symmetries is None else torch.zeros_like(self.rows)
            self.lr = torch.zeros((), device=device)
        self.rows.copy_(without_waiting(numbers, device), non_blocking=True)
        self.lr.fill_(lr)
        if self.turns is not None and symmetries is not None:
            self.turns.copy_(without_waiting(symmetries, device), non_blocking=True)
        if self.made == STEPS_BEFORE and not _REFUSED:
            self.replay = self.graph()
        self.made += 1
        (self.replay or self.fixed_step)()

    def fixed_step(self) -> None:
        """Make a step with what lies in the graph's memory."""
        batch = draw_batch(self.data, self.game, self.rows, self.turns)
        self.trainer.step(batch, self.lr, self.ledger)

    def graph(self) -> Callable[[], None] | None:
        """Return a step as a graph; None, which is said, if it cannot be recorded."""
        self.capturable(True)
        try:
            return recorded(self.fixed_step)
        except RuntimeError as error:
            self.capturable(False)
            first: BaseException = error
            while first.__context__ is not None:  # what ends a recording hides what went wrong in it
                first = first.__context__
            _REFUSED.append((str(first).splitlines() or [type(first).__name__])[0])
            text = f"azero: training goes on without a CUDA graph, which could not be recorded: {_REFUSED[0]}"
            print(text, file=sys.stderr, flush=True)
            return None

    def capturable(self, now: bool) -> None:
        """Tell the optimizer whether its step is recorded: Adam asks, and would warn in other steps."""
        for group in self.trainer.optimizer.param_groups:
            group["capturable"] = now


def can_record(trainer: Trainer) -> bool:
    """Return whether steps may become a graph: not those of a network or optimizer of a person's own."""
    nvidia = trainer.device == "cuda" and torch.version.hip is None
    return nvidia and not trainer.is_own and not trainer.network.config.file


def recorded(step: Callable[[], None]) -> Callable[[], None]:
    """Return a function that does on the GPU what `step` does. Recording does nothing there."""
    graph, stream = torch.cuda.CUDAGraph(), torch.cuda.current_stream()
    with torch.cuda.graph(graph, stream=stream, capture_error_mode="thread_local"):
        step()
    return graph.replay


def without_waiting(array: np.ndarray, device: str) -> Tensor:
    """Return numbers of a batch as int64, for a copy to the device that does not wait for it."""
    tensor = torch.from_numpy(np.ascontiguousarray(array, np.int64))
    return tensor.pin_memory() if device == "cuda" else tensor


@functools.cache
def stream_of_training() -> torch.cuda.Stream:
    """Return this process's stream for it: libraries keep memory for each stream."""
    return torch.cuda.Stream()


@contextmanager
def recordable(device: str) -> Iterator[None]:
    """With CUDA, compute on a stream of its own: the default one cannot be recorded."""
    if device != "cuda":
        yield
        return
    stream = stream_of_training()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        yield
    torch.cuda.current_stream().wait_stream(stream)
