"""All examples as tensors on the training device, and batches of them, turned by random symmetries.

Letters: N examples, B a batch, A actions, C H W planes.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from azero.examples import Examples, encode, symmetry_sources
from azero.games.game import Game

ENCODE_ROWS = 65_536  # encoded at a time


class TrainingData(NamedTuple):
    """All examples as tensors on the training device.

    Attributes:
        planes: [N, C * H * W] uint8 where planes hold small whole numbers only, else float32.
        policy_target: [N, A] float32.
        value_target: [N] float32, for the player to move.
        draw_target: [N] float32, likewise.
        reply_target: [N, A] float32, or [N, 0].
        legal_mask: [N, A] bool, True = legal.
        plane_sources: [symmetries, C * H * W] int64; symmetry k puts element `plane_sources[k, i]` in place i.
        action_sources: [symmetries, A] int64, likewise.
    """

    planes: Tensor
    policy_target: Tensor
    value_target: Tensor
    draw_target: Tensor
    reply_target: Tensor
    legal_mask: Tensor
    plane_sources: Tensor
    action_sources: Tensor


class Batch(NamedTuple):
    """B training rows: planes [B, C, H, W] float32, legal_mask [B, A] and the targets as in `Examples`."""

    planes: Tensor
    policy_target: Tensor
    value_target: Tensor
    draw_target: Tensor
    reply_target: Tensor
    legal_mask: Tensor


def load_data(examples: Examples, game: Game, device: str) -> TrainingData:
    """Encode all examples once and put them on the device."""
    cells, actions = symmetry_sources(game)
    offsets = np.arange(game.planes_shape[0])[None, :, None] * cells.shape[1]
    plane_sources = (cells[:, None, :] + offsets).reshape(len(cells), -1)
    planes, legal_mask = encode_all(game, examples.states)
    policy_target, value_target, draw_target, reply_target = (
        torch.from_numpy(np.ascontiguousarray(targets, np.float32)).to(device) for targets in examples[1:]
    )
    return TrainingData(
        planes.to(device),
        policy_target,
        value_target,
        draw_target,
        reply_target,
        legal_mask.to(device),
        torch.from_numpy(np.ascontiguousarray(plane_sources, np.int64)).to(device),
        torch.from_numpy(np.ascontiguousarray(actions, np.int64)).to(device),
    )


def encode_all(game: Game, states: np.ndarray) -> tuple[Tensor, Tensor]:
    """Planes [N, C * H * W] and legal masks [N, A] of all examples, a part at a time.

    Planes are bytes as long as they hold whole numbers up to 255: a quarter of the memory, and the same values.
    """
    planes = torch.empty(len(states), math.prod(game.planes_shape), dtype=torch.uint8)
    legal_mask = torch.empty(len(states), game.num_actions, dtype=torch.bool)
    for start in range(0, len(states), ENCODE_ROWS):
        part, mask = encode(game, states[start : start + ENCODE_ROWS])
        exact = torch.from_numpy(part).flatten(1)
        if planes.dtype == torch.uint8 and not torch.equal(exact, exact.clamp(0, 255).byte().float()):
            planes = planes.float()
        planes[start : start + len(part)] = exact
        legal_mask[start : start + len(part)] = torch.from_numpy(mask)
    return planes, legal_mask


def to_device(array: np.ndarray | None, device: str) -> Tensor | None:
    """Numbers of examples or symmetries as a tensor on the device."""
    return None if array is None else torch.from_numpy(np.ascontiguousarray(array, np.int64)).to(device)


def draw_batch(data: TrainingData, game: Game, rows: Tensor | None, which: Tensor | None) -> Batch:
    """The examples of those numbers [B], each turned by its symmetry `which` [B]; None turns none."""
    assert rows is not None
    planes = data.planes.index_select(0, rows)
    columns = (data.policy_target, data.reply_target, data.legal_mask)
    policy_target, reply_target, legal_mask = (column.index_select(0, rows) for column in columns)
    if which is not None:
        action_sources = data.action_sources.index_select(0, which)
        planes = planes.gather(1, data.plane_sources.index_select(0, which))
        policy_target, legal_mask = policy_target.gather(1, action_sources), legal_mask.gather(1, action_sources)
        reply_target = reply_target.gather(1, action_sources[:, : reply_target.shape[1]])
    shaped = planes.view(-1, *game.planes_shape).to(torch.float32, memory_format=torch.channels_last)
    value_target, draw_target = (targets.index_select(0, rows) for targets in (data.value_target, data.draw_target))
    return Batch(shaped, policy_target, value_target, draw_target, reply_target, legal_mask)
