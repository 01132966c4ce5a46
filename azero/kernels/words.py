"""Rows of words in compiled code, such as states and keys."""

from __future__ import annotations

import numpy as np

from azero.kernels.compiled import part


@part
def copy_words(source: np.ndarray, target: np.ndarray) -> None:
    """Write `source` into `target`, [W] each. Numba's assignment of rows takes seconds to compile."""
    for word in range(target.shape[0]):
        target[word] = source[word]


@part
def same_words(one: np.ndarray, other: np.ndarray) -> bool:
    """Return whether two rows [W] are equal."""
    same = True
    for word in range(other.shape[0]):
        same &= one[word] == other[word]
    return same
