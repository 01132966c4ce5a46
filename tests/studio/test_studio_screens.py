"""A walk through the studio on a telephone, a laptop and a large screen: by touch, keyboard and mouse.

Each step is a part of what the studio does. Nothing may be wider than the screen, and no text too faint.
With AZERO_PICTURES=FOLDER each step leaves a picture there to look at.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from contrast import faint
from pages import PATIENCE, cell, moves_shown, opener, paste, served_runs, wait_for_stones
from running import RunProgram, TrainedRun

sync_api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
pytest.importorskip("starlette", reason="The studio needs the extra `studio`.")
pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]
expect: Any = sync_api.expect

# a name, then the size, the theme, and what a person has at hand
SCREENS: dict[str, dict[str, Any]] = {
    "telephone": {"viewport": {"width": 360, "height": 760}, "color_scheme": "dark", "has_touch": True},
    "laptop": {"viewport": {"width": 1280, "height": 800}, "color_scheme": "light"},
    "large": {"viewport": {"width": 2560, "height": 1400}, "color_scheme": "dark"},
}
LOST = "4.8.0.1.2.5.6"  # X wins by 2 4 6


@pytest.fixture(scope="module")
def address(trained_run: TrainedRun, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a studio with two runs of tic-tac-toe."""
    with served_runs(tmp_path_factory.mktemp("walk"), trained_run, "") as address:
        yield address


class Walker:
    """A person with a page, who presses things as their screen lets them."""

    def __init__(self, page: Any, screen: str) -> None:
        self.page, self.screen = page, screen

    def press(self, what: Any) -> None:
        """Press a button or the like: by a finger, by a key, or by the mouse."""
        if self.screen == "telephone":
            what.tap()
        elif self.screen == "laptop":
            what.focus()
            self.page.keyboard.press("Enter" if what.evaluate("each => each.tagName") == "A" else "Space")
        else:
            what.click()

    def button(self, name: str) -> None:
        """Press the button of that name."""
        self.press(self.page.get_by_role("button", name=name, exact=True).first)

    def go_to(self, place: str) -> None:
        """Go to another page of the studio."""
        self.page.goto(f"{self.page.url.partition('#')[0]}#/{place}")

    def look(self, name: str) -> None:
        """Check what is seen, and keep a picture if asked for."""
        self.page.evaluate("document.querySelector('.toasts')?.replaceChildren()")
        expect(self.page.locator(".busy, .waits, .waiting")).to_have_count(0)
        width = self.page.evaluate("document.documentElement.scrollWidth")
        assert (name, width) == (name, self.page.viewport_size["width"])
        if folder := os.environ.get("AZERO_PICTURES"):
            self.page.screenshot(path=Path(folder) / f"{name}-{self.screen}.png", full_page=True)
        assert (name, faint(self.page)) == (name, [])


@pytest.fixture(params=SCREENS)
def walker(request: pytest.FixtureRequest, browser: Any, address: str) -> Iterator[Walker]:
    """A walker before a lost game of tic-tac-toe."""
    with opener(browser) as open_page:
        options = {**SCREENS[request.param], "reduced_motion": "reduce"}
        page = open_page(f"{address}#/play?game=tictactoe&moves={LOST}", **options)
        yield Walker(page, request.param)


def test_a_game_is_seen_to_end_reviewed_kept_and_found(walker: Walker) -> None:
    page = walker.page
    wait_for_stones(page, 7)
    expect(page.locator(".message")).to_have_text("X wins.")
    expect(page.locator(".ends .won:not(.under)")).to_have_count(3)
    walker.look("end")
    walker.press(page.locator("[data-do=review]"))
    expect(page.locator(".review")).to_contain_text("Judged by a solver", timeout=4 * PATIENCE)
    walker.look("review")
    walker.press(page.locator("[data-do=next-mistake]"))
    expect(page.locator(".move[aria-current]")).to_be_visible()
    expect(page.locator("svg.board")).to_be_in_viewport()  # what was played wrong is seen
    walker.press(page.get_by_role("button", name="Try again").first)
    expect(page.locator(".again")).to_contain_text("Find a better one.")
    walker.look("again")
    name = f"Lesson on a {walker.screen}"
    walker.button("Change names, event, date or result")
    page.get_by_role("textbox", name="name", exact=True).fill(name)
    walker.look("about")
    walker.button("Save")
    expect(page.locator(".about h2")).to_have_text(name)
    walker.go_to("games")
    page.get_by_label("Search my games").fill(name)
    rows = page.locator(".kept-games li")
    expect(rows).to_have_count(1)
    walker.look("games")
    walker.button(f"Delete {name}")
    expect(rows).to_have_count(0)
    walker.button("Undo")
    walker.press(rows.locator("a"))
    expect(page.locator(".about h2")).to_have_text(name)
    expect(page.locator(".report")).to_be_visible()  # its review was kept


def test_a_new_game_is_chosen_played_and_searched(walker: Walker) -> None:
    page = walker.page
    walker.button("New game")
    dialog = page.get_by_role("dialog", name="New game")
    expect(dialog.get_by_label("game")).to_be_in_viewport()
    second = dialog.get_by_role("group", name="Plays second")
    second.get_by_label("player").select_option(label="Champion of trained")
    second.get_by_label("level").select_option("beginner")
    walker.look("new")
    walker.press(dialog.get_by_role("button", name="Start"))
    expect(dialog).to_have_count(0)
    wait_for_stones(page, 0)
    if walker.screen == "laptop":
        page.get_by_label("Type a move").fill("4")
        page.keyboard.press("Enter")
    elif walker.screen == "telephone":
        cell(page, "22").tap()
    else:
        cell(page, "22").click()
    wait_for_stones(page, 2)
    switch = page.get_by_role("switch", name="Analysis")
    walker.press(switch if walker.screen == "laptop" else switch.locator(".."))  # its label is what one sees
    expect(page.locator(".numbers text").first).to_be_attached()
    page.get_by_role("button", name="Done").wait_for()
    walker.look("analysis")


def test_files_runs_and_searches_are_opened(walker: Walker) -> None:
    page = walker.page
    paste(page, "(;GM[1]SZ[5]PB[Ann]PW[Bob]C[Hello.];B[cc];W[dd])")
    wait_for_stones(page, 2)
    expect(page.locator(".about")).to_contain_text("Ann – Bob")
    walker.look("file")
    paste(page, "c3 d3 c2")
    wait_for_stones(page, 3)
    assert moves_shown(page) == ["c3", "d3", "c2"]
    walker.go_to("runs?run=trained")
    expect(page.locator(".chart-svg").first).to_be_visible()
    walker.look("run")
    walker.go_to("runs?compare=trained,second")
    expect(page.get_by_role("heading", name="2 runs")).to_be_visible()
    walker.look("compare")
    for place, ready in (("train", "form"), ("matches", "form"), ("learn", "svg.board")):
        walker.go_to(place)
        page.locator(f".page-{place} {ready}").first.wait_for()
        walker.look(place)


def test_keys_are_listed_and_a_missing_token_is_explained(walker: Walker, address: str) -> None:
    page = walker.page
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog", name="Keys")
    expect(dialog).to_contain_text("take back")
    walker.look("keys")
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)  # it closes a moment after the key
    page.keyboard.press("Home")
    wait_for_stones(page, 0)
    page.context.clear_cookies()
    page.goto(address.partition("?")[0])
    expect(page.get_by_label("Token")).to_be_visible()
    walker.look("token")


def test_an_exported_champion_is_played(
    walker: Walker, trained_run: TrainedRun, run_program: RunProgram, tmp_path: Path
) -> None:
    words = (f"run={trained_run.name}", f"checkpoints={trained_run.checkpoints}", "out=page.html")
    done = run_program("export", *words, folder=tmp_path, timeout=400)
    assert done.returncode == 0, done.stderr
    page = walker.page
    page.goto((tmp_path / "page.html").as_uri())
    walker.press(cell(page, "22"))
    wait_for_stones(page, 2)
    walker.look("exported")
