"""Pieces that move on the studio's page Play, in a real browser: clicks, dragging, keys, menu, arrows.

The game is tests/support/games/crowning.py:

    4 p p p     pawns move one cell on and take slanting; on the last row they become rooks or knights
    3 . . .
    2 . . .
    1 P P P
      a b c
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pages import (
    PATIENCE,
    cell,
    drag,
    middle,
    moves_shown,
    opener,
    stones,
    wait_for_stones,
    wait_until,
)
from places import CROWNING

sync_api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
pytest.importorskip("starlette", reason="The studio needs the extra `studio`.")
pytestmark = pytest.mark.browser
expect: Any = sync_api.expect

OFFERED = CROWNING
Open = Callable[..., Any]
CROWNS = "a1a2.a4a3.b1b2.a3b2.c1c2"  # then Black's pawn goes from b2 to b1


@pytest.fixture
def open_page(browser: Any, address: str) -> Iterator[Open]:
    """Open the game after some moves, and wait for its board; at the end no page may have had an error."""
    with opener(browser) as open_address:

        def open_one(moves: str = "", **options: Any) -> Any:
            page = open_address(f"{address}#/play?game=crowning&moves={moves}", **options)
            expect(page.locator(".active .hit.movable").first).to_be_attached()
            return page

        yield open_one


def wait_for_moves(page: Any, count: int) -> None:
    expect(page.locator(".move-list > .move")).to_have_count(count)


def label(page: Any, name: str) -> str:
    return cell(page, name).get_attribute("aria-label")


def says(page: Any, sentence: str) -> None:
    expect(page.get_by_role("status")).to_contain_text(sentence)


def test_two_clicks_move_a_piece(open_page: Open) -> None:
    page = open_page()
    assert (
        stones(page)[0] == "a4, black pawn"
        and page.locator(".dark").count() == page.locator(".light").count() == 6
    )
    cell(page, "a1").click()
    assert label(page, "a1") == "a1, white pawn, chosen" and label(page, "b1") == "b1, white pawn, can move"
    assert label(page, "a2") == "a2, empty, can be played" and page.locator(".legal circle").count() == 1
    cell(page, "b1").click()  # another piece
    assert label(page, "b1") == "b1, white pawn, chosen" and label(page, "a2") == "a2, empty"
    cell(page, "b1").click()  # none
    assert page.locator(".legal circle").count() == 0
    cell(page, "b1").click()
    cell(page, "b2").click()
    wait_for_moves(page, 1)
    assert moves_shown(page) == ["b1b2"] and page.locator(".spots .was").count() == 2
    for name, sentence in (
        ("c2", "Choose one of your pieces first"),
        ("b2", "Choose one of your pieces first"),
    ):
        cell(page, name).click()
        says(page, sentence)
    cell(page, "a4").click()
    cell(page, "c2").click()
    says(page, "a4 cannot move to c2.")
    assert page.locator(".legal circle").count() == 0


def test_a_capture_is_ringed_and_danger_is_marked(open_page: Open) -> None:
    page = open_page("a1a2.b4b3")
    cell(page, "a2").click()
    assert page.locator(".legal circle").count() == 2 and page.locator(".legal .taken").count() == 1
    cell(page, "b3").click()
    wait_for_stones(page, 5)
    assert "in danger" in label(page, "b3") and page.locator(".spots .alert").count() == 1


def test_a_piece_is_dragged(open_page: Open) -> None:
    page = open_page()
    drag(page, "a1", "a2")
    wait_for_moves(page, 1)
    drag(page, "c4", "c2")  # too far: it goes back
    says(page, "c4 cannot move to c2.")
    assert page.locator(".stone.carried").count() == 0
    drag(page, "c4", "c4")  # stays in hand
    assert label(page, "c4") == "c4, black pawn, chosen"
    cell(page, "c3").click()
    wait_for_moves(page, 2)
    assert moves_shown(page) == ["a1a2", "c4c3"]


def test_a_finger_drags_a_piece(open_page: Open) -> None:
    page = open_page(viewport={"width": 390, "height": 700}, is_mobile=True, has_touch=True)
    session = page.context.new_cdp_session(page)
    (x, y), (to_x, to_y) = middle(page, "b1"), middle(page, "b2")

    def touch(kind: str, *points: tuple[float, float]) -> None:
        touches = [{"x": left, "y": top} for left, top in points]
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": touches})

    touch("touchStart", (x, y))
    for step in (0.2, 0.5, 0.8, 1.0):
        touch("touchMove", (x + step * (to_x - x), y + step * (to_y - y)))
    touch("touchEnd")
    wait_for_moves(page, 1)
    assert moves_shown(page) == ["b1b2"]
    cell(page, "b4").tap()
    cell(page, "b3").tap()
    wait_for_moves(page, 2)


def test_keys_move_a_piece(open_page: Open) -> None:
    page = open_page()
    cell(page, "b1").focus()
    page.keyboard.press("Enter")
    assert "chosen" in label(page, "b1")
    page.keyboard.press("Escape")
    assert "chosen" not in label(page, "b1")
    for key in ("ArrowLeft", "Enter", "ArrowUp", "Enter"):
        page.keyboard.press(key)
    wait_for_moves(page, 1)
    page.keyboard.type("c4c3")  # a typed move goes to its field
    page.keyboard.press("Enter")
    wait_for_moves(page, 2)
    page.keyboard.type("a2a4")
    page.keyboard.press("Enter")
    says(page, "'a2a4' is not a move of crowning here")
    assert moves_shown(page) == ["a1a2", "c4c3"]


def test_a_menu_asks_what_a_pawn_becomes(open_page: Open) -> None:
    page = open_page(CROWNS)
    drag(page, "b2", "b1")
    items = page.get_by_role("menuitem")
    expect(items).to_have_count(2)
    assert [item.get_attribute("aria-label") for item in items.all()] == ["rook", "knight"]
    assert page.locator(".choose-move svg.second .area").count() == 3 + 2  # a rook and a knight, black
    page.keyboard.press("Escape")
    expect(items).to_have_count(0)
    cell(page, "b2").click()
    cell(page, "b1").click()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    wait_for_moves(page, 6)
    assert moves_shown(page)[-1] == "b2b1n" and "b1, black knight" in stones(page)
    page = open_page(CROWNS)
    for name in ("b2", "b1", "a4"):  # a click elsewhere closes it
        cell(page, name).click()
    expect(page.get_by_role("menuitem")).to_have_count(0)
    wait_for_moves(page, 5)


def test_the_tap_that_opens_the_menu_chooses_nothing(open_page: Open) -> None:
    page = open_page(CROWNS, viewport={"width": 390, "height": 700}, is_mobile=True, has_touch=True)
    page.evaluate("addEventListener('click', ({ target }) => { window.clicked = target; }, true)")
    for name in ("b2", "b1"):
        cell(page, name).tap()
    items = page.get_by_role("menuitem")
    expect(items).to_have_count(2)
    page.wait_for_function("window.clicked?.closest('[role=menuitem]')")  # the click of the tap on b1
    page.wait_for_timeout(300)
    assert items.count() == 2 and len(moves_shown(page)) == 5
    page.get_by_role("menuitem", name="knight").tap()
    wait_for_moves(page, 6)
    assert moves_shown(page)[-1] == "b2b1n"


def test_the_board_is_turned(open_page: Open) -> None:
    page = open_page("a1a2")
    below = middle(page, "a1")[1]
    assert below > middle(page, "a4")[1]
    page.get_by_role("button", name="Turn the board").click()
    expect(page.locator(".labels text").first).to_have_text("4")
    assert middle(page, "a1")[1] < middle(page, "a4")[1] == pytest.approx(below, abs=1)
    assert middle(page, "c4")[0] < middle(page, "a4")[0]
    cell(page, "c4").focus()
    page.keyboard.press("ArrowRight")  # as one sees it
    assert page.evaluate("document.activeElement.ariaLabel").startswith("b4,")
    drag(page, "c4", "c3")
    wait_for_moves(page, 2)
    page = open_page()
    expect(page.locator(".labels text").first).to_have_text("4")
    assert middle(page, "a1")[1] > middle(page, "a4")[1]
    page.get_by_label("Change who plays").first.click()  # a person has only the second side: it is below
    page.locator("dialog select").first.select_option(label="random")
    page.get_by_role("button", name="Change", exact=True).click()
    wait_for_moves(page, 1)
    assert middle(page, "a1")[1] < middle(page, "a4")[1]


def test_arrows_show_an_analysis(open_page: Open) -> None:
    page = open_page("a1a2.b4b3")
    page.get_by_role("switch", name="Analysis").check(force=True)
    # a search of random games, compiled by it
    expect(page.locator(".arrows path").first).to_be_attached(timeout=4 * PATIENCE)
    expect(page.locator(".line b")).to_have_text("a2b3")  # it takes a pawn for nothing
    assert page.locator(".heat > *").count() == page.locator(".numbers text").count() == 0
    best = page.locator(".arrows .best")
    expect(best).to_have_count(1)
    row = page.locator(".search tbody tr").first
    row.hover()
    expect(page.locator(".ghosts .pointed")).to_have_count(1)
    assert row.locator(".pick").text_content() == "a2b3"
    x, y = middle(page, "b3")
    box = wait_until(page, page.locator(".ghosts .pointed").bounding_box)  # it is drawn anew with each report
    assert box["x"] < x < box["x"] + box["width"] + 8 and box["y"] - 8 < y < box["y"] + box["height"]
    page.mouse.move(5, 5)
    expect(page.locator(".ghosts .pointed")).to_have_count(0)


@pytest.mark.parametrize("width, scheme", [(360, "light"), (1280, "dark")])
def test_figures_stand_out_in_every_scheme(open_page: Open, width: int, scheme: str) -> None:
    page = open_page(viewport={"width": width, "height": 740}, color_scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width

    def brightness(selector: str) -> float:
        fill = page.locator(selector).first.evaluate("node => getComputedStyle(node).fill")
        return sum(map(float, re.findall(r"[\d.]+", fill)[:3])) / 3

    first, second = (brightness(f".stone.{side} .area") for side in ("first", "second"))
    squares = [brightness(f".under .{shade}") for shade in ("light", "dark")]
    assert second + 50 < min(squares) < max(squares) < first


def test_a_row_of_the_list_is_a_move_of_both(open_page: Open) -> None:
    page = open_page("a1a2.a4a3.b1b2")
    wait_for_moves(page, 3)
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")  # the board stands after a1a2
    expect(page.locator(".move-list > .move").first).to_have_attribute("aria-current", "step")
    cell(page, "c4").click()
    cell(page, "c3").click()
    expect(page.locator(".variation .move")).to_have_count(1)
    chips = page.locator(".move-list .move")
    assert chips.locator("small").all_text_contents() == ["1.", "1…", "1…", "2."]
    left = [chips.nth(i).bounding_box()["x"] for i in range(4)]
    assert left[0] == left[3] < left[1] and left[2] > left[0]  # White, Black, Black's other move, White
    assert chips.nth(0).bounding_box()["y"] == chips.nth(1).bounding_box()["y"]
