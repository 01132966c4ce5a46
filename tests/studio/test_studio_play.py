"""Stories of the studio's page Play in a real browser: games, analysis, reload, boards, keyboard, sizes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pages import cell, moves_shown, served, stones, wait_for_stones, wait_until
from places import PROJECT

GUIDE = (PROJECT / "docs" / "your_own_game.md").read_text()

sync_api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
pytest.importorskip("starlette", reason="The studio needs the extra `studio`.")
pytestmark = pytest.mark.browser
expect: Any = sync_api.expect

Open = Callable[..., Any]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a studio with folders of its own, which offers the guide's game."""
    folder = tmp_path_factory.mktemp("studio")
    blocks = re.findall(r"^```python\n(.*?)^```", GUIDE, re.MULTILINE | re.DOTALL)
    (folder / "squava.py").write_text("\n".join(blocks))
    with served(folder, "squava.py") as address:
        yield address


def new_game(page: Any, **players: str) -> None:
    """Start another game of the same kind by the dialog; players: first and second."""
    page.get_by_role("button", name="New game").click()
    for side, name in players.items():
        page.get_by_role("group", name=f"Plays {side}").get_by_label("player").select_option(label=name)
    before = page.url
    page.get_by_role("button", name="Start", exact=True).click()
    page.wait_for_function("before => location.href !== before", arg=before)


def test_a_position_that_cannot_be_keeps_the_dialog_open(open_page: Open) -> None:
    page = open_page("#/play?game=chess")
    page.get_by_role("button", name="New game").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("variant").select_option(label="gardner")
    assert "start" not in dialog.locator(".field > span").all_text_contents()  # one field asks for it
    dialog.get_by_role("group", name="Plays second").get_by_label("player").select_option(label="A person")
    dialog.get_by_text("Begin at another position").click()
    position = dialog.get_by_label("position")
    position.fill("kings only")
    position.press("Enter")
    expect(dialog.get_by_role("alert")).to_contain_text("kings only")
    expect(position).to_be_focused()
    assert dialog.get_by_label("variant").input_value() == "gardner"
    position.fill("4k/5/5/5/RK3 w - - 0 1")
    position.press("Enter")
    expect(dialog).to_have_count(0)
    wait_for_stones(page, 3)
    assert sorted(stones(page)) == ["a1, white rook", "b1, white king", "e5, black king"]
    assert page.locator("svg.board").get_attribute("aria-label") == "Gardner's chess, board"


def test_a_game_of_connect_four_to_its_end_by_clicks(open_page: Open) -> None:
    page = open_page("#/play?game=connect_four")
    new_game(page, second="random")
    expect(page.locator(".side").nth(1)).to_contain_text("random")
    over = r"You win\.|You lose: random wins\.|A draw\."
    for count in range(0, 42, 2):
        expect(page.locator(".message")).to_have_text(re.compile(rf"Your move\.|{over}"))
        if page.locator(".message").text_content() != "Your move.":
            break
        page.locator(".hit.can").first.click()
        page.wait_for_function(
            "count => document.querySelectorAll('.stones .stone').length > count", arg=count
        )
    expect(page.locator(".message")).to_have_text(re.compile(over))
    assert len(stones(page)) == len(moves_shown(page)) >= 7
    page.locator("[role=gridcell]").first.click()
    expect(page.get_by_role("status")).to_contain_text("The game is over.")


def test_a_piece_is_dragged_to_its_column(open_page: Open) -> None:
    page = open_page("#/play?game=connect_four")
    columns = (page.locator(f'rect[data-cell="{column}"]') for column in (0, 5))
    first, sixth = (wait_until(page, column.bounding_box) for column in columns)
    page.mouse.move(first["x"] + 5, first["y"] + 5)
    page.mouse.down()
    page.mouse.move(sixth["x"] + 5, sixth["y"] + 5, steps=5)
    page.mouse.up()
    wait_for_stones(page, 1)
    assert stones(page) == ["61, X"] and moves_shown(page) == ["6"]


def test_heat_changes_while_an_analysis_runs_and_stops(open_page: Open) -> None:
    page = open_page("#/play?game=go9&moves=e5")  # random games of Go are long: the search goes on meanwhile
    page.evaluate("""localStorage.setItem("azero.analysis", '{"player": "uct", "simulations": 200000}')""")
    page.reload()
    wait_for_stones(page, 1)
    assert page.locator(".heat > *").count() == 0
    page.get_by_role("switch", name="Analysis").check(force=True)
    expect(page.locator(".heat > *").first).to_be_attached()
    read = "() => [...document.querySelectorAll('.search tbody tr')].map(each => each.textContent).join()"
    before = page.evaluate(read)
    page.wait_for_function(f"before => ({read})() !== before", arg=before)
    expect(page.locator(".numbers .major").first).to_have_text(re.compile(r"\d+ %"))
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_role("button", name="Go on")).to_be_visible()
    page.locator(".search tbody tr").first.hover()
    expect(page.locator(".ghosts text").first).to_have_text("1")
    page.locator(".search tbody .pick").first.click()
    wait_for_stones(page, 2)
    expect(page.get_by_role("switch", name="Analysis")).to_be_checked()


def test_a_reload_in_the_middle_loses_nothing(open_page: Open) -> None:
    page = open_page("#/play?game=connect_four")
    new_game(page, second="random")
    cell(page, "41").click()
    wait_for_stones(page, 2)
    expect(page.locator(".message")).to_have_text("Your move.")
    seen = stones(page), moves_shown(page), page.url, page.locator(".side").all_text_contents()
    page.reload()
    wait_for_stones(page, 2)
    assert seen == (stones(page), moves_shown(page), page.url, page.locator(".side").all_text_contents())


def test_cells_show_their_moves_where_the_labels_do_not_say_them(open_page: Open) -> None:
    page = open_page("#/play?game=tictactoe&moves=4")
    assert page.locator(".names text").all_text_contents() == list("01235678")
    for game in ("connect_four", "hex"):
        assert open_page(f"#/play?game={game}").locator(".names text").count() == 0


def test_badges_of_exact_values_cover_no_number(open_page: Open) -> None:
    page = open_page("#/play?game=tictactoe&moves=4")
    for name in ("Analysis", "Exact"):
        page.get_by_role("switch", name=name).check(force=True)
    expect(page.locator(".numbers .major").first).to_be_visible()
    expect(page.locator(".badge")).to_have_count(8)
    boxes = """() => ['.numbers text', '.badge'].map(name =>
        [...document.querySelectorAll(name)].map(each => {
        const {left, right, top, bottom} = each.getBoundingClientRect();
        return [left, right, top, bottom];
    }))"""
    numbers, badges = page.evaluate(boxes)
    assert numbers
    for left, right, top, bottom in numbers:
        assert all(right < a or b < left or bottom < c or d < top for a, b, c, d in badges)


def test_a_game_that_the_server_has_forgotten_comes_back_from_the_address(open_page: Open) -> None:
    page = open_page("#/play?game=connect_four&options=rows:5&moves=4.4.3&table=nowhere")
    wait_for_stones(page, 3)
    assert stones(page) == ["42, O", "31, X", "41, X"]
    assert page.locator("[role=row]").count() == 5 and "table=nowhere" not in page.url


def test_the_address_holds_game_and_moves(open_page: Open) -> None:
    page = open_page("#/play?game=hex&options=size:4")
    for name in ("a1", "b2", "c3"):
        cell(page, name).click()
        expect(cell(page, name)).not_to_have_attribute("aria-label", re.compile("empty"))
    place = re.sub(r"&table=.*", "", page.url.partition("/#")[2])
    assert place == "/play?game=hex&options=size:4&moves=a1.b2.c3"
    other = open_page(f"#{place}")
    wait_for_stones(other, 3)
    assert stones(other) == stones(page) == ["a1, X", "b2, O", "c3, X"]


def test_hex_is_drawn_and_played(open_page: Open) -> None:
    page = open_page("#/play?game=hex&options=size:5,swap:true")
    assert page.locator("svg.hexagons .tile").count() == 25 and page.locator(".edge:not(.rim)").count() == 4
    cell(page, "b4").click()
    wait_for_stones(page, 1)
    page.get_by_role("button", name="Swap: take Black's stone").click()
    expect(cell(page, "d2")).to_have_attribute("aria-label", re.compile("d2, O"))
    cell(page, "d2").click()
    expect(page.get_by_role("status")).to_contain_text("d2 is not legal: a piece is there.")
    assert stones(page) == ["d2, O"]


def test_go_is_drawn_and_played(open_page: Open) -> None:
    page = open_page("#/play?game=go&options=size:5&moves=a1.b1.e5.a2")
    wait_for_stones(page, 3)  # a1 is taken
    assert page.locator("svg.crossings .line").count() == 10
    cell(page, "c3").click()
    wait_for_stones(page, 4)
    page.get_by_role("button", name="Pass", exact=True).click()
    expect(page.locator(".move[aria-current]")).to_contain_text("pass")
    cell(page, "a1").click()
    expect(page.get_by_role("status")).to_contain_text("a1 is not legal: it would have no liberty: suicide.")
    assert sorted(stones(page)) == ["a2, O", "b1, O", "c3, X", "e5, X"]


def test_a_game_of_ones_own_has_a_board(open_page: Open) -> None:
    page = open_page()  # the newcomer's page offers it at once
    assert "game=squava" in page.url and page.locator(".tile").count() == 25
    cell(page, "c3").click()
    wait_for_stones(page, 2)
    assert "c3, X" in stones(page)


def test_a_game_by_keyboard_only(open_page: Open) -> None:
    page = open_page("#/play?game=tictactoe")
    for _ in range(30):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.getAttribute('role')") == "gridcell":
            break
    page.keyboard.press("Enter")  # the focus begins in the middle
    wait_for_stones(page, 1)
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    wait_for_stones(page, 2)
    assert stones(page) == ["11, O", "22, X"]
    page.keyboard.press("2")  # a typed name goes to its field
    page.keyboard.press("Enter")
    wait_for_stones(page, 3)
    page.keyboard.type("0")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status")).to_contain_text("0 is not legal: a piece is there.")
    page.keyboard.press("Shift+Tab")  # out of the field: the arrows go through the game
    page.keyboard.press("ArrowLeft")
    wait_for_stones(page, 2)
    assert moves_shown(page) == ["4", "0", "2"]


def test_variations_are_kept_and_deleted(open_page: Open) -> None:
    page = open_page("#/play?game=tictactoe&moves=4.0.8")
    wait_for_stones(page, 3)
    page.locator(".move", has_text="0").click()
    wait_for_stones(page, 2)
    page.locator("[role=gridcell]").nth(2).click()
    expect(page.locator(".variation .move")).to_have_count(1)
    assert moves_shown(page) == ["4", "0", "8"] and "moves=4.0.2" in page.url
    page.get_by_role("button", name="Delete from here on").click()
    expect(page.locator(".variation")).to_have_count(0)
    wait_for_stones(page, 2)


def test_a_variation_becomes_the_main_line_and_what_is_taken_back_becomes_one(open_page: Open) -> None:
    page = open_page("#/play?game=tictactoe&moves=4.0")
    promote, cells = (
        page.get_by_role("button", name="Make this the main line"),
        page.locator("[role=gridcell]"),
    )
    wait_for_stones(page, 2)
    page.locator(".move", has_text="4").click()
    wait_for_stones(page, 1)
    cells.nth(8).click()
    expect(promote).to_be_visible()
    assert moves_shown(page) == ["4", "0"]
    promote.click()
    expect(promote).to_be_hidden()
    assert moves_shown(page) == ["4", "8"]
    page.get_by_role("button", name="Take back").click()
    wait_for_stones(page, 1)
    cells.nth(2).click()
    wait_for_stones(page, 2)
    expect(page.locator(".variation .move")).to_have_count(2)
    assert moves_shown(page) == ["4", "2"] and promote.is_hidden()


def test_go_says_what_a_pass_does_and_its_button_stays(open_page: Open) -> None:
    page = open_page("#/play?game=go&options=size:5&moves=c3")
    box, note = page.locator(".others"), page.locator(".note")
    box.get_by_role("button", name="pass").click()
    expect(note).to_contain_text("Black can end the game by a pass, too. All stones on the board count")
    box.get_by_role("button", name="pass").click()
    expect(note).to_contain_text("Area: Black 25, White 0 and 7.5 komi.")
    expect(box.get_by_role("button", name="pass")).to_be_disabled()


def test_machines_are_watched_step_by_step(open_page: Open) -> None:
    page = open_page("#/play?game=tictactoe")
    page.evaluate("localStorage.setItem('azero.delay', '3')")
    new_game(page, first="random", second="random")
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_role("button", name="Go on")).to_be_visible()
    before = page.locator(".stones .stone").count()
    page.get_by_role("button", name="Step").click()
    wait_for_stones(page, before + 1)
    page.get_by_label("Change who plays").first.click()  # a person takes a side in the middle
    page.locator("dialog select").first.select_option(label="A person")
    page.get_by_role("button", name="Change", exact=True).click()
    expect(page.locator(".side").first).to_contain_text("you")


@pytest.mark.parametrize("kind", ["SGF", "JSON"])
def test_a_game_is_saved_and_loaded(open_page: Open, tmp_path: Path, kind: str) -> None:
    page = open_page("#/play?game=hex&options=size:4&moves=a1.b2.c3")
    wait_for_stones(page, 3)
    page.get_by_text("Share and load").click()
    with page.expect_download() as download:
        page.get_by_role("link", name=kind, exact=True).click()
    saved = tmp_path / download.value.suggested_filename
    download.value.save_as(saved)
    other = open_page("#/play?game=tictactoe")
    other.locator("input[type=file]").set_input_files(saved)
    wait_for_stones(other, 3)
    assert stones(other) == ["a1, X", "b2, O", "c3, X"] and "game=hex&options=size:4" in other.url


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width, height", [(360, 640), (1280, 800)])
def test_every_size_and_scheme_fits(open_page: Open, width: int, height: int, scheme: str) -> None:
    page = open_page(
        "#/play?game=hex&options=size:7&moves=d4.c3",
        viewport={"width": width, "height": height}, color_scheme=scheme, reduced_motion="reduce",
    )  # fmt: skip
    wait_for_stones(page, 2)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    box = wait_until(page, page.locator("svg.board").bounding_box)
    assert box["x"] >= 0 and box["x"] + box["width"] <= width and box["y"] + box["height"] <= height
    assert box["width"] > width / 2
    colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
    brightness = sum(map(int, re.findall(r"\d+", colour)[:3])) / 3
    assert brightness > 200 if scheme == "light" else brightness < 60
    page.get_by_role("button", name="New game").click()
    dialog = page.locator("dialog").bounding_box()
    assert dialog["x"] >= 0 and dialog["x"] + dialog["width"] <= width and dialog["height"] <= height


def test_a_search_is_learned_step_by_step(open_page: Open) -> None:
    page = open_page()
    page.get_by_role("link", name="Learn").click()
    place = page.locator(".azero-trace output").first
    expect(place).to_have_text("simulation 1 of 20")
    page.get_by_role("button", name="Next ›").click()
    expect(place).to_have_text("simulation 2 of 20")
    page.get_by_role("combobox", name="Search").select_option("gumbel")
    expect(page.locator(".azero-trace h2").first).to_have_text(re.compile("Gumbel"))
    page.get_by_role("combobox", name="Game").select_option("connect_four")
    expect(page.locator(".azero-trace")).to_contain_text("Connect Four")
    assert "game=connect_four" in page.url and "kind=gumbel" in page.url
    page.get_by_role("button", name="On the board").click()
    expect(page.locator(".azero-trace")).to_have_count(0)  # it has boards of its own
    expect(page.locator("svg.board")).to_be_visible()
