"""Wait for a state: a test never counts on how long something takes."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

PATIENCE = 240.0  # seconds, fewer than a test may take


def wait_for(look: Callable[[], Any], wanted: Callable[[Any], Any] = bool) -> Any:
    """Return what `look` returns as soon as that is wanted; the longer it takes, the less often it looks."""
    begin = time.monotonic()
    while not wanted(found := look()):
        taken = time.monotonic() - begin
        assert taken < PATIENCE, f"still {found}"
        time.sleep(min(0.01 + taken / 20, 0.1))
    return found
