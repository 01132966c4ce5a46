"""Work in threads, beside the server's event loop."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import threading
from collections.abc import Callable
from typing import TypeVar

from azero.process.background import in_background

NICE = 10  # a run that trains goes before the studio's searches
T = TypeVar("T")


async def in_thread(work: Callable[[], T], low: bool = True) -> T:
    """Return what `work` returns, computed in a thread that never keeps the process alive.

    low: at low priority, which all threads and processes that `work` starts inherit.
    """

    def run() -> T:
        if low and sys.platform == "linux":  # use what other programs leave of the cores
            this = os.PRIO_PROCESS, threading.get_native_id()
            os.setpriority(*this, max(NICE, os.getpriority(*this)))  # none may have a higher one than before
        return work()

    return await asyncio.wrap_future(in_background(run))


def call_in(loop: asyncio.AbstractEventLoop, call: Callable[..., object], *args: object) -> None:
    """Let a loop call this soon, from any thread. After the studio's end, which threads outlive, nothing."""
    with contextlib.suppress(RuntimeError):  # the loop is closed
        loop.call_soon_threadsafe(call, *args)
