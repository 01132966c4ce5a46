"""SGF as other programs write it: charsets, komi, passes, swaps, and what azero keeps of it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from azero.config.schema import UserError
from azero.games import make_game
from azero.match.openings import random_openings
from azero.records.__main__ import main
from azero.records.begin import read_openings
from azero.records.files import open_records, read_file, read_records
from azero.records.record import Record
from azero.records.sgf import read_sgf, write_sgf


def read_one(data: bytes | str) -> Record:
    """Return the only game of a file."""
    (record,) = read_records(data.encode() if isinstance(data, str) else data)
    return record


def moves_of(record: Record) -> str:
    """Return the names of the moves of the main line."""
    return " ".join(record.game.move_names(record.path(record.main_line()[-1])))


# Charsets


@pytest.mark.parametrize(
    ("name", "charset", "text"),
    [
        ("GB2312", "gbk", "\u5586\u9551"),  # in GBK only
        ("EUC-CN", "gb18030", "\u66fa\u85b0\u94c9"),
        ("Shift_JIS", "cp932", "\u2460\u2169\u30bd\u8868"),  # bytes of ] and of a backslash
        ("windows-31j", "cp932", "\u6797\u6d77\u5cf0\u3055\u3093"),
        ("x-sjis", "cp932", "\u6797\u3055\u3093\u306e\u7881"),
        ("Big5", "cp950", "\u570d\u7881\u529f\u8a31"),
        ("EUC-KR", "cp949", "\ub620\ubc29\uac01\ud558"),
        ("ISO-8859-1", "cp1252", "\u201cZo\u00eb\u201d \u20ac"),
        ("Windows-1251", "cp1251", "\u0418\u0432\u0430\u043d"),
        ("ISO-2022-JP", "iso2022_jp", "\u6797"),
        ("UTF-8", "utf-8", "\u5433\u6e05\u6e90"),
    ],
)
def test_a_named_charset_is_read_as_programs_write_it(name: str, charset: str, text: str) -> None:
    record = read_one(f"(;CA[{name}]SZ[9]PB[{text}]PW[Bob];B[ee]C[{text}];W[dd])".encode(charset))
    assert (record.players, record.nodes[1].comment, moves_of(record)) == ((text, "Bob"), text, "e5 d6")


@pytest.mark.parametrize("name", ["", "foo", "GBK", "Shift_JIS", "ISO-8859-1", "rot13", "UTF-16", "../x"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_bytes_of_utf_8_are_utf_8_whatever_ca_says(name: str, mark: str) -> None:
    record = read_one(f"{mark}(;CA[{name}]SZ[9]PB[Zo\u00eb \u5433];B[ee])".encode())
    assert (record.players[0], moves_of(record)) == ("Zo\u00eb \u5433", "e5")


@pytest.mark.parametrize("charset", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_utf_16_is_read_with_a_byte_order_mark_and_without(charset: str) -> None:
    record = read_one("(;CA[UTF-8]SZ[9]PB[Zo\u00eb \u5433];B[ee])".encode(charset))
    assert (record.players[0], moves_of(record)) == ("Zo\u00eb \u5433", "e5")


@pytest.mark.parametrize(
    ("charset", "text"),
    [
        ("gb18030", "\u5434\u6e05\u6e90"),
        ("cp932", "\u6797\u6d77\u5cf0\u3055\u3093\u306e\u7881"),
        ("euc_jp", "\u6797\u3055\u3093\u306e\u7881\u3067\u3059"),
        ("cp950", "\u570d\u68cb\u6bd4\u8cfd\u52dd\u5229\u6210\u529f"),
        ("cp949", "\uc774\ucc3d\ud638\uc870\ud6c8\ud604\uc720\ucc3d\ud601"),
        ("cp1252", "Z\u00fcrich, Zo\u00eb M\u00fcller, \u00e9t\u00e9"),
    ],
)
def test_without_ca_the_charset_is_guessed(charset: str, text: str) -> None:
    record = read_one(f"(;SZ[9]PB[{text}];B[ee]C[{text}];W[dd])".encode(charset))
    assert (record.players[0], moves_of(record)) == (text, "e5 d6")


@pytest.mark.parametrize(
    ("name", "charset", "half"),
    [
        ("CA[GBK]", "gbk", b"\xc6"),
        ("CA[Shift_JIS]", "cp932", b"\x83"),
        ("CA[Big5]", "cp950", b"\xa4"),
        ("CA[EUC-KR]", "cp949", b"\xc0"),
        ("CA[UTF-8]", "utf-8", b"\xe5\x90"),
        ("", "gbk", b"\xc6"),
        ("", "utf-8", b"\xe5\x90"),
    ],
)
def test_half_a_character_before_a_bracket_loses_no_move_and_no_name(
    name: str, charset: str, half: bytes
) -> None:
    text = "\u597d\u68cb" if charset != "cp949" else "\uc774\ucc3d"
    cut = text.encode(charset) + half
    data = b"(;%bSZ[9]PB[%b]PW[Bob];B[ee];W[dd]C[%b];B[cc](;W[gg])(;W[gc]))" % (name.encode(), cut, cut)
    record = read_one(data)
    assert (moves_of(record), len(record.nodes)) == ("e5 d6 c7 g3", 6)
    assert record.players[0].startswith(text) and record.players[1] == "Bob"


def test_a_file_may_have_halves_of_characters_and_brackets_in_others() -> None:
    data = "(;CA[Shift_JIS]SZ[9]PB[\u2169\u8868];B[ee]C[HALF];W[dd]C[\u2169 (\u8868) \\] ];B[cc])"
    record = read_one(data.encode("cp932").replace(b"HALF", b"\x83"))
    assert (moves_of(record), record.players[0]) == ("e5 d6 c7", "\u2169\u8868")
    assert record.nodes[2].comment == "\u2169 (\u8868) ] "


@pytest.mark.parametrize("charset", ["cp950", "cp932", "gb18030"])
def test_a_backslash_in_a_character_is_read_escaped_and_not(charset: str) -> None:
    text = {"cp950": "\u529f", "cp932": "\u8868", "gb18030": "\u8aa0"}[charset]
    for written in (text.encode(charset), text.encode(charset) + b"\\"):
        record = read_one(b"(;CA[%b]SZ[9];B[ee]C[%b];W[dd])" % (charset.encode(), written))
        assert (moves_of(record), record.nodes[1].comment) == ("e5 d6", text)


CHARSETS = ["utf-8", "gb18030", "cp932", "cp950", "cp949", "euc_jp", "cp1252", "cp1251", "utf-16"]


@settings(max_examples=200)
@given(
    text=st.text(st.characters(codec="gbk") | st.sampled_from("]\\[;()"), max_size=12),
    charset=st.sampled_from(CHARSETS),
    named=st.booleans(),
    cut=st.integers(0, 3),
)
@example(text="\u8868]\\", charset="cp932", named=True, cut=0)
@example(text="\u4e57", charset="gb18030", named=False, cut=0)  # its last byte is a backslash
def test_no_text_in_any_charset_costs_a_move(text: str, charset: str, named: bool, cut: int) -> None:
    escaped = re.sub(r"([\]\\])", r"\\\1", text)
    try:
        comment = escaped.encode(charset.replace("utf-16", "utf-16-le"))
    except UnicodeEncodeError:
        return
    if charset == "utf-16":
        data = f"(;SZ[9];B[ee];W[dd]C[{escaped}];B[cc])".encode(charset)
    else:
        head = b"CA[%b]" % charset.encode() if named else b""
        whole = cut == 0 or not comment[-cut:].isalpha() or b"\\" in comment
        comment = comment if whole else comment[:-cut]
        data = b"(;%bSZ[9];B[ee];W[dd]C[%b];B[cc])" % (head, comment)
    try:
        record = read_one(data)
    except UserError:
        assert not named  # a text whose charset nobody can guess may be refused, but not be cut
        return
    assert moves_of(record) == "e5 d6 c7"


# What stands in the first node


@pytest.mark.parametrize(
    ("komi", "value"),
    [
        ("375]RU[Chinese", 7.5), ("325", 6.5), ("350", 7.0), ("275", 5.5), ("650", 6.5), ("750", 7.5),
        ("550", 5.5), ("700", 7.0), ("6,5", 6.5), (" 6.5 ", 6.5), ("6.5\u76ee", 6.5), ("5 1/2", 5.5),
        ("5\u00bd", 5.5), ("3.75]RU[Chinese", 7.5), ("2.75]RU[cn", 5.5), ("0", 0.0), ("-5.5", -5.5),
        ("+.5", 0.5), ("7.50", 7.5), ("", 7.5), ("nan", 7.5), ("inf", 7.5), ("?", 7.5), ("1e400", 1.0),
        ("99999999999999999999", 7.5),
    ],
)  # fmt: skip
def test_komi_is_read_as_programs_mean_it(komi: str, value: float) -> None:
    assert read_one(f"(;SZ[9]KM[{komi}];B[ee])").game.options["komi"] == value


@pytest.mark.parametrize(
    ("rules", "superko"),
    [
        *[(name, "simple") for name in ("Japanese", " japanese ", "JP", "Korean", "Nihon Kiin")],
        *[(name, "positional") for name in ("Chinese", "cn", "Tromp/Taylor", "AGA", "x")],
        *[("koSIMPLEscoreAREA", "simple"), ("koPOSITIONALscoreAREA", "positional")],
    ],
)  # fmt: skip
def test_known_words_of_the_rules_choose_the_ko(rules: str, superko: str) -> None:
    assert read_one(f"(;SZ[9]RU[{rules}];B[ee])").game.options["superko"] == superko


def test_a_game_that_repeats_has_the_simple_ko_unless_its_rules_forbid_it() -> None:
    moves = ";B[aa];W[ba];B[ab];W[bb];B[aa];W[ab];B[aa]"
    for rules in ("", "RU[]", "RU[Japanese ]", "RU[AGA]", "RU[my own]"):
        record = read_one(f"(;SZ[2]{rules}{moves})")
        assert (len(record.main_line()), record.game.options["superko"]) == (8, "simple")
    for rules in ("RU[Chinese]", "RU[ chinese ]", "RU[Tromp-Taylor]"):
        with pytest.raises(UserError, match="repeats an earlier position"):
            read_one(f"(;SZ[2]{rules}{moves})")
    assert read_one("(;SZ[9];B[ee];W[dd])").game.options["superko"] == "positional"


@pytest.mark.parametrize(
    ("text", "moves"),
    [
        ("(\r\nGM[1]PB[Ann]SZ[9]\r\n;B[ee];W[dd])", "e5 d6"),  # no first semicolon
        ("(A[1]) (CA[UTF-8]) (;SZ[9];B[ee])", "e5"),  # begins with the first semicolon, if there is one
        ("(;SZ[9];B[ee](W[dd];B[cc])(W[cd]))", "e5 d6 c7"),
        ("(;GM[1]SZ[9]AB[]AW[]AE[];B[ee];AB[];W[dd])", "e5 d6"),
        ("(;SZ[9];B[aa];W[jj];B[bb])", "a9 pass b8"),  # a pass is the point beyond the last
        ("(;SZ[9];B[aa];W[jj];B[tt])", "a9 pass pass"),
        ("(;SZ[9];B[ee];W[];B[pass])", "e5 pass pass"),
        ("(;SZ[9:9];B[ee])", "e5"),
        ("(;SZ[ 9 ];B[ee])", "e5"),
        ("(;GaMe[1]SiZe[9];Black[ee];White[dd])", "e5 d6"),
        ("(;sz[9]pb[Ann];b[ee];w[dd])", "e5 d6"),  # names in small letters
        ("(;SZ[9]\0;B[ee];W[dd]\0\0)\x1a", "e5 d6"),
        ("\ufeff\r\n(;SZ[9]\r\n;B[ee]C[one \\\r\nline];W[dd])", "e5 d6"),
        ("(;SZ[9]HA[0]C[a\\\\];B[ee]C[\\]];W[dd]C[\\\\\\]])", "e5 d6"),
        ("(;SZ[9]TR[aa:cc]LB[dd:1];B[ee]VW[]DD[aa:bb];W[dd])", "e5 d6"),
        ("(;SZ[9]HA[even];B[ee])", "e5"),
        ("(;GM[11]SZ[5];B[cc];W[ba])", "c3 b1"),  # two letters, as Little Golem writes Hex
    ],
)  # fmt: skip
def test_files_are_read_as_programs_write_them(text: str, moves: str) -> None:
    assert moves_of(read_one(text)).startswith(moves)


def test_passes_after_the_end_are_dropped_and_their_comments_kept() -> None:
    text = "(;SZ[9]RE[B+5];B[ee];W[dd](;B[tt];W[tt];B[tt]C[three]TR[aa];W[]C[four])(;B[cc]))"
    record = read_one(text)
    assert moves_of(record) == "e5 d6 pass pass" and len(record.nodes) == 6
    last = record.nodes[record.main_line()[-1]]
    assert (last.comment, last.properties) == ("three\nfour", {"TR": ["aa"]})
    assert record.children()[2] == [3, 5]
    over = "(;GM[2]SZ[4]" + "".join(f";{mover}[{text}]" for mover, text in othello_to_its_end())
    assert moves_of(read_one(over + ";B[];W[])")) == moves_of(read_one(over + ")"))


def othello_to_its_end() -> list[tuple[str, str]]:
    """Return the moves of a whole game on 4 x 4 as SGF has them, and who plays them."""
    game = make_game("othello", size=4)
    state, moves = game.initial_state(), list[tuple[str, str]]()
    while not game.is_terminal(state):
        action = game.legal_actions(state)[0]
        point = "abcd"[action % 4] + "abcd"[action // 4] if action < 16 else ""
        moves.append(("BW"[game.to_play(state)], point))
        state = game.step(state, action)
    return moves


# Swaps in Hex


@pytest.mark.parametrize("word", ["swap-pieces", "swap-sides", "swap", "SWAP"])
def test_the_colour_that_moves_after_a_swap_says_what_it_was(word: str) -> None:
    stays = read_one(f"(;GM[11]SZ[5];B[b4];W[{word}];W[c1];B[d2];W[resign])")
    # the persons have exchanged sides: seen in a mirror, the stone and all that follows
    assert moves_of(stays) == "b4 swap a3 b4"
    assert (stays.outcome, stays.result) == (-1.0, "W+R")
    changes = read_one(f"(;GM[11]SZ[5];B[b4];W[{word}];B[c1];W[b4];B[resign])")
    assert moves_of(changes) == "b4 swap c1 b4"
    assert (changes.outcome, changes.result) == (-1.0, "W+R")
    assert moves_of(read_one(write_sgf(stays))) == "b4 swap a3 b4"


def test_each_variation_after_a_swap_has_its_own_colour() -> None:
    record = read_one("(;GM[11]SZ[5];B[b4];W[swap-pieces](;W[c1])(;B[a3];W[e5]))")
    assert record.path(len(record.nodes) - 1) == [16, 25, 10, 24]
    assert len(record.nodes) == 5  # both begin with the same move


def test_a_pass_in_hex_is_refused() -> None:
    with pytest.raises(UserError, match="'pass' is not a move of hex"):
        read_one("(;GM[11]SZ[5];B[b4];W[pass];B[c3])")


# What is kept


def test_what_azero_does_not_use_is_kept_when_a_file_is_written_again(tmp_path: Path) -> None:
    source, out = tmp_path / "x.sgf", tmp_path / "y.sgf"
    source.write_text(
        "(;GM[1]SZ[9]KM[6.5]RU[Japanese]EV[Cup]RO[3]BR[9p]WR[5d]TM[3600]OT[5x30]RE[W+T]PC[Oslo]GC[a \\] b]\n"
        ";B[ee]TR[aa][bb]LB[cc:1]BL[35.5]N[start]BM[];W[dd]C[good](;B[cc]GB[1])(;B[gg]MA[gg]))",
    )
    assert main([f"from={source}", f"out={out}"]) == 0
    text = out.read_text()
    for kept in (
        *("RU[Japanese]", "EV[Cup]", "RO[3]", "BR[9p]", "WR[5d]", "TM[3600]", "OT[5x30]", "RE[W+T]"),
        *("KM[6.5]", "GC[a \\] b]", "TR[aa][bb]", "LB[cc:1]", "BL[35.5]", "N[start]", "BM[]", "C[good]"),
        *("PC[Oslo]", "GB[1]", "MA[gg]"),
    ):  # fmt: skip
        assert text.count(kept) == 1, kept
    again = tmp_path / "z.sgf"
    assert main([f"from={out}", f"out={again}"]) == 0
    assert again.read_text() == text


def test_rules_that_a_file_does_not_name_are_not_written() -> None:
    assert b"RU[" not in write_sgf(read_one("(;SZ[9];B[ee])"))
    assert b"RU[Chinese]" in write_sgf(Record(make_game("go")))


NAMES = st.sampled_from(["EV", "GC", "RO", "US", "XX", "LONGNAME"])
VALUES = st.lists(st.text(max_size=8), min_size=1, max_size=2)


@settings(max_examples=60)
@given(properties=st.dictionaries(NAMES, VALUES, max_size=3))
def test_a_property_that_is_kept_is_read_back_equal(properties: dict[str, list[str]]) -> None:
    record = Record(make_game("go", size=9))
    record.add_line([0, 1])
    for node in record.nodes:
        node.keep(properties)
    once = read_one(write_sgf(record))
    twice = read_one(write_sgf(once))
    assert [node.properties for node in once.nodes] == [node.properties for node in twice.nodes]
    assert once.nodes[1].properties.keys() == properties.keys()
    printable = {name: values for name, values in properties.items() if "".join(values).isprintable()}
    for name, values in printable.items():
        assert once.nodes[1].properties[name] == list(dict.fromkeys(values))


# Collections


COLLECTION = """(;SZ[9]PB[0];B[ee]) (;SZ[9]PB[1]HA[2];W[ee]) (;GM[11]SZ[5]PB[2];B[c3])
(;SZ[9]PB[3];B[ee];B[dd]) (;GM[4]SZ[15]PB[4];B[hh]) (;GM[40]PB[5])"""


def test_games_that_azero_cannot_play_are_skipped_and_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, out = tmp_path / "x.sgf", tmp_path / "y.jsonl"
    source.write_text(COLLECTION)
    assert main([f"from={source}", f"out={out}"]) == 2
    assert "SGF, game 2: it is a handicap game" in capsys.readouterr().err and not out.exists()
    assert main([f"from={source}", f"out={out}", "skip=true"]) == 0
    assert f"skipped: 3 games; the first: {source}: SGF, game 2: it is a handicap" in capsys.readouterr().out
    assert [record.players[0] for record in read_file(out)] == ["0", "2", "4"]
    assert main([f"from={source}", "skip=true"]) == 0
    out.write_text(out.read_text() + "no JSON\n")
    again = tmp_path / "z.parquet"
    assert main([f"from={out}", f"out={again}", "skip=true"]) == 0
    assert "skipped: 1 game; the first: " in capsys.readouterr().out
    source.write_text("(;GM[40])")
    assert main([f"from={source}", "skip=true"]) == 2
    assert "No game is left; skipped: 1 game, " in capsys.readouterr().err


@pytest.mark.parametrize("komi", ["375", "6.5", "0"])
@pytest.mark.parametrize("ending", [".sgf", ".jsonl"])
def test_openings_of_a_book_do_not_depend_on_komi(komi: str, ending: str, tmp_path: Path) -> None:
    book, game = tmp_path / f"book{ending}", make_game("go", size=9, komi=7.0)
    with open_records(book) as write:
        write(read_one(f"(;SZ[9]KM[{komi}]RU[Japanese];B[ee];W[cc];B[gg])"))
    assert read_openings(game, book, 2) == ([40, 20],)
    with pytest.raises(UserError, match=r"has a game of go\("):
        read_openings(make_game("go", size=5), book, 2)


def test_openings_of_hex_without_swap_serve_hex_with_it(tmp_path: Path) -> None:
    book = tmp_path / "book.sgf"
    book.write_text("(;GM[11]SZ[5];B[c3];W[b2];B[a1])")
    assert read_openings(make_game("hex", size=5, swap=True), book, 2) == ([12, 6],)
    book.write_text("(;GM[11]SZ[5];B[c3];W[swap-pieces];B[a1])")
    with pytest.raises(UserError, match=r"has a game of hex\("):
        read_openings(make_game("hex", size=5), book, 2)


# Rules


def test_the_same_rules_are_made_once() -> None:
    for text in ("(;SZ[9]KM[6.5];B[ee])", "(;GM[11]SZ[5];B[c3])", "(;GM[2];B[dc])"):
        assert read_one(text).game is read_one(text).game
    games = [read_one(f"(;SZ[2]RU[Japanese];B[];W[aa]{';C[x]' * more})").game for more in range(8, 12)]
    assert all(game is games[0] for game in games)  # longer than azero would play


BYTES = st.binary(max_size=40)


@settings(max_examples=300)
@given(
    before=BYTES,
    inside=BYTES | st.text("();[]\\:BWCAKMSZRUHAtt 0159,.\0\n", max_size=40).map(str.encode),
    head=st.sampled_from(
        [b"", b"CA[GBK]", b"CA[Shift_JIS]", b"CA[UTF-8]", b"KM[", b"\xef\xbb\xbf", b"\xff\xfe"]
    ),
)
def test_any_bytes_of_others_are_read_or_refused_in_one_sentence(
    before: bytes, inside: bytes, head: bytes
) -> None:
    for data in (head + before + inside, b"(;SZ[5]" + head + inside + b";B[aa];W[bb])" + before):
        try:
            for record in read_sgf(data):
                (again,) = read_sgf(write_sgf(record))
                assert moves_of(again) == moves_of(record)
        except UserError as error:
            text = str(error)
            assert text.endswith((".", "?")) and "\n" not in text and len(text) < 400, text


def test_games_of_random_moves_are_read_back_equal_with_properties() -> None:
    game = make_game("go", size=5)
    for opening in random_openings(game, plies=20, count=20):
        record = Record(game)
        record.add_line(opening)
        record.nodes[3].keep({"TR": ["aa", "bb"], "N": ["] \\ :"]})
        again = read_one(write_sgf(record))
        assert moves_of(again) == moves_of(record)
        assert again.nodes[3].properties == record.nodes[3].properties
