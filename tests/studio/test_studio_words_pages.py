"""Stories in a real browser: a result in words, a comment before a reload, the focus in My games."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pages import wait_for_stones

sync_api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
pytest.importorskip("starlette", reason="The studio needs the extra `studio`.")
pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]
expect: Any = sync_api.expect

Open = Callable[..., Any]


def test_a_result_is_typed_in_words_and_nonsense_is_refused(open_page: Open) -> None:
    page = open_page("#/play?game=tictactoe&moves=4.0.8")
    wait_for_stones(page, 3)
    page.get_by_role("button", name="Change names, event, date or result").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("result").fill("banana")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog.get_by_role("alert")).to_contain_text("A result is 1–0")
    dialog.get_by_label("result").fill("0-1, by resignation")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog).to_have_count(0)
    expect(page.locator(".about")).to_contain_text("wins by resignation")


def test_a_comment_is_kept_when_the_page_is_left_at_once(open_page: Open) -> None:
    page = open_page("#/play?game=tictactoe&moves=4.0")
    wait_for_stones(page, 2)
    page.get_by_label("Comment on 0").fill("Just typed.")
    page.reload()
    expect(page.get_by_label("Comment on 0")).to_have_value("Just typed.")


def test_the_focus_stays_in_my_games(open_page: Open) -> None:
    page = open_page("#/play?game=tictactoe&moves=8.0.1")
    wait_for_stones(page, 3)
    page.get_by_label("Comment on 1").fill("focus")
    page.get_by_label("Comment on 1").blur()
    page.wait_for_timeout(600)
    page.locator(".tabs [data-page=games]").click()
    page.get_by_label("Search my games").fill("focus")
    rows = page.locator(".kept-games li")
    expect(rows).to_have_count(1)
    page.get_by_role("button", name="Rename").press("Enter")
    page.get_by_role("dialog").get_by_label("name").fill("Lesson")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Rename Lesson")).to_be_focused()
    page.get_by_role("button", name="Delete Lesson").press("Enter")
    expect(rows).to_have_count(0)
    expect(page.get_by_role("button", name="Undo", exact=True)).to_be_focused()
    page.keyboard.press("Enter")
    expect(rows.locator("a")).to_be_focused()
    page.get_by_role("button", name="Delete Lesson").click()
    expect(page.get_by_role("button", name="Undo", exact=True)).to_be_visible()
    page.go_back()
    expect(page.locator(".about")).to_contain_text("Deleted from My games")
    page.locator(".about").get_by_role("button", name="Undo").click()
    expect(page.locator(".about")).to_contain_text("Kept in My games")


def test_the_name_of_a_champion_fits_the_smallest_page(open_page: Open) -> None:
    page = open_page("#/play?game=tictactoe", viewport={"width": 360, "height": 640})
    page.get_by_role("button", name="New game").click()
    player = page.get_by_role("dialog").get_by_label("player").last
    fits = """select => {
        const alone = select.cloneNode();
        alone.append(new Option("Champion of breakthrough6"));
        alone.style.cssText = "position: absolute; width: max-content";
        select.after(alone);
        return alone.offsetWidth <= select.offsetWidth;
    }"""
    assert player.evaluate(fits)
