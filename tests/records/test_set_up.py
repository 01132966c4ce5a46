"""Records that begin at a set-up position: handicap stones and others in SGF, and JSON's `position`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from sgfmill import sgf

from azero import trace
from azero.config.schema import UserError
from azero.games import make_game
from azero.play import run_session
from azero.records.begin import read_openings
from azero.records.json_lines import read_json_lines, write_json
from azero.records.record import Record
from azero.records.sgf import read_sgf, write_sgf
from azero.records.walk import positions

GO, CHESS = make_game("go", size=5), make_game("chess")
START = "...../...X./...../.X.../..... O"  # d4 and b2, white to play


def board(record: Record) -> str:
    """Return the position after the main line."""
    return record.game.text(positions(record)[record.main_line()[-1]])


@pytest.mark.parametrize(
    "text, start, end",
    [
        ("(;SZ[5]HA[2]AB[db][bd];W[cc];B[ee])", START, "...../...X./..O../.X.../....X O"),
        ("(;SZ[5]AB[db][bd]PL[W])", START, START),
        ("(;SZ[5]AB[aa:bb]AW[ee];B[cc])", "XX.../XX.../...../...../....O X", None),
        ("(;SZ[5]AB[aa:bb]AE[bb]AW[ee];W[cc])", None, "XX.../X..../..O../...../....O X"),
        ("(;SZ[5]PL[B];B[cc])", "", "...../...../..X../...../..... O"),
        ("(;SZ[5]PL[W];W[cc])", "...../...../...../...../..... O", "...../...../..O../...../..... X"),
    ],
)
def test_stones_that_are_set_up_are_the_first_position(text: str, start: str | None, end: str | None) -> None:
    (record,) = read_sgf(text.encode())
    assert start is None or record.start == start
    assert end is None or board(record) == end
    (again,) = read_sgf(write_sgf(record))
    assert again.start == record.start and board(again) == board(record)


def test_sgfmill_sees_the_same_stones() -> None:
    record = Record(GO, start=START)
    record.add_line([12])
    game = sgf.Sgf_game.from_bytes(write_sgf(record))
    black, white, empty = game.get_root().get_setup_stones()
    # sgfmill counts rows from below: d4 is (3, 3), b2 is (1, 1)
    assert (black, white, empty) == ({(3, 3), (1, 1)}, set(), set())
    assert game.get_root().get("PL") == "w"
    assert [node.get_move() for node in game.get_main_sequence()[1:]] == [("w", (2, 2))]


def test_othello_begins_with_its_own_stones_and_with_others() -> None:
    own = "(;GM[2]SZ[8]AB[ed][de]AW[dd][ee];B[fe])"
    (record,) = read_sgf(own.encode())
    assert record.start == "" and len(record.nodes) == 2
    (other,) = read_sgf(b"(;GM[2]SZ[8]AB[dd][ed][de]AW[ee]PL[W])")
    assert other.start.split("/")[3:5] == ["...XX...", "...XO..."] and other.start.endswith(" O")
    (again,) = read_sgf(write_sgf(other))
    assert board(again) == board(other)


def test_json_keeps_the_position() -> None:
    record = Record(GO, start=START)
    record.add_line([12, 0])
    content = json.loads(write_json(record))
    assert content["position"] == START and content["moves"] == ["c3", "a5"]
    (again,) = read_json_lines(write_json(record).encode())
    assert again.start == START and board(again) == board(record)
    for wrong, said in ((3, "'position' must be a JSON text"), ("x", "is not a position of go")):
        with pytest.raises(UserError, match=said):
            list(read_json_lines(json.dumps({**content, "position": wrong}).encode()))


def test_a_book_refuses_a_game_that_begins_elsewhere(tmp_path: Path) -> None:
    path = tmp_path / "games.sgf"
    path.write_bytes(write_sgf(Record(GO, start=START)))
    with pytest.raises(UserError, match="begins at a set-up position; choose another game"):
        read_openings(GO, path, None)


def test_the_games_own_first_position_is_no_set_up() -> None:
    own = GO.text(GO.initial_state())
    assert own == "...../...../...../...../..... X" and Record(GO, start=own).start == ""
    line = write_json(Record(GO))
    (by_json,) = read_json_lines(json.dumps({**json.loads(line), "position": own}).encode())
    (by_sgf,) = read_sgf(
        write_sgf(Record(GO)).replace(b'"outcome"', f'"position": "{own}", "outcome"'.encode())
    )
    assert by_json.start == by_sgf.start == "" and write_json(by_json) == line
    assert Record(CHESS, start="4k3/8/8/8/8/8/8/4K2R w K -").start == "4k3/8/8/8/8/8/8/4K2R w K - 0 1"


def test_a_cell_has_one_stone() -> None:
    with pytest.raises(UserError, match="the cell 'bb' is in both AB and AW"):
        list(read_sgf(b"(;SZ[5]AB[aa:bb]AW[bb];B[cc])"))


def test_a_game_goes_on_where_a_file_ends_that_begins_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    # X X .   O is at 3 and 4; X at 8 leaves 2 5 6 7, O at 5 wins
    # O O .
    # . . .
    record = Record(make_game("tictactoe"), start="XX./OO./... X")
    record.add_line([8])
    Path("games.jsonl").write_text(write_json(record) + "\n")
    shown = list[str]()
    run_session(["from=games.jsonl", "side=second", "opponent=random"], lambda _: "5", shown.append)
    assert "You win." in shown[-2]
    line = json.loads(Path("data/play.jsonl").read_text())
    assert (line["position"], line["moves"]) == ("XX./OO./... X", ["8", "5"])
    assert trace.main(["from=games.jsonl", "ply=0", "player.num_simulations=3"]) == 0
    from_file = capsys.readouterr().out
    assert trace.main(["position=XX./OO./... X", "player.num_simulations=3"]) == 0
    assert from_file == capsys.readouterr().out
    assert trace.main(["from=games.jsonl", "position=XX./OO./... X"]) == 2
    assert "position= and from= cannot both be set." in capsys.readouterr().err
