"""How the page Play answers hands: quick keys, typed moves, names of pieces and opponents, focus."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pages import cell, hold, wait_for_held, wait_for_stones
from places import CROWNING

pytest.importorskip("starlette", reason="The studio needs the extra `studio`.")

from studio import PERSON, client_of, make_studio, player

OFFERED = CROWNING
Open = Callable[..., Any]
LINE = "2.7.4.3.1.4.7.5.6.1.2.6.6.7.3.1.6.3.6.6.5.4.5.7.2.3.3.5.4.5"  # 30 moves of Connect Four


def answer(page: Any, held: list[Any], number: int) -> None:
    """Wait for a step that is held, and let the server answer it."""
    wait_for_held(page, held, number + 1)
    held[number].continue_()


@pytest.mark.browser
def test_no_quick_key_is_lost_and_only_the_latest_is_sent(open_page: Open) -> None:
    from playwright.sync_api import expect

    page = open_page(f"#/play?game=connect_four&moves={LINE}")
    wait_for_stones(page, 30)
    held = hold(page, "**/go")
    for key in ["Home", *["ArrowRight"] * 10]:
        page.keyboard.press(key)
    answer(page, held, 0)
    answer(page, held, 1)
    wait_for_stones(page, 10)
    expect(page.locator(".move[aria-current] small")).to_have_text("10")
    assert [each.request.post_data for each in held] == ['{"node":0}', '{"node":10}']
    page.keyboard.press("ArrowLeft")
    wait_for_held(page, held, 3)
    page.evaluate("""() => { // deleted is what is shown, not what was asked for
      for (let i = 0; i < 2; i++) document.querySelector("[data-do=back]").click();
      document.querySelector("[aria-label='Delete from here on']").click();
    }""")
    answer(page, held, 2)
    expect(page.locator(".toasts")).to_contain_text("Deleted")
    expect(page.locator(".move-list .move")).to_have_count(9)
    assert len(held) == 3  # the steps that were not sent are forgotten


@pytest.mark.browser
def test_a_dot_is_on_the_piece_that_made_the_bad_move(open_page: Open) -> None:
    page = open_page("#/play?game=crowning")
    dots = """async () => {
      const { dotsOf } = await import("/static/review.js");
      const move = (from, cell, mover, size) => ({ from, cell, mover, size });
      const line = [move(0, 1, 0, "blunder"), move(8, 7, 1, "slip"), move(1, 2, 0, null),
        move(7, 6, 1, "good"), move(3, 1, 0, "mistake"), move(9, 8, 1, null)];
      return dotsOf(line, [0, 1, 1, 0, 0, 0, 2, 0, 2]);
    }"""
    assert page.evaluate(dots) == [[1, "mistake"]]


def test_a_table_says_which_cell_a_piece_has_left(tmp_path: Path) -> None:
    with client_of(make_studio(tmp_path)) as client:
        asked = {"game": "breakthrough6", "sides": [PERSON, PERSON], "moves": []}
        table = client.post("/api/tables", json=asked).json()
        move = table["position"]["moves"][0]
        table = client.post(f"/api/tables/{table['id']}/move", json={"action": move["action"]}).json()
        assert table["nodes"][1]["from"] == move["from"] != table["nodes"][1]["cell"]


@pytest.mark.browser
def test_the_level_of_an_opponent_is_said_first(open_page: Open) -> None:
    page = open_page("#/play?game=tictactoe")
    titles = """async () => {
      const { shortTitle } = await import("/static/sides.js");
      const options = { run: "shipped/breakthrough6" }, title = "champion of shipped/breakthrough6, cycle 9";
      return [shortTitle({ title: `${title}, beginner`, level: "beginner", options }),
        shortTitle({ title, level: "", options }), shortTitle({ title: "uct" })];
    }"""
    assert page.evaluate(titles) == [
        "beginner · breakthrough6", "champion of breakthrough6, cycle 9", "uct",
    ]  # fmt: skip

    def with_champion(route: Any) -> None:
        answer = route.fetch().json()
        route.fulfill(json=answer | {"champions": [{"run": "shipped/breakthrough6", "cycles": [9]}]})

    page.route("**/api/players?*", with_champion)
    page.get_by_role("button", name="New game").click()
    page.locator("fieldset select").first.wait_for()
    names = page.get_by_role("group", name="Plays first").get_by_label("player").locator("option")
    assert "Champion of breakthrough6" in names.all_text_contents()


@pytest.mark.browser
def test_dots_of_a_new_game_have_the_colours_of_its_players(open_page: Open) -> None:
    page = open_page("#/play?game=connect_four")
    page.get_by_role("button", name="New game").click()
    game, seat = page.get_by_role("dialog").get_by_label("game"), page.locator("fieldset").first
    assert seat.get_attribute("data-stones") == "coloured"
    game.select_option(label="Chess")
    page.locator('fieldset[data-stones="figures"]').first.wait_for()
    colour = "dot => getComputedStyle(dot).backgroundColor"
    assert page.locator("fieldset .dot.first").evaluate(colour) == "rgb(255, 255, 255)"


@pytest.mark.browser
def test_the_focus_stays_when_its_button_can_no_longer_be_used(open_page: Open) -> None:
    from playwright.sync_api import expect

    page = open_page("#/play?game=tictactoe&moves=4")
    wait_for_stones(page, 1)
    delete = page.get_by_role("button", name="Delete from here on")
    delete.press("Enter")
    expect(page.get_by_role("button", name="Bring back what was deleted")).to_be_focused()
    page.keyboard.press("Enter")
    expect(delete).to_be_focused()


@pytest.mark.browser
def test_a_new_refusal_replaces_the_last(open_page: Open) -> None:
    from playwright.sync_api import expect

    page = open_page("#/play?game=crowning")
    said = page.locator(".toasts p")
    for name in ("zz", "yy"):
        page.get_by_label("Type a move").fill(name)
        page.keyboard.press("Enter")
        expect(page.locator(".toasts")).to_contain_text(f"'{name}' is not a move")
    expect(said).to_have_count(1)
    cell(page, "a4").click()
    expect(said).to_have_count(1)


def test_a_move_typed_out_of_turn_is_told_whose_turn_it_is(tmp_path: Path) -> None:
    sides = [player("uct", num_simulations=200_000), PERSON]
    with client_of(make_studio(tmp_path)) as client:
        asked = {"game": "breakthrough6", "sides": sides}
        table = client.post("/api/tables", json=asked).json()
        for body in ({"move": "a5a4"}, {"cell": 12, "from": 6}):
            answer = client.post(f"/api/tables/{table['id']}/move", json=body)
            assert answer.status_code == 409 and answer.json()["error"].startswith("It is the turn of uct")


def test_a_hint_has_the_value_of_its_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from azero.players import Move, Thought
    from azero.studio.pool import Pool

    class Search:
        """Finds that the best move is worth less than the position: a search's mean and its last word."""

        def begin(self, *_: object) -> None:
            """Begin."""

        def grow(self, _: float) -> bool:
            """Have nothing left to do."""
            return False

        def read(self) -> Thought:
            """Return what it has found."""
            return Thought(3, 9, 0.5, [Move(3, 9, -0.25, 0.5, (3,), -1.0, 1.0)])

    monkeypatch.setattr(Pool, "search", lambda *_: (Search(), "somebody"))
    with client_of(make_studio(tmp_path)) as client:
        asked = {"game": "connect_four", "sides": [PERSON, PERSON], "moves": ["4", "2"]}
        table = client.post("/api/tables", json=asked).json()
        hint = client.post(f"/api/tables/{table['id']}/hint", json={}).json()
        assert (hint["move"], hint["value"]) == ("4", 0.5)


def test_a_search_that_is_learned_names_its_game(tmp_path: Path) -> None:
    with client_of(make_studio(tmp_path)) as client:
        assert client.get("/api/trace?game=tictactoe&simulations=2").json()["heading"] == "Tic-tac-toe"


@pytest.mark.parametrize(("visits", "hinted"), [(5_000, "2"), (20, "4")])
def test_a_hint_agrees_with_a_longer_analysis(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, visits: int, hinted: str
) -> None:
    from azero.players import Move, Thought
    from azero.studio.pool import Pool

    class Search:
        """A search of 400 simulations that would play the middle."""

        def begin(self, *_: object) -> None:
            """Begin."""

        def grow(self, _: float) -> bool:
            """Have nothing left to do."""
            return False

        def read(self) -> Thought:
            """Return what it has found."""
            return Thought(3, 400, 0.5, [Move(3, 400, 0.5, 0.5, (3,), -1.0, 1.0)])

    monkeypatch.setattr(Pool, "search", lambda *_: (Search(), "somebody"))
    studio = make_studio(tmp_path)
    with client_of(studio) as client:
        table = client.post("/api/tables", json={"game": "connect_four"}).json()
        longer = Thought(1, visits, 0.25, [Move(1, visits, 0.25, 0.5, (1,), -1.0, 1.0)])
        open_one = studio.tables.tables[table["id"]]
        open_one.latest = (open_one.tree.current, longer, "the analysis", 0.0)
        assert client.post(f"/api/tables/{table['id']}/hint", json={}).json()["move"] == hinted
        open_one.tree.play(0)
        assert client.post(f"/api/tables/{table['id']}/hint", json={}).json()["move"] == "4"  # elsewhere
