"""Stories of kept games and files in a real browser: restart, two tabs, undo, My games, paste, drop."""

from __future__ import annotations

import contextlib
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from forks import azero_command
from pages import cell, moves_shown, opener, paste, stones, wait_for_stones

sync_api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
pytest.importorskip("starlette", reason="The studio needs the extra `studio`.")
pytestmark = pytest.mark.browser
expect: Any = sync_api.expect

SGF = (
    "(;GM[1]SZ[5]PB[Lee Sedol]PW[Ke Jie]RE[B+R]DT[2016-03-09]EV[Google Cup]C[A famous game.]"
    ";B[ee]C[Tengen!];W[cc];B[aa])"
)
OTHER = "(;GM[1]SZ[5]PB[Ann]PW[Bob]RE[W+R];B[aa];W[bb])"
DROP = """text => {
    const data = new DataTransfer();
    data.items.add(new File([text], "game.sgf"));
    for (const name of ["dragover", "drop"]) document.body.dispatchEvent(
        new DragEvent(name, { dataTransfer: data, bubbles: true, cancelable: true }));
}"""


class Server:
    """A studio that can be killed and started again at the same address."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.port, self.address = folder, 0, ""
        self.start()

    def start(self) -> None:
        """Start it."""
        command = azero_command("", "studio", "open=false", f"port={self.port}")
        self.process = subprocess.Popen(command, cwd=self.folder, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        found = re.search(r"http://[^:]+:(\d+)/\S+", self.process.stdout.readline())
        assert found
        self.address, self.port = found[0], int(found[1])

    def kill(self) -> None:
        """Kill it at once."""
        self.process.kill()
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A studio with a folder of its own."""
    server = Server(tmp_path_factory.mktemp("studio"))
    yield server
    with contextlib.suppress(OSError):
        server.kill()


@pytest.fixture
def open_page(browser: Any, server: Server) -> Iterator[Callable[..., Any]]:
    """Open a page of the studio and wait for its board; at the end no page may have had an error."""
    with opener(browser) as open_address:
        yield lambda place="", **options: open_address(server.address + place, **options)


def games_page(page: Any) -> Any:
    """Open My games; return its rows."""
    page.get_by_role("link", name="My games").first.click()
    expect(page.get_by_role("heading", name="My games")).to_be_visible()
    return page.locator(".kept-games li")


def test_a_killed_studio_loses_nothing_of_two_tabs(open_page: Callable[..., Any], server: Server) -> None:
    page = open_page("#/play?game=tictactoe&moves=4.0.8.2")
    wait_for_stones(page, 4)
    page.locator(".move", has_text="0").first.click()
    wait_for_stones(page, 2)
    page.locator("[role=gridcell]").nth(1).click()
    expect(page.locator(".variation .move").first).to_be_visible()
    page.get_by_label("Comment on 1").fill("Better.")
    page.get_by_label("Comment on 1").blur()
    expect(page.locator(".has-comment")).to_have_text("1")
    page.get_by_role("button", name="To the start").click()
    wait_for_stones(page, 0)
    expect(page.get_by_text("Kept in My games")).to_be_visible()
    address, before = page.url, moves_shown(page)
    assert "moves=4.0.8.2&ply=0&table=" in address  # the whole line, and what is shown
    other = page.context.new_page()
    other.goto(address)
    wait_for_stones(other, 0)
    page.wait_for_timeout(1000)
    server.kill()
    server.start()
    while not stones(page):  # until the page has found its game again
        cell(page, "22").click()
        page.wait_for_timeout(300)
    wait_for_stones(other, 1)  # as the second tab has
    for tab in (page, other):
        assert moves_shown(tab) == before and tab.locator(".variation .move").count() == 1
        expect(tab.locator(".has-comment")).to_have_text("1")
    page.reload()
    wait_for_stones(page, 1)
    assert moves_shown(page) == before


def test_deleted_moves_come_back_by_undo(open_page: Callable[..., Any]) -> None:
    page = open_page("#/play?game=connect_four&moves=4.4.3.5")
    wait_for_stones(page, 4)
    page.locator(".move", has_text="4").first.click()
    wait_for_stones(page, 1)
    page.get_by_role("button", name="Delete from here on").click()
    wait_for_stones(page, 0)
    expect(page.get_by_role("status")).to_contain_text("Deleted: 4 moves.")
    page.get_by_role("button", name="Undo", exact=True).click()
    wait_for_stones(page, 1)
    assert moves_shown(page) == ["4", "4", "3", "5"]
    page.get_by_role("button", name="Delete from here on").click()
    wait_for_stones(page, 0)
    page.get_by_role("button", name="Bring back what was deleted").click()  # when the sentence is gone
    wait_for_stones(page, 1)
    expect(page.get_by_role("button", name="Bring back what was deleted")).to_be_hidden()


def test_a_game_is_found_renamed_deleted_and_opened_again(open_page: Callable[..., Any]) -> None:
    page = open_page("#/play?game=hex&options=size:4&moves=a1.b2.c3")
    wait_for_stones(page, 3)
    page.get_by_role("button", name="Change names, event, date or result").click()
    page.get_by_role("textbox", name="first player").fill("Anatol")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".side").first).to_contain_text("Anatol")
    page.wait_for_timeout(600)
    rows = games_page(page)
    page.get_by_label("Search my games").fill("anatol hex")
    expect(rows).to_have_count(1)
    expect(rows.locator("img")).to_be_visible()
    page.get_by_role("button", name="Rename").click()
    page.get_by_role("dialog").get_by_label("name").fill("Lesson one")
    page.keyboard.press("Enter")
    expect(rows.locator("a")).to_have_text("Lesson one")
    page.get_by_role("button", name="Delete Lesson one").click()
    expect(rows).to_have_count(0)
    page.get_by_role("button", name="Undo", exact=True).click()
    expect(rows).to_have_count(1)
    rows.locator("a").click()
    wait_for_stones(page, 3)
    expect(page.locator(".about h2")).to_have_text("Lesson one")
    assert stones(page) == ["a1, X", "b2, O", "c3, X"]


def test_a_game_is_pasted_and_dropped_and_one_of_several_is_chosen(open_page: Callable[..., Any]) -> None:
    page = open_page("#/play?game=tictactoe")
    paste(page, SGF)
    wait_for_stones(page, 3)
    expect(page.locator(".about")).to_contain_text("Lee Sedol – Ke Jie")
    expect(page.locator(".about")).to_contain_text("Google Cup · 2016-03-09 · Black wins by resignation")
    page.get_by_role("button", name="To the start").click()
    expect(page.get_by_label("Comment on the start")).to_have_value("A famous game.")
    page.get_by_role("button", name="Forward").click()
    expect(page.get_by_label("Comment on e1")).to_have_value("Tengen!")
    page.evaluate(DROP, SGF + OTHER)
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("The file has 2 games")
    dialog.get_by_label("Search in the file").fill("bob")
    expect(dialog.locator("option")).to_have_count(1)
    dialog.get_by_role("button", name="Open").click()
    wait_for_stones(page, 2)
    expect(page.locator(".side").first).to_contain_text("Ann")
    paste(page, "(;GM[1]SZ[5]AB[cc][bb]LB[cc:1][dd:A]TR[ee]AR[aa:cc];W[aa])")
    wait_for_stones(page, 3)
    page.get_by_role("button", name="To the start").click()
    expect(page.locator(".badge.sign text")).to_have_text(["△", "1", "A"])
    expect(page.locator("[role=gridcell][aria-label^='c3,'][aria-label$=', 1']")).to_have_count(1)
    expect(page.locator("[aria-label='a5, empty, can be played, arrow to c3']")).to_have_count(1)
    expect(page.locator(".arrows .drawn")).to_have_count(1)
    page.get_by_role("button", name="Forward").click()
    expect(page.locator(".badge.sign, .arrows .drawn")).to_have_count(0)
    paste(page, "no game")
    expect(page.get_by_role("status")).to_contain_text("This is no game (SGF, PGN, JSON)")


def test_a_dialog_that_deletes_has_the_focus_on_its_harmless_button(open_page: Callable[..., Any]) -> None:
    page = open_page("#/play?game=tictactoe")
    page.route("**/api/runs/x/delete", lambda route: route.fulfill(json={"folders": []}))
    page.evaluate("() => { import('/static/train.js').then(({ deleteRun }) => deleteRun('x')); }")
    expect(page.get_by_role("dialog")).to_contain_text("Delete run x?")
    expect(page.get_by_role("button", name="Cancel")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_have_count(0)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width, height", [(360, 640), (2560, 1440)])
def test_my_games_fit_every_size(open_page: Callable[..., Any], width: int, height: int, scheme: str) -> None:
    page = open_page(
        "#/play?game=tictactoe&moves=4.0",
        viewport={"width": width, "height": height}, color_scheme=scheme,
    )  # fmt: skip
    wait_for_stones(page, 2)
    page.wait_for_timeout(500)
    page.locator(".tabs [data-page=games]").click()
    expect(page.locator(".kept-games li").first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator(".tabs").evaluate("tabs => tabs.scrollWidth <= tabs.clientWidth")  # no tab is hidden
    assert page.locator(".tabs").bounding_box()["height"] < 45


def test_address_and_position_are_copied(open_page: Callable[..., Any]) -> None:
    page = open_page("#/play?game=tictactoe&moves=4.0")
    page.evaluate("navigator.clipboard.writeText = async (text) => { window.copied = text; }")
    page.get_by_text("Share and load").click()
    texts = {"Copy address": "#/play?game=tictactoe&moves=4.0", "Copy position": "O../.X./... X"}
    for name, said in texts.items():
        page.get_by_role("button", name=name).click()
        page.wait_for_function("said => window.copied?.includes(said)", arg=said)
    expect(page.get_by_role("status")).to_contain_text("Copied: O../.X./... X")
