"""Every page of the studio at every width and in both themes: axe finds nothing, and texts can be read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from auditing import faults, still
from pages import PATIENCE, cell, served_runs
from places import CROWNING
from running import TrainedRun

sync_api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
pytest.importorskip("starlette", reason="The studio needs the extra `studio`.")
pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]
expect: Any = sync_api.expect

GAME = "play?game=tictactoe&moves=4.0.2"
WIN_DRAW_LOSS = "play?game=tictactoe&moves=0.4.8.2.6.3"  # one move of each kind
GO_END = "play?game=go&options=size:5,komi:1.5&moves=c1.d1.c2.d2.c3.d3.c4.d4.c5.d5.pass.pass"


@pytest.fixture(scope="module")
def address(trained_run: TrainedRun, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a studio with two runs of tic-tac-toe, "trained" and "second"."""
    with served_runs(tmp_path_factory.mktemp("studio"), trained_run, CROWNING) as address:
        yield address


def played(page: Any) -> None:
    """Wait for a board."""
    expect(page.locator("svg.board").first).to_be_visible()


def analysed(page: Any) -> None:
    """Switch the analysis and exact values on, and review the game."""
    played(page)
    for name in ("Analysis", "Exact"):
        page.get_by_role("switch", name=name).check(force=True)
    page.get_by_role("button", name="Done").wait_for()
    expect(page.locator(".badge")).to_have_count(3)
    page.get_by_role("button", name="Review").click()
    expect(page.locator(".report table")).to_be_visible()
    expect(page.get_by_role("button", name="Review")).to_be_visible()  # it is done


def over(page: Any) -> None:
    expect(page.locator(".message")).to_contain_text("wins")


def asked(name: str, key: str) -> Callable[[Any], None]:
    """Return what opens a dialog by its key."""

    def ready(page: Any) -> None:
        played(page)
        page.keyboard.press(key)
        expect(page.get_by_role("dialog", name=name)).to_be_visible()

    return ready


def kept(page: Any) -> None:
    """Play a game, so that there is one in My games."""
    played(page)
    cell(page, "11").click()
    expect(page.locator(".about")).to_contain_text("Kept in My games")
    page.goto(page.url.partition("#")[0] + "#/games")
    expect(page.locator(".kept-games li").first).to_be_visible()


def drawn(page: Any) -> None:
    expect(page.locator(".chart-svg").first).to_be_visible()


def replayed(page: Any) -> None:
    page.get_by_label("Game number").fill("3")
    page.get_by_label("Game number").press("Enter")
    expect(page.locator(".replay svg.board")).to_be_visible()


def matched(page: Any) -> None:
    """Play a match of two, and open one of its games."""
    page.get_by_label("games of each pair").fill("2")
    page.get_by_label("player").first.select_option("random")
    page.get_by_label("player").last.select_option("random")
    page.get_by_role("button", name="Start match").click()
    expect(page.locator(".watched .chip.done, .watched .chip.finished")).to_be_visible()
    page.get_by_role("button", name="Game 1,").click()
    expect(page.locator(".replay svg.board")).to_be_visible()


def ended(page: Any) -> None:
    """Step to the end of a traced search."""
    played(page)
    page.keyboard.press("End")
    expect(page.locator(".final svg.board")).to_be_visible()


def named(page: Any) -> None:
    expect(page.locator("#page h1")).to_have_count(1)


PLACES: dict[str, tuple[str, Callable[[Any], None]]] = {
    "play": (GAME, played),
    "analysis": (WIN_DRAW_LOSS, analysed),
    "the end of a game": (GO_END, over),
    "new game": (GAME, asked("New game", "n")),
    "keys": (GAME, asked("Keys", "?")),
    "my games": ("play?game=tictactoe", kept),
    "train": ("train", named),
    "a run in training": ("train?run=trained", drawn),
    "runs": ("runs", named),
    "a run": ("runs?run=trained", drawn),
    "a replay": ("runs?run=trained", replayed),
    "comparison": ("runs?compare=trained,second", drawn),
    "a match": ("matches", matched),
    "learn": ("learn", played),
    "the end of learn": ("learn", ended),
}


@pytest.mark.parametrize("name", PLACES)
def test_axe_finds_nothing_and_texts_can_be_read(name: str, browser: Any, address: str) -> None:
    place, ready = PLACES[name]
    context = browser.new_context(reduced_motion="reduce")
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    page.goto(f"{address}#/{place}")
    ready(page)
    assert not (found := faults(page)), "\n".join(found)
    context.close()


def test_a_page_without_a_token_is_in_order(browser: Any, address: str) -> None:
    page = browser.new_context().new_page()
    page.goto(address.partition("?")[0])
    expect(page.get_by_label("Token")).to_be_visible()
    assert faults(page, still) == []
    page.context.close()
