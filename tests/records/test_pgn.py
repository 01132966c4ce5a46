"""PGN: games with variations beside python-chess, files of other programs, set-up positions, broken files."""

from __future__ import annotations

import io
import random
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from azero.config.schema import UserError
from azero.games import make_game
from azero.games.game import Game
from azero.records.files import open_records, read_file, read_records
from azero.records.json_lines import read_json_lines, write_json
from azero.records.pgn import looks_like_pgn, notes_of, read_pgn, write_pgn
from azero.records.record import Record, known_game
from azero.records.sgf import read_sgf, write_sgf
from azero.records.signs import NAG, TAG
from azero.records.walk import positions

CHESS, GARDNER = make_game("chess"), make_game("chess", variant="gardner")
ENDING = "4k3/8/8/8/8/8/4P3/4K3 b - - 3 40"
COMMENTS = ["good", "a; b [%clk 0:01:02]", "x\ny", "(no) $5 1. e4", "50 % {"]
Tree = list[tuple[Any, ...]]

# A game as Lichess writes it, with a variation, a comment to the end of a line, and signs
FOREIGN = """\ufeff% made by hand
[Event "Rated \\"blitz\\" game"]
[Site "https://lichess.org/abc"]
[Date "2026.11.??"]
[White "anna"]
[Black "ben"]
[Result "1-0"]
[WhiteElo "1500"]
[TimeControl "300+3"]

1. e4 { [%eval 0.2] [%clk 0:05:00] } 1... e5 $6 2.Qh5?! ; early
( {Better} 2. Nf3 Nc6 (2... d6) 3. Bb5 ) 2... Nc6 3. Bc4 Nf6?? 4. Qxf7# 1-0

[Event "second"]
[Result "1/2-1/2"]

1. 0-0 *
"""


def random_record(seed: int, game: Game, plies: int) -> Record:
    """Return a random tree of moves with comments, signs and what searches found."""
    draw = random.Random(seed)
    record = Record(game, ('A "x" \\', "B"), date="2026-11-23", start=draw.choice(["", game_start(game)]))
    states, current = {0: record.first_state()}, 0
    for _ in range(draw.randint(1, plies)):
        open_ = [place for place in states if not game.is_terminal(states[place])]
        if current not in open_ or draw.random() < 0.15:
            current = draw.choice(open_)
        legal = game.legal_actions(states[current])
        action = draw.choice(legal)
        place = record.add(current, action)
        states[place] = game.step(states[current], action)
        node, current = record.nodes[place], place
        node.comment = draw.choice(COMMENTS) if draw.random() < 0.2 else node.comment
        node.properties = {NAG: ["3"]} if draw.random() < 0.2 else node.properties
        if draw.random() < 0.2:
            node.value, node.visits = 0.25, 40
        if draw.random() < 0.2 and not game.is_terminal(states[place]):
            node.policy = dict.fromkeys(game.legal_actions(states[place])[:3], 0.25)
    record.nodes[0].comment = draw.choice(["", "first"])
    return record


def game_start(game: Game) -> str:
    """Return a position to begin with."""
    return ENDING if game is CHESS else "2k2/5/2P2/5/2K2 w - - 0 7"


def tree(record: Record) -> Tree:
    """Return the nodes of a record, each with what a file keeps of it."""
    return [
        (node.parent, node.action, node.comment, node.value, node.visits, node.policy, node.properties)
        for node in in_order(record)
    ]


def in_order(record: Record) -> list[Any]:
    """Return the nodes with parents by number, in the order of a walk, so that equal trees are equal."""
    children, found, todo = record.children(), list[Any](), [(0, -1)]
    while todo:
        place, parent = todo.pop()
        node = record.nodes[place]
        found.append(type(node)(parent, node.action, node.value, node.visits, node.policy, node.comment))
        found[-1].properties = {name: node.properties[name] for name in node.properties if name == NAG}
        todo += [(child, len(found) - 1) for child in reversed(children[place])]
    return found


def plain(record: Record) -> Record:
    """Replace what PGN cannot hold."""
    for node in record.nodes:
        node.comment = node.comment.replace("}", ")")
    return record


def their_tree(node: Any) -> Tree:
    """Return the moves below a node of python-chess, with comments and signs."""
    found, todo = list[Any](), [(node, -1)]
    while todo:
        node, parent = todo.pop()
        if node.parent is not None:
            found.append((parent, node.move.uci(), node.comment, sorted(node.nags)))
        here = len(found) - 1
        todo += [(child, here) for child in reversed(node.variations)]
    return found


def our_tree(record: Record) -> Tree:
    """Return the same of a record, with comments as they are written."""
    states, children, found, todo = positions(record), record.children(), list[Any](), [(0, -1)]
    while todo:
        place, parent = todo.pop()
        if place:
            node = record.nodes[place]
            comment = "".join(
                note[1:-1] for note in notes_of(record, place, states[place]) if note.startswith("{")
            )
            name = record.game.action_name(states[node.parent], node.action)
            found.append((parent, name, comment, [int(nag) for nag in node.properties.get(NAG, ())]))
        here = len(found) - 1
        todo += [(child, here) for child in reversed(children[place])]
    return found


def check_game(seed: int) -> None:
    """Check that python-chess reads a game as it was written, and azero what python-chess writes of it."""
    pgn = pytest.importorskip("chess.pgn", reason="python-chess is not installed")
    record = plain(random_record(seed, CHESS, 80))
    data = write_pgn(record)
    (again,) = read_pgn(data)
    assert tree(again) == tree(record), data.decode()
    assert (again.players, again.date, again.start) == (record.players, record.date, record.start)
    theirs = pgn.read_game(io.StringIO(data.decode()))
    assert not theirs.errors and their_tree(theirs) == our_tree(record), data.decode()
    (foreign,) = read_pgn(str(theirs).encode())
    assert tree(foreign) == tree(record), str(theirs)


@pytest.mark.parametrize("part", range(3))
def test_random_games_are_the_same_in_python_chess(part: int) -> None:
    for seed in range(10 * part, 10 * part + 10):
        check_game(seed)


@pytest.mark.long
def test_a_thousand_random_games_are_the_same_in_python_chess() -> None:
    for seed in range(1000):
        check_game(seed)


@pytest.mark.parametrize("seed", range(5))
def test_small_chess_and_all_formats_keep_games_and_their_first_position(seed: int) -> None:
    record = plain(random_record(seed, GARDNER, 30))
    (by_pgn,), (by_sgf,) = read_pgn(write_pgn(record)), read_sgf(write_sgf(record))
    (by_json,) = read_json_lines(write_json(record).encode())
    assert tree(by_pgn) == tree(by_sgf) == tree(record)
    assert [node[:6] for node in tree(by_json)] == [node[:6] for node in tree(record)]
    assert by_pgn.start == by_sgf.start == by_json.start == record.start


def test_a_file_of_another_program_is_read() -> None:
    refused = list[UserError]()
    (record,) = read_pgn(FOREIGN.encode(), refuse=refused.append)
    assert record.players == ("anna", "ben") and record.date == "2026-11" and record.outcome == 1.0
    names = CHESS.move_names(record.path(record.main_line()[-1]))
    assert names == ["e2e4", "e7e5", "d1h5", "b8c6", "f1c4", "g8f6", "h5f7"]
    first, second, third = record.nodes[1], record.nodes[2], record.nodes[3]
    assert first.comment == "[%eval 0.2] [%clk 0:05:00]" and third.comment == "early"
    assert second.properties == {NAG: ["6"]} and third.properties == {NAG: ["6"]}
    children = record.children()
    better = children[2][1]
    assert record.nodes[better].comment == "Better" and len(children[better]) == 2
    assert record.nodes[0].properties["EV"] == ['Rated "blitz" game']
    assert [str(each) for each in refused] == ["PGN, game 2: move 1 of White, '0-0', is not legal in chess."]
    (again,) = read_pgn(write_pgn(record))
    assert again.nodes[0].properties == record.nodes[0].properties


def test_a_game_goes_through_files_by_ending_and_by_content(tmp_path: Path) -> None:
    record, path = Record(CHESS, ("a", "b"), outcome=0.0, source="here"), tmp_path / "games.pgn"
    record.add_line([CHESS.parse_action(CHESS.initial_state(), "Nf3")])
    with open_records(path) as write:
        write(record)
        write(record)
    data = path.read_bytes()
    for games in (read_file(path), read_records(data), read_records(b"1. Nf3 *\n\n1. Nf3")):
        assert [each.path(1) for each in games] == [record.path(1)] * 2
    assert looks_like_pgn(b'; a\n\n[Event "x"]') and not looks_like_pgn(b"(;GM[1])")
    assert next(read_file(path)).source == "here"
    with pytest.raises(UserError, match="PGN holds games of chess, not of tictactoe"):
        write_pgn(Record(make_game("tictactoe")))


def test_numbers_begin_where_the_position_says() -> None:
    record = Record(CHESS, start=ENDING)
    state = record.first_state()
    action = CHESS.parse_action(state, "Kd7")
    record.add_line([action, CHESS.parse_action(CHESS.step(state, action), "e4")])
    text = write_pgn(record).decode()
    assert f'[FEN "{ENDING}"]' in text and '[SetUp "1"]' in text and "\n40... Kd7 41. e4 *" in text


@pytest.mark.parametrize(
    ("value", "comment", "said"),
    [
        (0.25, "Good", "Good\n[%eval 0.37][%azvalue 0.25][%azvisits 9]"),
        (-0.5, "", "[%eval -0.89][%azvalue -0.5][%azvisits 9]"),
        (0.25, "[%eval 1.5] as Ann says", "[%eval 1.5] as Ann says\n[%azvalue 0.25][%azvisits 9]"),
        (1.0, "", "[%azvalue 1][%azvisits 9]"),
    ],
)
def test_other_programs_read_a_search_in_pawns(value: float, comment: str, said: str) -> None:
    record = Record(CHESS)
    record.add_line([CHESS.parse_action(record.first_state(), "e4")])
    node = record.nodes[1]
    node.value, node.visits, node.comment = value, 9, comment
    text = write_pgn(record).decode()
    assert f"1. e4 {{{said}}} *" in text
    old = text.replace("[%azvisits 9]", "[%azvisits 9] azero: value +0.25")  # as it was once written
    for each in (text, old):
        assert next(read_pgn(each.encode())).nodes == record.nodes


def test_tags_that_azero_has_no_use_for_are_kept() -> None:
    text = '[Event "x"]\n[ECO "B33"]\n[BlackTitle "a \\"b\\""]\n[PlyCount "1"]\n\n1. e4 *\n'
    (record,) = read_pgn(text.encode())
    assert record.nodes[0].properties[TAG] == ["ECO B33", 'BlackTitle a "b"']
    written = write_pgn(record).decode()
    assert '[ECO "B33"]\n[BlackTitle "a \\"b\\""]\n' in written and "PlyCount" not in written
    (sgf,) = read_sgf(write_sgf(record))
    assert write_pgn(sgf).decode() == written
    record.nodes[0].properties[TAG] = ["", "a]b c", "White x", "Azero 3"]  # as a strange file may have it
    assert "Azero 3" not in (strange := write_pgn(record).decode()) and "a]b" not in strange


def main_moves(text: str) -> str:
    """Return the names of the moves of the main line of a file's only game."""
    (record,) = read_pgn(text.encode())
    return " ".join(CHESS.move_names(record.path(record.main_line()[-1]), record.first_state()))


def test_what_is_played_comes_before_a_variation_that_repeats_it() -> None:
    played = "1. e4 e5 2. Nf3 (2. Nf3 Nf6 3. Nxe5) 2... Nc6 3. Bb5 1-0"
    assert main_moves(played) == "e2e4 e7e5 g1f3 b8c6 f1b5"
    assert main_moves("1. e4 (1. e4 e5) 1... c5") == "e2e4 c7c5"
    (record,) = read_pgn(b"1. e4 (1. d4 d5 (1... d5 2. c4 {c}) 2. Nf3) (1. b4) 1... c5")
    children, states = record.children(), positions(record)
    names = [
        [CHESS.action_name(states[place], record.nodes[child].action) for child in below]
        for place, below in enumerate(children)
    ]
    # e4 c5 | d4 d5 Nf3, and c4 in place of Nf3 | b4
    assert names == [["e2e4", "d2d4", "b2b4"], ["c7c5"], [], ["d7d5"], ["g1f3", "c2c4"], [], [], []]
    assert [node.comment for node in record.nodes] == ["", "", "", "", "", "", "c", ""]
    assert tree(next(read_pgn(write_pgn(record)))) == tree(record)


def test_a_line_that_is_no_tag_refuses_its_game_only() -> None:
    refused = list[UserError]()
    text = '[Event "x"]\n[White Carlsen]\n[Black "b"]\n\n1. e4 e5 *\n\n[Event "y"]\n\n1. d4 *\n'
    (record,) = read_pgn(text.encode(), refuse=refused.append)
    assert record.nodes[0].properties["EV"] == ["y"]
    assert [str(error) for error in refused] == ["PGN, game 1: near line 2 it is not PGN at '[White'."]
    for data in (b"1. e4\n[\n", b"\n[\n" * 30_000, b"1. e4\n" + b"{\n[\n" * 100_000, b'[A "b"]\n' * 50_000):
        began = time.thread_time()
        list(read_pgn(data, refuse=refused.append))
        assert time.thread_time() - began < 5


def test_the_moves_of_a_game_have_a_limit_however_few_positions_they_make(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("azero.records.pgn.MOST_NODES", 200)
    fitting = "1. e4 " + "(1. d4 d5 (1... Nf6)) " * 66 + "*"  # 1 + 3 * 66 moves
    assert len(next(read_pgn(fitting.encode())).nodes) == 5
    with pytest.raises(UserError, match="game 1: it has more than 200 moves"):
        list(read_pgn(fitting.replace("1. e4 ", "1. e4 (1. d4 d5 (1... Nf6)) ").encode()))


def test_signs_of_older_programs_are_read() -> None:
    (record,) = read_pgn(
        "1. e4 ! += e5 N (1... c5 =) 2. Nf3 +/- Nc6 -+ 3. Bb5 ± a6?! 4. Ba4 +/= Nf6 =/+ 1/2".encode()
    )
    signs = [node.properties.get(NAG, []) for node in record.nodes[1:]]
    assert signs == [["1", "14"], ["146"], ["10"], ["16"], ["19"], ["16"], ["6"], ["14"], ["15"]]
    assert record.outcome == 0.0


def test_signs_that_pgn_cannot_hold_are_not_written() -> None:
    record = Record(CHESS)
    place = record.add(0, CHESS.parse_action(CHESS.initial_state(), "e4"))
    record.nodes[place].properties = {NAG: ["3", "", "x) 1-0", "12345"]}
    assert write_pgn(record).decode().endswith("\n1. e4 $3 *\n\n")


@pytest.mark.parametrize("begin", ["{by hand}\n", "; by hand\n", "% by hand\n", "{[a]\n} ; b\n"])
def test_a_file_may_begin_with_a_comment(begin: str, tmp_path: Path) -> None:
    path, text = tmp_path / "games.pgn", f'{begin}[Event "x"]\n\n1. e4 *\n'
    path.write_text(text)
    (from_file,), (from_data,) = read_file(path), read_records(text.encode())
    assert len(from_file.nodes) == len(from_data.nodes) == 2
    assert not looks_like_pgn(b'{"game": "tictactoe", "options": {}, "moves": []}\n')


def test_promotions_and_taking_in_passing_are_read_as_old_programs_write_them() -> None:
    for text in ("a8Q", "a8=q", "a8(Q)", "a8/Q", "a8=Q", "a8(Q)+", "a8Q+"):
        assert main_moves(f'[FEN "8/P6k/8/8/8/8/8/K7 w - - 0 1"]\n\n1. {text} Kg7 *') == "a7a8q h7g7", text
    for text in ("exd6e.p.", "exd6 e.p.", "exd6ep", "exd6"):
        assert main_moves(f"1. e4 Nc6 2. e5 d5 3. {text} *").endswith(" e5d6"), text


def test_a_variation_ends_before_a_null_move() -> None:
    text = "1. e4 e5 (1... a6 2. d4 -- 3. f4 (3. h4 h5) {threat}) 2. Nf3 (2. Z0 d5) Nc6 *"
    (record,) = read_pgn(text.encode())
    assert main_moves(text) == "e2e4 e7e5 g1f3 b8c6"
    assert len(record.nodes) == 7  # the start, these, a6 and d4
    assert not any(node.comment for node in record.nodes)


def test_checkmate_decides_whatever_the_tags_say() -> None:
    (record,) = read_pgn(b'[Result "1-0"]\n\n1. f3 e5 2. g4 Qh4# 1-0')
    assert record.outcome == -1.0 and b'[Result "0-1"]' in write_pgn(record)
    (timed,) = read_pgn(b'[Result "1-0"]\n\n1. f3 e5 1-0')
    assert timed.outcome == 1.0


def test_a_long_game_and_a_deep_one_are_read() -> None:
    shuffle = "Nf3 Nf6 Ng1 Ng8 "
    with pytest.raises(
        UserError, match="move 5 of White, 'Nf3', comes after the end"
    ):  # the third time is a draw
        list(read_pgn(("1. " + shuffle * 100).encode()))
    deep = "1. e4 " + "(1. d4 " * 20_000
    with pytest.raises(UserError, match="the game ends inside a variation"):
        list(read_pgn(deep.encode()))
    late = '[FEN "4k3/8/8/8/8/8/4P3/4K3 b - - 3 400"]\n\n400... Kd7 *'
    assert next(read_pgn(late.encode())).game.options["max_plies"] == 1024


@pytest.mark.parametrize(
    "text, said",
    [
        ("[Event", "near line 1 it is not PGN at '[Event'"),
        ('[Event "x"]\n\n1. e4 ~', "near line 3 it is not PGN at '~'"),
        ("1. e4 e9", "move 1 of Black, 'e9', is not legal in chess"),
        ('[FEN "4k3/8/8/8/8/8/4P3/4K3 b - - 3 40"]\n\n40... Kd3', "move 40 of Black, 'Kd3', is not legal"),
        ("1. e4 -- 2. d4", "move 1 of Black, '--', is a null move, which no game of chess has"),
        ("1. e4 (1. d4", "the game ends inside a variation"),
        ("1. e4 ) d5", "a variation ends that has not begun"),
        ("( 1. e4 )", "a variation comes before the first move"),
        ("1. e4 { never ends", "it is not PGN at '{'"),
        ('[Variant "Atomic"]\n\n1. e4', "'Atomic' is a variant of chess that azero does not have"),
        ('[FEN "8/8/8/8 w - - 0 1"]\n\n1. e4', "is not a position"),
        ('[Azero "3"]\n\n1. e4', "the tag Azero is not a JSON object"),
        ('[Azero "{\\"game\\": \\"tictactoe\\"}"]\n\n1. e4', "PGN holds games of chess, not of tictactoe"),
        ("1. e4 {[%azvalue 2]}", "[%azvalue '2'] is not what azero writes"),
        ("1. e4 {[%azpolicy e2e4:1]}", "is not what azero writes"),
        ("", "it holds neither a tag nor a move"),
    ],
)
def test_a_broken_file_is_refused_in_one_sentence(text: str, said: str) -> None:
    with pytest.raises(UserError) as error:
        list(read_pgn(text.encode()))
    assert said in str(error.value) and str(error.value).count("\n") == 0


WORDS = "1. e4 e5 Nf3 O-O ( ) { } [ ] $1 * 1-0 ; % ! e.p. ... [Variant [%azvisits"
PARTS = st.sampled_from([*WORDS.split(), "\n", '"', f'[FEN "{ENDING}"]', '[Event "x"]'])


@settings(max_examples=200, deadline=None)
@given(data=st.lists(PARTS | st.text(max_size=4), max_size=25).map(" ".join))
@example("e4 ; }")
def test_any_text_is_read_or_refused_in_one_sentence(data: str) -> None:
    refused, records = list[UserError](), list[Record]()
    try:
        records += read_pgn(data.encode(errors="replace"), known_game(CHESS), refused.append)
    except UserError as error:
        refused.append(error)
    assert all("\n" not in str(error) for error in refused) and (records or refused)
    for record in records:
        assert [tree(each) for each in read_pgn(write_pgn(record))] == [tree(record)]
