"""Keeping a time limit: work is done in short slices, and the clock is read between them.

Compiled code cannot read the clock, so a slice is as many units of work as fit, by the rate so far, into a few milliseconds.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

SLICE_SECONDS = 0.002  # short beside any sensible limit, long beside the cost of a call from Python
GROWTH = 8  # a slice is at most so many times as much work as the one before


def slices(seconds: float) -> Iterator[int]:
    """Yield how many units of work to do next, until `seconds` are over or too short for one more.

    The first slice is one unit, whatever it costs.
    """
    begin = before = time.perf_counter()
    units = 1
    while True:
        yield units
        now = time.perf_counter()
        left = begin + seconds - now
        each = max(now - before, 1e-9) / units
        if left < each:
            return
        units = max(1, min(units * GROWTH, int(min(SLICE_SECONDS, left) / each)))
        before = now
