"""A position that is pasted opens as a game that begins there, moves as those of the shown game."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

pytest.importorskip("starlette", reason="the extra studio is not installed")

from studio import kept, open_file, post

from azero.games import make_game
from azero.games.game import Game
from azero.studio.positions import tree_at

MATE_IN_ONE = "6k1/5ppp/8/8/8/8/8/4R1K1 w - - 0 1"


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


@pytest.mark.parametrize("known", ["go", "gomoku"])
def test_a_game_with_a_champion_comes_before_others(known: str) -> None:
    text = "/".join(["........."] * 9) + " X"
    tree = tree_at(text, None, make_named, lambda game: game.name == known)
    assert tree and tree.game.name == known
    shown = make_game("hex", size=9)
    tree = tree_at(text, shown, make_named, lambda game: game.name == known)
    assert tree and tree.game is shown


@pytest.mark.parametrize(
    ("game", "text", "line"),
    [
        ("chess", "e4 e5 Nf3", ["e4", "e5", "Nf3"]),
        ("chess", "1.e2e4 e7e5, 2. g1f3 1-0", ["e4", "e5", "Nf3"]),
        ("connect_four", "4 4 3 2", ["4", "4", "3", "2"]),
        ("connect_four", "4432\n", ["4", "4", "3", "2"]),
        ("connect_four", "1. 4 4 2. 3", ["4", "4", "3"]),
    ],
)
def test_moves_are_a_game_of_the_kind_that_is_shown(
    client: Any, game: str, text: str, line: list[str]
) -> None:
    shown = post(client, "/tables", game=game, options={}, moves=[])
    answer = client.post(f"/api/records?table={shown['id']}", content=text.encode())
    assert answer.status_code == 201, answer.text
    table = answer.json()
    assert table["game"]["name"] == game and table["id"] != shown["id"]
    assert [each["shown"] for each in table["nodes"][1:]] == line


def test_moves_begin_at_the_position_where_the_shown_game_began(client: Any) -> None:
    shown = open_file(client, MATE_IN_ONE)
    answer = client.post(f"/api/records?table={shown['id']}", content=b"Re8#")
    assert answer.json()["position"]["over"]


@pytest.mark.parametrize(
    ("game", "text", "status", "said"),
    [
        ("chess", "e4 e5 Qh9", 400, "Move 3: 'Qh9' is not a move"),
        ("connect_four", "4444444", 409, "Move 7: 4 is not legal"),
        (
            "chess",
            "junk e4",
            400,
            "This is no game (SGF, PGN, JSON), no position and no move that azero reads.",
        ),
    ],
)
def test_a_word_that_is_no_move_is_named(client: Any, game: str, text: str, status: int, said: str) -> None:
    shown = post(client, "/tables", game=game, options={}, moves=[])
    answer = client.post(f"/api/records?table={shown['id']}", content=text.encode())
    assert answer.status_code == status and answer.json()["error"].startswith(said)


def make_named(name: str, options: dict[str, Any]) -> Game:
    return make_game(name, **options)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("6k1/5ppp/8/8/8/8/8/4R3 w - - 0 1", "White has 0 kings."),
        ("4k2/7/7/7/7/7/4K2 w - - 0 1", "it has 7 rows of 8."),
        ("XXX/XXX/XXX X", "is not a position of tictactoe"),
        ("..../.... X", "This is no game (SGF, PGN, JSON), no position"),
        *[
            (text, "This is no game (SGF, PGN, JSON), no position")
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
