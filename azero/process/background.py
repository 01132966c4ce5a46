"""Work in a thread that never keeps the process alive."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")


def in_background(work: Callable[[], T]) -> Future[T]:
    """Return what will hold the result of `work`, or what it raises."""
    outcome: Future[T] = Future()

    def compute() -> None:
        if not outcome.set_running_or_notify_cancel():
            return
        try:
            outcome.set_result(work())
        except BaseException as failure:
            outcome.set_exception(failure)

    threading.Thread(target=compute, daemon=True).start()
    return outcome
