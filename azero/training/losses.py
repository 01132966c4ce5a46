"""What training minimises, and the stats beside it.

Letters: B a batch, A actions.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from azero.config.schema import TrainConfig
from azero.training.batches import Batch


def policy_loss_of(output: Tensor, batch: Batch, config: TrainConfig, linear: bool) -> tuple[Tensor, Tensor]:
    """Return the policy head's loss, a scalar, and its log-probabilities [B, A], for stats.

    `mask_illegal` removes illegal moves from the softmax; for a linear output it removes their errors from
    the squared error. The squared error is the mean over batch and actions, as in Keras.

    Args:
        output: [B, A] float32 of the network.
        batch: the targets.
        config: `policy_loss` and `mask_illegal`.
        linear: the output is move weights, not logits.
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
    """Return the value head's loss: squared error of a scalar, or cross-entropy of win, draw and loss.

    Args:
        value_output: [B, 1] or [B, 3] float32 of the network.
        value: [B] float32, `value_of` that.
        batch: the targets.
    """
    if value_output.shape[1] == 1:
        return functional.mse_loss(value, batch.value_target)
    return functional.cross_entropy(value_output, outcome_shares(batch.value_target, batch.draw_target))


def occupation_loss_of(output: Tensor, occupation: Tensor) -> Tensor:
    """Return the cross-entropy of the last position's pieces, the mean over batch and cells, a scalar.

    A cell's output is the logit of the mover's piece against the other player's; an empty cell is half of
    each.

    Args:
        output: [B, H * W] float32 of the network.
        occupation: [B, H * W] in [-1, 1]; see `Examples`.
    """
    return functional.binary_cross_entropy_with_logits(output, (1 + occupation) / 2)


def outcome_shares(value_target: Tensor, draw_target: Tensor) -> Tensor:
    """Return shares of wins, draws and losses [B, 3] from the mean value and the share of draws, both [B].

    Wins and losses together are what is not drawn, and their difference is the value.
    """
    decided = 1 - draw_target
    return torch.stack([(decided + value_target) / 2, draw_target, (decided - value_target) / 2], dim=1)


@torch.no_grad()
def stats_of(batch: Batch, log_policy: Tensor, value: Tensor) -> dict[str, Tensor]:
    """Return scalars by tag: entropies, how often policy and target agree, mean error of the value."""
    agreement = (log_policy.argmax(1) == batch.policy_target.argmax(1)).float().mean()
    return {
        "train/policy_entropy": -(log_policy.exp() * log_policy).sum(1).mean(),
        "train/target_entropy": torch.special.entr(batch.policy_target).sum(1).mean(),
        "train/policy_agreement": agreement,
        "train/value_error": (value - batch.value_target).abs().mean(),
    }
