"""Records: SGF and JSON read back what was written, read other programs' files, refuse broken ones."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st
from PIL import Image
from places import DOUBLE_MOVE

import azero.records.parquet
from azero.arena import game_line
from azero.config.schema import UserError
from azero.games import make_game
from azero.games.game import Game
from azero.games.kit.picture import CELL, MARGIN, STONE, draw
from azero.match.lockstep import MatchGame
from azero.match.openings import random_openings
from azero.records.files import about_how_many, open_records, read_file, read_records
from azero.records.json_lines import read_json_lines, write_json
from azero.records.pictures import png_of, svg_of, svg_of_node
from azero.records.record import Record, clean, named_game, one_line
from azero.records.sgf import move_texts, read_sgf, write_sgf
from azero.records.walk import positions

GAMES = [
    make_game("tictactoe"),
    make_game("connect_four", rows=4, columns=5, connect=3),
    make_game("othello", size=4),
    make_game("go", size=5, komi=0.5),
    make_game("gomoku", rows=5, columns=7, connect=4),
    make_game("hex", size=4, swap=True),
    make_game(DOUBLE_MOVE),
]
GO = GAMES[3]
BYTES = st.binary(max_size=60)
SGF_TEXT = st.text("();[]\\:BWCAFGMSZE abc019\n", max_size=80).map(str.encode)
LONG = settings(max_examples=800, suppress_health_check=list(HealthCheck))


def known(*games: Game) -> Callable[[str, dict[str, Any]], Game]:
    """Return a function that makes one of these games and refuses others."""

    def make(name: str, options: dict[str, Any]) -> Game:
        for game in games:
            if (game.name, game.options) == (name, options):
                return game
        raise UserError(f"no game {name} here.")

    return make


def content(record: Record) -> dict[str, Any]:
    """Return everything a record says, whatever the order of its nodes."""
    children = record.children()
    nodes = {
        tuple(record.path(place)): (
            *(node.value, node.visits, node.policy, node.comment),
            [record.nodes[child].action for child in children[place]],
        )
        for place, node in enumerate(record.nodes)
    }
    head = record.players, record.outcome, record.result, record.date, record.source, record.cycle
    return {"game": (record.game.name, record.game.options), "head": head, "nodes": nodes}


FRACTION = st.integers(0, 9999).map(lambda number: number / 10_000)
TEXT = st.text(max_size=20)


@st.composite
def records(draw: st.DrawFn) -> Record:
    """Draw a game with variations, searches, comments and a head."""
    game = draw(st.sampled_from(GAMES))
    record, states = Record(game), [game.initial_state()]
    for branch, choice in draw(st.lists(st.tuples(st.integers(0, 99), st.integers(0, 999)), max_size=40)):
        parent = len(states) - 1 if branch < 80 else branch % len(states)
        if game.is_terminal(states[parent]):
            continue
        legal = game.legal_actions(states[parent])
        place = record.add(parent, legal[choice % len(legal)])
        if place == len(states):
            states.append(game.step(states[parent], record.nodes[place].action))
        node = record.nodes[place]
        node.value = draw(st.none() | FRACTION.map(lambda share: round(2 * share - 1, 4)))
        node.visits = draw(st.none() | st.integers(0, 10**6))
        node.policy = dict(zip(legal, draw(st.lists(FRACTION, max_size=3)), strict=False))
        node.comment = draw(TEXT.map(clean))
    record.players = (one_line(draw(TEXT)), one_line(draw(TEXT)))
    ends = [
        (1.0, "B+R"),
        (-1.0, "W+3.5"),
        (None, "Void"),
        *((end, "") for end in (None, 1.0, 0.0, -1.0, 0.5)),
    ]
    record.outcome, record.result = draw(st.sampled_from(ends))
    record.date, record.source = "2026-11-23", one_line(draw(TEXT))
    record.cycle = draw(st.none() | st.integers(0, 9999))
    try:
        positions(record)
    except UserError:  # superko
        assume(False)
    record.end_by_rules()
    return record


# What azero writes, azero reads


@settings(max_examples=100)
@given(record=records())
def test_every_game_is_read_back_from_sgf_and_json(record: Record) -> None:
    make = known(*GAMES)
    assert [content(each) for each in read_sgf(write_sgf(record), make)] == [content(record)]
    line = write_json(record)
    assert "\n" not in line
    assert [content(each) for each in read_json_lines(line.encode(), make)] == [content(record)]


def test_a_file_may_hold_many_games() -> None:
    games = [Record(GO, players=(str(number), "")) for number in range(3)]
    games[1].add_line([0, 1])
    sgf = b"\n".join(map(write_sgf, games))
    lines = "\n".join(map(write_json, games)).encode()
    for data in (sgf, lines, b"\xef\xbb\xbf" + sgf, b"\xef\xbb\xbf" + lines):
        assert [record.players[0] for record in read_records(data, known(GO))] == ["0", "1", "2"]


@pytest.mark.parametrize("ending", [".sgf", ".jsonl", ".parquet"])
@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(games=st.lists(records(), min_size=1, max_size=4))
def test_many_games_go_through_a_file(ending: str, tmp_path: Path, games: list[Record]) -> None:
    path = tmp_path / f"games{ending}"
    with open_records(path, overwrite=True) as write:
        for record in games:
            write(record)
    read = list(read_file(path, known(*GAMES)))
    assert [content(record) for record in read] == [content(record) for record in games]
    assert about_how_many(path) >= len(games)
    if ending == ".parquet":
        rows = pytest.importorskip("pyarrow.parquet").read_table(path).to_pylist()
        assert [plain_row(row) for row in rows] == [json.loads(write_json(record)) for record in games]
    elif ending == ".sgf":
        check_sgfmill(path.read_bytes(), games)


LEFT_OUT = ("cycle", "nodes", "position")  # of a JSON line, where there is none


def plain_row(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row of Parquet as the JSON line has it, where a member that says nothing is left out."""
    row["options"] = json.loads(row["options"])
    for node in row["nodes"] or ():
        if node["policy"] is not None:
            node["policy"] = dict(node["policy"])
        for name in [name for name in node if node[name] is None]:
            del node[name]
    return {name: value for name, value in row.items() if name not in LEFT_OUT or value is not None}


def check_sgfmill(data: bytes, games: list[Record]) -> None:
    """Check that sgfmill reads the main lines, the players and the comments of a collection."""
    grammar = pytest.importorskip("sgfmill.sgf_grammar")
    for tree, record in zip(grammar.parse_sgf_collection(data), games, strict=True):
        states, texts, line = positions(record), move_texts(record.game), record.main_line()
        nodes = list(grammar.main_sequence_iter(tree))
        read = [grammar.simpletext_value(nodes[0].get(name, [b""])[0]).decode() for name in ("PB", "PW")]
        assert read == list(record.players)
        for node, place in zip(nodes, line, strict=True):
            if place:
                mover = "BW"[record.game.to_play(states[record.nodes[place].parent])]
                assert node[mover] == [texts[record.nodes[place].action].encode()]
            if comment := record.nodes[place].comment:
                assert grammar.text_value(node["C"][0]).decode().startswith(comment)


def test_a_parquet_file_has_row_groups_of_many_games(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    monkeypatch.setattr(azero.records.parquet, "GROUP_NODES", 30)
    game = GAMES[0]
    with open_records(tmp_path / "games.parquet") as write:
        for opening in random_openings(game, plies=4, count=20):  # 5 positions each, so 6 games a group
            record = Record(game)
            record.add_line(opening)
            write(record)
    with parquet.ParquetFile(tmp_path / "games.parquet") as file:
        groups = [file.metadata.row_group(place).num_rows for place in range(file.num_row_groups)]
        assert file.schema_arrow.metadata == {b"azero.records": b"1"}
    assert groups == [6, 6, 6, 2]


def test_what_sgf_looks_like() -> None:
    record = Record(GO, ("Ann", "uct [5]"), outcome=-1.0, date="2026-11-23", source="azero studio")
    last = record.add_line([12, 25, 6])
    record.add(record.nodes[last].parent, 7)
    record.nodes[1].value, record.nodes[1].visits, record.nodes[1].policy = 0.25, 100, {6: 0.75, 25: 0.25}
    record.nodes[1].comment = "the middle"
    assert write_sgf(record).decode() == (
        "(;FF[4]GM[1]SZ[5]KM[0.5]RU[Chinese]CA[UTF-8]AP[azero:0.1.0]PB[Ann]PW[uct [5\\]]DT[2026-11-23]RE[W+]"
        'SO[azero studio]AZERO[{"game": "go", "options": {"size": 5, "komi": 0.5, "superko": "positional", '
        '"max_plies": 0}, "outcome": -1.0}]\n'
        ";B[cc]AZVALUE[0.25]AZVISITS[100]AZPOLICY[bb:0.75][:0.25]C[the middle\n"
        "azero: value +0.25 for the first player, 100 visits, b4 75 %, pass 25 %]\n"
        ";W[](;B[bb])(;B[cb]))\n"
    )


@pytest.mark.parametrize(
    ("name", "options", "moves", "written"),
    [
        ("connect_four", {}, "4 4 7", ";B[4];W[4];B[7])"),
        ("othello", {}, "d3 c3", "GM[2]SZ[8]|;B[dc];W[cc])"),
        ("gomoku", {"rows": 5, "columns": 7, "connect": 4}, "a5 g1", "GM[4]SZ[7:5]|;B[aa];W[ge])"),
        ("hex", {"size": 11, "swap": True}, "a2 swap k11", "GM[11]SZ[11]|;B[a2];W[swap-pieces];B[k11])"),
    ],
)
def test_each_game_has_its_own_coordinates(
    name: str, options: dict[str, Any], moves: str, written: str
) -> None:
    game = make_game(name, **options)
    record = Record(game)
    record.add_line([game.parse_action(game.initial_state(), move) for move in moves.split()])
    text = write_sgf(record).decode().replace("\n", "")
    assert all(part in text for part in written.split("|"))
    assert ("GM[" in text) == ("GM" in written)


# Other programs


def test_sgfmill_sees_the_position_that_azero_has_written() -> None:
    sgf, sgf_moves = pytest.importorskip("sgfmill.sgf"), pytest.importorskip("sgfmill.sgf_moves")
    game = make_game("go", size=9, komi=5.5)
    assert game.board
    for opening in random_openings(game, plies=100, count=20):
        record = Record(game, ("Ann ]\\", "Bob"), 1.0, "B+R")
        last = record.add_line(opening)
        record.add(1, 40 if opening[1] != 40 else 41)
        record.nodes[3].comment = "two\nlines ]"
        read = sgf.Sgf_game.from_bytes(write_sgf(record))
        assert (read.get_size(), read.get_komi(), read.get_winner()) == (9, 5.5, "b")
        assert read.get_player_name("b") == "Ann ]\\"
        assert read.get_main_sequence()[3].get("C") == "two\nlines ]"
        assert len(read.get_main_sequence()[1]) == 2  # the variation
        board, moves = sgf_moves.get_setup_and_moves(read)
        for colour, move in moves:
            if move:
                board.play(*move, colour)
        stones = [["_bw".index(board.get(8 - row, column) or "_") for column in range(9)] for row in range(9)]
        assert stones == game.board.marks(positions(record)[last]).tolist()


@pytest.mark.parametrize("charset", ["UTF-8", "ISO-8859-1"])
def test_azero_reads_what_sgfmill_writes(charset: str) -> None:
    sgf = pytest.importorskip("sgfmill.sgf")
    written = sgf.Sgf_game(size=9, encoding=charset)
    written.get_root().set("KM", 6.5)
    written.get_root().set("PB", "Łukasz" if charset == "UTF-8" else "Zoë")
    written.get_root().set("RE", "W+3.5")
    for colour, point in (("b", (4, 4)), ("w", (0, 8)), ("b", None)):
        node = written.extend_main_sequence()
        node.set_move(colour, point)
    node.set("C", "pass: ] \\ and\nmore")
    written.get_root()[0].new_child().set_move("w", (8, 0))
    (record,) = read_records(written.serialise())
    assert record.game.options == {"size": 9, "komi": 6.5, "superko": "positional", "max_plies": 0}
    assert (record.outcome, record.result) == (-1.0, "W+3.5")
    assert record.players == ("Łukasz" if charset == "UTF-8" else "Zoë", "")
    names = record.game.move_names(record.nodes[place].action for place in record.main_line()[1:])
    assert names == ["e5", "j1", "pass"]
    assert record.nodes[record.main_line()[-1]].comment == "pass: ] \\ and\nmore"
    assert [record.path(place) for place in record.children()[1]] == [[40, 80], [40, 0]]


@pytest.mark.parametrize(
    ("text", "moves"),
    [
        ("(;GM[1]FF[3]SZ[9]Black[ee];W[tt];B[])", "go e5 pass pass"),  # a move in the root, FF[3]
        ("mail header (;SZ[9] ;B [ee]\n( ;W[ed] ) (;W[de]C[no]))  garbage", "go e5 e6"),
        ("(;GM[1]SZ[9]HA[0]PL[B];B[EE];C[only words];W[ef])", "go e5 e4"),
        ("(;GM[2]AB[ed][de]AW[dd][ee];B[d3];W[cc])", "othello d3 c3"),  # the usual stones, set up
        ("(;GM[4]SZ[15];B[hh];W[H9])", "gomoku h8 h9"),
        ("(;GM[11]SZ[5];B[C3];W[swap-pieces];B[a1];W[resign])", "hex c3 swap a1"),
    ],
)
def test_files_of_other_programs_are_read(text: str, moves: str) -> None:
    (record,) = read_records(text.encode())
    line = record.game.move_names(record.path(record.main_line()[-1]))
    assert [record.game.name, *line] == moves.split()


def test_a_long_game_of_go_is_read_to_its_end() -> None:
    # On 2 x 2 azero would end the game after eight plies; the stones go round, with passes between
    moves = ["aa", "", "bb", "", "ab", "ba", "aa", "", "ab", "", "bb"]
    text = "".join(f";{'BW'[ply % 2]}[{move}]" for ply, move in enumerate(moves))
    (record,) = read_sgf(f"(;SZ[2]RU[Japanese]{text})".encode())
    assert len(record.main_line()) == 12


def test_a_resignation_in_hex_is_the_result() -> None:
    (record,) = read_sgf(b"(;GM[11]SZ[5];B[c3];W[resign])")
    assert (record.outcome, record.result) == (1.0, "B+R")


def test_text_is_read_in_its_charset() -> None:
    text = "(;CA[gb18030]SZ[9]PB[\u5434\u6e05\u6e90];B[ee])"
    (record,) = read_sgf(text.encode("gb18030"))
    assert record.players[0] == "\u5434\u6e05\u6e90"
    (record,) = read_sgf("(;SZ[9]PB[Zo\xeb])".encode("latin-1"))
    assert record.players[0] == "Zo\xeb"


@pytest.mark.parametrize("game", GAMES, ids=lambda game: game.name)
def test_lines_of_arena_and_play_are_read(game: Game) -> None:
    (actions,) = random_openings(game, plies=6, count=1)
    played = MatchGame(number=3, first=1, opening_plies=2, actions=actions, outcome=-1.0)
    old = {"game": game.name, "options": game.options, "players": ["human", "x"]}  # of earlier versions
    lines = (
        game_line(game, ["uct", "random"], played, seed=5),
        json.dumps({**old, "moves": game.move_names(actions), "outcome": None}),
    )
    arena, play = read_json_lines("\n".join(lines).encode(), known(game))
    assert (arena.players, arena.outcome) == (("random", "uct"), 1.0)
    assert (play.players, play.outcome) == (("human", "x"), None)
    assert arena.path(len(actions)) == play.path(len(actions)) == actions


@pytest.mark.parametrize(
    "moves, outcome",
    [("f3 e5 g4 Qh4#", -1.0), ("f3 e5 g4", None), ("Nf3 e7e5", None)],
)
def test_moves_of_chess_are_read_as_people_write_them_and_may_end_the_game(
    moves: str, outcome: float | None
) -> None:
    texts = moves.split()
    files = [
        json.dumps({"game": "chess", "moves": texts}),
        '(;AZERO[{"game": "chess"}]'
        + "".join(f";{'BW'[at % 2]}[{text}]" for at, text in enumerate(texts))
        + ")",
        "1. " + " ".join(texts) + " *",
    ]
    records = [next(read_records(each.encode())) for each in files]
    names = [each.game.move_names(each.path(len(texts))) for each in records]
    assert names[0] == names[1] == names[2] and len(names[0]) == len(texts)
    assert [each.outcome for each in records] == [outcome] * 3
    nodes = [{}, *({"parent": at, "move": text} for at, text in enumerate(texts))]
    (again,) = read_records(json.dumps({"game": "chess", "moves": names[0], "nodes": nodes}).encode())
    assert again.path(len(texts)) == records[0].path(len(texts))


@pytest.mark.parametrize(
    "moves, said, in_pgn",
    [
        ("e4 e5 e2e4", "move 3, 'e2e4', is not legal in chess.", "move 2 of White"),
        ("f3 e5 g4 Qh4 e4", "move 5, 'e4', comes after the end of the game.", "move 3 of White"),
        ("Nf3 d5 d4 c5 Nd2", "move 5: 'Nd2' is ambiguous: Nbd2 or Nfd2.", "move 3 of White"),
    ],
)
def test_a_wrong_move_of_chess_has_one_sentence_in_all_formats(moves: str, said: str, in_pgn: str) -> None:
    """PGN numbers moves, so its sentence counts as the file does; the others have a list of plies."""
    texts = moves.split()
    sgf_text = "".join(f";{'BW'[at % 2]}[{text}]" for at, text in enumerate(texts))
    for data, where in (
        (json.dumps({"game": "chess", "moves": texts}), "JSON, line 1"),
        (f'(;AZERO[{{"game": "chess"}}]{sgf_text})', "SGF, game 1"),
        ("1. " + " ".join(texts), "PGN, game 1"),
    ):
        told = re.sub(r"^move \d", in_pgn, said) if where == "PGN, game 1" else said
        with pytest.raises(UserError) as error:
            list(read_records(data.encode()))
        assert str(error.value) == f"{where}: {told}"


def test_the_end_of_a_game_is_taken_from_the_rules_but_a_void_game_has_none() -> None:
    line = '{"game": "tictactoe", "moves": ["0", "3", "1", "4", "2"], "result": "%s"}'
    ends = [next(read_records((line % result).encode())) for result in ("", "?", "Void", "W+T")]
    assert [(each.outcome, each.result) for each in ends] == [
        *((1.0, ""), (1.0, ""), (None, "Void"), (-1.0, "W+T"))
    ]
    passes = b"(;GM[1]SZ[5]%s;B[cc];W[];B[])"  # dead stones may be on the board of another program
    assert next(read_records(passes % b"")).outcome is None


# Wrong files


def assert_sentence(error: pytest.ExceptionInfo[UserError]) -> None:
    text = str(error.value)
    assert text.endswith((".", "?")) and "\n" not in text and len(text) < 400, text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "it is empty"),
        ("hello", 'no game begins with "(;"'),
        ("(;B[aa]", "ends inside the game"),
        ("(;SZ[9]\n;B[aa]\n;W[bb] ,)", "line 3 is not SGF at ',)'"),
        ("(;SZ[9];B[ee](;W[dd])C[x])", "line 1 is not SGF at 'C[x])'"),
        ("(;SZ[9];B[ee)", "line 1 is not SGF at 'B[ee)'"),
        ("(;GM[3])", "GM['3'] is a game that azero does not read"),
        ("(;GM[11]SZ[5:6])", "5 x 6 is not square"),
        ("(;SZ[1000])", "SZ['1000'] is not the size"),
        ("(;SZ[52])", "size=52 must be a whole number from 2 to 19"),
        ("(;SZ[9]HA[2];W[ee])", "a handicap game, but does not say where the stones are"),
        ("(;SZ[2]AB[aa][bb]AW[ab][ba])", "begins with stones that are set up, but a chain has no liberty"),
        ("(;SZ[9]AB[zz])", "AB['zz'] is not a cell of the board"),
        ("(;SZ[9];B[ee];AW[cc])", "sets up stones in the middle of the game, and azero does not read that"),
        ("(;SZ[9];W[ee])", "move 1, 'e5', is played out of turn in go"),
        ("(;SZ[9];B[ee];B[cc])", "move 2, 'c7', is played out of turn"),
        ("(;SZ[9];B[ee];W[ee])", "move 2, 'e5', is not legal in go(komi=7.5, max_plies=0, size=9, superko="),
        ("(;SZ[9];B[];W[];B[ee])", "move 3, 'e5', comes after the end of the game"),
        ("(;SZ[9];B[];W[];B[];W[ee])", "move 4, 'e5', comes after the end of the game"),
        ("(;SZ[9];B[ee]W[cc])", "a node has 2 moves, after move 0"),
        ("(;SZ[9];B[zz])", "'zz' is not a move of go"),
        ("(;AZERO[3])", "AZERO is not a JSON object: 3"),
        ('(;AZERO[{"game": "mine.py", "options": {}}])', "the game 'mine.py', which is unknown here"),
        ('(;AZERO[{"game": "conect_four", "options": {}}])', "did you mean connect_four?"),
        ('(;AZERO[{"game": "go", "options": {"name": "x"}}])', "names no game"),
        ('(;AZERO[{"game": "go", "options": {"sise": 9}}])', "unknown setting 'game.options.sise'"),
        ('(;AZERO[{"game": "tictactoe"}]AZVALUE[2])', "AZVALUE['2'] is not a number from -1 to 1"),
        ('(;AZERO[{"game": "tictactoe"}]AZPOLICY[9:1])', "AZPOLICY['9:1'] does not begin with a move"),
        ('{"game": ', "this is not JSON"),
        ("{}", "names no game"),
        ('{"game": "tictactoe"}', "'moves' must be a JSON list, not None"),
        ('{"game": "openspiel:efg_game(filename=/etc/passwd)"}', "whose rules are in another file"),
        (
            '{"game": "openspiel:misere", "options": {"game": "efg_game(filename=/etc/passwd)"}}',
            "whose rules are in another file",
        ),
        ('{"schema": "azero.records", "version": 2}', "this azero reads azero.records, version 1"),
        ('{"schema": "azero.records", "version": true}', "version True; this azero reads azero.records"),
        ('\n{"game": "tictactoe", "moves": ["9"]}', "JSON, line 2: '9' is not a move of tictactoe"),
        ('{"game": "tictactoe", "moves": ["4", "4"]}', "move 2, '4', is not legal"),
        ('{"game": "tictactoe", "moves": [], "outcome": NaN}', "is not JSON"),
        ('{"game": "tictactoe", "moves": [], "outcome": 2}', "'outcome' must be a number from -1 to 1"),
        ('{"game": "tictactoe", "moves": [], "players": ["a"]}', "players must be two names"),
        ('{"game": "tictactoe", "moves": [], "nodes": [{}, {"parent": 1}]}', "a parent from 0 to 0"),
        ('{"game": "tictactoe", "moves": [], "nodes": [{}, {"parent": 0, "move": "4"}]}', "the main line"),
    ],
)  # fmt: skip
def test_a_wrong_file_is_refused_in_one_sentence(text: str, said: str) -> None:
    with pytest.raises(UserError) as error:
        list(read_records(text.encode()))
    assert_sentence(error)
    assert said in str(error.value)


def test_a_repeated_position_is_refused() -> None:
    # X .  X O  X O  . O  X O  . O  X .    after each move; the last position is the first
    # . .  . .  X .  . O  . O  O O  . .
    moves = "(;SZ[2]RU[%s];B[aa];W[ba];B[ab];W[bb];B[aa];W[ab];B[aa])"
    (record,) = read_sgf((moves % "Japanese").encode())
    assert len(record.nodes) == 8
    with pytest.raises(UserError, match="move 7, 'a2', repeats an earlier position") as error:
        list(read_sgf((moves % "Chinese").encode()))
    assert_sentence(error)


@pytest.mark.parametrize(
    "data",
    [
        b"(;" * 300_000,
        b"(;" + b";B[]" * 300_000,
        b"(;AZERO" + b"[" * 1_000_000,
        b"(;C[" + b"\\]" * 500_000,
        b"(" * 1_000_000,
        b'{"game": ' + b"[" * 500_000,
        b'{"game": "tictactoe", "moves": [' + b'"0",' * 100_000 + b'"0"]}',
        b'{"game": "tictactoe", "moves": [], "outcome": 1' + b"0" * 5000 + b"}",
    ],
)
def test_a_huge_file_is_refused_in_one_sentence(data: bytes) -> None:
    with pytest.raises(UserError) as error:
        list(read_records(data))
    assert_sentence(error)


def test_a_record_never_runs_a_file(tmp_path: Path) -> None:
    trap = tmp_path / "trap.py"
    trap.write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    for name in (str(trap), f"openspiel:{trap}"):
        with pytest.raises(UserError):
            named_game(name, {})
    assert not (tmp_path / "ran").exists()


def good_files() -> list[bytes]:
    """Return a record of Go and one of tic-tac-toe in both formats."""
    files = []
    for game, moves in ((GO, "c3 b3 pass d4"), (GAMES[0], "4 0 8")):
        record = Record(game, ("Ann", "Bob"), 1.0, "B+R")
        last = record.add_line([game.parse_action(game.initial_state(), move) for move in moves.split()])
        record.add(last - 1, 1)
        record.nodes[1].value, record.nodes[1].policy, record.nodes[2].comment = 0.5, {1: 0.5}, "so ] \\"
        files += [write_sgf(record), write_json(record).encode()]
    return files


GOOD_FILES = good_files()


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """Draw a good file with a part replaced."""
    data = draw(st.sampled_from(GOOD_FILES))
    start = draw(st.integers(0, len(data)))
    end = draw(st.integers(start, min(len(data), start + 20)))
    return data[:start] + draw(BYTES | SGF_TEXT) + data[end:]


@pytest.mark.slow
@LONG
@given(data=BYTES | SGF_TEXT | SGF_TEXT.map(b"(;SZ[5]".__add__) | damaged())
@example(data=b'{"game": "go", "moves": ["\\ud800"]}')
def test_any_bytes_are_read_or_refused_in_one_sentence(data: bytes) -> None:
    try:
        for record in read_records(data, known(GO, GAMES[0])):
            write_sgf(record), write_json(record)
    except UserError as error:
        text = str(error)
        assert text.endswith((".", "?")) and "\n" not in text and len(text) < 400, text


# Pictures


def colour_at(svg: str, x: float, y: float) -> list[int]:
    """Return the colour of a point of a picture after it has become a PNG, red, green and blue."""
    return np.asarray(Image.open(io.BytesIO(png_of(svg))))[round(2 * y), round(2 * x)].tolist()


@pytest.mark.parametrize(
    ("name", "options", "moves", "cell", "mark"),
    [
        ("othello", {}, "d3", (2, 3), 1),
        ("othello", {}, "d3 c3", (2, 2), 2),
        ("go", {}, "e5 c3", (6, 2), 2),
        ("hex", {}, "c2", (1, 2), 1),
    ],
)
def test_a_png_shows_the_stones(
    name: str, options: dict[str, Any], moves: str, cell: tuple[int, int], mark: int
) -> None:
    game = make_game(name, **options)
    record = Record(game)
    last = record.add_line([game.parse_action(game.initial_state(), move) for move in moves.split()])
    svg, (row, column) = svg_of_node(record, last), cell
    x, y = MARGIN + (column + 0.5) * CELL, MARGIN + (row + 0.5) * CELL
    if name == "hex":
        radius = CELL / 3**0.5
        x, y = x + row / 2 * CELL, MARGIN + radius + row * 1.5 * radius
    assert "#{:02x}{:02x}{:02x}".format(*colour_at(svg, x, y)) == STONE[mark]
    radius = CELL * 0.5 * (0.36 if name == "hex" else 0.43)
    assert colour_at(svg, x + radius, y) == [209, 54, 31]  # the ring of the last move


def test_a_png_blends_heat() -> None:
    game = make_game("tictactoe")
    assert game.board
    heat = np.zeros((3, 3))
    heat[0, 0], heat[1, 1] = 1.0, 0.5
    svg = draw(game.board, game.initial_state(), heat=heat)
    hot, warm, cold = (colour_at(svg, *[MARGIN + 10 + CELL * i] * 2) for i in range(3))
    assert hot == [209, 54, 31] and cold == [231, 211, 174]
    assert all(abs(each - (one + other) / 2) <= 2 for each, one, other in zip(warm, hot, cold, strict=True))


def test_a_game_without_a_board_has_no_picture() -> None:
    pytest.importorskip("pyspiel")
    game = make_game("openspiel:tic_tac_toe")
    with pytest.raises(UserError, match="no board that azero can draw"):
        svg_of(game, game.initial_state())
    record = Record(game)
    record.add_line([4, 0])
    (read,) = read_sgf(write_sgf(record))
    assert content(read) == content(record)
