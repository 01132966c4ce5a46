"""The board on a page in the browser, of the studio or of an exported champion."""

from __future__ import annotations

from typing import Any

PATIENCE = 60_000  # milliseconds; a first search may have to be compiled


def stones(page: Any) -> list[str]:
    """Return the labels of the cells with a piece, such as "a1, X"."""
    labels = page.locator("[role=gridcell]").evaluate_all("cells => cells.map(cell => cell.ariaLabel)")
    return [", ".join(label.split(", ")[:2]) for label in labels if ", empty" not in label]


def wait_for_stones(page: Any, count: int) -> None:
    """Wait until so many pieces are on the board."""
    from playwright.sync_api import expect  # here, because tests without it are skipped

    expect(page.locator(".stones .stone")).to_have_count(count)


def cell(page: Any, name: str) -> Any:
    """Return a cell of the board."""
    return page.locator(f'[role=gridcell][aria-label^="{name},"]')


def middle(page: Any, name: str) -> tuple[float, float]:
    """Return the middle of a cell in pixels."""
    box = cell(page, name).bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def drag(page: Any, start: str, goal: str) -> None:
    """Drag the piece of a cell to another one with the mouse, a little aside on the way."""
    (x, y), (to_x, to_y) = middle(page, start), middle(page, goal)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move((x + to_x) / 2 + 20, (y + to_y) / 2, steps=3)
    page.mouse.move(to_x, to_y, steps=3)
    page.mouse.up()
