"""Stories in a real browser of somebody who knows other boards: names, Undo, hints, signs, a narrow page."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from pages import cell, hold, middle, paste, wait_for_held, wait_for_stones

sync_api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
pytest.importorskip("starlette", reason="The studio needs the extra `studio`.")
pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]
expect: Any = sync_api.expect

Open = Callable[..., Any]
LONG = "The Most Honourable Society of Players by Correspondence, II"
BLUNDER = "tictactoe&moves=0.4.1.8.2"  # 8 lets X win by 2
ENDING = (
    '[White "Ann"]\n[Black "Bob"]\n[SetUp "1"]\n[FEN "4k3/8/8/8/8/8/4P3/4K3 b - - 3 40"]\n\n'
    "40... Kd7!? {[%clk 0:05:00] Careful} 41. e4 $2 $16 Kd6 *\n"
)
PHONE = {"viewport": {"width": 360, "height": 760}, "has_touch": True, "color_scheme": "dark"}


def against(page: Any, name: str) -> None:
    """Begin the game that is shown anew, against a player."""
    page.get_by_role("button", name="New game").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("group", name="Plays second").get_by_label("player").select_option(label=name)
    dialog.get_by_role("button", name="Start", exact=True).click()
    expect(dialog).to_have_count(0)
    expect(page.locator(".message")).to_have_text("Your move.")


def say_who(page: Any, **names: str) -> None:
    """Write the names of players into the card; names: first and second."""
    page.get_by_role("button", name="Change names, event, date or result").click()
    dialog = page.get_by_role("dialog")
    for place, name in names.items():
        dialog.get_by_label(f"{place} player").fill(name)
    dialog.get_by_role("button", name="Save").click()
    expect(dialog).to_have_count(0)


def test_a_machine_has_the_name_that_a_person_gave_it(open_page: Open) -> None:
    page = open_page("#/play?game=connect_four")
    against(page, "random")
    say_who(page, first="Anna", second="The Champion")
    title, names = page.locator(".about h2"), page.locator(".side strong")
    expect(title).to_have_text("Anna – The Champion")
    expect(names).to_have_text(["Anna", "The Champion"])
    expect(page.locator(".side small").nth(1)).to_contain_text("random")
    say_who(page, second="")
    expect(title).to_have_text("Anna – random")
    expect(names).to_have_text(["Anna", "random"])
    say_who(page, first=LONG)
    expect(names.first).to_have_css("text-overflow", "ellipsis")
    assert names.first.evaluate("each => each.scrollWidth > each.clientWidth")
    expect(names.first).to_have_attribute("title", LONG)
    edit = page.get_by_role("button", name="Change who plays").first
    expect(edit).to_be_in_viewport(ratio=1)


def test_a_resignation_is_undone(open_page: Open) -> None:
    page = open_page("#/play?game=connect_four")
    against(page, "random")
    for undo in ("Undo", "Take back"):
        page.get_by_role("button", name="Resign").click()
        expect(page.locator(".message")).to_have_text("You lose: random wins by resignation.")
        page.get_by_role("button", name=undo, exact=True).click()
        expect(page.locator(".message")).to_have_text("Your move.")
        expect(page.locator(".about")).not_to_contain_text("resignation")
    cell(page, "41").click()
    wait_for_stones(page, 2)


def test_a_hint_is_searched_for_and_goes_when_the_analysis_speaks(open_page: Open) -> None:
    page = open_page("#/play?game=tictactoe&moves=4")
    held = hold(page, "**/hint")
    page.locator("[data-do=hint]").click()
    expect(page.locator(".side.busy.to-move")).to_have_count(1)
    expect(page.locator("[data-do=hint]")).to_have_text("Searching …")
    wait_for_held(page, held)
    held[0].fulfill(json={"move": "1", "shown": "1", "cell": 1, "value": 0.5, "from": None, "by": "Ann"})
    expect(page.locator(".ghosts .stone")).to_have_count(1)
    expect(page.locator(".side.busy")).to_have_count(0)
    expect(page.locator("[data-do=hint]")).to_have_text("Hint")
    page.get_by_role("switch", name="Analysis").check(force=True)
    expect(page.locator(".numbers .major").first).to_be_visible()
    expect(page.locator(".ghosts .stone")).to_have_count(0)
    expect(page.locator(".summary")).to_contain_text("UCT without a network: random games, weak")


def test_the_stone_under_the_pointer_does_not_cover_the_best_line(open_page: Open) -> None:
    page = open_page("#/play?game=tictactoe&moves=4")
    analysis = page.get_by_role("switch", name="Analysis")
    analysis.uncheck(force=True)  # an address is one game, which another story may have left so
    page.mouse.move(*middle(page, "11"))
    expect(page.locator(".preview .soft")).to_have_css("display", "inline")
    analysis.check(force=True)
    expect(page.locator(".numbers .major").first).to_be_visible()
    page.mouse.move(*middle(page, "31"))
    page.mouse.move(*middle(page, "11"))
    expect(page.locator(".ghosts .stone").first).to_be_visible()
    expect(page.locator(".preview .soft")).to_have_css("display", "none")


def test_signs_and_numbers_of_a_file_are_in_the_list(open_page: Open) -> None:
    page = open_page("#/play?game=tictactoe")
    paste(page, ENDING)
    expect(page.locator(".about h2")).to_have_text("Ann – Bob")
    moves = page.locator(".move-list .move")
    expect(moves).to_have_text(["40…Kd7!?", "41.e4? ±", "41…Kd6"])
    moves.first.click()
    expect(page.get_by_label("Comment on Kd7")).to_have_value("Careful")


def test_the_page_says_what_can_be_pasted(open_page: Open) -> None:
    page = open_page("#/play?game=tictactoe")
    page.get_by_text("Share and load").click()
    expect(page.locator(".share")).to_contain_text("Moves, a position (FEN), PGN or SGF can be pasted")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_contain_text("Ctrl + V")


def test_a_review_shows_its_progress_and_is_stopped(open_page: Open) -> None:
    page = open_page(f"#/play?game={BLUNDER}")
    wait_for_stones(page, 5)
    page.wait_for_function("() => location.hash.includes('table=')")
    found = re.search(r"table=([\w-]+)", page.url)
    assert found
    known = page.request.get(f"{page.url.partition('/?')[0].partition('/#')[0]}/api/tables/{found[1]}").json()
    bodies = list[Any]()

    def answer(route: Any) -> None:
        bodies.append(route.request.post_data_json)
        review = {"on": bodies[-1]["on"], "done": 2, "of": 5, "by": "", "why": ""}
        route.fulfill(json=known | {"version": known["version"] + len(bodies), "review": review})

    page.route("**/review", answer)
    start, state = page.locator("[data-do=review]"), page.locator(".review")
    start.click()
    expect(start).to_have_text("Stop")
    expect(state).to_contain_text("2 of 5 moves judged.")
    progress = state.get_by_role("progressbar", name="Moves judged")
    expect(progress).to_be_visible()
    assert progress.evaluate("bar => [bar.value, bar.max]") == [2, 5]
    start.click()
    expect(start).to_have_text("Review")
    expect(state).to_contain_text("Stopped after 2 of 5 moves.")
    expect(progress).to_be_hidden()
    assert [body["on"] for body in bodies] == [True, False]


def test_the_board_stays_beside_the_review_on_a_narrow_page(open_page: Open) -> None:
    page = open_page(f"#/play?game={BLUNDER}", **PHONE)
    wait_for_stones(page, 5)
    page.locator("[data-do=review]").tap()
    again, board = page.locator(".again"), page.locator("svg.board")
    page.locator("[data-do=next-mistake]").tap()
    expect(again).to_contain_text("Move 4: 8 gave away 50 %; 2 was best.")
    costly, moves = page.locator(".costly button").first, page.locator(".move-list .move")
    for control, count in ((page.locator("[data-do=next-mistake]"), 4), (costly, 3), (moves.first, 1)):
        control.tap()
        wait_for_stones(page, count)
        expect(board).to_be_in_viewport(ratio=0.99)
        if count > 1:
            expect(again).to_be_in_viewport(ratio=0.99)
    assert board.bounding_box()["height"] < 0.5 * PHONE["viewport"]["height"]  # type: ignore[index]
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    cell(page, "33").tap()
    wait_for_stones(page, 2)
