"""Limits: work is done in short slices, and the clock is read between them.

Compiled code can neither read the clock nor be stopped. A slice is as much work as fits into a few
milliseconds at the rate so far.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator

SLICE_SECONDS = 0.002  # short compared with any sensible limit, long compared with a call from Python
GROWTH = 8  # most growth of the work from one slice to the next


def slices(most: int, seconds: float = math.inf, pause: Callable[[], bool] | None = None) -> Iterator[int]:
    """Yield the number of units of work to do next, `most` in total.

    It ends early when the rest of `seconds` is too short for one more unit, or when `pause`, which is called
    between two slices, returns True. The first slice is one unit; if nothing can end it early, it is all.
    """
    if math.isinf(seconds) and pause is None:
        yield most
        return
    begin = before = time.perf_counter()
    units = 1
    while most > 0:
        yield units
        most -= units
        now = time.perf_counter()
        left = begin + seconds - now
        each = max(now - before, 1e-9) / units
        if left < each or (pause is not None and pause()):
            return
        units = max(1, min(most, units * GROWTH, int(min(SLICE_SECONDS, left) / each)))
        before = time.perf_counter()
