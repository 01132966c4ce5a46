"""What people say of a game stays: names of machines, a resignation taken back, signs and clocks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette", reason="the extra studio is not installed")

from studio import begin, client_of, kept, make_studio, open_file, player, post
from waiting import wait_for

from azero.records.files import read_records

GAMES = Path("data/.studio/games")
AGAINST = [{"kind": "person"}, player("random")]
CLOCKED = (
    '[Event "Club"]\n[White "Ann"]\n[Black "Bob"]\n[ECO "C20"]\n[WhiteTitle "WGM"]\n[Result "*"]\n\n'
    "{ Begin } 1. e4! { [%eval 0.3] [%clk 0:05:00] Best by test } e5 $6 { [%clk 0:04:58] } "
    "( 1... c5!! $14 { Sharp } ) 2. Nf3 $1 $200 *\n"
)


def shown(table: dict[str, Any], name: str) -> dict[str, Any]:
    """Return the node of a table after a move as people write it."""
    found: dict[str, Any] = next(node for node in table["nodes"] if node["shown"] == name)
    return found


def file_of(client: Any, table: dict[str, Any], kind: str) -> str:
    """Return a table's game as a file."""
    text: str = client.get(f"/api/tables/{table['id']}/record?format={kind}").text
    return text


def test_the_name_of_a_machine_is_kept_everywhere(tmp_path: Path) -> None:
    names = ["Anna", "The Champion"]
    with client_of(make_studio(tmp_path)) as client:
        table = begin(client, "connect_four", "4 4 3", sides=AGAINST)
        said = post(client, f"/tables/{table['id']}/about", players=names)
        assert said["about"]["players"] == names
        (record,) = read_records(file_of(client, table, "sgf").encode())
        assert list(record.players) == names
    assert json.loads((tmp_path / GAMES / f"{table['id']}.json").read_text())["players"] == names
    with client_of(make_studio(tmp_path)) as client:
        assert kept(client)[0]["players"] == names
        after = post(client, f"/library/{table['id']}/open", paused=True)
        assert after["about"]["players"] == names and after["sides"][1]["title"] == "random"


def test_a_machine_without_a_name_is_called_by_its_title(tmp_path: Path) -> None:
    with client_of(make_studio(tmp_path)) as client:
        table = begin(client, "connect_four", "4 4", sides=AGAINST)
        post(client, f"/tables/{table['id']}/about", players=["Anna", ""])
    with client_of(make_studio(tmp_path)) as client:
        assert kept(client)[0]["players"] == ["Anna", "random"]
        after = post(client, f"/library/{table['id']}/open", paused=True)
        assert (after["about"]["players"], after["sides"][1]["kind"]) == (["Anna", ""], "player")
        (record,) = read_records(file_of(client, table, "sgf").encode())
        assert record.players == ("Anna", "random")


@pytest.mark.parametrize("named", [None, 3, ["x"], [1, 2]])
def test_wrong_names_of_sides_in_a_file_are_left_out(tmp_path: Path, named: object) -> None:
    with client_of(make_studio(tmp_path)) as client:
        table = begin(client, "connect_four", "4 4", sides=AGAINST)
    path = tmp_path / GAMES / f"{table['id']}.json"
    content = json.loads(path.read_text())
    content["studio"]["named"] = named
    path.write_text(json.dumps(content))
    with client_of(make_studio(tmp_path)) as client:
        assert post(client, f"/library/{table['id']}/open")["about"]["players"] == ["", ""]


def test_who_wins_is_called_by_name(client: Any) -> None:
    table = begin(client, "tictactoe", "0 3 1 4 2")
    post(client, f"/tables/{table['id']}/about", players=["Ann", ""])
    assert client.get(f"/api/tables/{table['id']}").json()["message"] == "Ann wins."
    table = begin(client, "tictactoe", "4", sides=[player("random"), {"kind": "person"}], ply=1)
    post(client, f"/tables/{table['id']}/about", players=["Robot", ""])
    said = post(client, f"/tables/{table['id']}/resign")["message"]
    assert said == "You lose: Robot wins by resignation."


@pytest.mark.parametrize("how", ["resign", "undo"])
def test_a_resignation_is_taken_back(client: Any, how: str) -> None:
    before = begin(client, "connect_four", "4 4", sides=AGAINST, ply=2)
    path = f"/tables/{before['id']}"
    assert post(client, f"{path}/resign")["about"]["result"] == "W+R"
    after = post(client, f"{path}/{how}", undo=True)
    for name in ("node", "line", "state", "message", "about", "paused"):
        assert after[name] == before[name]
    assert "RE[" not in file_of(client, before, "sgf")
    wait_for(lambda: [game["result"] for game in kept(client)] == [""])
    answer = client.post(f"/api{path}/resign", json={"undo": True})
    assert (answer.status_code, answer.json()["error"]) == (409, "Nobody has resigned.")


def test_a_resignation_is_taken_back_from_elsewhere_and_before_the_first_move(client: Any) -> None:
    table = begin(client, "tictactoe", "")
    path = f"/tables/{table['id']}"
    assert post(client, f"{path}/resign")["state"] == "over"
    assert post(client, f"{path}/undo")["state"] == "your move"
    post(client, f"{path}/move", move="4")
    post(client, f"{path}/about", result="0-1")
    post(client, f"{path}/resign")
    post(client, f"{path}/go", node=0)
    after = post(client, f"{path}/resign", undo=True)
    assert (after["node"], after["about"]["said"]) == (0, "O wins")  # as was said before


def test_a_resignation_is_taken_back_after_a_restart(tmp_path: Path) -> None:
    with client_of(make_studio(tmp_path)) as client:
        table = begin(client, "tictactoe", "4 0")
        post(client, f"/tables/{table['id']}/resign")
    with client_of(make_studio(tmp_path)) as client:
        assert post(client, f"/library/{table['id']}/open")["state"] == "over"
        after = post(client, f"/tables/{table['id']}/undo")
        assert (after["state"], after["about"]["result"], len(after["line"])) == ("your move", "", 3)


def test_signs_are_shown_and_commands_in_comments_are_not(client: Any) -> None:
    table = open_file(client, CLOCKED)
    glyphs = {node["shown"]: (node["glyphs"], node["comment"]) for node in table["nodes"]}
    assert glyphs == {
        **{"": ("", "Begin"), "e4": ("!", "Best by test"), "e5": ("?!", ""), "c5": ("!! ⩲", "Sharp")},
        **{"Nf3": ("!", "")},
    }


def test_signs_clocks_and_tags_of_a_file_are_saved(client: Any) -> None:
    table = open_file(client, CLOCKED)
    path, e4 = f"/tables/{table['id']}", shown(table, "e4")["id"]
    for text in (None, "Best by test", "Another"):
        if text:
            post(client, f"{path}/comment", node=e4, text=text)
        saved = " ".join(file_of(client, table, "pgn").split())
        for part in ('[ECO "C20"]', '[WhiteTitle "WGM"]', "[%eval 0.3]", "[%clk 0:05:00]", "[%clk 0:04:58]"):
            assert part in saved
        assert "$1 {[%eval 0.3] [%clk 0:05:00] " in saved and "e5 $6 {" in saved and "Nf3 $1 $200" in saved
    assert "Best by test" not in saved and "[%clk 0:05:00] Another}" in saved
    assert open_file(client, saved)["nodes"][1]["comment"] == "Another"


def test_signs_and_tags_are_kept_over_a_restart(tmp_path: Path) -> None:
    with client_of(make_studio(tmp_path)) as client:
        table = open_file(client, CLOCKED)
        before = file_of(client, table, "pgn")
    with client_of(make_studio(tmp_path)) as client:
        post(client, f"/library/{table['id']}/open")
        assert file_of(client, table, "pgn") == before


def test_stones_are_set_up_at_the_root_only(client: Any) -> None:
    handicap = "(;GM[1]FF[4]SZ[9]HA[2]KM[0.5]AB[gc][cg]PB[Ann]PW[Bob];W[ee];B[cc])"
    table = open_file(client, handicap)
    assert sorted(table["position"]["marks"]) == [0] * 77 + [1, 1, 1, 2]
    assert [node["move"] for node in table["nodes"]] == [None, "e5", "c7"]
    assert table["nodes"][1]["mover"] == 1 and table["about"]["players"] == ["Ann", "Bob"]
    later = client.post("/api/records", content=b"(;GM[1]FF[4]SZ[9];B[ee];AB[gc][cg];W[cc])")
    assert (later.status_code, later.json()["error"]) == (
        *(400, "SGF, game 1: it sets up stones in the middle of the game, and azero does not read that."),
    )
