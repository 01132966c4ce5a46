"""What every way to compute a network has in common: planes in, policy logits and values out, batches of one fixed shape.

Letters: B the batch, A actions, C H W planes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch

from azero.config import UserError


class Inference(Protocol):
    """Planes in, policy logits and values out, always B positions at once. Safe to call from several threads."""

    batch_size: int

    def infer(self, planes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Evaluate a batch.

        Args:
            planes: [B, C, H, W] float32, C-contiguous, from the view of the player to move.

        Returns:
            policy logits [B, A] float32 and value [B] float32 in [-1, 1], for the player to move; new arrays.
        """
        ...


@dataclass(frozen=True)
class InferenceChoice:
    """How a run computes its network; measured once and kept with the run, so that timing noise never changes games.

    Attributes:
        backend: "torch" or "openvino".
        precision: "fp32" or "bf16".
        batch_size: B, the fixed batch.
        device: "cpu" or "cuda".
        evaluations_per_second: what was measured, by one thread.
        rows_independent: whether a position's answer was bit-equal in every place of the batch. Without that, games depend on
            which lane plays them.
    """

    backend: str
    precision: str
    batch_size: int
    device: str
    evaluations_per_second: float
    rows_independent: bool = True


def check_batch(planes: np.ndarray, shape: tuple[int, ...]) -> None:
    """Raises ValueError unless planes are float32 of exactly that shape."""
    if planes.shape != shape or planes.dtype != np.float32:
        raise ValueError(f"infer needs float32 planes of shape {shape}, not {planes.dtype} of shape {planes.shape}")


def resolve_device(device: str) -> str:
    """The device behind a wish: "auto" is the GPU if there is one.

    Raises:
        UserError: a GPU is asked for and torch finds none.
    """
    if device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cuda" and not torch.cuda.is_available():
        raise UserError("device=cuda, but torch finds no GPU here; set device=cpu or device=auto, or install torch with CUDA.")
    return device
