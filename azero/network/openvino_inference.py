"""OpenVINO as a backend: the network compiled for this CPU, in fp32, bf16 or int8.

It needs azero's extra `cpu`.

A call computes in the thread that makes it and releases Python's interpreter lock, so that workers run side
by side.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
import torch

from azero.config.schema import UserError
from azero.games.game import Game
from azero.network.folded import FoldedNetwork, PlainNetwork, folded
from azero.network.inference import InferenceChoice, check_batch, fitting
from azero.network.int8 import input_ranges
from azero.network.model import Network
from azero.network.openvino_graph import graph_of, openvino
from azero.process.signals import handle_signals_here


def is_installed() -> bool:
    """Return whether OpenVINO can be imported, without importing it."""
    return find_spec("openvino") is not None


def obstacle(precision: str) -> str | None:
    """Return why this backend cannot compute in that precision here, as one sentence; None if it can."""
    if not is_installed():
        return 'OpenVINO is not installed; pip install "azero[cpu]", or set inference.backend=auto.'
    if precision == "bf16" and not knows_bf16():
        return "This CPU has no bf16 arithmetic for OpenVINO; set inference.precision=fp32 or auto."
    return None


def knows_bf16() -> bool:
    """Return whether this CPU has bf16 instructions for OpenVINO."""
    capabilities = openvino().Core().get_property("CPU", "OPTIMIZATION_CAPABILITIES")
    handle_signals_here()
    return "BF16" in capabilities


class Compiled(NamedTuple):
    """A network compiled for one batch size, and the buffers that it reads and writes."""

    request: Any
    planes: np.ndarray
    logits: np.ndarray
    value: np.ndarray


def make_inferences(
    network: Network, game: Game, choice: InferenceChoice, workers: int
) -> list[OpenVinoInference]:
    """Return an inference for each worker; see `azero.network.backends.make_inferences`.

    Raises:
        UserError: OpenVINO is not installed or lacks the precision.
    """
    if reason := obstacle(choice.precision):
        raise UserError(reason)
    with torch.no_grad():
        plain = folded(network).cpu().eval()
    ranges = input_ranges(plain, game) if choice.precision == "int8" else []
    return [OpenVinoInference(plain, ranges, game, choice) for _ in range(workers)]


class OpenVinoInference:
    """A network compiled for the whole batch, and for smaller sizes when that pays.

    Compiling 6 blocks of 64 channels takes 50 milliseconds, so every object has compiled networks of its own,
    and none is kept on disk. A few rows are computed in a larger batch until that has cost as much as
    compiling a smaller one, so the cost is at most twice the best possible. Threads may share an object, one
    at a time; with an object each they compute side by side.
    """

    title = "network"

    def __init__(
        self,
        folded: FoldedNetwork | PlainNetwork,
        ranges: Iterable[tuple[float, float]],
        game: Game,
        choice: InferenceChoice,
    ) -> None:
        """See `make_inferences`.

        `ranges` are those of the convolutions in int8. With int8 the other layers compute in bf16 if the CPU
        has it.
        """
        self.folded, self.ranges = folded, ranges
        self.batch_size, self.batches = choice.batch_size, choice.batches
        self.shape = game.planes_shape
        self.hint = "f32" if choice.precision == "fp32" or not knows_bf16() else "bf16"
        self.lock = threading.Lock()
        self.row_seconds = 0.0  # of the last batch
        self.compile_seconds = 0.0  # of the last compilation
        # Seconds spent on rows that a batch of that size would not have had.
        self.missed = dict.fromkeys(self.batches, 0.0)
        self.compiled: dict[int, Compiled] = {}
        self.compile(self.batch_size)

    def compile(self, rows: int) -> None:
        """Compile the network for batches of that size."""
        begin = time.perf_counter()
        graph = graph_of(self.folded, (rows, *self.shape), self.ranges)
        settings = {
            "INFERENCE_PRECISION_HINT": self.hint,
            "PERFORMANCE_HINT": "LATENCY",
            "NUM_STREAMS": 1,
            "INFERENCE_NUM_THREADS": 1,
            "ENABLE_CPU_PINNING": False,  # every worker would be pinned to the same core
        }
        request = openvino().Core().compile_model(graph, "CPU", settings).create_infer_request()
        handle_signals_here()
        buffers = (tensor.data for tensor in (*request.input_tensors, *request.output_tensors))
        self.compiled[rows] = Compiled(request, *buffers)
        self.compile_seconds = time.perf_counter() - begin

    def infer(self, planes: np.ndarray, rows: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Evaluate a batch; see `Inference.infer`."""
        check_batch(planes, self.batches, self.shape)
        with self.lock:
            size = len(planes) if rows is None else self.worthwhile(fitting(self.batches, rows))
            if size not in self.compiled:
                self.compile(size)
            compiled, begin = self.compiled[size], time.perf_counter()
            np.copyto(compiled.planes, planes[:size])
            compiled.request.infer(share_outputs=True)
            self.row_seconds = (time.perf_counter() - begin) / size
            return compiled.logits.copy(), compiled.value.copy()

    def worthwhile(self, size: int) -> int:
        """Return the size if it is compiled or compiling it pays now, else the next larger compiled one."""
        if size in self.compiled:
            return size
        larger = min(other for other in self.compiled if other > size)
        self.missed[size] += (larger - size) * self.row_seconds
        return size if self.missed[size] > self.compile_seconds else larger
