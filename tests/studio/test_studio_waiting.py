"""Stories in a real browser: what a page does while the server takes its time, and where it refuses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pages import hold, moves_shown, wait_for_held, wait_for_stones

sync_api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
pytest.importorskip("starlette", reason="The studio needs the extra `studio`.")
pytestmark = pytest.mark.browser
expect: Any = sync_api.expect

Open = Callable[..., Any]
KEYS = ("ArrowLeft", "ArrowRight", "Home", "End", *"nhuaerxfsp.m1")
CHAMPION = {"run": "mine", "cycle": 3, "cycles": [3]}


def refuse_once(page: Any, place: str, **answer: str) -> None:
    """Let the server refuse one request."""
    page.route(place, lambda route: route.fulfill(status=400, json=answer), times=1)


def test_keys_do_nothing_until_the_board_is_there(open_page: Open) -> None:
    page = open_page("#/play?game=tictactoe")
    held = hold(page, "**/api/tables")
    page.evaluate("location.hash = '#/play?game=connect_four'")
    wait_for_held(page, held)
    expect(page.get_by_text("Setting up the board")).to_be_visible()
    for key in KEYS:
        page.keyboard.press(key)
    page.evaluate("document.querySelectorAll('.nav button').forEach(button => button.click())")
    assert page.locator(".toasts p, dialog").count() == 0
    held[0].continue_()
    expect(page.locator("svg.board")).to_be_visible()
    assert page.locator(".toasts p, dialog").count() == 0


def test_a_new_game_waits_until_its_rules_are_compiled(open_page: Open) -> None:
    page = open_page("#/play?game=connect_four")
    page.get_by_role("button", name="New game").click()
    dialog = page.get_by_role("dialog")
    start, dot = dialog.get_by_role("button", name="Start"), dialog.locator("fieldset .dot").first
    expect(dot).to_be_visible()
    held = hold(page, "**/api/players?*")
    dialog.get_by_label("game").select_option(label="Tic-tac-toe")
    expect(dialog).to_contain_text("Compiling this game, once on this machine")
    expect(start).to_be_disabled()
    expect(dot).to_be_hidden()
    assert dialog.locator(".two").evaluate("box => box.inert")
    wait_for_held(page, held)
    for each in held:
        each.continue_()
    expect(start).to_be_enabled()
    expect(dot).to_be_visible()
    expect(dialog).not_to_contain_text("Compiling this game")


def test_a_new_game_is_not_started_with_players_that_nobody_has_seen(open_page: Open) -> None:
    page = open_page("#/play?game=connect_four")
    page.get_by_role("button", name="New game").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("group", name="Plays second").get_by_label("player").select_option(label="uct")
    held = hold(page, "**/api/players?*")
    dialog.get_by_label("game").select_option(label="Tic-tac-toe")
    wait_for_held(page, held)
    page.evaluate("document.querySelector('dialog form').requestSubmit()")
    for each in held:
        each.fulfill(json=each.fetch().json() | {"champions": [CHAMPION]})
    expect(dialog.get_by_text("The players have changed with the game.")).to_be_visible()
    second = dialog.get_by_role("group", name="Plays second").locator("option:checked").first
    expect(second).to_have_text("Champion of mine")
    assert "connect_four" in page.url


def test_typed_moves_are_played_one_after_another(open_page: Open) -> None:
    page = open_page("#/play?game=connect_four&moves=4")
    wait_for_stones(page, 1)
    held, field = hold(page, "**/move"), page.get_by_label("Type a move")
    for name in "123456":
        field.fill(name)
        field.press("Enter")
    for count in range(1, 7):
        wait_for_held(page, held, count)
        assert len(held) == count  # the others wait for this one
        held[count - 1].continue_()
    wait_for_stones(page, 7)
    assert moves_shown(page) == list("4123456")


def test_typed_moves_after_a_refused_one_are_named(open_page: Open) -> None:
    page = open_page("#/play?game=connect_four&moves=5")
    wait_for_stones(page, 1)
    held, field = hold(page, "**/move"), page.get_by_label("Type a move")
    for name in ("1", "zz", "2", "3"):
        field.fill(name)
        field.press("Enter")
    for count in (1, 2):
        wait_for_held(page, held, count)
        held[count - 1].continue_()
    refusal = page.locator(".toasts .refusal")
    expect(refusal).to_contain_text("'zz' is not a move")
    expect(refusal).to_contain_text("Not played: zz, 2, 3.")
    wait_for_stones(page, 2)
    assert len(held) == 2


def test_a_large_file_is_refused_with_a_sentence(open_page: Open) -> None:
    page = open_page("#/play?game=tictactoe")
    large = {"name": "large.sgf", "mimeType": "text/plain", "buffer": b" " * 1_000_001}
    page.locator("input[type=file]").set_input_files(large)
    expect(page.locator(".toasts")).to_contain_text("The file is larger than 1,000 kB; open a part of it.")


def test_a_change_of_a_side_that_is_refused_keeps_its_dialog(open_page: Open) -> None:
    page = open_page("#/play?game=tictactoe&moves=4")
    page.get_by_role("button", name="Change who plays").last.click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("player").select_option(label="random")
    refuse_once(page, "**/sides", error="Random is out today.", field="sides.1.num_simulations")
    dialog.get_by_role("button", name="Change").click()
    expect(dialog.get_by_role("alert").filter(has_text="Random is out today.")).to_be_visible()
    dialog.get_by_label("player").select_option(label="uct")
    refuse_once(page, "**/sides", error="That is too many.", field="sides.1.num_simulations")
    dialog.get_by_role("button", name="Change").click()
    expect(dialog.get_by_label("Num simulations")).to_have_attribute("aria-invalid", "")
    expect(dialog.get_by_label("Num simulations")).to_be_focused()
    assert page.locator(".toasts p").count() == 0
    dialog.get_by_label("player").select_option(label="random")
    dialog.get_by_role("button", name="Change").click()
    expect(dialog).to_have_count(0)
    expect(page.locator(".side").nth(1)).to_contain_text("random")


def test_a_match_says_beside_its_field_what_is_wrong_and_keeps_its_players(open_page: Open) -> None:
    page = open_page("#/play?game=tictactoe")
    page.locator(".tabs [data-page=matches]").click()
    second = page.get_by_role("group", name="Player 2")
    second.get_by_label("player").select_option(label="random")
    page.get_by_role("button", name="Another player").click()
    page.get_by_role("group", name="Player 3").get_by_label("Num simulations").fill("7")
    page.locator(".chooser select").first.select_option(label="Connect Four")
    page.locator('fieldset[data-stones="coloured"]').nth(2).wait_for()
    expect(second.locator("option:checked").first).to_have_text("random")
    third = page.get_by_role("group", name="Player 3").get_by_label("Num simulations")
    expect(third).to_have_value("7")
    games = page.get_by_label("games of each pair")
    games.fill("3")
    page.get_by_role("button", name="Start match").click()
    expect(page.get_by_text("Games must be an even number from 2 to 10,000")).to_be_visible()
    expect(games).to_be_focused()
    games.fill("4")
    refuse_once(page, "**/api/matches", error="That is too few.", field="sides.2.num_simulations")
    page.get_by_role("button", name="Start match").click()
    expect(third).to_be_focused()
    expect(page.get_by_role("group", name="Player 3")).to_contain_text("That is too few.")
    assert page.locator(".toasts p").count() == 0


def test_training_says_beside_its_field_what_is_wrong(open_page: Open) -> None:
    page = open_page("#/play?game=tictactoe")
    page.locator(".tabs [data-page=train]").click()
    name, minutes = page.get_by_label("name of the run"), page.get_by_label("minutes at most")
    name.fill("-007")
    page.get_by_role("button", name="Start training").click()
    expect(page.get_by_text("A name has at most 64 letters")).to_be_visible()
    expect(name).to_be_focused()
    minutes.fill("0")
    page.get_by_role("button", name="Start training").click()
    expect(page.get_by_text("Minutes must be a number above 0")).to_be_visible()
    expect(minutes).to_be_focused()
    page.evaluate("import('/static/train.js').then(({ goOn }) => { goOn('nothing'); })")
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("more minutes").fill("3")
    dialog.get_by_role("button", name="Go on").click()
    expect(dialog.get_by_role("alert").filter(has_text="There is no run nothing.")).to_be_visible()
    assert page.locator(".toasts p").count() == 0
