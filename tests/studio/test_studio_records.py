"""The studio's records: a game downloaded as a file, and files opened as games, broken ones refused."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from places import DOUBLE_MOVE

pytest.importorskip("starlette", reason="the extra studio is not installed")

from studio import client_of, make_studio, post

from azero.games import make_game
from azero.records.files import read_records
from azero.studio import game_tree
from azero.studio.game_tree import MOST_NODES
from azero.studio.safety import Refusal

OWN = Path(DOUBLE_MOVE)


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Any]:
    """A page of a studio with a game of the user's own, allowed to ask."""
    with client_of(make_studio(tmp_path, own_games={"double_move": OWN})) as client:
        yield client


def open_game(client: Any, game: str, moves: str, **options: Any) -> Any:
    """Return a new table after some moves."""
    return post(client, "/tables", game=game, options=options, moves=moves.split())


def names(table: Any) -> list[str]:
    """Return the moves of the line on the board."""
    by_id = {node["id"]: node for node in table["nodes"]}
    return [by_id[number]["move"] for number in table["line"][1:]]


def test_a_downloaded_game_opens_as_it_was(client: Any) -> None:
    table = open_game(client, "go", "e5 c3 pass", size=9)
    post(client, f"/tables/{table['id']}/go", node=1)
    table = post(client, f"/tables/{table['id']}/move", move="d4")  # a variation, now on the board
    for kind in ("sgf", "json"):
        answer = client.get(f"/api/tables/{table['id']}/record?format={kind}")
        assert answer.headers["content-disposition"] == f'attachment; filename="go.{kind}"'
        (record,) = read_records(answer.content)
        assert record.outcome is None and record.players == ("human", "human")
        opened = client.post("/api/records", content=answer.content).json()
        assert opened["id"] != table["id"] and opened["game"] == table["game"]
        assert names(opened) == ["e5", "d4"] and opened["node"] == opened["line"][-1]
        assert sorted(str(node["move"]) for node in opened["nodes"]) == ["None", "c3", "d4", "e5", "pass"]
        assert opened["position"]["marks"] == table["position"]["marks"]
        again = client.get(f"/api/tables/{opened['id']}/record?format={kind}")
        assert again.content == answer.content


def test_a_game_of_ones_own_is_downloaded_and_opened(client: Any) -> None:
    table = open_game(client, "double_move", "4 0 8 2")
    sgf = client.get(f"/api/tables/{table['id']}/record").content
    assert b"B[4];W[0];W[8];B[2]" in sgf
    assert names(client.post("/api/records", content=sgf).json()) == ["4", "0", "8", "2"]


def test_comments_and_values_of_a_file_are_kept(client: Any) -> None:
    sgf = b'(;AZERO[{"game": "tictactoe"}]C[a <b> game];B[4]AZVALUE[0.25];W[0])'
    opened = client.post("/api/records", content=sgf).json()
    assert opened["nodes"][1]["value"] == 0.25
    saved = client.get(f"/api/tables/{opened['id']}/record").text
    assert "C[a <b> game]" in saved and "AZVALUE[0.25]" in saved


def test_the_end_of_a_game_is_recorded(client: Any) -> None:
    over = open_game(client, "tictactoe", "0 3 1 4 2")
    resigned = open_game(client, "tictactoe", "0 3 1")
    post(client, f"/tables/{resigned['id']}/resign")
    for table, outcome, result in ((over, 1.0, ""), (resigned, 1.0, "B+R")):
        (record,) = read_records(client.get(f"/api/tables/{table['id']}/record").content)
        assert (record.outcome, record.result) == (outcome, result)


@pytest.mark.parametrize(("game", "moves"), [("connect_four", "4 4"), ("go", "pass"), ("hex", "a1")])
def test_the_board_is_downloaded_as_a_picture(client: Any, game: str, moves: str) -> None:
    table = open_game(client, game, moves)
    svg = client.get(f"/api/tables/{table['id']}/record?format=svg")
    assert svg.headers["content-type"] == "image/svg+xml" and svg.text.startswith("<svg")
    assert svg.headers["content-disposition"].startswith("attachment")
    png = client.get(f"/api/tables/{table['id']}/record?format=png")
    assert Image.open(io.BytesIO(png.content)).size[0] > 300


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        (b"", 400, "empty"),
        (b"hello", 400, "no game (SGF, PGN, JSON)"),
        (b"(;SZ[9]AB[aa]AW[ab][ba];W[dd])", 400, "no liberty"),
        (b'(;AZERO[{"game": "/etc/x.py"}])', 400, "no game '/etc/x.py'"),
        (b'{"game": "tictactoe", "moves": ["4", "4"]}', 400, "not legal"),
        (b"(;C[" + b"a" * 1_000_000 + b"])", 413, "larger than 1,000 kB"),
    ],
)
def test_a_wrong_file_is_refused_with_a_sentence(client: Any, body: bytes, status: int, said: str) -> None:
    answer = client.post("/api/records", content=body)
    assert answer.status_code == status and said in answer.json()["error"]


def test_a_game_too_large_for_the_studio_is_refused(client: Any) -> None:
    # Each of many first moves has every answer once
    nodes: list[dict[str, Any]] = [{}]
    names = [f"{column}{row}" for column in "abcdefghijklmno" for row in range(1, 16)]
    for first in names[:100]:
        parent = len(nodes)
        nodes.append({"parent": 0, "move": first})
        nodes += [{"parent": parent, "move": each} for each in names if each != first]
    assert len(nodes) > MOST_NODES
    line = json.dumps({"game": "gomoku", "moves": [names[0], names[1]], "nodes": nodes})
    answer = client.post("/api/records", content=line)
    assert answer.status_code == 413 and "too many for the studio" in answer.json()["error"]


def test_a_deleted_variation_makes_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(game_tree, "MOST_NODES", 4)
    tree = game_tree.GameTree(make_game("tictactoe"))
    full = "delete a variation or start anew"
    for action in (0, 1, 2):
        tree.play(action)
    with pytest.raises(Refusal, match=full):
        tree.play(3)
    for _ in range(6):  # what was deleted is kept to be restored, up to as many positions
        tree.delete(tree.path()[1])
        for action in (0, 1, 2):
            tree.play(action)
    assert sum(len(tree.below(node)) for _, node, _ in tree.deleted) <= 4
    with pytest.raises(Refusal, match=full):
        tree.play(3)
    with pytest.raises(Refusal, match=full):
        tree.restore()
    tree.delete(tree.path()[1])
    tree.restore()
    assert tree.count == len(tree.below(tree.root)) == 4


def test_a_game_begins_at_a_position_and_its_file_too(client: Any) -> None:
    start = "7k/8/8/8/8/8/R7/K7 w - - 0 1"
    table = post(client, "/tables", game="chess", start=start, moves=["Ra8"])
    assert table["start"] == start and names(table) == ["a2a8"]
    assert table["position"]["line"] == "R6k/8/8/8/8/8/8/K7 b - - 1 1"
    for kind, text in (("pgn", b"1. Ra8+"), ("json", b'"position"')):
        saved = client.get(f"/api/tables/{table['id']}/record?format={kind}").content
        assert text in saved
        opened = client.post("/api/records", content=saved).json()
        assert (opened["start"], names(opened)) == (start, ["a2a8"])
        assert opened["position"]["marks"] == table["position"]["marks"]
    wrong = client.post("/api/tables", json={"game": "chess", "start": "8/8 w - -"})
    assert wrong.status_code == 400 and "is not a position" in wrong.json()["error"]
    go = client.post("/api/records", content=b"(;SZ[5]AB[cc][dd];W[aa])").json()
    assert go["start"] == "...../...../..X../...X./..... O" and names(go) == ["a5"]


def test_what_is_not_there_is_refused(client: Any) -> None:
    assert client.get("/api/tables/none/record").status_code == 404
    table = open_game(client, "tictactoe", "4")
    answer = client.get(f"/api/tables/{table['id']}/record?format=pdf")
    assert (
        answer.status_code == 400
        and answer.json()["error"] == "format must be one of: sgf, pgn, json, svg, png."
    )
