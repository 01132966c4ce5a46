"""All pages at every width and in both themes: what axe finds, and which texts cannot be read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from contrast import faint

SIZES = ((360, 2000), (1280, 800), (2560, 1440))
SCHEMES = ("light", "dark")
PALE = ".busy, .waits, .waiting"  # what waits for an answer is pale for a moment


def still(page: Any) -> None:
    """Wait until a page has what it asked for and nothing on it is pale."""
    from playwright.sync_api import expect  # here, because tests without it are skipped

    page.mouse.move(0, 0)  # a cell that the mouse points at shows a pale piece
    page.evaluate("document.querySelector('.toasts')?.replaceChildren()")  # they lie over other texts
    page.wait_for_load_state("networkidle")
    expect(page.locator(PALE)).to_have_count(0)
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def faults(page: Any, wait: Callable[[Any], None] = still) -> list[str]:
    """Return what is wrong with a page at each of the sizes and in both themes, without loading it again."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed").Axe()
    found = []
    for width, height in SIZES:
        page.set_viewport_size({"width": width, "height": height})
        for scheme in SCHEMES:
            page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            wait(page)
            said = faint(page)
            if scheme == SCHEMES[0] or width == SIZES[0][0]:  # at every width, and in both themes
                results = axe.run(page)
                said += [results.generate_report()] if results.violations_count else []
            found += [f"{width} px, {scheme}: {each}" for each in said]
    return found
