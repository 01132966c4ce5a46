"""A shared address without a number: the same line again is the same game, and nothing is overwritten."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pages import opener, served, wait_for_stones

pytest.importorskip("starlette", reason="the extra studio is not installed")

from studio import begin, client_of, kept, make_studio, post
from waiting import wait_for

LINE = {"game": "tictactoe", "moves": ["4", "0", "8"]}


def test_the_same_line_is_found_after_a_restart_too(tmp_path: Path) -> None:
    with client_of(make_studio(tmp_path)) as client:
        assert post(client, "/library/find", **LINE) == {}
        table = begin(client, "tictactoe", "4 0 8")
        assert post(client, "/library/find", **LINE)["id"] == table["id"]
    with client_of(make_studio(tmp_path)) as client:
        found = post(client, "/library/find", **LINE, ply=1)
        assert (found["id"], found["node"]) == (table["id"], 1)
        assert [game["id"] for game in kept(client)] == [table["id"]]


def test_a_table_that_is_open_goes_to_the_ply_of_the_address(client: Any) -> None:
    table = begin(client, "tictactoe", "4 0 8")
    assert post(client, "/library/find", **LINE, ply=1)["node"] == 1
    post(client, f"/tables/{table['id']}/go", node=0)
    assert post(client, "/library/find", **LINE)["node"] == 3


def test_a_game_that_somebody_went_on_with_stays_as_it_is(client: Any) -> None:
    table = begin(client, "tictactoe", "4 0 8")
    post(client, f"/tables/{table['id']}/move", move="2")
    assert post(client, "/library/find", **LINE) == {}
    assert post(client, "/library/find", **{**LINE, "moves": [*"4082"]})["id"] == table["id"]


@pytest.mark.parametrize(
    "other",
    [{"moves": ["4", "0"]}, {"game": "connect_four"}, {"options": {"size": 4}}, {"moves": []},
     {"moves": ["4", "4"]}, {"moves": "408"}, {"game": "none"}, {"start": "O../.X./... X"}, {"start": 3}],
)  # fmt: skip
def test_other_lines_are_not_found(client: Any, other: dict[str, Any]) -> None:
    begin(client, "tictactoe", "4 0 8")
    assert post(client, "/library/find", **{**LINE, **other}) == {}


def test_a_deleted_game_is_not_found(client: Any) -> None:
    table = begin(client, "tictactoe", "4 0 8")
    wait_for(lambda: kept(client))
    post(client, f"/library/{table['id']}/delete")
    assert post(client, "/library/find", **LINE) == {}


@pytest.mark.browser
def test_an_address_opened_twice_is_one_game(browser: Any, tmp_path: Path) -> None:
    pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    with served(tmp_path, "") as address, opener(browser) as open_page:
        for _ in range(3):
            wait_for_stones(open_page(f"{address}#/play?game=tictactoe&moves=4.0.8"), 3)
        page = open_page(address)
        page.get_by_role("link", name="My games").first.click()
        page.get_by_text("1 game", exact=True).wait_for()
