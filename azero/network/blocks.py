"""The parts of the residual network: its blocks, what they may hold besides convolutions, and its heads.

Letters: B positions, H W cells of the board.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

POOLED_SHARE = 4  # one channel in so many is pooled, as in KataGo's networks of 128 channels


def convolution(inputs: int, outputs: int, size: int = 3) -> nn.Conv2d:
    """A convolution that keeps the board's size. It has no bias: the batch norm behind it has one, or it is published so."""
    return nn.Conv2d(inputs, outputs, size, padding=size // 2, bias=False)


def batch_norm(channels: int) -> nn.BatchNorm2d:
    """A batch norm without the count of batches, which nothing reads and which would cost one more operation a layer and step."""
    layer = nn.BatchNorm2d(channels)
    layer.register_buffer("num_batches_tracked", None)
    return layer


class GlobalPooling(nn.Module):
    """Every cell is told of the whole board: some channels are pooled and become a bias of the others (KataGo, Wu 2019).

    The last channels go through a ReLU and end here, in their means and maxima over the board. KataGo has the means once more,
    scaled by the board's width; here a network sees boards of one size, where those would be multiples of the means.
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        pooled = max(1, channels // POOLED_SHARE)
        self.kept = channels - pooled
        self.dense = nn.Linear(2 * pooled, self.kept)

    def forward(self, x: Tensor) -> Tensor:
        """[B, channels, H, W] -> [B, kept, H, W]."""
        pooled = functional.relu(x[:, self.kept :])
        told = self.dense(torch.cat([pooled.mean((2, 3)), pooled.amax((2, 3))], dim=1))
        return x[:, : self.kept] + told[:, :, None, None]


class SqueezeExcitation(nn.Module):
    """Each channel times a number between 0 and 1 that follows from the means of all channels (Hu et al. 2018)."""

    def __init__(self, channels: int, ratio: int) -> None:
        super().__init__()
        units = max(1, channels // ratio)
        self.hidden, self.scale = nn.Linear(channels, units), nn.Linear(units, channels)

    def forward(self, x: Tensor) -> Tensor:
        """[B, channels, H, W] -> the same shape."""
        scale = torch.sigmoid(self.scale(functional.relu(self.hidden(x.mean((2, 3))))))
        return x * scale[:, :, None, None]


class ResidualBlock(nn.Module):
    """conv - BN - ReLU - conv - BN, plus identity, ReLU (He et al. 2016a; AlphaZero).

    Global pooling stands before the first ReLU, squeeze-excitation before the identity is added.
    """

    def __init__(self, channels: int, pools: bool = False, squeeze_ratio: int = 0) -> None:
        super().__init__()
        self.conv1 = convolution(channels, channels)
        self.norm1 = batch_norm(channels)
        self.pooling = GlobalPooling(channels) if pools else nn.Identity()
        self.conv2 = convolution(inputs_behind(self.pooling, channels), channels)
        self.norm2 = batch_norm(channels)
        self.squeeze = SqueezeExcitation(channels, squeeze_ratio) if squeeze_ratio else nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        """[B, channels, H, W] -> the same shape."""
        inner = functional.relu(self.pooling(self.norm1(self.conv1(x))), inplace=True)
        return functional.relu(self.squeeze(self.norm2(self.conv2(inner))) + x, inplace=True)


class PyramidBlock(nn.Module):
    """BN - conv - BN - ReLU - conv - BN, plus identity (Han et al. 2017). Pooling and squeezing as in `ResidualBlock`."""

    def __init__(self, channels: int, pools: bool = False, squeeze_ratio: int = 0) -> None:
        super().__init__()
        self.norm1 = batch_norm(channels)
        self.conv1 = convolution(channels, channels)
        self.norm2 = batch_norm(channels)
        self.pooling = GlobalPooling(channels) if pools else nn.Identity()
        self.conv2 = convolution(inputs_behind(self.pooling, channels), channels)
        self.norm3 = batch_norm(channels)
        self.squeeze = SqueezeExcitation(channels, squeeze_ratio) if squeeze_ratio else nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        """[B, channels, H, W] -> the same shape."""
        inner = functional.relu(self.pooling(self.norm2(self.conv1(self.norm1(x)))), inplace=True)
        return self.squeeze(self.norm3(self.conv2(inner))) + x


def inputs_behind(pooling: nn.Module, channels: int) -> int:
    """Channels that are left after a block's pooling, if it has one."""
    return pooling.kept if isinstance(pooling, GlobalPooling) else channels


class ConvolutionalHead(nn.Module):
    """1x1 convolution - BN - ReLU, then one dense layer, or two with `hidden` units between (AlphaGo Zero)."""

    def __init__(self, channels: int, planes: int, cells: int, hidden: int, outputs: int) -> None:
        super().__init__()
        self.conv = convolution(channels, planes, size=1)
        self.norm = batch_norm(planes)
        self.hidden = nn.Linear(planes * cells, hidden) if hidden else None
        self.output = nn.Linear(hidden or planes * cells, outputs)

    def forward(self, x: Tensor) -> Tensor:
        """[B, channels, H, W] -> [B, outputs]."""
        flat = functional.relu(self.norm(self.conv(x))).flatten(1)
        return self.output(flat if self.hidden is None else functional.relu(self.hidden(flat)))


class PooledHead(nn.Module):
    """Global average pooling, then one dense layer."""

    def __init__(self, channels: int, outputs: int) -> None:
        super().__init__()
        self.output = nn.Linear(channels, outputs)

    def forward(self, x: Tensor) -> Tensor:
        """[B, channels, H, W] -> [B, outputs]."""
        return self.output(x.mean((2, 3)))
