"""Inference: the network on leaves, in batches of one fixed shape.

Batch norm is folded into the convolutions, so a block is two convolutions and an addition. torch is the backend: on the CPU in
fp32 or bf16, on a GPU as one CUDA graph a batch. Calls release Python's interpreter lock, so that lanes run side by side.

Letters: B the batch, A actions, C H W planes.
"""

from __future__ import annotations

import copy
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from azero.config import InferenceConfig, UserError
from azero.games.game import Game
from azero.network.model import ConvolutionalHead, Network, PooledHead, PyramidBlock, ResidualBlock

DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}
SMALLEST_OUTPUT = 1e-6  # of a linear policy head: a move with a smaller or negative output has this weight
LIMITS = {"fp32": 1e-3, "bf16": 0.05}  # how far a probability or a value may stray from torch fp32
SPEED_MARGIN = 1.15  # bf16 must be this much faster than fp32, so that noise in the timing does not decide
TIMING_SECONDS = 0.2  # for each precision


class Inference(Protocol):
    """Planes in, policy logits and values out, always B positions at once. Safe to call from several threads."""

    batch_size: int

    def infer(self, planes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Evaluate a batch.

        Args:
            planes: [B, C, H, W] float32, C-contiguous, from the view of the player to move.

        Returns:
            policy logits [B, A] float32 and value [B] float32 in [-1, 1], for the player to move; new arrays.
        """
        ...


@dataclass(frozen=True)
class InferenceChoice:
    """How a run computes its network; measured once and kept with the run, so that timing noise never changes games.

    Attributes:
        backend: "torch".
        precision: "fp32" or "bf16".
        batch_size: B, the fixed batch.
        device: "cpu" or "cuda".
        evaluations_per_second: what was measured, by one thread.
        rows_independent: whether a position's answer was bit-equal in every place of the batch. Without that, games depend on
            which lane plays them.
    """

    backend: str
    precision: str
    batch_size: int
    device: str
    evaluations_per_second: float
    rows_independent: bool = True


def resolve_device(device: str) -> str:
    """The device behind a wish: "auto" is the GPU if there is one.

    Raises:
        UserError: a GPU is asked for and torch finds none.
    """
    if device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cuda" and not torch.cuda.is_available():
        raise UserError("device=cuda, but torch finds no GPU here; set device=cpu or device=auto, or install torch with CUDA.")
    return device


@contextmanager
def torch_threads(count: int) -> Iterator[None]:
    """Let torch use `count` threads in an operation meanwhile. Process-wide; a thread that has used torch keeps its own count."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def one_thread_a_lane() -> AbstractContextManager[None]:
    """While lanes play: one torch thread in each, which must be started inside the block.

    Lanes already keep the cores busy; threads of torch's own beside them would only wait for each other. `CpuInference` sees to
    it call by call, but a thread that begins to use torch takes over the count of that moment, so it is set for all beforehand.
    """
    return torch_threads(1)


class Affine(nn.Module):
    """x * scale + shift, a batch norm that could not be folded into a convolution."""

    scale: Tensor
    shift: Tensor

    def __init__(self, norm: nn.BatchNorm2d) -> None:
        super().__init__()
        scale, shift = scale_and_shift(norm)
        self.register_buffer("scale", scale.float()[:, None, None])
        self.register_buffer("shift", shift.float()[:, None, None])

    def forward(self, x: Tensor) -> Tensor:
        """[B, channels, H, W] -> the same shape."""
        return torch.addcmul(self.shift, x, self.scale)


def scale_and_shift(norm: nn.BatchNorm2d) -> tuple[Tensor, Tensor]:
    """A batch norm with its statistics fixed is x * scale + shift for each channel; both [channels] float64."""
    assert norm.running_mean is not None and norm.running_var is not None
    scale = norm.weight.detach().double() / torch.sqrt(norm.running_var.double() + norm.eps)
    return scale, norm.bias.detach().double() - norm.running_mean.double() * scale


def fold(conv: nn.Conv2d, norm: nn.BatchNorm2d | None) -> nn.Conv2d:
    """A new convolution that does what `conv` and then `norm` do."""
    size = conv.weight.shape[-1]
    folded = nn.Conv2d(conv.in_channels, conv.out_channels, size, padding=size // 2, device="meta")
    weight = conv.weight.detach().double()
    scale, shift = scale_and_shift(norm) if norm else (weight.new_ones(len(weight)), weight.new_zeros(len(weight)))
    folded.weight = nn.Parameter((weight * scale[:, None, None, None]).float())
    folded.bias = nn.Parameter(shift.float())
    return folded


class FoldedResidual(nn.Module):
    """A residual block without batch norms."""

    def __init__(self, block: ResidualBlock) -> None:
        super().__init__()
        self.conv1, self.conv2 = fold(block.conv1, block.norm1), fold(block.conv2, block.norm2)

    def forward(self, x: Tensor) -> Tensor:
        """[B, channels, H, W] -> the same shape."""
        return self.conv2(self.conv1(x).relu_()).add_(x).relu_()


class FoldedPyramid(nn.Module):
    """A pyramid block with its last two batch norms folded.

    The first one stands before a convolution that pads with zeros. Folded, the padding would have to be -shift / scale in each
    channel, so it stays.
    """

    def __init__(self, block: PyramidBlock) -> None:
        super().__init__()
        self.affine = Affine(block.norm1)
        self.conv1, self.conv2 = fold(block.conv1, block.norm2), fold(block.conv2, block.norm3)

    def forward(self, x: Tensor) -> Tensor:
        """[B, channels, H, W] -> the same shape."""
        return self.conv2(self.conv1(self.affine(x)).relu_()).add_(x)


class FoldedHead(nn.Module):
    """A head without batch norm; with `conv` and perhaps `hidden` for the convolutional kind, with neither for the pooled one."""

    def __init__(self, head: ConvolutionalHead | PooledHead) -> None:
        super().__init__()
        self.conv = fold(head.conv, head.norm) if isinstance(head, ConvolutionalHead) else None
        self.hidden = Dense(head.hidden) if isinstance(head, ConvolutionalHead) and head.hidden is not None else None
        self.output = Dense(head.output)

    def forward(self, x: Tensor) -> Tensor:
        """[B, channels, H, W] -> [B, outputs]."""
        x = x.mean((2, 3)) if self.conv is None else self.conv(x).relu_().flatten(1)
        return self.output(x if self.hidden is None else self.hidden(x).relu_())


class Dense(nn.Module):
    """A dense layer with weights of its own, whose rows do not depend on their place in the batch.

    torch computes a dense fp32 layer on the CPU with MKL, where a row's last bit depends on its place: measured with 18 inputs
    and 9 outputs on an AMD CPU, all rows of all batches. oneDNN, which computes the convolutions and bf16 too, gave equal rows in
    every shape tried, so it is asked for by name.
    """

    def __init__(self, dense: nn.Linear) -> None:
        super().__init__()
        self.weight = nn.Parameter(dense.weight.detach().clone())
        self.bias = nn.Parameter(dense.bias.detach().clone())

    def forward(self, x: Tensor) -> Tensor:
        """[B, inputs] -> [B, outputs]."""
        if x.device.type == "cpu" and torch.backends.mkldnn.is_available():
            return torch.ops.mkldnn._linear_pointwise(x, self.weight, self.bias, "none", [], "")
        return functional.linear(x, self.weight, self.bias)


class FoldedNetwork(nn.Module):
    """A network's answers in fewer operations; equal to the network in evaluation mode up to rounding."""

    def __init__(self, network: Network) -> None:
        super().__init__()
        self.linear_policy = network.config.policy_output == "linear"
        self.stem = fold(network.stem, network.stem_norm)
        self.stem_relu = network.stem_norm is not None
        self.blocks = nn.ModuleList(
            [FoldedResidual(block) if isinstance(block, ResidualBlock) else FoldedPyramid(block) for block in network.blocks]  # type: ignore[arg-type]
        )
        self.policy_head = FoldedHead(network.policy_head)
        self.value_head = FoldedHead(network.value_head)

    def forward(self, planes: Tensor) -> tuple[Tensor, Tensor]:
        """[B, C, H, W] -> policy logits [B, A] and value [B], both float32.

        The logits of a linear policy head are the logarithms of its outputs, so that their softmax over the legal moves is the
        legal outputs over their sum.
        """
        x = self.stem(planes)
        x = x.relu_() if self.stem_relu else x
        for block in self.blocks:
            x = block(x)
        policy_output, value = self.policy_head(x).float(), self.value_head(x).float()
        return policy_logits(policy_output, self.linear_policy), torch.tanh(value).squeeze(1)


def policy_logits(policy_output: Tensor, linear: bool) -> Tensor:
    """What the search reads as logits, [B, A]."""
    return policy_output.clamp_min(SMALLEST_OUTPUT).log() if linear else policy_output


def folded_for(network: Network, choice: InferenceChoice) -> FoldedNetwork:
    """The folded network on its device, in its precision, with channels last: the layout that convolutions compute in."""
    with torch.no_grad():
        folded = FoldedNetwork(network).to(device=choice.device, dtype=DTYPES[choice.precision])
    return folded.to(memory_format=torch.channels_last).eval()  # type: ignore[call-overload]


class CpuInference:
    """torch on the CPU. It keeps nothing between calls, so lanes may share one.

    It always computes on one torch thread, wherever it is called: on more, the last bits are others, and a player would not be
    the same in every program. Measured: setting and restoring the count takes 0.2 microseconds, a batch of 8 some hundred.
    """

    def __init__(self, network: Network, game: Game, choice: InferenceChoice) -> None:
        self.batch_size = choice.batch_size
        self.shape = (choice.batch_size, *game.planes_shape)
        self.dtype = DTYPES[choice.precision]
        self.folded = folded_for(network, choice)

    def infer(self, planes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Evaluate a batch; see `Inference.infer`."""
        check_batch(planes, self.shape)
        with torch_threads(1), torch.inference_mode():
            batch = torch.from_numpy(planes).to(self.dtype).contiguous(memory_format=torch.channels_last)
            logits, value = self.folded(batch)
        return logits.numpy(), value.numpy()


class CudaInference:
    """torch on a GPU: one CUDA graph from pinned buffer to pinned buffer, so that a batch costs one launch.

    Buffers and graph belong to the object. Threads may share it, one at a time; with an object each, their batches overlap.
    """

    def __init__(self, network: Network, game: Game, choice: InferenceChoice) -> None:
        self.batch_size = choice.batch_size
        self.shape = (choice.batch_size, *game.planes_shape)
        self.dtype = DTYPES[choice.precision]
        self.folded = folded_for(network, choice)
        self.lock = threading.Lock()
        self.stream = torch.cuda.Stream()
        self.planes = torch.zeros(self.shape, pin_memory=True)
        self.logits = torch.zeros(choice.batch_size, game.num_actions, pin_memory=True)
        self.value = torch.zeros(choice.batch_size, pin_memory=True)
        self.graph = self.captured()

    @torch.inference_mode()
    def captured(self) -> torch.cuda.CUDAGraph:
        """Record one batch. The algorithm is never chosen by timing: it must be the same one in the next process."""
        graph = torch.cuda.CUDAGraph()
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.backends.cudnn.flags(enabled=True, benchmark=False, deterministic=True, allow_tf32=False):
            with torch.cuda.stream(self.stream):
                for _ in range(3):  # libraries allocate their workspaces now; while recording they may not
                    self.run_batch()
            self.stream.synchronize()
            # Lanes on other threads go on meanwhile, so only this thread's calls are watched.
            with torch.cuda.graph(graph, stream=self.stream, capture_error_mode="thread_local"):
                self.run_batch()
        return graph

    def run_batch(self) -> None:
        """From the pinned planes to the pinned answers, on the current stream."""
        batch = self.planes.to("cuda", non_blocking=True)
        logits, value = self.folded(batch.to(self.dtype).contiguous(memory_format=torch.channels_last))
        self.logits.copy_(logits, non_blocking=True)
        self.value.copy_(value, non_blocking=True)

    def infer(self, planes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Evaluate a batch; see `Inference.infer`."""
        check_batch(planes, self.shape)
        with self.lock, torch.inference_mode(), torch.cuda.stream(self.stream):
            self.planes.copy_(torch.from_numpy(planes))
            self.graph.replay()
            self.stream.synchronize()
            return self.logits.numpy().copy(), self.value.numpy().copy()


def check_batch(planes: np.ndarray, shape: tuple[int, ...]) -> None:
    """Raises ValueError unless planes are float32 of exactly that shape."""
    if planes.shape != shape or planes.dtype != np.float32:
        raise ValueError(f"infer needs float32 planes of shape {shape}, not {planes.dtype} of shape {planes.shape}")


def make_inference(network: Network, game: Game, choice: InferenceChoice) -> Inference:
    """The network behind the search's interface. The weights are copied: later training does not change its answers.

    Raises:
        UserError: the choice is for a GPU and there is none.
    """
    cuda = resolve_device(choice.device) == "cuda"
    return CudaInference(network, game, choice) if cuda else CpuInference(network, game, choice)


def choose_inference(
    network: Network, game: Game, config: InferenceConfig, device: str, batch_size: int, planes: np.ndarray
) -> InferenceChoice:
    """Find the fastest way to compute a network here that gives the right answers.

    What the config leaves to "auto" is timed, for about half a second in all; what it names is obeyed.

    Args:
        network: any network of the run; the choice holds for all of them.
        game: its game.
        config: what is asked for.
        device: "auto", "cpu" or "cuda".
        batch_size: B.
        planes: [any number, C, H, W] float32 of real positions, to compare and time with.

    Raises:
        UserError: a GPU is asked for and there is none, or no allowed precision gives the answers of torch fp32.
    """
    device = resolve_device(device)
    batch = np.ascontiguousarray(np.resize(planes, (batch_size, *game.planes_shape)), np.float32)
    wanted = ["fp32", "bf16"] if config.precision == "auto" else [config.precision]
    measured = []
    for precision in wanted:
        choice = InferenceChoice("torch", precision, batch_size, device, 0.0)
        inference = make_inference(network, game, choice)
        if config.precision == "auto" and strays(network, inference, batch) > LIMITS[precision]:
            continue
        independent = rows_are_independent(inference, batch)
        measured.append(replace(choice, evaluations_per_second=measure(inference, batch), rows_independent=independent))
    if not measured:
        raise UserError("No precision gives the network's own answers on this machine; set inference.precision to force one.")
    return max(measured, key=merit)


def merit(choice: InferenceChoice) -> tuple[bool, float]:
    """What is best: rows that do not depend on their place, then speed."""
    margin = SPEED_MARGIN if choice.precision == "fp32" else 1.0
    return choice.rows_independent, choice.evaluations_per_second * margin


def rows_are_independent(inference: Inference, planes: np.ndarray) -> bool:
    """Whether each position of a batch gets the same bits wherever it stands."""
    logits, value = inference.infer(planes)
    for shift in (1, 7, 16, len(planes) // 2):
        shifted = inference.infer(np.ascontiguousarray(np.roll(planes, shift, axis=0)))
        if not (np.array_equal(np.roll(logits, shift, axis=0), shifted[0]) and np.array_equal(np.roll(value, shift), shifted[1])):
            return False
    return True


def strays(network: Network, inference: Inference, planes: np.ndarray) -> float:
    """How far an inference's move probabilities and values stray at most from torch fp32 on the CPU; infinite when not finite."""
    with torch.inference_mode():
        policy_output, value = copy.deepcopy(network).cpu().float().eval()(torch.from_numpy(planes))
        expected = functional.softmax(policy_logits(policy_output, network.config.policy_output == "linear"), dim=1)
        logits, own_value = (torch.from_numpy(array) for array in inference.infer(planes))
        apart = torch.cat([(functional.softmax(logits, dim=1) - expected).abs().flatten(), (own_value - value).abs()])
    return float(apart.max()) if bool(torch.isfinite(apart).all()) else float("inf")


def measure(inference: Inference, planes: np.ndarray) -> float:
    """Evaluations a second: the best of several rounds, since noise only slows."""
    inference.infer(planes)  # the first call of a shape prepares
    end, best = time.perf_counter() + TIMING_SECONDS, float("inf")
    while time.perf_counter() < end:
        start = time.perf_counter()
        inference.infer(planes)
        best = min(best, time.perf_counter() - start)
    return round(inference.batch_size / best, 1)
