"""What training makes small, and the figures told beside it.

Letters: B a batch, A actions.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from azero.config import TrainConfig
from azero.learning.batches import Batch
from azero.network.model import Outputs


def policy_loss_of(output: Tensor, batch: Batch, config: TrainConfig, linear: bool) -> tuple[Tensor, Tensor]:
    """The policy head's loss, a scalar, and the log-probabilities [B, A] that it means, for figures.

    `mask_illegal` takes illegal moves out of the softmax; of a linear output it takes their errors out of the squared error. The
    squared error is the mean over batch and actions, as Keras has it.

    Args:
        output: [B, A] float32 of the network.
        batch: the targets.
        config: `policy_loss` and `mask_illegal`.
        linear: whether the output is no logits but the move weights themselves.
    """
    masked = output.masked_fill(~batch.legal_mask, 0.0 if linear else -1e9) if config.mask_illegal else output
    if linear:
        log_policy = masked.detach().clamp_min(1e-6).log().log_softmax(1)
        return functional.mse_loss(masked, batch.policy_target), log_policy
    log_policy = masked.log_softmax(1)
    if config.policy_loss == "mse":
        return functional.mse_loss(log_policy.exp(), batch.policy_target), log_policy.detach()
    return -(batch.policy_target * log_policy).sum(1).mean(), log_policy.detach()


def value_loss_of(value_output: Tensor, value: Tensor, batch: Batch) -> Tensor:
    """The value head's loss, a scalar: the squared error of a scalar value, or the cross-entropy of win, draw and loss.

    Args:
        value_output: [B, 1] or [B, 3] float32 of the network.
        value: [B] float32, `value_of` that.
        batch: the targets.
    """
    if value_output.shape[1] == 1:
        return functional.mse_loss(value, batch.value_target)
    return functional.cross_entropy(value_output, outcome_shares(batch.value_target, batch.draw_target))


def outcome_shares(value_target: Tensor, draw_target: Tensor) -> Tensor:
    """[B, 3]: how often games like these are won, drawn and lost, from their mean value and the share of draws, both [B].

    Won and lost games share what is not drawn, and their difference is the value.
    """
    decided = 1 - draw_target
    return torch.stack([(decided + value_target) / 2, draw_target, (decided - value_target) / 2], dim=1)


def auxiliary_loss_of(outputs: Outputs, batch: Batch, config: TrainConfig) -> Tensor | float:
    """The weighted cross-entropies of the heads that are there for training only; 0.0 without such heads.

    They make the layers below learn more from the same searches (KataGo: Wu 2019, and its later methods).
    """
    loss: Tensor | float = 0.0
    if outputs.soft is not None:
        target = softened(batch.policy_target, config.soft_policy_temperature)
        logits = outputs.soft.float()
        masked = logits.masked_fill(~batch.legal_mask, -1e9) if config.mask_illegal else logits
        loss = loss + config.soft_policy_weight * functional.cross_entropy(masked, target)
    if outputs.reply is not None and batch.reply_target.shape[1]:
        loss = loss + config.opponent_reply_weight * functional.cross_entropy(outputs.reply.float(), batch.reply_target)
    return loss


def softened(policy_target: Tensor, temperature: float) -> Tensor:
    """[B, A]: the policy target to the power 1 / temperature, over its sum; what was never visited stays 0."""
    powers = policy_target ** (1 / temperature)
    return powers / powers.sum(1, keepdim=True)


@torch.no_grad()
def figures_of(batch: Batch, log_policy: Tensor, value: Tensor) -> Tensor:
    """[4]: mean entropy of policy and of target, share of rows whose best moves agree, mean error of the value."""
    policy_entropy = -(log_policy.exp() * log_policy).sum(1).mean()
    target_entropy = torch.special.entr(batch.policy_target).sum(1).mean()
    agreement = (log_policy.argmax(1) == batch.policy_target.argmax(1)).float().mean()
    return torch.stack([policy_entropy, target_entropy, agreement, (value - batch.value_target).abs().mean()])
