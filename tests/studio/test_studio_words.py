"""What the studio says of games: results, dates, names, sizes, and which line a file has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette", reason="the extra studio is not installed")

from studio import begin, client_of, kept, make_studio, open_file, player, post
from waiting import wait_for

from azero.records.files import read_records
from azero.studio.results import read_date, read_result, result_words
from azero.studio.review import SOLVER, Review
from azero.studio.safety import Refusal

NAMES = ("Black", "White")


@pytest.mark.parametrize(
    ("result", "plain", "named"),
    [
        ("B+R", "1–0, by resignation", "Black wins by resignation"),
        ("W+Resign", "0–1, by resignation", "White wins by resignation"),
        ("B+3.5", "1–0, by 3.5 points", "Black wins by 3.5 points"),
        ("W+1", "0–1, by 1 point", "White wins by 1 point"),
        ("W+T", "0–1, on time", "White wins on time"),
        ("B+", "1–0", "Black wins"),
        ("0", "½–½", "½–½"),
        ("", "", ""),
    ],
)
def test_a_result_is_in_words_and_is_read_again(result: str, plain: str, named: str) -> None:
    assert (result_words(result), result_words(result, NAMES)) == (plain, named)
    stored = result.replace("Resign", "R")
    assert read_result(plain) == read_result(named, NAMES) == read_result(result) == stored


def test_no_result_and_no_date_is_refused_with_a_sentence(client: Any) -> None:
    for text in ("banana", "2-0", "B+banana", "Red wins", "1–0, by magic"):
        with pytest.raises(Refusal, match=r"A result is 1–0.*\."):
            read_result(text, NAMES)
    for text in ("yesterday", "2026-13-01", "2026-02-30", "26"):
        with pytest.raises(Refusal, match=r"A date is .*\."):
            read_date(text)
    assert [read_date(text) for text in ("", "2026", "2026-11", "2026.11.28")] == [
        *("", "2026", "2026-11", "2026-11-28")
    ]
    table = open_file(client, "(;GM[1]SZ[5]DT[spring 1846]RE[jigo];B[aa])")
    said = post(client, f"/tables/{table['id']}/about", name="x", date="spring 1846", result="jigo")
    assert said["about"]["date"] == "spring 1846"  # as the file says
    answer = client.post(f"/api/tables/{table['id']}/about", json={"name": "y", "result": "banana"})
    assert answer.status_code == 400
    assert client.get(f"/api/tables/{table['id']}").json()["about"]["name"] == "x"


def test_the_winner_has_the_right_colour_on_the_table_and_in_the_list(client: Any) -> None:
    chess, go = begin(client, "chess", "e4 e5 d4"), begin(client, "go", "a1 b2", options={"size": 5})
    for table in (chess, go):
        post(client, f"/tables/{table['id']}/resign")
    about = [client.get(f"/api/tables/{table['id']}").json()["about"] for table in (chess, go)]
    assert [each["said"] for each in about] == ["1–0, by resignation", "White wins by resignation"]
    wait_for(lambda: len([game for game in kept(client) if game["result"]]) == 2)
    rows = {game["game"]: (game["result"], game["said"]) for game in kept(client)}
    assert rows == {"chess": ("B+R", "1–0, by resignation"), "go": ("W+R", "White wins by resignation")}
    pgn = '[Event "x"]\n[White "Ann"]\n[Black "Bob"]\n[Result "0-1"]\n\n1. e4 e5 0-1\n'
    assert open_file(client, pgn)["about"]["said"] == "0–1"


def names_of(record: Any) -> list[str]:
    """Return the moves of a record's main line."""
    state, found = record.first_state(), []
    for place in record.main_line()[1:]:
        action = record.nodes[place].action
        found.append(record.game.action_name(state, action))
        state = record.game.step(state, action)
    return found


@pytest.mark.parametrize(
    ("moves", "resigns", "is_reviewed", "result"),
    [("0 3 1 4 2", False, False, "B+"), ("0 3 1", True, False, "B+R"), ("0 3 1", False, True, "")],
)
def test_a_file_has_the_game_as_played_after_another_try(
    client: Any, moves: str, resigns: bool, is_reviewed: bool, result: str
) -> None:
    table = begin(client, "tictactoe", moves)
    path = f"/tables/{table['id']}"
    if resigns:
        post(client, f"{path}/resign")
    if is_reviewed:
        post(client, f"{path}/review")
    post(client, f"{path}/go", node=2)
    assert post(client, f"{path}/move", move="8")["about"]["result"] == result
    for kind in ("sgf", "json"):
        (record,) = read_records(client.get(f"/api{path}/record?format={kind}").content)
        assert names_of(record) == moves.split() and len(record.nodes) == len(moves.split()) + 2
        assert (record.result, record.outcome) == (result * resigns, 1.0 if result else None)


def test_the_list_says_you_and_rows_before_columns(client: Any) -> None:
    begin(client, "connect_four", "4", sides=[{"kind": "person"}, player("random")])
    begin(client, "connect_four", "4 4")
    wait_for(lambda: len(kept(client)) == 2)
    found = sorted((row["players"], row["size"]) for row in kept(client))
    assert found == [(["", ""], "6 × 7"), (["You", "random"], "6 × 7")]


def test_a_table_says_that_its_game_is_deleted_until_it_is_kept_again(client: Any) -> None:
    table = begin(client, "tictactoe", "4 0")

    def in_trash() -> bool:
        return bool(client.get(f"/api/tables/{table['id']}").json()["in_trash"])

    wait_for(lambda: kept(client))
    assert not in_trash()
    for again in ("restore", "move"):
        post(client, f"/library/{table['id']}/delete")
        assert in_trash() and not kept(client)
        post(client, f"/tables/{table['id']}/comment", node=1, text=again)
        assert in_trash()
        path = "library" if again == "restore" else "tables"
        post(client, f"/{path}/{table['id']}/{again}", **({"move": "8"} if again == "move" else {}))
        assert not in_trash()
        wait_for(lambda: kept(client))


def test_who_judged_a_game_is_said_after_a_restart(tmp_path: Path) -> None:
    studio = make_studio(tmp_path)
    with client_of(studio) as client:
        table = begin(client, "tictactoe", "4 1 0 8")
        held = studio.tables.find(table["id"])
        held.reviewed = held.tree.line()
        held.reviewing = Review(held.tree, held.reviewed, {})
        held.reviewing.on, held.reviewing.by, held.reviewing.left = False, "a champion", 2
        for node, by in zip(held.reviewed[2:], ("a champion", SOLVER, SOLVER), strict=True):
            node.judged_by, node.loss, node.value = by, 0.0, 0.0
        before = post(client, f"/tables/{table['id']}/go", node=1)
        assert before["review"] == {
            **{"on": False, "done": 2, "of": 4, "by": "a champion and a solver", "why": ""},
        }
    with client_of(make_studio(tmp_path)) as client:
        after = post(client, f"/library/{table['id']}/open")
        assert (after["review"], after["report"]) == (before["review"], before["report"])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("junk", "This is no game (SGF, PGN, JSON), no position and no move that azero reads."),
        ("https://example.org/a/b", "This is no game (SGF, PGN, JSON)"),
    ],
)
def test_what_is_no_game_is_refused_with_a_whole_sentence(client: Any, text: str, said: str) -> None:
    answer = client.post("/api/records", content=text.encode())
    assert answer.status_code == 400 and answer.json()["error"].startswith(said)
