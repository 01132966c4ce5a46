"""The average of a stage's weights: a steadier player than the last weights alone.

Polyak and Juditsky 1992; with batch norms Izmailov et al. 2018. KataGo (Wu 2019) keeps 0.75 of it every
250,000 examples, which is 0.9997 a step of 256 examples.

Letters: B a batch, C H W planes.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable

import torch
from torch import Tensor, nn

from azero.network.model import Network


class WeightAverage:
    """An exponential moving average of a network's weights.

    Attributes:
        network: the average, itself a network, on the device, in training mode.
    """

    def __init__(self, average: Network, followed: Network, decay: float, steps_before: int) -> None:
        """Go on from a copy of `average` with the weights of `followed`; `steps_before` were made earlier."""
        device = next(followed.parameters()).device
        copied = copy.deepcopy(average).to(device)
        self.network: Network = copied.to(memory_format=torch.channels_last).train()  # type: ignore[call-overload]
        self.weights: list[Tensor] = [*self.network.parameters()]
        self.followed: list[Tensor] = [*followed.parameters()]
        self.decay, self.steps = decay, steps_before

    @torch.no_grad()
    def follow(self) -> None:
        """Update after a step: keep `decay` of the average and take the rest from the new weights.

        The first steps keep less, (1 + n) / (10 + n) after n of them, so that the random first weights are
        soon forgotten (TensorFlow's rule).
        """
        kept = min(self.decay, (1 + self.steps) / (10 + self.steps))
        torch._foreach_lerp_(self.weights, self.followed, 1 - kept)
        self.steps += 1

    @torch.no_grad()
    def measure_statistics(self, batches: Iterable[Tensor]) -> None:
        """Set the batch norms' statistics to their means over some batches of planes [B, C, H, W].

        The statistics of the training weights, averaged or not, do not fit: a layer's inputs depend on all
        the weights before it (Izmailov et al. 2018).
        """
        norms = [module for module in self.network.modules() if isinstance(module, nn.BatchNorm2d)]
        before = [norm.momentum for norm in norms]
        for count, planes in enumerate(batches, 1):
            for norm in norms:
                norm.momentum = 1 / count
            self.network(planes)
        for norm, momentum in zip(norms, before, strict=True):
            norm.momentum = momentum
