"""The random numbers of compiled kernels: splitmix64 over a counter.

A stream is an array uint64 [2] = (seed, counter), so there is no global state. The same seed gives the same
numbers on every machine and thread.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from azero.kernels.compiled import kernel

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
MIX_ONE = np.uint64(0xBF58476D1CE4E5B9)
MIX_TWO = np.uint64(0x94D049BB133111EB)
ONE = np.uint64(1)


@njit(cache=True, nogil=True)
def uint64_at(seed: np.uint64, counter: np.uint64) -> np.uint64:
    """Return the 64 random bits of a stream at a counter, 1 for the first."""
    mixed = seed + counter * GOLDEN
    mixed = (mixed ^ (mixed >> np.uint64(30))) * MIX_ONE
    mixed = (mixed ^ (mixed >> np.uint64(27))) * MIX_TWO
    return mixed ^ (mixed >> np.uint64(31))


@njit(cache=True, nogil=True)
def unit_float(bits: np.uint64) -> float:
    """Return a number in [0, 1) of 53 of 64 random bits."""
    return np.float64(bits >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@njit(cache=True, nogil=True)
def next_uint64(stream: np.ndarray) -> np.uint64:
    """Return the next 64 random bits of ``stream`` (uint64 [2] = seed, counter) and advance its counter."""
    stream[1] += ONE
    return uint64_at(stream[0], stream[1])


@njit(cache=True, nogil=True)
def next_float(stream: np.ndarray) -> float:
    """Return the next number of ``stream``, uniform in [0, 1)."""
    return unit_float(next_uint64(stream))


@njit(cache=True, nogil=True)
def next_below(stream: np.ndarray, n: int) -> int:
    """Return the next number of ``stream``, uniform over 0 .. n - 1, for n in 1 .. 2**31 - 1.

    The bias is below n / 2**32.
    """
    high = next_uint64(stream) >> np.uint64(32)
    return int(np.int64((high * np.uint64(n)) >> np.uint64(32)))


@kernel
def next_normal(stream: np.ndarray) -> float:
    """Return a standard normal number (Box and Muller 1958)."""
    radius = math.sqrt(-2.0 * math.log(1.0 - next_float(stream)))
    return radius * math.cos(2.0 * math.pi * next_float(stream))


@kernel
def next_gamma(stream: np.ndarray, shape: float) -> float:
    """Return a gamma number of scale 1 (Marsaglia and Tsang 2000).

    For shape < 1 it uses their boost u ** (1 / shape).
    """
    boost = 1.0
    if shape < 1.0:
        boost = (1.0 - next_float(stream)) ** (1.0 / shape)
        shape += 1.0
    d = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        x = next_normal(stream)
        v = (1.0 + c * x) ** 3
        if v > 0.0 and math.log(1.0 - next_float(stream)) < 0.5 * x * x + d - d * v + d * math.log(v):
            return boost * d * v


def new_stream(seed: int) -> np.ndarray:
    """Return a stream uint64 [2] that starts at ``seed``, an integer taken modulo 2**64."""
    return np.array([seed & 0xFFFFFFFFFFFFFFFF, 0], dtype=np.uint64)
