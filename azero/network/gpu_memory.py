"""What to do when a GPU has too little memory for a batch: compute it in parts, and remember their size."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import TypeVar

import torch

from azero.config.schema import UserError

MARKS = ("out of memory", "can't allocate memory", "ALLOC_FAILED")  # of CUDA, torch's CPU, cuBLAS and cuDNN
# By work, "inference" or "training": the most rows at once, if a batch did not fit; until the process ends
MOST_ROWS: dict[str, int] = {}
LOCK = threading.Lock()

Result = TypeVar("Result")


def within_memory(work: str, rows: int, compute: Callable[[int], Result]) -> Result:
    """Return `compute(most)`, where `most` is how many of the rows to compute at once.

    It is halved as long as memory is short, and reported and remembered when it was enough; but not while a
    CUDA graph is recorded.

    Raises:
        UserError: the memory is too small for one row.
    """
    most = first = min(rows, MOST_ROWS.get(work, rows))
    if torch.cuda.is_initialized() and torch.cuda.is_current_stream_capturing():
        return compute(most)  # an attempt that fails would be part of the graph
    while True:
        try:
            result = compute(most)
            break
        except RuntimeError as error:
            if not is_out_of_memory(error):
                raise
            if most == 1:
                raise UserError(
                    f"{work} needs more memory than there is, even for one position at a time; close other "
                    "programs that use the GPU, set device=cpu, or make the network smaller."
                ) from error
        most //= 2  # out here the error is gone, and with it the tensors of the attempt
    if most < first:
        remember(work, rows, most)
    return result


def remember(work: str, rows: int, most: int) -> None:
    """Remember the most rows at once and report it, unless another thread has done so."""
    with LOCK:
        if most < MOST_ROWS.get(work, rows):
            MOST_ROWS[work] = most
            text = f"azero: {work} had too little memory for {rows} positions at once; it now takes {most}."
            print(text, file=sys.stderr, flush=True)


def is_out_of_memory(error: BaseException | None) -> bool:
    """Return whether memory was short, also where that error led to another one, as in a CUDA graph."""
    if error is None or isinstance(error, torch.OutOfMemoryError):
        return error is not None
    return any(mark in str(error) for mark in MARKS) or is_out_of_memory(error.__context__)
