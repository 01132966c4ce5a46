"""All examples as tensors on the training device, and batches of them, turned by random symmetries.

Letters: N examples, B a batch, A actions, M legal moves and L pairs of a policy target at most, C H W planes,
K symmetries.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from azero.games.game import Game
from azero.games.inputs import moves_of, planes_of
from azero.replay.examples import Examples, cell_sources, narrow

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


class Rows(NamedTuple):
    """N examples as they lie on the device: moves instead of rows of all actions.

    Attributes:
        planes: [N, H * W * C], uint8 if they hold small whole numbers only, else float32. Channels are last,
            as in a batch's memory.
        moves: [N, M + L] uint8, int16 or int32, the legal moves, filled up with legal moves, then those of
            the policy target, filled up with zeros.
        weights: [N, L] float32, of the policy target, filled up with zeros.

    The others are those of `Batch`.
    """

    planes: Tensor
    moves: Tensor
    weights: Tensor
    value_target: Tensor
    draw_target: Tensor
    occupation: Tensor

    def each(self, change: Callable[[Tensor], Tensor]) -> Rows:
        """Return the rows with every tensor changed by one function."""
        return Rows(*map(change, self))


class TrainingData(NamedTuple):
    """All examples as tensors on the training device.

    Attributes:
        rows: the N examples.
        plane_sources: [K, H * W * C] int64; symmetry k puts element `plane_sources[k, i]` in place i.
        cell_sources: [K, H * W] int64, likewise.
        action_symmetries: [K * A] int64; symmetry k maps action a to `action_symmetries[k * A + a]`.
    """

    rows: Rows
    plane_sources: Tensor
    cell_sources: Tensor
    action_symmetries: Tensor


def load_data(examples: Examples, game: Game, device: str) -> TrainingData:
    """Encode all examples once and put them on the device."""
    cells, channels = cell_sources(game), game.planes_shape[0]
    plane_sources = (cells[:, :, None] * channels + np.arange(channels)).reshape(len(cells), -1)
    columns = map(torch.from_numpy, map(np.ascontiguousarray, (encode_moves(game, examples), *examples[2:])))
    rows = Rows(encode_planes(game, examples.states), *columns)
    tables = (plane_sources, cells, game.action_symmetries.ravel())
    return TrainingData(
        rows.each(lambda column: column.to(device)), *(to_device(table, device) for table in tables)
    )


def encode_planes(game: Game, states: np.ndarray) -> Tensor:
    """Return the planes of all states, [N, H * W * C], encoded a part at a time.

    They are bytes as long as they hold whole numbers up to 255: a quarter of the memory, and the same values.
    """
    channels, *board = game.planes_shape
    planes = torch.empty(len(states), *board, channels, dtype=torch.uint8)
    for start in range(0, len(states), ENCODE_ROWS):
        part = torch.from_numpy(planes_of(game, states[start : start + ENCODE_ROWS]))
        if planes.dtype == torch.uint8 and not torch.equal(part, part.clamp(0, 255).byte().float()):
            planes = planes.float()
        for channel in range(channels):  # twice as fast as all of them at once
            planes[start : start + len(part), ..., channel] = part[:, channel]
    return planes.flatten(1)


def encode_moves(game: Game, examples: Examples) -> np.ndarray:
    """Return the moves of `Rows`, [N, M + L]. Each position lists its legal moves once."""
    kind = narrow(game.num_actions - 1)
    parts = [(counts, listed.astype(kind)) for counts, listed in moves_of(game, examples.states)]
    most = max((int(counts.max()) for counts, _ in parts), default=0)
    moves, done = np.empty((len(examples.states), most + examples.target_actions.shape[1]), kind), 0
    moves[:, most:] = examples.target_actions
    for counts, listed in parts:
        rows = moves[done : done + len(counts), :most]
        rows[:] = np.append(listed, kind(0))[np.cumsum(counts) - counts, None]
        rows[np.arange(most) < counts[:, None]] = listed
        done += len(counts)
    return moves


def to_device(array: np.ndarray, device: str) -> Tensor:
    """Return numbers of examples, symmetries or places as an int64 tensor on the device."""
    return torch.from_numpy(np.ascontiguousarray(array, np.int64)).to(device)


def batch_of(data: TrainingData, game: Game, numbers: np.ndarray, symmetries: np.ndarray | None) -> Batch:
    """Do as `draw_batch`, with numbers and symmetries that are not on the device yet."""
    device = data.plane_sources.device.type
    turns = None if symmetries is None else to_device(symmetries, device)
    return draw_batch(data, game, to_device(numbers, device), turns)


def draw_batch(data: TrainingData, game: Game, numbers: Tensor, symmetries: Tensor | None) -> Batch:
    """Return the examples of those numbers [B], each turned by its symmetry [B]; None turns none."""
    rows = data.rows.each(lambda column: column.index_select(0, numbers))
    planes, moves, occupation = rows.planes, rows.moves.long(), rows.occupation
    if symmetries is not None:
        planes = planes.gather(1, data.plane_sources.index_select(0, symmetries))
        places = moves + (symmetries * game.num_actions)[:, None]
        moves = data.action_symmetries.index_select(0, places.view(-1)).view(moves.shape)
        if occupation.shape[1]:
            occupation = occupation.gather(1, data.cell_sources.index_select(0, symmetries))
    legal, searched = moves.tensor_split([moves.shape[1] - rows.weights.shape[1]], dim=1)
    shape, (channels, *board) = (len(moves), game.num_actions), game.planes_shape
    legal_mask = torch.zeros(shape, dtype=torch.bool, device=moves.device)
    policy_target = torch.zeros(shape, device=moves.device)
    return Batch(
        planes=planes.view(-1, *board, channels).permute(0, 3, 1, 2).float(),
        # `scatter_` of one number takes several times as long
        legal_mask=legal_mask.scatter_(1, legal, torch.ones_like(legal, dtype=torch.bool)),
        # added, because zeros fill up a row: in any order the sum is the same
        policy_target=policy_target.scatter_add_(1, searched, rows.weights),
        value_target=rows.value_target,
        draw_target=rows.draw_target,
        occupation=occupation,
    )
