"""Time limits: work is done in short slices, and the clock is read between them.

Compiled code cannot read the clock. A slice is as much work as fits into a few milliseconds at the rate so
far.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

SLICE_SECONDS = 0.002  # short compared with any sensible limit, long compared with a call from Python
GROWTH = 8  # most growth of the work from one slice to the next


def slices(seconds: float) -> Iterator[int]:
    """Yield the number of units of work to do next, until the rest of `seconds` is too short for one more.

    The first slice is always one unit.
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
