"""Stories of how boards look: the end is shown, text can be read, the best moves, looking without playing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from contrast import faint
from pages import cell
from places import CROWNING

from azero.games import make_game
from azero.games.playing import GameInProgress
from azero.studio.replay import replay_json

sync_api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
pytest.importorskip("starlette", reason="The studio needs the extra `studio`.")
pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]
expect: Any = sync_api.expect

Open = Callable[..., Any]
PLAY = "#/play?game="
OFFERED = CROWNING
GO_END = "go&options=size:5,komi:1.5&moves=c1.d1.c2.d2.c3.d3.c4.d4.c5.d5.pass.pass"
BOARDS = {
    "tictactoe": "tictactoe&moves=4.0.2",
    "connect_four": "connect_four&moves=4.4.5",
    "othello": "othello&moves=d3.c3",
    "go": "go&options=size:5,komi:1.5&moves=c3.d3",
    "hex": "hex&options=size:5,swap:true&moves=c3",
    "breakthrough": "breakthrough&options=rows:5,columns:4&moves=a2a3",
}


def analyse(page: Any) -> None:
    """Switch the analysis on and wait for numbers on the board."""
    page.get_by_role("switch", name="Analysis").check(force=True)
    expect(page.locator(".numbers text, .arrows path").first).to_be_attached()
    page.get_by_role("button", name="Done").wait_for()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", BOARDS)
def test_the_texts_of_a_board_and_its_analysis_can_be_read(name: str, scheme: str, open_page: Open) -> None:
    page = open_page(PLAY + BOARDS[name], color_scheme=scheme, reduced_motion="reduce")
    analyse(page)
    assert faint(page) == []


@pytest.mark.parametrize(("place", "said", "marks"), [
    ("tictactoe&moves=4.0.2.6.3.5.1.8.7", "X wins.", 3),
    ("connect_four&moves=4.4.5.5.6.6.7", "The first player wins.", 4),
    ("hex&options=size:3&moves=a2.c3.b1.c2.a3", "Black wins.", 3),
    (GO_END, "Black wins by 3.5 points.", 15),
])  # fmt: skip
def test_the_end_of_a_game_is_shown(place: str, said: str, marks: int, open_page: Open) -> None:
    page = open_page(PLAY + place)
    expect(page.locator(".message")).to_have_text(said)
    assert page.locator(".ends .won:not(.under), .ends .owned").count() == marks
    page.get_by_role("button", name="Back", exact=True).click()
    expect(page.locator(".ends > *")).to_have_count(0)


def test_a_replay_and_a_live_board_show_the_end(open_page: Open) -> None:
    game = make_game("connect_four")
    played = replay_json(game, "connect_four", [int(name) - 1 for name in "4455667"])
    page = open_page(PLAY + "tictactoe")
    page.evaluate(
        """async (game) => {
        const [{ showReplay }, { makeBoard }] =
            await Promise.all([import("/static/parts.js"), import("/static/page/board.js")]);
        const page = document.getElementById("page"), small = document.createElement("div");
        showReplay(page, { ...game, outcome: 1 }, "Game 1");
        page.append(small);
        makeBoard(small, game.board, { small: true }).show(game.positions.at(-1), false);
    }""",
        played,
    )
    assert page.locator(".ends .won:not(.under)").count() == 8
    expect(page.locator(".replay output")).to_contain_text("The first player wins")


def test_the_heading_names_game_size_and_komi(open_page: Open) -> None:
    page = open_page(PLAY + BOARDS["go"])
    heading = "Go, 5 × 5, komi 1.5"
    expect(page.get_by_role("heading", level=1)).to_have_text(heading)
    assert page.title().startswith(heading)
    assert page.locator(".side strong").all_text_contents() == ["Black", "White"]
    assert page.locator(".side small").all_text_contents() == ["0 captured", "0 captured"]


@pytest.mark.parametrize("size", [13, 19])
def test_ten_moves_have_numbers_on_a_big_board(size: int, open_page: Open) -> None:
    page = open_page(f"{PLAY}go&options=size:{size}")
    page.get_by_role("switch", name="Analysis").check(force=True)
    expect(page.locator(".heat circle")).to_have_count(10)
    expect(page.locator(".numbers .major")).to_have_count(10)
    height = page.locator(".search-box").bounding_box()["height"]
    expect(page.locator(".line b")).not_to_be_empty()
    cell(page, "g7").click()
    expect(page.locator(".stones .stone")).to_have_count(1)
    assert page.locator(".search-box").bounding_box()["height"] == height


def test_a_finger_that_rests_on_a_cell_looks_at_it(open_page: Open) -> None:
    page = open_page(PLAY + "tictactoe&moves=4", viewport={"width": 360, "height": 640}, has_touch=True)
    analyse(page)
    hold = """([name, time]) => {
        const cell = document.querySelector(`[role=gridcell][aria-label^="${name},"]`);
        const box = cell.getBoundingClientRect(), { x, y } = box;
        const at = { clientX: x + box.width / 2, clientY: y + box.height / 2, bubbles: true,
            pointerType: "touch" };
        cell.dispatchEvent(new PointerEvent("pointerdown", at));
        return new Promise((done) => setTimeout(() => {
            cell.dispatchEvent(new PointerEvent("pointerup", at));
            done();
        }, time));
    }"""
    cell(page, "11").scroll_into_view_if_needed()
    page.evaluate(hold, ["11", 600])
    expect(page.locator(".tip text")).to_contain_text("%")
    assert page.locator(".stones .stone").count() == 1
    page.evaluate(hold, ["31", 50])
    expect(page.locator(".stones .stone")).to_have_count(2)
    assert page.locator(".tip text").count() == 0


def test_moves_beside_the_board_say_what_they_do(open_page: Open) -> None:
    page = open_page(PLAY + BOARDS["hex"])
    page.get_by_role("button", name="Swap: take Black's stone").click()
    expect(cell(page, "c3")).to_have_attribute("aria-label", "c3, O, last move")
    assert page.get_by_role("button", name="Exchange players").count() == 1
    moves = forced_pass()
    page = open_page(f"{PLAY}othello&options=size:4&moves={moves}")
    page.get_by_role("button", name="Pass: there is no other move").click()
    expect(page.locator(".move[aria-current]")).to_contain_text("pass")


def forced_pass() -> str:
    """Return moves of Othello on 4 x 4 after which the player to move has to pass."""
    rng = np.random.default_rng(1)
    while True:
        at = GameInProgress(make_game("othello", size=4))
        while not at.is_over:
            legal = at.game.legal_actions(at.state)
            if legal == [16]:
                return ".".join(at.moves)
            at.play(int(rng.choice(legal)))
