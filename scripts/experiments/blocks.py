"""Which kind of block learns most in equal time? Networks to train with `network.file`, of equal heads.

    azero loop connect_four_quick run=tower       network.file=scripts/experiments/blocks.py
    azero loop connect_four_quick run=attention   network.file=scripts/experiments/blocks.py \\
        network.options.kind=attention network.options.blocks=4
    azero loop connect_four_quick run=transformer network.file=scripts/experiments/blocks.py \\
        network.options.kind=transformer network.options.blocks=3

Add `train.precision=bf16` where the CPU has it, as azero's own layers train there. Then measure each with
`azero strength run=tower kind=puct positions=500`. `docs/lab/strength.md` tells what was found.

Letters: B positions, C channels, H W the board, N = H * W cells.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from azero.network.blocks import ConvolutionalHead, ResidualBlock, batch_norm, convolution

PLANES = 32  # of each head
OUTCOMES = 3  # network.value_output=wdl
OUTPUT_STD = 0.01  # of the last layers: an untrained network prefers nothing


class Attention(nn.Module):
    """x + attention of all cells to all others, with a learned bias for each pair of cells and head."""

    def __init__(self, channels: int, cells: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm = nn.LayerNorm(channels)
        self.queries_keys_values = nn.Linear(channels, 3 * channels)
        self.bias = nn.Parameter(torch.zeros(heads, cells, cells))
        self.output = nn.Linear(channels, channels)

    def forward(self, x: Tensor) -> Tensor:
        """Map [B, N, C] to the same shape."""
        positions, cells, channels = x.shape
        split = self.queries_keys_values(self.norm(x)).view(positions, cells, 3, self.heads, -1)
        queries, keys, values = split.permute(2, 0, 3, 1, 4)
        scores = queries @ keys.transpose(2, 3) / (channels // self.heads) ** 0.5 + self.bias
        mixed = (scores.softmax(3) @ values).transpose(1, 2).reshape(positions, cells, channels)
        return x + self.output(mixed)


class Dense(nn.Module):
    """x + two dense layers of each cell alone."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(channels)
        self.hidden, self.output = nn.Linear(channels, 2 * channels), nn.Linear(2 * channels, channels)

    def forward(self, x: Tensor) -> Tensor:
        """Map [B, N, C] to the same shape."""
        return x + self.output(functional.relu(self.hidden(self.norm(x))))


class OverCells(nn.Module):
    """Layers on [B, N, C] that take and give [B, C, H, W]."""

    def __init__(self, *layers: nn.Module) -> None:
        super().__init__()
        self.layers = nn.Sequential(*layers)

    def forward(self, x: Tensor) -> Tensor:
        """Map [B, C, H, W] to the same shape."""
        mixed: Tensor = self.layers(x.flatten(2).transpose(1, 2))
        return mixed.transpose(1, 2).reshape(x.shape)


class Tower(nn.Module):
    """A stem, blocks of one kind and azero's convolutional heads.

    Args:
        kind: "tower" has residual blocks of two convolutions; "attention" an attention layer after every
            second of them; "transformer" an attention layer and dense layers in each block.
    """

    def __init__(
        self,
        planes_shape: tuple[int, int, int],
        num_actions: int,
        kind: str = "tower",
        blocks: int = 5,
        channels: int = 64,
        heads: int = 4,
    ) -> None:
        super().__init__()
        planes, rows, columns = planes_shape
        cells = rows * columns
        self.stem, self.norm = convolution(planes, channels), batch_norm(channels)
        layers: list[nn.Module] = []
        for number in range(1, blocks + 1):
            if kind != "transformer":
                layers.append(ResidualBlock(channels))
            if kind == "transformer":
                layers.append(OverCells(Attention(channels, cells, heads), Dense(channels)))
            elif kind == "attention" and number % 2 == 0:
                layers.append(OverCells(Attention(channels, cells, heads)))
        self.tower = nn.Sequential(*layers)
        self.policy = ConvolutionalHead(channels, PLANES, cells, 0, num_actions)
        self.value = ConvolutionalHead(channels, PLANES, cells, 64, OUTCOMES)
        for last in (self.policy.output, self.value.output):
            nn.init.normal_(last.weight, std=OUTPUT_STD)
            nn.init.zeros_(last.bias)

    def forward(self, planes: Tensor) -> tuple[Tensor, Tensor]:
        """Map planes [B, planes, H, W] to policy logits [B, A] and logits of win, draw and loss [B, 3]."""
        x = self.tower(functional.relu(self.norm(self.stem(planes))))
        return self.policy(x), self.value(x)


def make_network(planes_shape: tuple[int, int, int], num_actions: int, options: dict[str, Any]) -> nn.Module:
    """Return the network that the options of `Tower` ask for."""
    return Tower(planes_shape, num_actions, **options)
