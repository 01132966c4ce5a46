"""The steps of a stage: each draws a batch and trains on it. On an NVIDIA GPU a step becomes one CUDA graph.

A step is hundreds of short launches, which a fast GPU does sooner than Python makes them: on an H200 a whole
stage trained on 51,000 examples a second, and a prototype's graph of the same step on 316,000 (10 blocks x
128 channels, batches of 2,048). The first steps are made one launch after the other, because libraries take
their memory in them and a lack of it shows; they compute the same.

Letters: B a batch.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor

from azero.games.game import Game
from azero.training.batches import TrainingData, draw_batch, to_device
from azero.training.trainer import Ledger, Trainer

STEPS_BEFORE = 3  # the graph


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
        rows = to_device(numbers, device)
        turns = None if symmetries is None else to_device(symmetries, device)
        if not self.records:
            self.step(rows, turns, lr)
            return
        if not self.made:  # a graph reads always the same memory
            self.rows, self.turns, self.lr = rows, turns, torch.tensor(lr, device=device)
        self.rows.copy_(rows)
        self.lr.fill_(lr)
        if self.turns is not None and turns is not None:
            self.turns.copy_(turns)
        if self.made == STEPS_BEFORE:
            self.replay = self.graph()
        self.made += 1
        (self.replay or self.fixed_step)()

    def step(self, rows: Tensor, turns: Tensor | None, lr: float | Tensor) -> None:
        """Make a step with rows and turns [B] int64 on the device."""
        self.trainer.step(draw_batch(self.data, self.game, rows, turns), lr, self.ledger)

    def fixed_step(self) -> None:
        """Make a step with what lies in the graph's memory."""
        self.step(self.rows, self.turns, self.lr)

    def graph(self) -> Callable[[], None] | None:
        """Return a step as a graph; None, which is said, if it cannot be recorded."""
        for group in self.trainer.optimizer.param_groups:
            group["capturable"] = True  # asked for by Adam; it would warn in the steps before
        try:
            return recorded(self.fixed_step)
        except RuntimeError as error:
            reason = (str(error).splitlines() or ["no reason is given"])[0]
            text = f"azero: training goes on without a CUDA graph, which could not be recorded: {reason}"
            print(text, file=sys.stderr, flush=True)
            return None


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


@contextmanager
def recordable(device: str) -> Iterator[None]:
    """With CUDA, compute on a stream of its own: the default one cannot be recorded."""
    if device != "cuda":
        yield
        return
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        yield
    torch.cuda.current_stream().wait_stream(stream)
