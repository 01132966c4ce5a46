"""A position that is pasted opens as a game that begins there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette", reason="the extra studio is not installed")

from studio import client_of, kept, make_studio, open_file, post

from azero.games import make_game
from azero.games.game import Game
from azero.studio.positions import tree_at

MATE_IN_ONE = "6k1/5ppp/8/8/8/8/8/4R1K1 w - - 0 1"


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Any]:
    with client_of(make_studio(tmp_path)) as client:
        yield client


@pytest.mark.parametrize(
    ("text", "game", "option"),
    [
        (MATE_IN_ONE, "chess", ("variant", "standard")),
        (f"\n {MATE_IN_ONE}\n", "chess", ("variant", "standard")),
        ("rnbqk/ppppp/5/PPPPP/RNBQK w - - 0 1", "chess", ("variant", "gardner")),
        ("O../.X./... X", "tictactoe", None),
        ("......./......./......./......./......./...X... O", "connect_four", None),
    ],
)
def test_a_position_is_a_game_that_begins_there(client: Any, text: str, game: str, option: Any) -> None:
    table = open_file(client, text)
    assert table["game"]["name"] == game and table["position"]["line"] == text.strip()
    assert table["start"] in ("", text.strip())
    assert option is None or table["game"]["options"][option[0]] == option[1]
    assert [side["kind"] for side in table["sides"]] == ["person", "person"]


def test_the_game_goes_on_and_is_kept(client: Any) -> None:
    table = open_file(client, MATE_IN_ONE)
    table = post(client, f"/tables/{table['id']}/move", move="Re8#")
    assert table["position"]["over"] and table["message"].startswith("White wins")
    post(client, f"/library/{table['id']}/open")
    assert open_file(client, MATE_IN_ONE)["id"] != table["id"]


def test_the_game_on_the_page_comes_first() -> None:
    mine = replace(make_game("tictactoe"), name="mine")
    for shown, found in ((mine, "mine"), (make_game("connect_four"), "tictactoe")):
        tree = tree_at("O../.X./... X", shown, make_named)
        assert tree and tree.game.name == found


def make_named(name: str, options: dict[str, Any]) -> Game:
    return make_game(name, **options)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("6k1/5ppp/8/8/8/8/8/4R3 w - - 0 1", "White has 0 kings."),
        ("4k2/7/7/7/7/7/4K2 w - - 0 1", "it has 7 rows of 8."),
        ("XXX/XXX/XXX X", "is not a position of tictactoe"),
        ("..../.... X", "This is no game (SGF, PGN, JSON) and no position"),
        *[
            (text, "This is no game (SGF, PGN, JSON) and no position")
            for text in (
                "..../..../.... X",
                "2024/01/02 x",
                "a/b/c d",
                "e4 e5 Nf3 Nc6",
                "https://lichess.org/abc",
                "/usr/lib/python3 x",
            )
        ],
    ],
)
def test_what_no_game_has_is_refused_with_a_sentence(client: Any, text: str, said: str) -> None:
    answer = client.post("/api/records", content=text.encode())
    assert answer.status_code == 400 and said in answer.json()["error"]
    assert not kept(client)


def test_the_first_game_of_the_right_size_explains(client: Any) -> None:
    table = open_file(client, MATE_IN_ONE)
    text = "......./......./......./...X.../......./....... O"
    answer = client.post(f"/api/records?table={table['id']}", content=text.encode())
    assert answer.status_code == 400
    assert "FEN" not in answer.json()["error"] and "connect_four" in answer.json()["error"]
