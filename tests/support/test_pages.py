"""The helpers of tests in a browser: what has ended begins anew, and a wait gives up by itself."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pages
import pytest
from pages import Chromium

pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
pytestmark = pytest.mark.browser


def children(parent: int) -> set[int]:
    """Return the processes that a process has started and that have not ended."""
    tasks = Path("/proc", str(parent), "task").glob("*/children")
    return {int(word) for task in tasks for word in task.read_text().split()}


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs Linux's /proc")
@pytest.mark.parametrize("ended", ["driver", "browser"])
def test_what_has_ended_begins_anew(chromium: Chromium, ended: str) -> None:
    chromium.close()  # of the tests before
    before = children(os.getpid())
    first = chromium.answering()
    assert chromium.answering() is first
    [driver] = children(os.getpid()) - before
    os.kill(driver if ended == "driver" else min(children(driver)), signal.SIGKILL)
    again = chromium.answering()
    assert again is not first
    page = again.new_page()
    page.set_content("<title>alive</title>")
    assert page.title() == "alive"


def test_a_wait_gives_up(browser: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    page = browser.new_page()
    counted = iter([None, False, 0, "found"])
    assert pages.wait_until(page, lambda: next(counted)) == "found"
    monkeypatch.setattr(pages, "PATIENCE", 50)
    with pytest.raises(AssertionError, match="did not happen"):
        pages.wait_for_held(page, [])
