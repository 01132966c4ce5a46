"""The studio's Go: what it says of passes, ko, suicide and the end, and which line is the game."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette", reason="the extra studio is not installed")

from studio import client_of, make_studio

# 3 . X .     White, O, is to move
# 2 O X .
# 1 O X .
#   a b c
WALLS = ["b1", "a1", "b2", "a2", "b3"]
ALIVE = "All stones on the board count as alive: capture those that are dead before you pass."


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Any]:
    with client_of(make_studio(tmp_path)) as each:
        yield each


def post(client: Any, path: str, status: int = 200, **body: Any) -> dict[str, Any]:
    answer = client.post(f"/api/{path}", json=body)
    assert answer.status_code == status, answer.text
    found: dict[str, Any] = answer.json()
    return found


def opened(client: Any, *moves: str, **options: Any) -> dict[str, Any]:
    """Open a game of two people after some moves."""
    options = {"size": 3, "komi": 0.5, **options}
    return post(client, "tables", 201, game="go", options=options, moves=list(moves))


def played(client: Any, table: dict[str, Any], *moves: str) -> dict[str, Any]:
    for move in moves:
        table = post(client, f"tables/{table['id']}/move", move=move)
    return table


def test_a_pass_and_the_end_say_what_counts(client: Any) -> None:
    """Black has three stones and the c column, White two and komi; a3 is nobody's: 6 - 2 - 0.5 = 3.5."""
    table = opened(client, *WALLS)
    assert table["position"]["note"] == ""
    table = played(client, table, "pass")
    assert table["position"]["note"] == f"Black can end the game by a pass, too. {ALIVE}"
    table = played(client, table, "pass")
    assert table["message"] == "Black wins by 3.5 points."
    assert table["position"]["note"] == f"Area: Black 6, White 2 and 0.5 komi. {ALIVE}"
    assert table["about"]["result"] == "B+3.5"
    saved = client.get(f"/api/tables/{table['id']}/record?format=sgf")
    assert "RE[B+3.5]" in saved.text and 'filename="go.sgf"' in saved.headers["content-disposition"]
    client.post(f"/api/tables/{table['id']}/about", json={"name": "Our first game"})
    named = client.get(f"/api/tables/{table['id']}/record?format=sgf").headers["content-disposition"]
    assert 'filename="Our-first-game.sgf"' in named


def test_ko_and_suicide_are_told_apart(client: Any) -> None:
    """Black has taken b2 from c2, and White may not take back at once. At a3 White has no liberty.

    4 X . . .
    3 . X O .
    2 X . X O
    1 . X O .
      a b c d
    """
    table = opened(client, *["b3", "c3", "a2", "b2", "b1", "d2", "a4", "c1", "c2"], size=4)
    for move, why in (
        ("b2", "a ko, so play elsewhere first"),
        ("a3", "it would have no liberty: suicide"),
        ("b1", "a piece is there"),
    ):
        said = post(client, f"tables/{table['id']}/move", 409, move=move)["error"]
        assert said == f"{move} is not legal: {why}."
    table = played(client, table, "d4", "b4", "b2")  # after a move elsewhere
    assert table["position"]["captured"] == [1, 1]


def test_what_is_played_after_taking_back_is_the_game(client: Any) -> None:
    table = played(client, opened(client, *WALLS), "pass", "pass")
    for _ in range(2):
        table = post(client, f"tables/{table['id']}/undo")
    table = played(client, table, "c3")
    assert [node["move"] for node in table["nodes"] if not node["main"]] == ["pass"]
    assert table["about"]["result"] == ""  # that of the passes is no longer the game's


def test_a_line_becomes_the_main_line(client: Any) -> None:
    table = played(client, opened(client), "b2", "a1")
    table = post(client, f"tables/{table['id']}/go", node=1)
    table = played(client, table, "c3")  # gone back, not taken back: a variation
    assert [node["main"] for node in table["nodes"]] == [True, True, True, False]
    table = post(client, f"tables/{table['id']}/promote", node=3)
    assert [node["main"] for node in table["nodes"]] == [True, True, False, True]
    assert client.get(f"/api/tables/{table['id']}/record?format=sgf").text.count("B[bb](;W[ca])(;W[ac])") == 1
    table = post(client, f"tables/{table['id']}/undo")
    table = played(client, table, "a3")  # taken back: what is played now is the game
    assert [node["main"] for node in table["nodes"]] == [True, True, False, False, True]


def test_the_result_of_a_file_outlives_what_is_tried_at_its_end(client: Any) -> None:
    text = "(;GM[1]SZ[5]KM[0.5]RE[W+Resign];B[bb];W[cc])"
    table = client.post("/api/records", content=text).json()
    table = post(client, f"tables/{table['id']}/go", node=2)
    table = played(client, table, "d4")
    assert table["about"]["said"] == "White wins by resignation"
