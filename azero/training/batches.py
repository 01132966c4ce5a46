"""All examples as tensors on the training device, and batches of them, turned by random symmetries.

Letters: N examples, B a batch, A actions, C H W planes, K symmetries.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from azero.games.game import Game
from azero.games.inputs import encode
from azero.replay.examples import Examples, symmetry_sources

ENCODE_ROWS = 65_536  # rows encoded at a time


class Batch(NamedTuple):
    """B training rows.

    Attributes:
        planes: [B, C, H, W] float32.
        legal_mask: [B, A] bool.
        policy_target: [B, A] float32.
        value_target: [B] float32, for the player to move.
        draw_target: [B] float32, the share of draws.
        occupation: [B, H * W] float32, see `Examples`; [B, 0] if nothing learns it.
    """

    planes: Tensor
    legal_mask: Tensor
    policy_target: Tensor
    value_target: Tensor
    draw_target: Tensor
    occupation: Tensor

    def each(self, change: Callable[[Tensor], Tensor]) -> Batch:
        """Return the batch with every tensor changed by one function."""
        return Batch(*map(change, self))


class TrainingData(NamedTuple):
    """All examples as tensors on the training device.

    Attributes:
        rows: the N examples; their planes are [N, C * H * W], uint8 if they hold small whole numbers only,
            else float32.
        plane_sources: [K, C * H * W] int64; symmetry k puts element `plane_sources[k, i]` in place i.
        action_sources: [K, A] int64, likewise.
        cell_sources: [K, H * W] int64, likewise.
    """

    rows: Batch
    plane_sources: Tensor
    action_sources: Tensor
    cell_sources: Tensor


def load_data(examples: Examples, game: Game, device: str) -> TrainingData:
    """Encode all examples once and put them on the device."""
    cells, actions = symmetry_sources(game)
    offsets = np.arange(game.planes_shape[0])[None, :, None] * cells.shape[1]
    plane_sources = (cells[:, None, :] + offsets).reshape(len(cells), -1)
    targets = (torch.from_numpy(np.ascontiguousarray(target, np.float32)) for target in examples[1:])
    rows = Batch(*encode_all(game, examples.states), *targets)
    return TrainingData(
        rows.each(lambda column: column.to(device)),
        to_device(plane_sources, device),
        to_device(actions, device),
        to_device(cells, device),
    )


def encode_all(game: Game, states: np.ndarray) -> tuple[Tensor, Tensor]:
    """Return planes [N, C * H * W] and legal masks [N, A] of all states, encoded a part at a time.

    Planes are bytes as long as they hold whole numbers up to 255: a quarter of the memory, and the same
    values.
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


def to_device(array: np.ndarray, device: str) -> Tensor:
    """Return numbers of examples, symmetries or places as an int64 tensor on the device."""
    return torch.from_numpy(np.ascontiguousarray(array, np.int64)).to(device)


def draw_batch(data: TrainingData, game: Game, numbers: Tensor, symmetries: Tensor | None) -> Batch:
    """Return the examples of those numbers [B], each turned by its symmetry [B]; None turns none."""
    batch = data.rows.each(lambda column: column.index_select(0, numbers))
    if symmetries is not None:
        plane_sources = data.plane_sources.index_select(0, symmetries)
        action_sources = data.action_sources.index_select(0, symmetries)
        batch = batch._replace(
            planes=batch.planes.gather(1, plane_sources),
            legal_mask=batch.legal_mask.gather(1, action_sources),
            policy_target=batch.policy_target.gather(1, action_sources),
        )
        if batch.occupation.shape[1]:
            cell_sources = data.cell_sources.index_select(0, symmetries)
            batch = batch._replace(occupation=batch.occupation.gather(1, cell_sources))
    planes = batch.planes.view(-1, *game.planes_shape)
    return batch._replace(planes=planes.to(torch.float32, memory_format=torch.channels_last))
