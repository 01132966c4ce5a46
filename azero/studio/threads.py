"""Work in threads, beside the server's event loop."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Callable
from typing import TypeVar

NICE = 10  # a run that trains goes before the studio's searches
T = TypeVar("T")


async def in_thread(work: Callable[[], T], low: bool = True) -> T:
    """Return what `work` returns, computed in a thread that never keeps the process alive.

    low: at low priority, which all threads and processes that `work` starts inherit.
    """
    loop = asyncio.get_running_loop()
    outcome: asyncio.Future[T] = loop.create_future()

    def settle(result: T | None, failure: BaseException | None) -> None:
        if outcome.done():
            return
        if failure is not None:
            outcome.set_exception(failure)
        else:
            outcome.set_result(result)  # type: ignore[arg-type]

    def run() -> None:
        result, failure = None, None
        try:
            if low:
                lower_priority()
            result = work()
        except BaseException as raised:
            failure = raised
        if not loop.is_closed():
            loop.call_soon_threadsafe(settle, result, failure)

    threading.Thread(target=run, daemon=True).start()
    return await outcome


def lower_priority() -> None:
    """Let this thread and those that it starts use what other programs leave of the cores, on Linux."""
    if sys.platform == "linux":
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICE)
