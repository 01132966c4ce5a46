"""torch as a backend: on the CPU in fp32 or bf16, on a GPU in fp16 too, as one CUDA graph a batch.

Calls release Python's interpreter lock, so workers run side by side.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import numpy as np
import torch

from azero.games.game import Game
from azero.network.folded import FoldedNetwork, PlainNetwork, folded
from azero.network.gpu_memory import within_memory
from azero.network.inference import InferenceChoice, check_batch, fitting
from azero.network.model import Network

GATHERED = 512  # a game with more actions sends the logits of its legal moves only, at most so many
MPS_LOCK = threading.Lock()  # torch does not promise that threads may use an Apple GPU at once
DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}


def obstacle(precision: str, device: str) -> str | None:
    """Return why torch cannot compute in that precision here, as one sentence; None if it can.

    oneDNN has no dense layer in bf16 for a CPU without AVX-512, and torch has none with equal rows
    (`folded.Dense`).
    """
    if precision == "bf16" and device == "mps":
        return "bf16 is not offered on an Apple GPU; set inference.precision=fp32 or auto."
    if precision != "bf16" or device != "cpu" or not torch.backends.mkldnn.is_available():
        return None
    if torch.ops.mkldnn._is_mkldnn_bf16_supported():
        return None
    return "This CPU has no bf16 arithmetic for torch; set inference.precision=fp32 or auto."


def use_gpu(number: int) -> None:
    """Let this thread compute on the GPU of that number where the device is "cuda"."""
    torch.cuda.set_device(number)


@contextmanager
def torch_threads(count: int) -> Iterator[None]:
    """Let torch use `count` threads in an operation. Threads that have used torch keep their count."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def one_thread_per_worker() -> AbstractContextManager[None]:
    """Give each worker one torch thread. Start the workers inside the block.

    Workers already keep the cores busy; more threads would only wait for each other. `CpuInference` sets the
    count in each call, but a thread that begins to use torch takes over the count of that moment.
    """
    return torch_threads(1)


def folded_for(network: Network, choice: InferenceChoice) -> FoldedNetwork | PlainNetwork:
    """Return the folded network on its device, in its precision, with channels last for convolutions."""
    with torch.no_grad():
        made = folded(network).to(device=choice.device, dtype=DTYPES[choice.precision])
        made.to(memory_format=torch.channels_last)  # type: ignore[call-overload]  # of the module itself
    return made.eval()


def in_parts(
    infer: Callable[..., tuple[np.ndarray, np.ndarray]], most: int, *rows: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the answers to some rows, such as planes [B, C, H, W], at most `most` rows at once.

    All parts are equally large. None is passed on.
    """
    assert rows[0] is not None
    count = len(rows[0])
    if most >= count:
        return infer(*rows)
    parts = []
    for start in range(0, count, most):
        again = max(0, start + most - count)  # the last part begins with rows of the part before
        part = slice(start - again, start - again + most)
        logits, value = infer(*(None if each is None else each[part] for each in rows))
        parts.append((logits[again:], value[again:]))
    logits, value = zip(*parts, strict=True)
    return np.concatenate(logits), np.concatenate(value)


class CpuInference:
    """torch on the CPU, or on an Apple GPU. It keeps nothing between calls, so workers may share one.

    It always computes on one torch thread: more would change the last bits, so a player would differ between
    programs. Setting and restoring the count takes 0.2 microseconds, a batch of 8 about a hundred.
    """

    title = "network"

    def __init__(self, network: Network, game: Game, choice: InferenceChoice) -> None:
        self.batch_size, self.batches = choice.batch_size, choice.batches
        self.shape = game.planes_shape
        self.device, self.dtype = choice.device, DTYPES[choice.precision]
        self.folded = folded_for(network, choice)

    def infer(self, planes: np.ndarray, rows: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Evaluate a batch; see `Inference.infer`."""
        check_batch(planes, self.batches, self.shape)
        size = len(planes) if rows is None else fitting(self.batches, rows)
        with torch_threads(1), torch.inference_mode():
            return within_memory("inference", size, lambda most: in_parts(self.answer, most, planes[:size]))

    def answer(self, planes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Evaluate planes of any batch size."""
        with MPS_LOCK if self.device == "mps" else nullcontext():
            batch = torch.from_numpy(planes).to(self.device, self.dtype)
            logits, value = self.folded(batch.contiguous(memory_format=torch.channels_last))
            return logits.cpu().numpy(), value.cpu().numpy()


class CudaInference:
    """torch on a GPU: one CUDA graph from pinned buffer to pinned buffer, so that a batch costs one launch.

    Buffers and graph belong to the object. Threads may share it, one at a time; with an object each, their
    batches overlap. All memory is taken when the object is made. If it is too little for the whole batch, the
    graph has fewer rows, and a batch is several launches.

    With more than GATHERED actions only the logits of legal moves leave the GPU; see `Inference.infer`.
    """

    title = "network"
    stays = False  # whether planes and answers are in the GPU's memory

    def __init__(self, network: Network, game: Game, choice: InferenceChoice) -> None:
        self.batch_size = choice.batch_size
        self.shape = (choice.batch_size, *game.planes_shape)
        self.device, self.dtype = choice.device, DTYPES[choice.precision]
        self.folded = folded_for(network, choice)
        self.lock = threading.Lock()
        self.stream = torch.cuda.Stream()
        self.num_actions = game.num_actions
        self.gathers = game.num_actions > GATHERED and not self.stays
        self.graph = within_memory("inference", choice.batch_size, self.captured)

    @torch.inference_mode()
    def captured(self, rows: int) -> torch.cuda.CUDAGraph:
        """Record that many rows. No algorithm is chosen by timing: the next process must use the same one."""
        place: dict[str, Any] = {"device": "cuda"} if self.stays else {"pin_memory": True}
        self.planes = torch.zeros(rows, *self.shape[1:], **place)
        self.moves = torch.zeros(rows, GATHERED if self.gathers else 0, dtype=torch.int64, **place)
        self.logits = torch.zeros(rows, GATHERED if self.gathers else self.num_actions, **place)
        self.value = torch.zeros(rows, **place)
        self.folded.lend_zeros(rows, self.shape[2:])
        graph = torch.cuda.CUDAGraph()
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.backends.cudnn.flags(enabled=True, benchmark=False, deterministic=True, allow_tf32=False):
            with torch.cuda.stream(self.stream):
                for _ in range(3):  # libraries allocate their workspaces now; while recording they may not
                    self.run_batch()
            self.stream.synchronize()
            # Workers on other threads go on meanwhile, so only this thread's calls are watched.
            with torch.cuda.graph(graph, stream=self.stream, capture_error_mode="thread_local"):
                self.run_batch()
        return graph

    def run_batch(self) -> None:
        """From the buffer of planes to that of the answers, on the current stream."""
        batch = self.planes.to("cuda", non_blocking=True)
        logits, value = self.folded(batch.to(self.dtype).contiguous(memory_format=torch.channels_last))
        self.all_logits = logits
        if self.gathers:
            logits = logits.gather(1, self.moves.to("cuda", non_blocking=True))
        self.logits.copy_(logits, non_blocking=True)
        self.value.copy_(value, non_blocking=True)

    def infer(
        self, planes: np.ndarray, rows: int | None = None, moves: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Evaluate a batch, always a whole one; see `Inference.infer`."""
        check_batch(planes, (self.batch_size,), self.shape[1:])
        with self.lock, torch.inference_mode(), torch.cuda.stream(self.stream):
            return in_parts(self.answer, len(self.planes), planes, moves)

    def answer(self, planes: np.ndarray, moves: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Evaluate as many planes as the graph has rows; with moves return their logits."""
        # NumPy copies in this thread. torch would use others too, and wait for them where cores are busy.
        np.copyto(self.planes.numpy(), planes)
        gathered = False
        if self.gathers and moves is not None and moves.shape[1] <= GATHERED:
            gathered = True
            self.moves.numpy()[: len(moves), : moves.shape[1]] = moves
        self.graph.replay()
        self.stream.synchronize()
        logits = (self.all_logits.float().cpu() if self.gathers and not gathered else self.logits).numpy()
        if moves is not None and not gathered:
            logits = np.take_along_axis(logits[: len(moves)], moves, axis=1)
        return logits.copy(), self.value.numpy().copy()


class GpuNetwork(CudaInference):
    """A network whose planes are written on the GPU, and whose answers are read there.

    Attributes:
        planes: [B, C, H, W] float32; B is less than the choice's if memory is short.
        logits, value: [B, A] and [B] float32.
    """

    stays = True

    def replay(self) -> None:
        """Answer the planes after what is on the stream; wait for nothing."""
        with torch.cuda.stream(self.stream):
            self.graph.replay()
