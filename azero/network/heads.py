"""Heads used in training only. Each is one record: module, loss and weight.

They make the layers below learn more from the same searches (KataGo: Wu 2019, and its methods document).
Inference leaves them out. To add a head, add a record to HEADS and, for its users, a switch to
`NetworkConfig` and a weight to `TrainConfig`.

Letters: B a batch, A actions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor, nn
from torch.nn import functional

from azero.config.schema import NetworkConfig, TrainConfig
from azero.network.blocks import make_head


@dataclass(frozen=True)
class TrainingHead:
    """A head used in training only.

    Attributes:
        name: names its output and its stat `loss/<name>`.
        module_name: the attribute of `Network` that holds its module, and so the prefix of its weights in
            files.
        is_on: whether a network of these settings has the head.
        weight: of its loss.
        build: makes its module from the network's settings, the shape of its planes and A.
        loss: maps the output (float32), the policy target and the legal mask, each [B, A], and the settings
            to a scalar.
    """

    name: str
    module_name: str
    is_on: Callable[[NetworkConfig], bool]
    weight: Callable[[TrainConfig], float]
    build: Callable[[NetworkConfig, tuple[int, int, int], int], nn.Module]
    loss: Callable[[Tensor, Tensor, Tensor, TrainConfig], Tensor]


def soft_policy_loss(
    output: Tensor, policy_target: Tensor, legal_mask: Tensor, config: TrainConfig
) -> Tensor:
    """Return the cross-entropy with the softened policy target, over legal moves with `mask_illegal`."""
    masked = output.masked_fill(~legal_mask, -1e9) if config.mask_illegal else output
    return functional.cross_entropy(masked, softened(policy_target, config.soft_policy_temperature))


def softened(policy_target: Tensor, temperature: float) -> Tensor:
    """Return the policy target [B, A] to the power 1 / temperature, over its sum. Unvisited moves stay 0."""
    powers = policy_target ** (1 / temperature)
    return powers / powers.sum(1, keepdim=True)


HEADS = (
    TrainingHead(
        name="soft_policy",
        module_name="soft_head",
        is_on=lambda config: config.soft_policy,
        weight=lambda config: config.soft_policy_weight,
        build=make_head,
        loss=soft_policy_loss,
    ),
)


def heads_of(config: NetworkConfig) -> list[TrainingHead]:
    """Return the training heads of a network of these settings."""
    return [head for head in HEADS if head.is_on(config)]
