"""Wait for a state: a test never counts on how long something takes."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

PATIENCE = 240.0  # seconds, fewer than a test may take


def wait_for(look: Callable[[], Any], wanted: Callable[[Any], Any] = bool) -> Any:
    """Return what `look` returns as soon as that is wanted."""
    end = time.monotonic() + PATIENCE
    while not wanted(found := look()):
        assert time.monotonic() < end, f"still {found}"
        time.sleep(0.01)
    return found
