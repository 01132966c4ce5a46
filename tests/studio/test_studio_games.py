"""Games that the studio keeps, what people say of them, moves that come back, files with several games."""

from __future__ import annotations

import errno
import json
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from places import DOUBLE_MOVE

pytest.importorskip("starlette", reason="the extra studio is not installed")

from studio import TestClient, client_of, kept, make_studio, open_file, player, post
from studio import begin as begin_game
from waiting import wait_for

from azero.games import make_game
from azero.records.files import read_file, read_records
from azero.records.json_lines import read_json_lines, write_json
from azero.records.record import Record
from azero.records.sgf import write_sgf
from azero.run.disk import Disk
from azero.studio import keeping, library
from azero.studio.library import Library, row_of

Ask = Callable[..., Any]
LEE = (
    "(;FF[4]GM[1]SZ[5]PB[Lee Sedol]PW[Ke Jie]BR[9d]RE[B+3.5]DT[2016-03-09]EV[Google Cup]RO[2]RU[Japanese]"
    "KM[6.5]C[A famous game.];B[ee]C[Tengen!]LB[aa:1];W[cc](;B[ac];W[ca])(;B[bb]))"
)
OTHER = "(;GM[1]SZ[5]PB[Ann]PW[Bob]RE[W+R];B[aa];W[bb])"


def begin(client: TestClient, moves: str = "4 4 3", game: str = "connect_four", **more: Any) -> Any:
    """Return a new table after some moves."""
    return begin_game(client, game, moves, **more)


def folder_of(place: Path) -> Path:
    """Return the folder of kept games below a test's folder."""
    return place / "data" / ".studio" / "games"


def seen(table: dict[str, Any]) -> dict[str, Any]:
    """Return what a person sees of a table, whatever the numbers of its nodes are."""
    paths: dict[int, tuple[str, ...]] = {}
    for node in table["nodes"]:
        paths[node["id"]] = () if node["parent"] is None else (*paths[node["parent"]], node["move"])
    nodes = [(paths[node["id"]], node["value"], node["loss"], node["comment"]) for node in table["nodes"]]
    shown = ("id", "game", "sides", "start", "position", "state", "message", "about", "paused", "delay")
    return {
        **{name: table[name] for name in shown},
        **{"nodes": sorted(nodes), "line": [paths[each] for each in table["line"]]},
    }


# Games are kept


def test_a_restart_brings_back_tree_values_comments_sides_and_position(tmp_path: Path) -> None:
    sides = [{"kind": "person"}, player("random")]
    with client_of(make_studio(tmp_path)) as client:
        table = begin(client, "4 4 3 5", sides=sides)
        path = f"/tables/{table['id']}"
        post(client, f"{path}/go", node=2)
        post(client, f"{path}/move", move="1")  # a variation
        post(client, f"{path}/comment", node=1, text="To the middle.\nAlways.")
        post(client, f"{path}/about", name="First try", players=["Ann", ""], event="Club")
        post(client, f"{path}/play", paused=True, delay=2)
        before = post(client, f"{path}/go", node=1)
    with client_of(make_studio(tmp_path)) as client:
        assert client.get(f"/api{path}").status_code == 404  # it has been started anew
        after = post(client, f"/library/{table['id']}/open")
        assert seen(after) == seen(before) and after["opened"] != before["opened"]
        assert after["about"]["name"] == "First try" and after["about"]["players"] == ["Ann", ""]
        second_tab = post(client, f"/library/{table['id']}/open", moves=["4"], ply=0)
        assert second_tab["opened"] == after["opened"] and seen(second_tab) == seen(after)


def test_values_and_what_a_review_said_come_back(tmp_path: Path) -> None:
    studio = make_studio(tmp_path)
    with client_of(studio) as client:
        table = begin(client)
        tree = studio.tables.find(table["id"]).tree
        root, first = tree.nodes[:2]
        assert root is not None and first is not None
        root.value, first.value, first.loss, first.judged_by = 0.5, 0.125, 0.375, "a solver"
        studio.tables.find(table["id"]).reviewed = tree.line()
        before = post(client, f"/tables/{table['id']}/go", node=2)
        assert before["nodes"][1]["loss"] == 0.375 and before["report"]["sides"][0]["accuracy"] < 100
    with client_of(make_studio(tmp_path)) as client:
        assert seen(post(client, f"/library/{table['id']}/open")) == seen(before)


def test_a_kept_game_is_a_record_for_other_programs(client: TestClient, tmp_path: Path) -> None:
    table = begin(client)
    file = folder_of(tmp_path) / f"{table['id']}.json"
    (record,) = read_file(wait_for(lambda: file.exists() and file))
    assert record.path(3) == [3, 3, 2]
    assert record.source == "azero studio"


def test_names_change_places_with_the_sides(client: TestClient) -> None:
    table = begin(client, sides=[{"kind": "person"}, player("random")])
    path = f"/tables/{table['id']}"
    post(client, f"{path}/about", players=["Ann", ""])
    table = post(client, f"{path}/sides", sides=[player("random"), {"kind": "person"}])
    assert table["about"]["players"] == ["", "Ann"]


def test_a_game_without_a_move_is_not_kept(client: TestClient, tmp_path: Path) -> None:
    begin(client, "")
    table = begin(client)
    wait_for(lambda: kept(client))
    assert [game["id"] for game in kept(client)] == [table["id"]]


def test_a_change_is_on_the_disk_a_moment_later_and_nothing_waits_for_it(
    client: TestClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held, threads, write = threading.Event(), set[str](), Disk.write

    def slow(disk: Disk, path: Path, data: bytes) -> None:
        threads.add(threading.current_thread().name)
        held.wait(20)
        write(disk, path, data)

    monkeypatch.setattr(Disk, "write", slow)
    table = begin(client)
    for move in "567":  # answered while the disk hangs
        post(client, f"/tables/{table['id']}/move", move=move)
    held.set()
    wait_for(lambda: [game["moves"] for game in kept(client)] == [6])
    loop = {thread.name for thread in threading.enumerate() if "asyncio" in thread.name.lower()}
    assert threads and not threads & loop


def test_a_write_that_is_cut_off_leaves_the_old_game(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = Library(tmp_path / "games")
    place.write("game-1", {"game": "hex", "moves": []})
    before = (tmp_path / "games" / "game-1.json").read_bytes()

    def cut_off(disk: Disk, path: Path, data: bytes) -> None:
        path.write_bytes(data[:7])
        raise KeyboardInterrupt

    monkeypatch.setattr(Disk, "write", cut_off)
    with pytest.raises(KeyboardInterrupt):
        place.write("game-1", {"game": "hex", "moves": ["a1"]})
    assert (tmp_path / "games" / "game-1.json").read_bytes() == before
    assert [row["moves"] for row in place.find()["games"]] == [0]  # what is cut off is not listed
    left = next((tmp_path / "games").glob("*.tmp"))
    os.utime(left, (1, 1))
    place.sweep()
    assert not left.exists()


def test_a_full_disk_is_a_sentence_and_the_game_is_kept_later(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeping, "RETRY", 0.05)
    write = Disk.write

    def full(disk: Disk, path: Path, data: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Disk, "write", full)
    table = begin(client)
    path = f"/api/tables/{table['id']}"
    said = wait_for(lambda: client.get(path).json()["unkept"])
    assert said == "This game could not be kept: No space left on device. The studio tries again."
    assert post(client, f"/tables/{table['id']}/move", move="1")["line"] == [0, 1, 2, 3, 4]  # it goes on
    monkeypatch.setattr(Disk, "write", write)
    wait_for(lambda: not client.get(path).json()["unkept"])
    assert [game["moves"] for game in kept(client)] == [4]


def test_a_game_whose_write_failed_while_another_was_opened_is_kept_later(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeping, "RETRY", 0.3)
    write = Disk.write

    def full(disk: Disk, path: Path, data: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Disk, "write", full)
    path = f"/api/tables/{begin(client)['id']}"
    wait_for(lambda: client.get(path).json()["unkept"])
    post(client, "/library/find", game="connect_four", moves=[*"1234"])  # writes what has changed: in vain
    monkeypatch.setattr(Disk, "write", write)
    wait_for(lambda: not client.get(path).json()["unkept"])
    assert [game["moves"] for game in kept(client)] == [3]


def test_a_fault_of_one_game_keeps_no_other_from_being_written_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeping, "PAUSE", 60.0)  # the end writes what has changed since
    store, faults = keeping.Keeper.store, list[str]()

    def failing(keeper: keeping.Keeper, number: str, taken: Any, last: bool = False) -> None:
        if last and not faults:
            faults.append(number)
            raise RuntimeError("a fault")
        store(keeper, number, taken, last)

    monkeypatch.setattr(keeping.Keeper, "store", failing)
    with client_of(make_studio(tmp_path)) as client:
        tables = [begin(client, "4 4")["id"], begin(client, "1 1")["id"]]
        wait_for(lambda: len(kept(client)) == 2)
        for table in tables:
            post(client, f"/tables/{table}/move", move="3")
    with client_of(make_studio(tmp_path)) as client:
        assert sorted(game["moves"] for game in kept(client)) == [2, 3]  # one with its fault, one whole


def test_a_player_that_is_gone_is_replaced_by_a_person_with_its_name(tmp_path: Path) -> None:
    with client_of(make_studio(tmp_path)) as client:
        table = begin(client, sides=[player("random"), {"kind": "person"}], ply=2)
    file = folder_of(tmp_path) / f"{table['id']}.json"
    content = json.loads(file.read_text())
    content["studio"]["sides"][0]["name"], content["players"][0] = "gone", "gone run=x"
    file.write_text(json.dumps(content))
    with client_of(make_studio(tmp_path)) as client:
        after = post(client, f"/library/{table['id']}/open")
    assert [side["kind"] for side in after["sides"]] == ["person", "person"]
    assert after["about"]["players"] == ["gone run=x", ""]


def test_a_machine_waits_in_a_game_that_is_opened_from_the_list(tmp_path: Path) -> None:
    with client_of(make_studio(tmp_path)) as client:
        table = begin(client, sides=[player("random"), player("random")])
        wait_for(lambda: kept(client))
    with client_of(make_studio(tmp_path)) as client:
        assert post(client, f"/library/{table['id']}/open", paused=True)["state"] in ("paused", "over")


# The address: S2


def test_an_address_has_the_whole_line_and_which_position_is_shown(client: TestClient) -> None:
    table = begin(client, "4 4 3 5", ply=1)
    assert len(table["line"]) == 5 and table["node"] == table["line"][1]
    for ply in (9, -1, "2", None, True):
        assert begin(client, "4 4 3", ply=ply)["node"] == 3


def test_what_an_address_has_and_the_folder_lacks_is_added(tmp_path: Path) -> None:
    with client_of(make_studio(tmp_path)) as client:
        table = begin(client)
    with client_of(make_studio(tmp_path)) as client:
        after = post(client, f"/library/{table['id']}/open", moves=[*"443119"], ply=4)
        assert len(after["nodes"]) == 6 and after["node"] == 4  # "9" is not legal
        wait_for(lambda: [game["moves"] for game in kept(client)] == [5])


@pytest.mark.parametrize(
    "number", ["..", "%2e%2e%2fx", "a.json", "x" * 65, "%00", "a%20b", "none", "trash", "%ED%B3%BF"]
)
@pytest.mark.parametrize("verb", ["open", "rename", "delete", "restore", "burn"])
def test_odd_numbers_name_no_game(client: TestClient, number: str, verb: str) -> None:
    answer = client.post(f"/api/library/{number}/{verb}", json={"name": "x"})
    assert answer.status_code in (404, 405) and answer.json()["error"].endswith(".")
    assert client.get(f"/api/library/{number}/picture").status_code == 404


# The list


def test_the_list_is_searched_by_name_player_game_date_and_comment(client: TestClient) -> None:
    first = begin(client)
    post(client, f"/tables/{first['id']}/about", name="Trap", players=["Ann", "Bob"], date="2019-05-01")
    post(client, f"/tables/{first['id']}/comment", node=2, text="Zugzwang!")
    second = begin(client, "a1 b2", game="hex", options={"size": 4})
    post(client, f"/tables/{second['id']}/about", event="Final", players=["Ann", "Cid"])
    wait_for(lambda: [game["event"] for game in kept(client)] == ["Final", ""])
    wait_for(lambda: kept(client, search="zugzwang"))
    wanted = {
        **{"": [second, first], "ann": [second, first], "ANN bob": [first], "zugzwang": [first]},
        **{"2019": [first], "hex": [second], "4 × 4": [second], "final": [second], "trap final": []},
    }
    for text, tables in wanted.items():
        assert [game["id"] for game in kept(client, search=text)] == [table["id"] for table in tables], text
    row = kept(client, search="hex")[0]
    assert (row["title"], row["size"], row["moves"], row["players"]) == ("Hex", "4 × 4", 2, ["Ann", "Cid"])
    picture = client.get(f"/api/library/{second['id']}/picture")
    assert picture.headers["content-type"] == "image/svg+xml" and picture.text.startswith("<svg")


def test_a_look_at_a_game_does_not_make_it_newer(client: TestClient) -> None:
    first, second = begin(client), begin(client)
    wait_for(lambda: len(kept(client)) == 2)
    before = kept(client)
    post(client, f"/tables/{first['id']}/go", node=1)
    time.sleep(2 * keeping.PAUSE)
    assert kept(client) == before
    post(client, f"/tables/{first['id']}/comment", node=1, text="x")
    wait_for(lambda: [game["id"] for game in kept(client)] == [first["id"], second["id"]])


def test_a_long_list_comes_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "SHOWN", 2)
    place = Library(tmp_path)
    for number in range(5):
        studio = {"changed": 1e9 + number}
        place.write(f"game-{number}", {"game": "hex", "moves": [], "studio": studio})
    parts = [place.find(skip=skip) for skip in (0, 2, 4)]
    assert [[row["id"][-1] for row in part["games"]] for part in parts] == [["4", "3"], ["2", "1"], ["0"]]
    assert all(part["count"] == 5 for part in parts)


def test_a_game_gets_another_name_open_or_not(tmp_path: Path) -> None:
    with client_of(make_studio(tmp_path)) as client:
        table = begin(client)
        post(client, f"/library/{table['id']}/rename", name="  One\n ")
        assert client.get(f"/api/tables/{table['id']}").json()["about"]["name"] == "One"
    with client_of(make_studio(tmp_path)) as client:
        assert [game["name"] for game in kept(client)] == ["One"]
        post(client, f"/library/{table['id']}/rename", name="Two")
        assert [game["name"] for game in kept(client)] == ["Two"]
        assert post(client, f"/library/{table['id']}/open")["about"]["name"] == "Two"
        sgf = client.get(f"/api/tables/{table['id']}/record").content
        assert b"GN[Two]" in sgf
        for name in (3, None, "x" * 201):
            assert client.post(f"/api/library/{table['id']}/rename", json={"name": name}).status_code == 400


def test_a_deleted_game_comes_back(client: TestClient, tmp_path: Path) -> None:
    table = begin(client)
    wait_for(lambda: kept(client))
    post(client, f"/library/{table['id']}/delete")
    post(client, f"/tables/{table['id']}/go", node=1)  # it is open still, but not kept again by a look
    time.sleep(2 * keeping.PAUSE)
    assert kept(client) == [] and [game["id"] for game in kept(client, deleted="1")] == [table["id"]]
    post(client, f"/library/{table['id']}/restore")
    assert [game["id"] for game in kept(client)] == [table["id"]] and kept(client, deleted="1") == []
    assert client.post(f"/api/library/{table['id']}/restore").status_code == 409
    post(client, f"/library/{table['id']}/delete")
    post(client, f"/tables/{table['id']}/move", move="7")  # who plays on wants it kept
    wait_for(lambda: [game["moves"] for game in kept(client)] == [3])


def test_the_trash_is_emptied_after_thirty_days(tmp_path: Path) -> None:
    place = Library(tmp_path)
    for number in ("old-1", "new-1"):
        place.write(number, {"game": "hex", "moves": []})
        place.delete(number)
    os.utime(tmp_path / "trash" / "old-1.json", (1, 1))
    place.sweep()
    assert [row["id"] for row in place.find(deleted=True)["games"]] == ["new-1"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "not JSON"),
        ('{"game": "hex", "moves": ["a1"]', "not JSON"),
        ("[1]", "not a JSON object"),
        ('{"game": 3, "moves": []}', "'game' must be a JSON text"),
        ('{"game": "hex", "moves": [], "players": ["a"]}', "two names"),
        ('{"game": "hex", "moves": [], "date": "\\ud800"}', "characters"),
        ("[" * 100_000, "not JSON"),
        (" " * (library.MOST_BYTES + 1), "larger than 16 MiB"),
    ],
    ids=range(8),
)
def test_a_damaged_file_is_listed_as_damaged_beside_the_others(
    client: TestClient, tmp_path: Path, text: str, said: str
) -> None:
    table = begin(client)
    wait_for(lambda: kept(client))
    (folder_of(tmp_path) / "broken.json").write_text(text)
    (folder_of(tmp_path) / "no game.json").write_text(text)  # has another name than a game
    rows = {game["id"]: game["damaged"] for game in kept(client)}
    assert rows.keys() == {table["id"], "broken"} and rows[table["id"]] == "" and said in rows["broken"]
    answer = client.post("/api/library/broken/open", json={})
    assert answer.status_code == 400 and answer.json()["error"].endswith(".")
    assert client.get("/api/library/broken/picture").status_code == 404
    post(client, "/library/broken/delete")
    assert [game["id"] for game in kept(client)] == [table["id"]]


@pytest.mark.parametrize(
    "more",
    [
        {"studio": {"sides": 3, "node": 99, "ended": -7, "judged": [1], "delay": "x", "resigned": 9}},
        {"studio": {"sides": [{}, {}, {}], "judged": {"0": 3, "1": ["x", 9], "2": [1, 2, 3], "99": []}}},
        {"studio": {"reviewed": [0, 5, "x", None], "judged": {"1": [9, "me"]}}},
        {"studio": {"node": -1, "changed": 1e300, "paused": "x", "sides": [[], {"kind": "person"}]}},
    ],
)
def test_odd_things_beside_a_record_do_no_harm(
    client: TestClient, tmp_path: Path, more: dict[str, Any]
) -> None:
    folder_of(tmp_path).mkdir(parents=True)
    content = {"game": "tictactoe", "moves": ["4", "0"], **more}
    (folder_of(tmp_path) / "odd.json").write_text(json.dumps(content))
    assert [game["damaged"] for game in kept(client)] == [""]
    assert len(post(client, "/library/odd/open")["nodes"]) == 3


def test_rules_of_a_file_are_not_run_by_the_list_or_by_opening_it(client: TestClient, tmp_path: Path) -> None:
    rules = tmp_path / "rules.py"
    rules.write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    folder_of(tmp_path).mkdir(parents=True)
    content = {"game": str(rules), "moves": ["4"]}
    (folder_of(tmp_path) / "theirs.json").write_text(json.dumps(content))
    assert len(kept(client)) == 1
    answer = client.post("/api/library/theirs/open", json={})
    assert answer.status_code == 400 and "There is no game" in answer.json()["error"]
    assert client.get("/api/library/theirs/picture").status_code == 404
    assert not (tmp_path / "ran").exists()


def test_a_game_of_ones_own_comes_back_where_the_studio_has_its_rules(tmp_path: Path) -> None:
    own = {"double_move": Path(DOUBLE_MOVE)}
    with client_of(make_studio(tmp_path, own_games=own)) as client:
        table = begin(client, "4 0 8", game="double_move")
    with client_of(make_studio(tmp_path, own_games=own)) as client:
        assert len(post(client, f"/library/{table['id']}/open")["nodes"]) == 4


def test_a_game_that_has_not_changed_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = Library(tmp_path)
    place.folder.mkdir(exist_ok=True)
    for number in range(3):
        (tmp_path / f"game-{number}.json").write_text(json.dumps({"game": "go", "moves": ["a1"] * 200}))
    place.find()
    monkeypatch.delattr(library, "read_content")
    assert place.find("go")["count"] == 3


# Nothing is deleted without an undo: S3


def test_deleted_moves_come_back_one_by_one(client: TestClient) -> None:
    table = begin(client, "4 4 3 5 2")
    path = f"/tables/{table['id']}"
    post(client, f"{path}/comment", node=4, text="kept")
    before = seen(post(client, f"{path}/go", node=5)) | {"paused": True}
    assert len(post(client, f"{path}/delete", node=4)["nodes"]) == 4
    table = post(client, f"{path}/delete", node=2)
    assert (len(table["nodes"]), table["deleted"]) == (2, 2)
    assert len(post(client, f"{path}/restore")["nodes"]) == 4
    after = post(client, f"{path}/restore")
    assert seen(after) == before and after["deleted"] == 0
    answer = client.post(f"/api{path}/restore")
    assert (answer.status_code, answer.json()["error"]) == (409, "Nothing was deleted.")


def test_moves_that_were_played_again_and_those_that_come_back_are_one_tree(client: TestClient) -> None:
    table = begin(client, "4 4 3 5")
    path = f"/tables/{table['id']}"
    post(client, f"{path}/delete", node=2)
    for move in ("4", "1"):
        post(client, f"{path}/move", move=move)
    after = post(client, f"{path}/restore")
    lines = {path for path, *_ in seen(after)["nodes"]}
    assert lines == {(), ("4",), ("4", "4"), ("4", "4", "1"), ("4", "4", "3"), ("4", "4", "3", "5")}
    assert all(node["parent"] < node["id"] for node in after["nodes"][1:])


def test_two_deletions_of_one_line_come_back_below_the_move_played_again(
    client: TestClient, tmp_path: Path
) -> None:
    table = begin(client, "4 4 3 5")
    path, file = f"/tables/{table['id']}", folder_of(tmp_path) / f"{table['id']}.json"
    post(client, f"{path}/about", result="1-0")
    for node in (3, 2):
        post(client, f"{path}/delete", node=node)
    post(client, f"{path}/move", move="4")
    for _ in range(2):
        after = post(client, f"{path}/restore")
    assert {path for path, *_ in seen(after)["nodes"]} == {
        *((), ("4",), ("4", "4"), ("4", "4", "3"), ("4", "4", "3", "5"))
    }
    assert after["about"]["result"] == "B+"
    post(client, f"{path}/go", node=after["nodes"][-1]["id"])
    post(client, f"{path}/move", move="7")
    wait_for(lambda: len(json.loads(file.read_text())["moves"]) == 5 if file.exists() else False)


def test_a_resignation_in_the_middle_of_a_line_is_still_one_after_a_restart(tmp_path: Path) -> None:
    with client_of(make_studio(tmp_path)) as client:
        table = begin(client, "4 4 3 5")
        post(client, f"/tables/{table['id']}/go", node=2)
        before = post(client, f"/tables/{table['id']}/resign")
        assert before["state"] == "over"
    with client_of(make_studio(tmp_path)) as client:
        after = post(client, f"/library/{table['id']}/open")
        assert (after["state"], after["message"]) == (before["state"], before["message"])


# Files are citizens: S4


def test_what_a_file_says_of_its_game_is_shown_and_saved_again(client: TestClient) -> None:
    table = open_file(client, LEE)
    assert table["about"] == {
        **{"name": "", "event": "Google Cup", "players": ["Lee Sedol", "Ke Jie"]},
        **{"date": "2016-03-09", "result": "B+3.5", "said": "Black wins by 3.5 points"},
    }
    assert [node["comment"] for node in table["nodes"][:2]] == ["A famous game.", "Tengen!"]
    saved = client.get(f"/api/tables/{table['id']}/record").text
    for text in (
        *("PB[Lee Sedol]", "PW[Ke Jie]", "BR[9d]", "RE[B+3.5]", "DT[2016-03-09]", "EV[Google Cup]", "RO[2]"),
        *("RU[Japanese]", "KM[6.5]", "C[A famous game.]", "C[Tengen!]", "LB[aa:1]"),
    ):
        assert text in saved, text
    kinds = (client.get(f"/api/tables/{table['id']}/record?format={kind}").text for kind in ("sgf", "json"))
    for text in kinds:
        again = open_file(client, text)
        assert seen(again) | {"id": ""} == seen(table) | {"id": ""}
        assert client.get(f"/api/tables/{again['id']}/record").text == saved


def test_tags_of_pgn_are_kept(client: TestClient) -> None:
    pgn = (
        '[Event "Final"]\n[Site "Oslo"]\n[Date "2020.01.02"]\n[Round "3"]\n[White "Ann"]\n[Black "Bob"]\n'
        '[Result "1-0"]\n[WhiteElo "2000"]\n\n1. e4 {best by test} e5 1-0\n'
    )
    table = open_file(client, pgn)
    assert table["about"]["players"] == ["Ann", "Bob"] and table["about"]["event"] == "Final"
    assert table["about"]["result"] == "B+"  # as SGF says that the first player has won
    saved = client.get(f"/api/tables/{table['id']}/record?format=pgn").text
    for line in pgn.split("\n\n")[0].splitlines():
        assert line in saved
    assert "{best by test}" in saved and saved.rstrip().endswith("1-0")


def test_the_result_of_a_file_stays(client: TestClient) -> None:
    table = open_file(client, LEE)
    path = f"/tables/{table['id']}"
    assert post(client, f"{path}/go", node=1)["about"]["result"] == "B+3.5"
    post(client, f"{path}/go", node=2)
    shown = post(client, f"{path}/move", move="d4")  # a variation
    assert shown["about"]["result"] == "B+3.5"
    assert "RE[B+3.5]" in client.get(f"/api{path}/record").text
    post(client, f"{path}/go", node=4)
    assert post(client, f"{path}/move", move="a1")["about"]["result"] == "B+3.5"  # what is tried at its end
    assert "RE[B+3.5]" in client.get(f"/api{path}/record").text


def test_a_resignation_is_kept_after_a_look_back_and_a_restart(tmp_path: Path) -> None:
    with client_of(make_studio(tmp_path)) as client:
        table = begin(client)
        post(client, f"/tables/{table['id']}/resign")
        post(client, f"/tables/{table['id']}/go", node=1)
    with client_of(make_studio(tmp_path)) as client:
        assert [game["result"] for game in kept(client)] == ["B+R"]
        assert post(client, f"/library/{table['id']}/open")["about"]["result"] == "B+R"


def test_words_about_a_game_and_comments_are_bounded(client: TestClient) -> None:
    table = begin(client)
    path = f"/api/tables/{table['id']}"
    for body in ({"name": 3}, {"players": ["a"]}, {"players": "ab"}, {"colour": "x"}, {"date": "x" * 201}):
        answer = client.post(f"{path}/about", json=body)
        assert answer.status_code == 400 and answer.json()["error"].endswith(".")
    for said in ({"node": 99, "text": ""}, {"node": 1}, {"node": 1, "text": "x" * 20_001}):
        assert client.post(f"{path}/comment", json=said).status_code == 400
    assert post(client, f"/tables/{table['id']}/about", result="W+2")["about"]["result"] == "W+2"
    assert post(client, f"/tables/{table['id']}/about", result="")["about"]["result"] == ""


def test_a_file_with_several_games_is_answered_by_their_list(client: TestClient) -> None:
    broken = "(;GM[1]SZ[5];B[aa];W[aa])"
    answer = open_file(client, LEE + broken + OTHER)
    assert [(game["number"], game["players"], game["result"], game["moves"]) for game in answer["games"]] == [
        (1, ["Lee Sedol", "Ke Jie"], "B+3.5", 4),
        (2, ["Ann", "Bob"], "W+R", 2),
    ]
    assert len(answer["refused"]) == 1 and "game 2" in answer["refused"][0]
    assert kept(client) == []
    assert open_file(client, LEE + broken + OTHER, game=2)["about"]["players"] == ["Ann", "Bob"]
    assert client.post("/api/records?game=9", content=LEE.encode()).status_code == 404
    assert client.post("/api/records?game=x", content=LEE.encode()).status_code == 400
    one = open_file(client, LEE + "(;B[")
    assert len(one["nodes"]) == 6 and "SGF, game 2" in one["refused"][0]


def test_json_keeps_properties_as_sgf_does() -> None:
    (record,) = read_records(LEE.encode())
    (again,) = read_json_lines(write_json(record).encode())
    assert write_sgf(again) == write_sgf(record)
    assert [node.properties for node in again.nodes] == [node.properties for node in record.nodes]
    plain = Record(make_game("hex"))
    assert "nodes" not in json.loads(write_json(plain)) and "properties" not in json.loads(write_json(plain))


@pytest.mark.parametrize(
    "properties", ['{"B": ["aa"]}', '{"ev": ["x"]}', '{"EV": "x"}', '{"EV": [3]}', '{"EV": []}', "[]"]
)
def test_properties_that_sgf_would_not_have_are_refused(properties: str) -> None:
    line = f'{{"game": "hex", "moves": [], "properties": {properties}}}'
    with pytest.raises(Exception, match="properties"):
        list(read_json_lines(line.encode()))


def test_the_row_of_a_game_that_another_program_wrote() -> None:
    row = row_of("x", {"game": "mine.py", "moves": [], "outcome": True, "options": {"size": "x"}}, 3.0)
    assert (row["title"], row["size"], row["outcome"], row["changed"]) == ("Mine", "", None, 3.0)
