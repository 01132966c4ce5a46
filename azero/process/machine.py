"""What this machine has."""

from __future__ import annotations

import math
import os
from pathlib import Path

QUOTA = Path("/sys/fs/cgroup/cpu.max")  # of a container: microseconds of work allowed in a period, or "max"


def cores() -> int:
    """Return the number of cores that this process may use: by its affinity and its container's quota."""
    seen = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        allowed, period = map(int, QUOTA.read_text().split())
    except (OSError, ValueError):
        return seen
    return max(1, min(seen, math.ceil(allowed / period)))
