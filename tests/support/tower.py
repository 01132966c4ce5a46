"""A network of one's own with three convolutions and a batch norm."""

import torch
from torch import Tensor, nn


class Tower(nn.Module):
    def __init__(self, planes: int, cells: int, moves: int, channels: int) -> None:
        super().__init__()
        self.first, self.norm = nn.Conv2d(planes, channels, 3, padding=1), nn.BatchNorm2d(channels)
        self.second, self.third = nn.Conv2d(channels, channels, 3, padding=1), nn.Conv2d(channels, 8, 1)
        self.policy, self.value = nn.Linear(8 * cells, moves), nn.Linear(8 * cells, 1)

    def forward(self, planes: Tensor) -> tuple[Tensor, Tensor]:
        x = torch.relu(self.norm(self.first(planes)))
        x = torch.relu(self.third(torch.relu(x + self.second(x)))).flatten(1)
        return self.policy(x), self.value(x)


def make_network(shape: tuple[int, int, int], num_actions: int, options: dict[str, int]) -> nn.Module:
    return Tower(shape[0], shape[1] * shape[2], num_actions, **options)
