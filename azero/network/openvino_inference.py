"""OpenVINO as a backend: the network compiled for this CPU, in fp32 or bf16. It is the extra `cpu` of azero.

A call computes in the thread that makes it and releases Python's interpreter lock, so that lanes run side by side.
"""

from __future__ import annotations

import threading
from importlib.util import find_spec

import numpy as np
import torch

from azero.config import UserError
from azero.games.game import Game
from azero.network.folded import FoldedNetwork
from azero.network.inference import InferenceChoice, check_batch
from azero.network.model import Network
from azero.network.openvino_graph import graph_of, openvino

HINTS = {"fp32": "f32", "bf16": "bf16"}


def is_installed() -> bool:
    """Whether OpenVINO can be imported; it is not."""
    return find_spec("openvino") is not None


def obstacle(precision: str) -> str | None:
    """Why this backend cannot compute in that precision here, as one sentence; None where it can."""
    if not is_installed():
        return 'OpenVINO is not installed; pip install "azero[cpu]", or set inference.backend=auto.'
    if precision == "bf16" and "BF16" not in openvino().Core().get_property("CPU", "OPTIMIZATION_CAPABILITIES"):
        return "This CPU has no bf16 arithmetic for OpenVINO; set inference.precision=fp32 or auto."
    return None


class OpenVinoInference:
    """A network compiled for batches of one shape.

    Compiling 6 blocks of 64 channels takes 50 milliseconds, so every object has a compiled network of its own, and none is kept
    on disk. Threads may share an object, one at a time; with an object each they compute side by side.
    """

    def __init__(self, network: Network, game: Game, choice: InferenceChoice) -> None:
        """Raises UserError where OpenVINO is not installed or lacks the precision."""
        if reason := obstacle(choice.precision):
            raise UserError(reason)
        self.batch_size = choice.batch_size
        self.shape = (choice.batch_size, *game.planes_shape)
        self.lock = threading.Lock()
        with torch.no_grad():
            graph = graph_of(FoldedNetwork(network).cpu(), self.shape)
        settings = {
            "INFERENCE_PRECISION_HINT": HINTS[choice.precision],
            "PERFORMANCE_HINT": "LATENCY",
            "NUM_STREAMS": 1,
            "INFERENCE_NUM_THREADS": 1,
            "ENABLE_CPU_PINNING": False,  # every lane would be pinned to the same core
        }
        self.request = openvino().Core().compile_model(graph, "CPU", settings).create_infer_request()
        self.planes, self.logits, self.value = (
            tensor.data for tensor in (*self.request.input_tensors, *self.request.output_tensors)
        )

    def infer(self, planes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Evaluate a batch; see `Inference.infer`."""
        check_batch(planes, self.shape)
        with self.lock:
            np.copyto(self.planes, planes)
            self.request.infer(share_outputs=True)
            return self.logits.copy(), self.value.copy()
