"""Stories in a real browser: New game, keys, what is announced, runs compared, no raw error."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any
from urllib.parse import unquote

import pytest
from pages import cell, hold, opener, served_runs, wait_for_held, wait_for_stones
from places import CROWNING
from running import TrainedRun

from azero.players.levels import LEVELS

sync_api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
pytest.importorskip("starlette", reason="The studio needs the extra `studio`.")
pytestmark = pytest.mark.browser
expect: Any = sync_api.expect

Open = Callable[..., Any]


@pytest.fixture(scope="module")
def address(trained_run: TrainedRun, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a studio with two runs of tic-tac-toe, "trained" and "second"."""
    with served_runs(tmp_path_factory.mktemp("studio"), trained_run, CROWNING) as address:
        yield address


@pytest.fixture
def open_page(browser: Any, address: str) -> Iterator[Open]:
    """Open a page of the studio at the board; no page may have an error of its own."""
    with opener(browser) as open_address:
        yield lambda place="#/play?game=tictactoe", **options: open_address(address + place, **options)


def go_to(page: Any, place: str) -> None:
    """Go to another page of the studio."""
    page.goto(f"{page.url.partition('#')[0]}#/{place}")


def asked(page: Any) -> Any:
    """Open New game by its key; return the dialog."""
    page.keyboard.press("n")
    dialog = page.get_by_role("dialog", name="New game")
    expect(dialog).to_be_visible()
    return dialog


def test_players_follow_the_game_and_its_size(open_page: Open) -> None:
    page = open_page("#/play?game=hex&options=size:5,swap:false")

    def answer(route: Any) -> None:  # a champion of Hex 5 alone
        answered = route.fetch()
        body = answered.json()
        options = json.loads(re.search(r"options=([^&]*)", unquote(route.request.url))[1])  # type: ignore[index]
        is_five = "game=hex" in route.request.url and options.get("size") == 5
        body["champions"] = [{"run": "five", "cycle": 2, "cycles": [1, 2]}] if is_five else []
        route.fulfill(response=answered, json=body)

    page.route("**/api/players*", answer)
    dialog = asked(page)
    games = dialog.get_by_label("game").locator("option").all_text_contents()
    assert games[:4] == ["Tic-tac-toe", "Connect Four", "Othello", "Go"] and "Go 9" not in games
    second = dialog.get_by_role("group", name="Plays second")
    second.get_by_label("player").select_option(label="Champion of five")
    assert second.get_by_label("level").locator("option").all_text_contents()[:5] == list(LEVELS)
    assert second.get_by_label("level").input_value() == "strongest"
    second.get_by_label("level").select_option("easy")
    second.get_by_text("More options").click()
    expect(second.get_by_label("num simulations")).to_have_value(str(LEVELS["easy"]["num_simulations"]))
    second.get_by_label("num simulations").fill("77")
    second.get_by_label("num simulations").blur()
    assert second.get_by_label("level").input_value() == "own numbers"
    dialog.get_by_role("combobox", name="size").select_option(label="7 × 7")
    expect(second.get_by_label("player")).not_to_have_value("run five")
    assert second.get_by_label("player").locator("option", has_text="Champion").count() == 0
    dialog.get_by_role("button", name="Start").click()
    expect(dialog).to_have_count(0)
    expect(page.locator("[role=gridcell]")).to_have_count(49)
    page.unroute_all(behavior="ignoreErrors")


def test_a_mistake_is_said_beside_its_field(open_page: Open) -> None:
    page = open_page(viewport={"width": 360, "height": 640})
    page.get_by_role("button", name="New game").click()
    dialog = page.get_by_role("dialog", name="New game")
    assert dialog.evaluate("dialog => dialog.scrollTop") == 0
    expect(dialog.get_by_label("game")).to_be_in_viewport()
    expect(dialog.get_by_role("button", name="Start")).to_be_in_viewport()
    dialog.get_by_label("game").select_option(label="Gomoku")
    connect = dialog.get_by_role("spinbutton", name="connect")
    for text, said in (("99", "from 2 to 25."), ("20", "from 2 to 15, not 20.")):
        connect.fill(text)
        dialog.get_by_role("button", name="Start").click()
        beside = dialog.locator(".field-box", has=page.get_by_role("spinbutton", name="connect")).get_by_role(
            "alert"
        )
        expect(beside).to_have_text(f"Connect must be a whole number {said}")
    assert dialog.get_by_label("game").input_value() == "gomoku"
    connect.fill("4")
    connect.blur()
    expect(dialog.get_by_role("alert").filter(has_text="must be")).to_have_count(0)
    dialog.get_by_role("group", name="Plays second").get_by_label("player").select_option("person")
    if find_spec("pyspiel"):
        dialog.get_by_label("game").select_option(label="A game of OpenSpiel …")
        dialog.get_by_role("spinbutton", name="max plies").fill("300")
        dialog.get_by_label("game").select_option(label="Tic-tac-toe")
    dialog.get_by_role("button", name="Start").click()
    expect(dialog).to_have_count(0)


def test_keys_press_buttons_but_not_while_one_types(open_page: Open) -> None:
    page = open_page("#/play?game=tictactoe&moves=4.0.8")
    wait_for_stones(page, 3)
    for key, count in (("ArrowLeft", 2), ("Home", 0), ("ArrowRight", 1), ("End", 3), ("u", 2)):
        page.keyboard.press(key)
        wait_for_stones(page, count)
    page.route("**/analyse", lambda route: route.fulfill(json={}))
    page.keyboard.press("a")
    analysis = page.get_by_role("switch", name="Analysis")
    expect(analysis).to_be_checked()
    page.keyboard.press("a")
    expect(analysis).not_to_be_checked()
    page.keyboard.press("m")
    field = page.get_by_label("Type a move")
    expect(field).to_be_focused()
    page.keyboard.type("nahu")
    assert field.input_value() == "nahu" and page.get_by_role("dialog").count() == 0
    field.fill("")
    field.blur()
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog", name="Keys")
    expect(dialog).to_contain_text("take back")
    page.keyboard.press("n")  # nothing fires below a dialog
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_a_letter_of_a_move_is_no_key(open_page: Open) -> None:
    page = open_page("#/play?game=hex&options=size:5,swap:false")
    page.keyboard.type("a2")
    page.keyboard.press("Enter")
    expect(page.locator(".move-list")).to_contain_text("a2")
    expect(page.get_by_role("switch", name="Analysis")).not_to_be_checked()


def test_letters_of_pages_and_comments_are_letters_of_moves_too(open_page: Open) -> None:
    page = open_page("#/play?game=go&options=size:13")
    for move in ("c4", "g2", "l3"):
        page.keyboard.type(move)
        page.keyboard.press("Enter")
        expect(page.locator(".move-list")).to_contain_text(move)
        page.evaluate("document.activeElement.blur()")
    assert page.locator("#page.page-play").count() == 1


def test_keys_comment_copy_and_delete(open_page: Open) -> None:
    page = open_page("#/play?game=tictactoe&moves=4.0.8&ply=1")
    wait_for_stones(page, 1)
    page.evaluate("navigator.clipboard.writeText = async (text) => { window.copied = text; }")
    page.keyboard.press("l")
    expect(page.get_by_role("status")).to_contain_text("Copied.")
    assert page.evaluate("window.copied === location.href")
    page.keyboard.press("c")
    expect(page.get_by_label("Comment on 4")).to_be_focused()
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("Delete")
    expect(page.get_by_role("status")).to_contain_text("Deleted: 3 moves.")
    wait_for_stones(page, 0)


def test_each_page_has_keys_for_the_others(open_page: Open) -> None:
    page = open_page()
    for name in ("games", "train", "runs", "matches", "learn"):
        page.keyboard.type(f"g{name[0]}")
        expect(page.locator(f".page-{name} h1")).to_have_count(1)
        page.keyboard.press("?")
        dialog = page.get_by_role("dialog", name="Keys")
        expect(dialog).to_contain_text("g, p")
        own = {"games": "search", "runs": "to the end", "learn": "one simulation forward"}
        expect(dialog).to_contain_text(own.get(name, "My games"))
        page.keyboard.press("Escape")
        expect(page.locator("body")).to_be_focused()
    page.keyboard.type("gg")
    expect(page.locator(".page-games")).to_be_visible()
    page.keyboard.press("/")
    expect(page.get_by_label("Search my games")).to_be_focused()
    assert page.get_by_label("Search my games").input_value() == ""


def test_what_happens_is_announced(open_page: Open) -> None:
    page = open_page()
    dialog = asked(page)
    dialog.get_by_role("group", name="Plays second").get_by_label("player").select_option(label="random")
    dialog.get_by_role("button", name="Start").click()
    expect(dialog).to_have_count(0)
    cell(page, "22").click()
    wait_for_stones(page, 2)
    expect(page.locator(".spoken")).to_have_text(re.compile(r"^O plays \d\. Your move\.$"))
    held = hold(page, "**/hint")
    page.keyboard.press("h")
    expect(page.locator("[data-do=hint]")).to_have_attribute("aria-busy", "true")
    page.wait_for_function("() => document.querySelector('[data-do=hint]').disabled")
    wait_for_held(page, held)
    held[0].fulfill(json={"move": "0", "shown": "0", "cell": 0, "value": 0.5, "from": None, "by": "UCT"})
    expect(page.get_by_role("status")).to_contain_text("Hint: 0, 75 % for you (UCT).")
    expect(page.get_by_role("button", name="Hint")).to_be_enabled()
    page.get_by_role("button", name="Resign").click()
    expect(page.locator(".spoken")).to_contain_text("You lose")


def test_leaving_while_a_board_is_set_up_says_nothing(open_page: Open) -> None:
    page = open_page()
    held = hold(page, "**/api/tables")
    page.evaluate("location.hash = '#/play?game=connect_four'")
    page.wait_for_function("() => document.querySelector('.waiting') !== null")
    wait_for_held(page, held)
    go_to(page, "runs")
    expect(page.get_by_role("heading", name="Runs", level=2)).to_be_visible()
    held[0].continue_()
    page.wait_for_timeout(500)
    assert page.locator(".toasts p").count() == 0


def test_no_error_of_the_page_is_shown_raw(browser: Any, address: str) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.goto(address)
    expect(page.locator("svg.board")).to_be_visible()
    sentence = "Something on this page went wrong. Reload it to go on."
    for fault in ("setTimeout(() => null.x)", "Promise.reject(new TypeError('x of null')); 0"):
        page.evaluate(fault)
        expect(page.get_by_role("status")).to_have_text(sentence)
        page.evaluate("document.querySelector('.toasts').replaceChildren()")
    context.close()


def test_runs_are_compared_over_what_a_person_chooses(open_page: Open) -> None:
    page = open_page()
    go_to(page, "runs?compare=trained,second")
    expect(page.get_by_role("heading", name="2 runs")).to_be_visible()
    charts = page.locator(".chart")
    expect(charts.locator(".chart-svg").first).to_be_visible()
    assert charts.count() > 3
    for i in range(charts.count()):  # one colour for a run in all charts
        entries = charts.nth(i).locator(".chart-entry")
        assert [entry.split(" ")[0] for entry in entries.all_text_contents()] == ["trained", "second"]
        found = entries.locator("svg").evaluate_all("all => all.map(each => each.getAttribute('class'))")
        assert found == ["series series-0", "series series-1"]
    for axis, label in (("minutes of training", "minutes"), ("simulations of self-play", "simulations")):
        page.get_by_label("Drawn over").select_option(label=axis)
        charts.first.locator(".chart-svg").focus()
        page.keyboard.press("Home")
        expect(charts.first.locator(".chart-title")).to_contain_text(label)


def test_a_replay_has_keys_and_any_game_is_opened_by_its_number(open_page: Open) -> None:
    page = open_page()
    go_to(page, "runs?run=trained")
    page.get_by_label("Game number").fill("3")
    page.get_by_label("Game number").press("Enter")
    expect(page.locator(".replay")).to_contain_text("game 3")
    page.locator(".replay h2").click()
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("Home")
    wait_for_stones(page, 0)
    page.keyboard.press("ArrowRight")
    wait_for_stones(page, 1)
    page.keyboard.press("End")
    expect(page.locator(".replay .stone").nth(4)).to_be_attached()
