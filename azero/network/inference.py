"""What all backends have in common: planes in, policy logits and values out, in batches of few shapes.

Letters: B the batch, A actions, C H W planes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from azero.config.checks import check_values
from azero.config.schema import Config, UserError

LARGEST_VALUE = 1.005  # half a percent beyond 1 is rounding


class Inference(Protocol):
    """A network behind one backend, for at most B positions at once. Safe to call from several threads."""

    batch_size: int

    def infer(self, planes: np.ndarray, rows: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Evaluate a batch.

        A backend with `gathers` takes moves [at least rows, M] int32 besides, and its logits are those of
        these actions [at least rows, M]. A game with many actions then sends few logits from a GPU.

        Args:
            planes: [B, C, H, W] float32, C-contiguous, from the view of the player to move. Instead of B it
                may have another size of the choice's `batches`.
            rows: evaluate the first `rows` positions only, which may take less time; None: all.

        Returns:
            Policy logits [at least rows, A] float32 and value [as many] float32 in [-1, 1], for the player to
            move; new arrays. Rows beyond `rows` have no meaning.
        """
        ...


@dataclass(frozen=True)
class InferenceChoice:
    """How a run computes its network. Measured once and kept, so that timing never changes games.

    Attributes:
        backend: "torch" or "openvino".
        precision: "fp32", "fp16", "bf16" or "int8".
        batch_size: B, the largest batch.
        device: "cpu", "cuda" or "mps".
        evaluations_per_second: measured with one thread.
        rows_independent: whether a position's answer was bit-equal in every place of the batch. If not, games
            depend on which worker plays them.
        batches: the sizes of batches, rising, the last one B. In all of them a position's answer was
            bit-equal, so a batch with few rows costs less and changes nothing. Empty means (B,).
    """

    backend: str
    precision: str
    batch_size: int
    device: str
    evaluations_per_second: float
    rows_independent: bool = True
    batches: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        """Make `batches` a tuple that ends at B: JSON has lists, and B may have been made smaller."""
        smaller = (size for size in self.batches if size < self.batch_size)
        object.__setattr__(self, "batches", (*smaller, self.batch_size))


def check_answers(inference: Inference, logits: np.ndarray, values: np.ndarray) -> None:
    """Raise UserError unless logits [R, A] are finite and values [R] lie in [-1, 1].

    A search that believed more would write games that nothing reads.
    """
    if not (np.isfinite(logits).all() and (np.abs(values) <= LARGEST_VALUE).all()):  # NaN is not <= either
        raise bad_answers(getattr(inference, "title", "network"))


def bad_answers(title: str) -> UserError:
    """Return the error of a network that answers what is no logit, or no value."""
    return UserError(
        f"the {title} answered NaN, infinity or a value beyond 1, and nothing of it was kept; try "
        "inference.backend=torch inference.precision=fp32, and if that does not help, a network of an "
        "earlier cycle."
    )


def gathers(inference: Inference) -> bool:
    """Return whether the backend returns the logits of legal moves only; see `Inference.infer`."""
    return getattr(inference, "gathers", False)


def fitting(batches: tuple[int, ...], rows: int | None) -> int:
    """Return the smallest batch with room for that many rows; None: the largest batch."""
    return batches[-1] if rows is None else next(size for size in batches if size >= rows)


def check_batch(planes: np.ndarray, batches: tuple[int, ...], shape: tuple[int, ...]) -> None:
    """Raise ValueError unless planes are float32 of shape [C, H, W] and fill one of the batches."""
    if planes.shape[1:] != shape or len(planes) not in batches or planes.dtype != np.float32:
        sizes = " or ".join(str(size) for size in batches)
        raise ValueError(
            f"infer needs {sizes} float32 planes of shape {shape}, not {planes.dtype} of shape {planes.shape}"
        )


def resolve_device(device: str) -> str:
    """Return "cpu", "cuda" or "mps" for the setting `device`; "auto" is an NVIDIA GPU if there is one.

    "mps", the GPU of an Apple chip, was never tried, so "auto" does not take it.

    Raises:
        UserError: the setting has another value, or torch finds no such GPU.
    """
    check_values({"device": device})
    import torch  # here, because most matches need none

    if device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cuda" and not torch.cuda.is_available():
        raise UserError(
            "device=cuda, but torch finds no GPU here; "
            "set device=cpu or device=auto, or install torch with CUDA."
        )
    if device == "mps" and not torch.backends.mps.is_available():
        raise UserError("device=mps needs the GPU of an Apple chip; set device=cpu or device=auto.")
    return device


def device_for(config: Config) -> str:
    """Return the device that computes the network on leaves: "cpu", "cuda" or "mps".

    With OpenVINO or int8, `device=auto` means the CPU.

    Raises:
        UserError: a GPU is asked for and there is none.
    """
    openvino = config.inference.backend == "openvino" or config.inference.precision == "int8"
    return "cpu" if openvino and config.device == "auto" else resolve_device(config.device)
