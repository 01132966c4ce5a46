"""The folded network: batch norms become part of the convolutions.

Letters: B the batch, A actions, C H W planes.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from functools import lru_cache

import torch
from torch import Tensor, nn
from torch.nn import functional

from azero.network.blocks import Head, PooledHead, PyramidBlock, ResidualBlock, SpatialHead, cell_by_cell
from azero.network.model import Network, OwnNetwork, value_of

SMALLEST_OUTPUT = 1e-6  # a smaller or negative output of a linear policy head counts as this


def folded(network: Network) -> FoldedNetwork | PlainNetwork:
    """Return a network in evaluation mode for inference; its weights are copied."""
    return PlainNetwork(network) if isinstance(network, OwnNetwork) else FoldedNetwork(network)


class PlainNetwork(nn.Module):
    """A network of one's own in evaluation mode, as it is, with the answers of a `FoldedNetwork`."""

    def __init__(self, network: OwnNetwork) -> None:
        super().__init__()
        self.linear_policy = network.config.policy_output == "linear"
        self.network = copy.deepcopy(network)

    def lend_zeros(self, rows: int, board: Sequence[int]) -> None:
        """Do nothing: only blocks of azero use them."""

    def forward(self, planes: Tensor) -> tuple[Tensor, Tensor]:
        """Map [B, C, H, W] to policy logits [B, A] and value [B], both float32."""
        outputs = self.network.outputs(planes)
        return policy_logits(outputs.policy.float(), self.linear_policy), value_of(outputs.value.float())


class FoldedNetwork(nn.Module):
    """A network in evaluation mode in fewer operations, with the same answers up to rounding."""

    def __init__(self, network: Network) -> None:
        super().__init__()
        self.linear_policy = network.config.policy_output == "linear"
        self.stem = fold(network.stem, network.stem_norm)
        self.stem_relu = network.stem_norm is not None
        self.blocks = nn.ModuleList(
            FoldedResidual(block) if isinstance(block, ResidualBlock) else FoldedPyramid(block)  # type: ignore[arg-type]
            for block in network.blocks
        )
        self.policy_head = FoldedHead(network.policy_head)
        self.value_head = FoldedHead(network.value_head)

    def forward(self, planes: Tensor) -> tuple[Tensor, Tensor]:
        """Map [B, C, H, W] to policy logits [B, A] and value [B], both float32.

        The logits of a linear policy head are the logarithms of its outputs, so that their softmax over the
        legal moves is the legal outputs over their sum.
        """
        x = self.stem(planes)
        x = x.relu_() if self.stem_relu else x
        for block in self.blocks:
            x = block(x)
        policy_output, value_output = self.policy_head(x).float(), self.value_head(x).float()
        return policy_logits(policy_output, self.linear_policy), value_of(value_output)

    def lend_zeros(self, rows: int, board: Sequence[int]) -> None:
        """Let residual blocks use zeros for batches of so many rows, on a board (H, W)."""
        weight = self.stem.weight
        zeros = torch.zeros(rows, len(weight), *board, dtype=weight.dtype, device=weight.device)
        zeros = zeros.contiguous(memory_format=torch.channels_last)
        for block in self.blocks:
            if isinstance(block, FoldedResidual):
                block.zeros = zeros

    def convolutions(self) -> list[nn.Conv2d]:
        """Return the convolutions in the blocks, in their order."""
        return [layer for layer in self.blocks.modules() if isinstance(layer, nn.Conv2d)]


def policy_logits(policy_output: Tensor, linear: bool) -> Tensor:
    """Return the policy output [B, A] as logits for the search."""
    return policy_output.clamp_min(SMALLEST_OUTPUT).log() if linear else policy_output


class FoldedResidual(nn.Module):
    """A residual block without batch norms.

    Attributes:
        zeros: as large as a batch of its input. With them a GPU rectifies within the first convolution too.
    """

    zeros: Tensor | None = None

    def __init__(self, block: ResidualBlock) -> None:
        super().__init__()
        self.conv1, self.conv2 = fold(block.conv1, block.norm1), fold(block.conv2, block.norm2)

    def forward(self, x: Tensor) -> Tensor:
        """Map [B, channels, H, W] to the same shape."""
        if not fuses(x):
            return self.conv2(self.conv1(x).relu_()).add_(x).relu_()
        inner = self.conv1(x).relu_() if self.zeros is None else convolved(self.conv1, x, self.zeros, 0.0)
        return convolved(self.conv2, inner, x, 1.0)


def convolved(conv: nn.Conv2d, x: Tensor, added: Tensor, times: float) -> Tensor:
    """Return max(0, conv(x) + times * added), by one kernel of cuDNN.

    torch's kernel for max(0, conv(x)) adds 0 times memory that nobody has written, and what lies there may be
    NaN. So zeros are lent (an H200, 10 x 128, 2,048 rows: 1.66 to 2.27 million evaluations a second).
    """
    one = (1, 1)
    return torch.cudnn_convolution_add_relu(x, conv.weight, added, times, conv.bias, one, one, one, 1)


def fuses(x: Tensor) -> bool:
    """Return whether cuDNN adds and rectifies within a convolution of x."""
    return x.is_cuda and has_fused_sum()


@lru_cache(maxsize=1)
def has_fused_sum() -> bool:
    """Return whether cuDNN adds and rectifies within a convolution on this GPU, in bf16 too."""
    return torch.version.hip is None and torch.cuda.get_device_capability() >= (8, 0)


class FoldedPyramid(nn.Module):
    """A pyramid block with its last two batch norms folded.

    The first one comes before a convolution that pads with zeros. To fold it, the padding would have to be
    -shift / scale in each channel.
    """

    def __init__(self, block: PyramidBlock) -> None:
        super().__init__()
        self.affine = Affine(block.norm1)
        self.conv1, self.conv2 = fold(block.conv1, block.norm2), fold(block.conv2, block.norm3)

    def forward(self, x: Tensor) -> Tensor:
        """Map [B, channels, H, W] to the same shape."""
        return self.conv2(self.conv1(self.affine(x)).relu_()).add_(x)


class FoldedHead(nn.Module):
    """A head without batch norm. Only the pooled kind lacks `conv`, and only the spatial kind is `spatial`.

    A spatial head has `cells`, the outputs for each cell, or `output` and `hidden`, the others, or all.
    """

    def __init__(self, head: Head) -> None:
        super().__init__()
        self.spatial = isinstance(head, SpatialHead)
        self.conv = None if isinstance(head, PooledHead) else fold(head.conv, head.norm)
        self.cells = copy.deepcopy(head.cells) if isinstance(head, SpatialHead) else None
        without = isinstance(head, SpatialHead) and not head.others
        self.output = None if without else Dense(head.output)
        self.others = 0 if without else head.output.out_features  # outputs of that layer
        hidden = None if without or isinstance(head, PooledHead) else head.hidden
        self.hidden = None if hidden is None else Dense(hidden)

    def forward(self, x: Tensor) -> Tensor:
        """Map [B, channels, H, W] to [B, outputs]."""
        x = x if self.conv is None else self.conv(x).relu_()
        if not self.spatial:
            return self.dense(x.mean((2, 3)) if self.conv is None else x.flatten(1))
        cells = [] if self.cells is None else [cell_by_cell(self.cells(x))]
        others = [self.dense(torch.cat([x.mean((2, 3)), x.amax((2, 3))], dim=1))] if self.others else []
        return torch.cat(cells + others, dim=1)

    def dense(self, x: Tensor) -> Tensor:
        """Map [B, inputs] to [B, others]."""
        assert self.output is not None
        return self.output(x if self.hidden is None else self.hidden(x).relu_())


class Dense(nn.Module):
    """A dense layer with its own weights, whose rows do not depend on their place in the batch.

    torch computes a dense fp32 layer on the CPU with MKL, where the last bit of a row depends on its place
    (measured with 18 inputs and 9 outputs on an AMD CPU, in all rows of all batches). oneDNN, which computes
    convolutions and bf16 too, gave equal rows in every shape tried, so this layer calls it by name.
    """

    def __init__(self, dense: nn.Linear) -> None:
        super().__init__()
        self.weight = nn.Parameter(dense.weight.detach().clone())
        self.bias = nn.Parameter(dense.bias.detach().clone())

    def forward(self, x: Tensor) -> Tensor:
        """Map [B, inputs] to [B, outputs]."""
        if x.device.type == "cpu" and torch.backends.mkldnn.is_available():
            return torch.ops.mkldnn._linear_pointwise(x, self.weight, self.bias, "none", [], "")
        return functional.linear(x, self.weight, self.bias)


def fold(conv: nn.Conv2d, norm: nn.BatchNorm2d | None) -> nn.Conv2d:
    """Return a new convolution that does what `conv` and then `norm` do."""
    size = conv.weight.shape[-1]
    folded = nn.Conv2d(conv.in_channels, conv.out_channels, size, padding=size // 2, device="meta")
    weight = conv.weight.detach().double()
    plain = weight.new_ones(len(weight)), weight.new_zeros(len(weight))
    scale, shift = scale_and_shift(norm) if norm else plain
    folded.weight = nn.Parameter((weight * scale[:, None, None, None]).float())
    folded.bias = nn.Parameter(shift.float())
    return folded


class Affine(nn.Module):
    """x * scale + shift: a batch norm that no convolution can take over."""

    scale: Tensor
    shift: Tensor

    def __init__(self, norm: nn.BatchNorm2d) -> None:
        super().__init__()
        scale, shift = scale_and_shift(norm)
        self.register_buffer("scale", scale.float()[:, None, None])
        self.register_buffer("shift", shift.float()[:, None, None])

    def forward(self, x: Tensor) -> Tensor:
        """Map [B, channels, H, W] to the same shape."""
        return torch.addcmul(self.shift, x, self.scale)


def scale_and_shift(norm: nn.BatchNorm2d) -> tuple[Tensor, Tensor]:
    """Return scale and shift of a batch norm, x * scale + shift for each channel; both [channels] float64."""
    assert norm.running_mean is not None and norm.running_var is not None
    scale = norm.weight.detach().double() / torch.sqrt(norm.running_var.double() + norm.eps)
    return scale, norm.bias.detach().double() - norm.running_mean.double() * scale
