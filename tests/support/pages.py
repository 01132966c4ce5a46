"""The board on a page in the browser, of the studio or of an exported champion."""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from forks import azero_command
from running import TrainedRun

PASTE = """text => {
    const data = new DataTransfer();
    data.setData("text/plain", text);
    document.body.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true }));
}"""
PATIENCE = 60_000  # milliseconds; a first search may have to be compiled


class Chromium:
    """The program Chromium, driven by Playwright; both begin anew where one of them has ended.

    Without that, whatever ends one of them would let all later tests in a browser fail.
    """

    def __init__(self, program: str) -> None:
        self.program = program
        self.driver: Any = None
        self.browser: Any = None

    def answering(self) -> Any:
        """Return the browser, after making sure that it answers."""
        from playwright.sync_api import Error

        if self.driver is not None:
            try:
                self.browser.new_context().close()
            except Error:
                self.close()
        if self.driver is None:
            self.start()
        return self.browser

    def start(self) -> None:
        from playwright.sync_api import sync_playwright  # here, because tests without it are skipped

        self.driver = sync_playwright().start()
        self.browser = self.driver.chromium.launch(executable_path=self.program, args=["--no-sandbox"])

    def close(self) -> None:
        if self.driver is not None:
            self.driver.stop()  # and with it the browser
            self.driver = None


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
    box = wait_until(page, cell(page, name).bounding_box)  # None while the board is drawn anew
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def drag(page: Any, start: str, goal: str) -> None:
    """Drag the piece of a cell to another one with the mouse, a little aside on the way."""
    (x, y), (to_x, to_y) = middle(page, start), middle(page, goal)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move((x + to_x) / 2 + 20, (y + to_y) / 2, steps=3)
    page.mouse.move(to_x, to_y, steps=3)
    page.mouse.up()


@contextmanager
def served(folder: Path, game: str) -> Iterator[str]:
    """Yield the address of a studio that runs in a folder and offers a game; it may report no error."""
    command = azero_command("", "studio", "open=false", "port=0", f"game={game}")
    with (folder / "errors.txt").open("w") as errors:
        server = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=errors, text=True)
        assert server.stdout is not None
        with server.stdout:
            found = re.search(r"http://\S+", server.stdout.readline())
            assert found, (folder / "errors.txt").read_text()
            yield found[0]
            server.terminate()
            server.wait(timeout=30)
    assert "Traceback" not in (folder / "errors.txt").read_text()


@contextmanager
def opener(browser: Any) -> Iterator[Callable[..., Any]]:
    """Yield a function that opens an address, by default at 1280 × 800, and waits for the board.

    At the end no page may have had an error of its own.
    """
    from playwright.sync_api import expect  # here, because tests without it are skipped

    contexts, failures = [], list[str]()

    def open_one(address: str, **options: Any) -> Any:
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 800}, **options})
        contexts.append(context)
        context.set_default_timeout(PATIENCE)
        page = context.new_page()
        page.on("pageerror", lambda error: failures.append(str(error)))
        page.goto(address)
        expect(page.locator("svg.board")).to_be_visible()
        return page

    yield open_one
    for context in contexts:
        context.close()
    assert not failures


def served_runs(folder: Path, trained_run: TrainedRun, game: str) -> AbstractContextManager[str]:
    """Return `served` with two runs of tic-tac-toe in the folder, "trained" and "second"."""
    for part in ("checkpoints", "data"):
        for name in ("trained", "second"):
            shutil.copytree(trained_run.folder / part / "trained", folder / part / name)
    return served(folder, game)


def hold(page: Any, place: str) -> list[Any]:
    """Let the server not answer requests; return where they are noted."""
    held = list[Any]()
    page.route(place, lambda route: held.append(route))
    return held


def wait_until(page: Any, found: Callable[[], Any]) -> Any:
    """Ask again and again while the page goes on; return the first answer that is none of None, False and 0.

    It gives up by itself: a test's timeout, which raises within Playwright, may cut it off from its driver.
    """
    end = time.monotonic() + PATIENCE / 1000
    while not (answer := found()):
        assert time.monotonic() < end, "what a test waits for did not happen"
        page.wait_for_timeout(10)
    return answer


def wait_for_held(page: Any, held: list[Any], count: int = 1) -> None:
    """Wait until so many requests are held; the test hears of them later than the page."""
    wait_until(page, lambda: len(held) >= count)


def paste(page: Any, text: str) -> None:
    """Paste a text on a page of the studio."""
    page.evaluate(PASTE, text)


def moves_shown(page: Any) -> list[str]:
    return page.locator(".move-list > .move > span").all_text_contents()
