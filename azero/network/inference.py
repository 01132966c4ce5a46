"""What every way to compute a network has in common: planes in, policy logits and values out, in batches of few shapes.

Letters: B the batch, A actions, C H W planes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch

from azero.config import UserError
from azero.config_checks import check_choice


class Inference(Protocol):
    """Planes in, policy logits and values out, at most B positions at once. Safe to call from several threads."""

    batch_size: int

    def infer(self, planes: np.ndarray, rows: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Evaluate a batch.

        Args:
            planes: [B, C, H, W] float32, C-contiguous, from the view of the player to move; of B, or of another of the choice's
                `batches`, which is then the size that is computed.
            rows: how many of them are asked for, the first ones; None for all. Fewer may take less time.

        Returns:
            policy logits [at least rows, A] float32 and value [as many] float32 in [-1, 1], for the player to move; new arrays.
            What stands behind the rows asked for means nothing.
        """
        ...


@dataclass(frozen=True)
class InferenceChoice:
    """How a run computes its network; measured once and kept with the run, so that timing noise never changes games.

    Attributes:
        backend: "torch" or "openvino".
        precision: "fp32", "bf16" or "int8".
        batch_size: B, the largest batch.
        device: "cpu" or "cuda".
        evaluations_per_second: what was measured, by one thread.
        rows_independent: whether a position's answer was bit-equal in every place of the batch. Without that, games depend on
            which lane plays them.
        batches: the sizes of batches that are computed, rising, the last one B; others only where a position's answer was
            bit-equal in all of them, so that a batch with few rows costs less and changes nothing. Empty stands for (B,).
    """

    backend: str
    precision: str
    batch_size: int
    device: str
    evaluations_per_second: float
    rows_independent: bool = True
    batches: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        """End `batches` at B, also where B was made smaller; JSON has lists in place of tuples."""
        smaller = (size for size in self.batches if size < self.batch_size)
        object.__setattr__(self, "batches", (*smaller, self.batch_size))


def fitting(batches: tuple[int, ...], rows: int | None) -> int:
    """The smallest batch with room for so many rows; the largest one for None."""
    return batches[-1] if rows is None else next(size for size in batches if size >= rows)


def check_batch(planes: np.ndarray, batches: tuple[int, ...], shape: tuple[int, ...]) -> None:
    """Raises ValueError unless planes are float32 of that shape [C, H, W], and as many as a batch has."""
    if planes.shape[1:] != shape or len(planes) not in batches or planes.dtype != np.float32:
        sizes = " or ".join(str(size) for size in batches)
        raise ValueError(f"infer needs {sizes} float32 planes of shape {shape}, not {planes.dtype} of shape {planes.shape}")


def resolve_device(device: str) -> str:
    """The device behind a wish: "auto" is the GPU if there is one.

    Raises:
        UserError: it is no such wish, or a GPU is asked for and torch finds none.
    """
    check_choice("device", device)
    if device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cuda" and not torch.cuda.is_available():
        raise UserError("device=cuda, but torch finds no GPU here; set device=cpu or device=auto, or install torch with CUDA.")
    return device
