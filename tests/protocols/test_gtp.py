"""GTP: lines and answers as the standard has them, and every command."""

from __future__ import annotations

import io
import itertools
import re
import threading
from pathlib import Path
from typing import Any

import pytest
from gtp_session import RANDOM, UCT, ask, engine, moves_of, play_all, raw
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from places import DOUBLE_MOVE, OWN_GAMES
from running import TrainedRun

import azero
from azero.cli.player_spec import PlayerSpec
from azero.config.schema import Config, UserError
from azero.games import make_game
from azero.games.game import Game
from azero.games.playing import GameInProgress
from azero.protocols import gtp_display as display
from azero.protocols.gtp import Session
from azero.protocols.gtp_engine import COMMANDS, Engine
from azero.protocols.lines import MOST_BYTES, Lines
from azero.protocols.thinking import Thinker
from azero.records.record import Record
from azero.records.sgf import write_sgf

# Connect Four: O threatens nothing, X has three in column D
#   6 . . . . . . .
#   4 . . . . . . .
#   3 . . . X . . .
#   2 . . . X O . .
#   1 . . . X O . .
#     A B C D E F G
THREE = ["D1", "E1", "D2", "E2", "D3"]


@pytest.fixture(scope="module")
def go() -> Engine:
    """Go on 5 x 5."""
    return engine("go", size=5, komi=0.5)


@pytest.fixture(scope="module")
def champion(trained_run: TrainedRun) -> Engine:
    """The champion of tic-tac-toe."""
    config = Config(checkpoints=str(trained_run.checkpoints), data=str(trained_run.data), device="cpu")
    return engine("tictactoe", PlayerSpec("player", "pv_mcts", {"run": trained_run.name}), config)


# --- lines and answers --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "sent, answer",
    [
        (b"protocol_version\n", b"= 2\n\n"),
        (b"name\n", b"= azero\n\n"),
        (b"12 name\n", b"=12 azero\n\n"),
        (b"  7\tname\t# a comment\r\n", b"=7 azero\n\n"),
        (b"na\x07me\x00\n", b"= azero\n\n"),
        (b"clear_board", b"=\n\n"),
        (b"\n   \n# only a comment\n\t\r\n", b""),
        (b"1\n", b"?1 unknown command\n\n"),
        (b"foo bar\n", b"? unknown command\n\n"),
        (b"3 foo\n", b"?3 unknown command\n\n"),
        (b"NAME\n", b"? unknown command\n\n"),
        ("nàme\n".encode(), b"? unknown command\n\n"),
        (b"\xff\xfe\n", b"? unknown command\n\n"),
        (b"name\nquit\nname\n", b"= azero\n\n=\n\n"),
        (
            b"x" * (MOST_BYTES + 1) + b"\nname\n",
            b"? syntax error: a line may have 1,048,576 bytes\n\n= azero\n\n",
        ),
        (b"known_command " + b"y" * 10_000 + b"\n", b"= false\n\n"),
    ],
)
def test_a_line_has_its_answer(go: Engine, sent: bytes, answer: bytes) -> None:
    assert raw(go, sent) == answer


COMMAND_LINES = st.builds(
    lambda number, name, words: " ".join([number, name, *words]),
    st.sampled_from(["", "1", "00", "99999999999"]),
    st.sampled_from([*COMMANDS, "place_free_handicap", "foo"]),
    st.lists(
        st.sampled_from(
            [
                "b",
                "w",
                "a1",
                "B2",
                "pass",
                "swap-pieces",
                "swap-sides",
                "a1,b2,",
                "10.5",
                "maxmoves",
                "rootInfo",
                "TRUE",
                "5",
                "0",
                "-1",
                "1e9",
                "nan",
                "avoid",
                "interval",
                "é",
            ]
        )
        | st.text(max_size=5),
        max_size=4,
    ),
).map(str.encode)
LINES = st.lists(COMMAND_LINES | st.binary(max_size=50), max_size=30).map(b"\n".join)


def check_answers(on: Engine, sent: bytes) -> None:
    """Check that every line with a command gets exactly one answer with its number, until `quit`."""
    answers = raw(on, sent).decode()
    assert not answers or answers.endswith("\n\n")
    assert "\n\n\n" not in answers and not re.search(r"[^\x0a\x20-\x7e\x80-\U0010ffff]", answers)
    expected = []
    for line in sent.split(b"\n"):
        text = "".join(
            c for c in line.decode(errors="replace") if (ord(c) > 31 and ord(c) != 127) or c == "\t"
        )
        if words := text.partition("#")[0].split():
            number = words.pop(0) if re.fullmatch("[0-9]+", words[0]) else ""
            expected.append(number)
            if words[:1] == ["quit"]:
                break
    found = [re.match("[=?]([0-9]*)", answer) for answer in answers.split("\n\n")[:-1]]
    assert [match and match[1] for match in found] == expected


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(sent=LINES)
@pytest.mark.parametrize("name", ["go", "hex"])
def test_any_bytes_are_answered(name: str, sent: bytes) -> None:
    check_answers(small(name), sent)


@pytest.mark.long
@settings(max_examples=900)
@given(sent=LINES)
@pytest.mark.parametrize("name", ["go", "hex"])
def test_ten_thousand_lines_of_any_bytes_are_answered(name: str, sent: bytes) -> None:
    check_answers(small(name), sent)


ENGINES: dict[str, Engine] = {}


def small(name: str) -> Engine:
    """Return an engine that is made once, with a new game on a small board."""
    if name not in ENGINES:
        ENGINES[name] = engine(name, UCT if name == "go" else RANDOM, **SMALL[name])
    ask(ENGINES[name], "boardsize 3", "time_settings 0 1 0")
    return ENGINES[name]


SMALL: dict[str, dict[str, Any]] = {"go": {"size": 3}, "hex": {"size": 3, "swap": True}}


def test_a_crash_of_the_rules_is_an_answer(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    on = engine("tictactoe")

    def crash(*_: object) -> None:
        raise ZeroDivisionError("of\n\nthe rules")

    monkeypatch.setattr(on, "clear", crash)
    assert ask(on, "5 clear_board", "name") == ["?5 unexpected ZeroDivisionError: of  the rules", "= azero"]
    assert "Traceback" in capsys.readouterr().err


# --- what every engine says ---------------------------------------------------------------------------------


def test_the_commands_are_listed_and_known(go: Engine) -> None:
    [listed] = ask(go, "list_commands")
    names = listed.removeprefix("= ").split("\n")
    required = (
        "protocol_version name version known_command list_commands quit boardsize clear_board komi play"
    )
    assert {*required.split(), "genmove"} <= set(names) and names == sorted(names)
    assert ask(go, *(f"known_command {name}" for name in names)) == ["= true"] * len(names)
    assert ask(go, "known_command fixed_handicap", "known_command", "known_command foo") == ["= false"] * 3


def test_the_version_begins_as_lizzie_and_lizzieyzy_read_it(go: Engine) -> None:
    """Both read the whole number between the first two dots of the first word; Lizzie wants 15 or more."""
    [version] = ask(go, "1 version")
    assert int(version.strip().split(" ")[1].split(".")[1]) >= 15
    assert version.endswith(f"(azero {azero.__version__})")


def test_handicap_is_refused_in_one_sentence(go: Engine) -> None:
    sentence = "? azero plays without handicap"
    assert ask(go, "fixed_handicap 2", "place_free_handicap 2", "set_free_handicap A1 B2") == [sentence] * 3


@pytest.mark.parametrize(
    "line, answer",
    [
        ("play b", "syntax error: write play COLOR MOVE"),
        ("play x A1", "syntax error: x is not a color, b or w"),
        ("genmove", "syntax error: write genmove COLOR"),
        ("genmove b b", "syntax error: write genmove COLOR"),
        ("boardsize", "syntax error: write boardsize SIZE"),
        ("boardsize nine", "syntax error: nine is not a whole number"),
        ("boardsize 9999999999", "syntax error: 9999999999 is not a whole number"),
        ("komi x", "syntax error: x is not a number"),
        ("komi nan", "syntax error: nan is not a number"),
        ("komi 1_0", "syntax error: 1_0 is not a number"),
        ("komi ７", "syntax error: ７ is not a number"),
        ("komi 0x7", "syntax error: 0x7 is not a number"),
        ("komi 7,5", "syntax error: 7,5 is not a number"),
        ("komi -362", "unacceptable komi: komi -362 must be a number from -361 to 361"),
        ("boardsize 1", "unacceptable size: size 1 must be a whole number from 2 to 19"),
        ("time_settings 1_0 0 0", "syntax error: 1_0 is not a number"),
        ("time_settings 1 2", "syntax error: write time_settings MAIN PERIOD STONES"),
        ("time_settings -1 2 3", "syntax error: -1 is not a time"),
        ("time_left b", "syntax error: write time_left COLOR SECONDS STONES"),
        ("kgs-time_settings fischer 1 1", "syntax error: write none, absolute MAIN, or byoyomi or canadian"),
        ("kgs-time_settings byoyomi 1 0 3", "syntax error: overtime needs a period of at least 0.001 s"),
        ("final_status_list sick", "syntax error: the status is alive, dead or seki"),
        ("loadsgf", "syntax error: write loadsgf FILE MOVE_NUMBER"),
        ("undo", "cannot undo: no move has been played"),
        ("kata-analyze interval", "syntax error: interval lacks a value"),
        ("kata-analyze interval -1", "syntax error: -1 is not a time"),
        ("kata-analyze interval 1_0", "syntax error: 1_0 is not a number"),
        ("kata-analyze maxmoves -1", "syntax error: -1 is not a whole number"),
        ("kata-analyze rootInfo maybe", "syntax error: maybe is not true or false"),
        ("kata-analyze avoid b A1,K10 1", "illegal move: K10"),
        ("kata-analyze b 10", "player random has no search to show; choose pv_mcts or uct"),
        ("azero-param ponder 1", "player random cannot ponder; choose pv_mcts"),
    ],
)
def test_a_mistake_is_one_plain_sentence(line: str, answer: str) -> None:
    on = engine("go", size=5)
    [found] = ask(on, line)
    assert found.startswith(f"? {answer}") and "\n" not in found


def test_questions_are_answered_while_the_player_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    ready, make = threading.Event(), Engine.make_player

    def make_later(on: Engine, game: Game) -> Thinker:
        assert ready.wait(60)
        return make(on, game)

    monkeypatch.setattr(Engine, "make_player", make_later)
    on = engine("tictactoe")
    assert ask(on, "name", "known_command play", "play b A1", "boardsize 3", "quit") == [
        *("= azero", "= true", "=", "=", "="),
    ]
    assert not on.making.done()
    ready.set()
    assert ask(on, "genmove b")[0].startswith("= ")


def test_othello_s_clients_ask_for_the_game() -> None:
    on = engine("othello", size=4)
    assert ask(on, "list_games", "set_game Othello", "set_game Go", "rectangular_boardsize 4 4") == [
        *("= Othello", "=", "? this engine plays Othello", "="),
    ]


# --- the board of each game ---------------------------------------------------------------------------------


def test_go(go: Engine) -> None:
    ask(go, "boardsize 5", "clear_board", "komi 0.5")
    play_all(go, ["A1", "b1", "C3", "A2"])  # white takes a1
    assert moves_of(go) == ["a1", "b1", "c3", "a2"]
    assert ask(go, "showboard") == [
        "=\n5 . . . . .\n4 . . . . .\n3 . . X . .\n2 O . . . .\n1 . O . . .\n  A B C D E\nblack to play"
    ]
    assert ask(go, "play b A1", "play b b1", "play b z9", "play b") == [
        "? illegal move: A1",
        "? illegal move: b1",
        "? illegal move: z9",
        "? syntax error: write play COLOR MOVE",
    ]
    assert ask(go, "play black PASS", "play white pass", "gogui-rules_legal_moves") == ["=", "=", "="]
    # area: white has a1 a2 b1 and nothing more, for the rest touches both colours; black has c3
    assert ask(go, "final_score", "komi -3.5", "final_score", "komi 7", "final_score") == [
        *("= W+2.5", "=", "= B+1.5", "=", "= W+9"),
    ]
    assert ask(go, "final_status_list alive", "final_status_list dead", "final_status_list seki") == [
        *("= C3\nA2\nB1", "=", "="),
    ]
    assert ask(go, "gogui-rules_game_id", "gogui-rules_board_size", "gogui-rules_side_to_move") == [
        *("= Go", "= 5", "= black"),
    ]


def test_positions_must_not_repeat() -> None:
    on = engine("go", size=5)
    # a ko at c3 and d3:   . B W .
    #                      B W . W     black d3 takes c3, and white must not take back at once
    #                      . B W .
    play_all(on, ["C4", "D4", "B3", "E3", "C2", "D2", "A1", "C3"])
    assert ask(on, "play b D3", "play w C3") == ["=", "? illegal move: C3"]


def test_connect_four_has_cells_and_columns() -> None:
    on = engine("connect_four", UCT)
    play_all(on, THREE)
    assert ask(on, "play w 5", "showboard") == [
        "=",
        "=\n6 . . . . . . .\n5 . . . . . . .\n4 . . . . . . .\n"
        "3 . . . X O . .\n2 . . . X O . .\n1 . . . X O . .\n"
        "  A B C D E F G\nblack to play",
    ]
    assert ask(on, "gogui-rules_legal_moves", "gogui-rules_game_id") == [
        *("= A1 B1 C1 D4 E4 F1 G1", "= Connectfour"),
    ]
    assert ask(on, "gogui-rules_board_size", "gogui-rules_board") == [
        "= 7",
        "= ? ? ? ? ? ? ?\n. . . . . . .\n. . . . . . .\n. . . . . . .\n"
        ". . . X O . .\n. . . X O . .\n. . . X O . .",
    ]
    assert ask(on, "play b D5", "genmove b", "final_score", "gogui-rules_final_result") == [
        *("? illegal move: D5", "= D4", "= B+", "= Black wins"),
    ]
    # a game that is over takes a pass, and gives one back
    assert ask(on, "play w A1", "gogui-rules_legal_moves", "play w pass", "genmove b", "undo", "undo") == [
        *("? illegal move: the game is over", "=", "=", "= pass", "=", "="),
    ]
    assert len(on.at.actions) == 7 and ask(on, "undo", "final_score") == [
        *("=", "? cannot score: the game is not over"),
    ]
    assert ask(on, "boardsize 7", "boardsize 7 6", "boardsize 6", "boardsize 5 4") == ["="] * 4
    assert ask(on, "boardsize 99") == ["? unacceptable size: rows 99 must be a whole number from 1 to 31"]
    assert ask(on, "komi 6.5", "play w A1") == ["=", "? illegal move: it is the turn of black"]
    go = engine("go", size=5)
    assert ask(go, "boardsize 5 6", "komi 1e9") == [
        "? unacceptable size: go needs a square board",
        "? unacceptable komi: komi 1000000000 must be a number from -361 to 361",
    ]


def test_hex_is_written_as_hexgui_writes_it() -> None:
    on = engine("hex", size=10, swap=True)
    assert ask(on, "boardsize 4 4", "play black b1", "play white swap-pieces", "showboard") == [
        *("=", "=", "="),
        "=\n1 . . . .\n 2 O . . .\n  3 . . . .\n   4 . . . .\n      A B C D\nblack to play",
    ]
    assert ask(on, "undo", "gogui-rules_legal_moves", "play w swap", "undo", "undo") == [
        "=",
        "= A1 C1 D1 A2 B2 C2 D2 A3 B3 C3 D3 A4 B4 C4 D4 swap-pieces",
        *("=", "=", "="),
    ]
    # black connects top and bottom in column A
    play_all(on, ["a1", "b1", "a2", "b2", "a3", "b3", "a4"])
    assert ask(on, "final_score", "gogui-rules_final_result", "showboard")[:2] == ["= B+", "= Black wins"]
    assert ask(on, "final_status_list dead") == ["? hex has no dead and living stones"]
    big = engine("hex", size=10)
    play_all(big, ["i1", "j10"])  # with the letter I
    assert moves_of(big) == ["i1", "j10"]


def test_hex_is_written_as_gogui_draws_it() -> None:
    """GoGui draws A1 at the bottom left, and each row half a cell right of the row above: like azero's a4."""
    on = engine("hex", size=4)
    top_left = "= X . . .\n. . . .\n. . . .\n. . . ."
    assert ask(on, "gogui-rules_board_size", "play b A4", "gogui-rules_board") == ["= 4 hex", "=", top_left]
    assert moves_of(on) == ["a1"]
    ask(on, "boardsize 10")
    play_all(on, ["J10"])  # without the letter I
    assert moves_of(on) == ["i1"]


def test_othello_is_written_as_its_programs_do() -> None:
    """The first moves are D3, C4, F5 and E6. GoGui draws row 8 at the top: the board is upside down there."""
    on = engine("othello")
    assert ask(on, "gogui-rules_legal_moves", "play b F5", "play w D6", "showboard")[0] == "= D3 C4 F5 E6"
    lines = ask(on, "gogui-rules_board")[0].removeprefix("= ").split("\n")
    assert lines[8 - 6] == ". . . O . . . ." and lines[8 - 5] == ". . . O X X . ."


def test_othello_passes_where_it_must() -> None:
    on = engine("othello", size=4)
    assert ask(on, "gogui-rules_board", "gogui-rules_legal_moves") == [
        *("= . . . .\n. X O .\n. O X .\n. . . .", "= B1 A2 D3 C4"),
    ]
    play_all(on, ["B1", "A1", "A2"])
    assert moves_of(on) == ["b1", "a1", "a2"]
    assert ask(on, "gogui-rules_game_id", "gogui-rules_final_result") == [
        "= Othello",
        "= The game is not over",
    ]


def test_gomoku_has_letters_without_i_from_the_bottom() -> None:
    on = engine("gomoku")
    play_all(on, ["A1", "J15", "P15"])
    assert moves_of(on) == ["a1", "i15", "o15"]
    assert ask(on, "play w I3", "boardsize 19", "gogui-rules_board_size", "gogui-rules_game_id") == [
        *("? illegal move: I3", "=", "= 19", "= Gomoku"),
    ]
    assert ask(on, "boardsize 26") == ["? unacceptable size: rows 26 must be a whole number from 1 to 25"]


def test_tictactoe_has_cells_too() -> None:
    on = engine("tictactoe", UCT)
    play_all(on, ["A3", "B2", "b3", "3"])  # 3 is azero's name of the cell a2
    assert moves_of(on) == ["0", "4", "1", "3"]
    assert ask(on, "genmove b", "final_score") == ["= C3", "= B+"]


def test_a_move_from_cell_to_cell_has_both_cells_of_azero_s_board() -> None:
    on = engine("chess", variant="gardner")
    assert ask(on, "gogui-rules_legal_moves") == ["= a2a3 b2b3 c2c3 d2d3 e2e3 b1a3 b1c3"]
    play_all(on, ["b1c3", "D4C3"])
    assert ask(on, "play b c3", "showboard") == [
        "? illegal move: c3",
        "=\n5 r n b q k\n4 p p p . p\n3 . . p . .\n2 P P P P P\n1 R . B Q K\n  a b c d e\nblack to play",
    ]
    assert ask(on, "gogui-rules_board") == ["= O O O O O\nO O O . O\n. . O . .\nX X X X X\nX . X X X"]
    wide = engine("breakthrough", rows=5, columns=9)
    assert ask(wide, "showboard")[0].splitlines()[-2].split() == list("abcdefghi")
    play_all(wide, ["i2i3"])


def test_a_game_of_two_moves_in_a_row_keeps_its_turns() -> None:
    on = engine(DOUBLE_MOVE)
    sides = []
    while not on.at.is_over:
        [turn] = ask(on, "gogui-rules_side_to_move")
        sides.append(turn.removeprefix("= "))
        assert ask(on, f"genmove {sides[-1]}")[0].startswith("= ")
    assert any(one == other for one, other in itertools.pairwise(sides))
    assert ask(on, "gogui-rules_game_id") == ["= Doublemove"]


def test_a_champion_plays_its_own_board_and_searches_with_its_own_komi(champion: Engine) -> None:
    assert ask(champion, "boardsize 4", "boardsize 3", "boardsize 3 3", "komi 6.5") == [
        *("? unacceptable size: the champion plays on 3 x 3", "=", "=", "="),
    ]
    play_all(champion, ["A3", "A2", "B3", "B2"])
    assert ask(champion, "reg_genmove b", "showboard", "genmove b", "final_score") == [
        "= C3",
        "=\n3 X X .\n2 O O .\n1 . . .\n  A B C\nblack to play",
        *("= C3", "= B+"),
    ]


# --- searches that are shown --------------------------------------------------------------------------------

NUMBERS = r"visits \d+ utility -?[\d.e-]+ winrate [\d.e-]+( prior [\d.e-]+)? order \d+ pv( [A-C][1-3])+"


def search_lines(on: Engine, *lines: str) -> list[str]:
    """Return the lines of an analysis that ends when three have come."""
    found = list[str]()
    session = Session(on, Lines(io.BytesIO(b"")), list[str]().append)
    on.next_line = lambda: len(found) > 2
    on.write = found.append
    for line in lines:
        session.answer(line)
    session.lines.finish()
    return found


@pytest.mark.parametrize("player", ["champion", "uct"])
def test_an_analysis_is_written_as_kata_and_leela_write_it(player: str, champion: Engine) -> None:
    on = champion if player == "champion" else engine("tictactoe", UCT)
    ask(on, "clear_board")
    play_all(on, ["A3", "A2", "B3", "B2"])
    kata = search_lines(on, "kata-analyze b 1 rootInfo true")
    assert len(kata) == 3
    assert re.fullmatch(
        rf"(info move [A-C][1-3] {NUMBERS} )+rootInfo visits \d+ utility \S+ winrate \S+", kata[-1]
    )
    assert kata[-1].startswith("info move C3 visits") and (" prior " in kata[-1]) == (player == "champion")
    assert (
        re.match(r"info move C3 visits \d+ utility 1 winrate 1 ", kata[-1]) and " order 0 pv C3 " in kata[-1]
    )
    leela = search_lines(on, "lz-analyze 1 maxmoves 1")
    assert re.fullmatch(r"info move C3 visits \d+ winrate 10000( prior \d+)? order 0 pv C3", leela[-1])
    others = search_lines(on, "lz-analyze b interval 1 avoid b C3 1 minmoves 4")
    assert "C3" not in others[-1].split("pv")[0] and others[-1].count("info move") == 4
    only = search_lines(on, "kata-analyze 1 allow b A1,C1 1")
    assert set(re.findall("move (..)", only[-1])) == {"A1", "C1"}
    assert len(on.at.actions) == 4  # nothing was played


def test_an_analysis_ends_with_the_next_line(champion: Engine) -> None:
    ask(champion, "clear_board")
    assert ask(champion, "3 kata-analyze 1", "4 name") == ["=3", "=4 azero"]
    assert ask(champion, "kata-analyze 1 avoid b,w", "kata-analyze 1 allow b Z1 1") == [
        *("? syntax error: avoid lacks a value", "? illegal move: Z1"),
    ]


@pytest.mark.parametrize(
    "words",
    [
        "avoid b A3 30 avoid w A3 30",  # Lizzie: for both sides, also when the point is taken
        "avoid b a3,C3, 30",  # a comma at the end
        "avoid w B1 1 avoid b C3 1",  # for the other side
        "avoid b pass,C3 1",  # a pass that the game does not have
        "avoid b 2,0 5",  # azero's own names
        "B avoid B C3 1",
        "interval 1 b avoid black C3 1",  # in any order, as Leela Zero reads them
        "AVOID b C3 1",
    ],
)
def test_points_to_avoid_may_be_any_of_the_board(words: str, champion: Engine) -> None:
    ask(champion, "clear_board")
    play_all(champion, ["A3", "A2", "B3", "B2"])  # black wins with C3
    leaves_out = "C3" in words or "2,0" in words
    line = search_lines(champion, f"kata-analyze 1 {words}")[-1]
    assert ("C3" not in re.findall("move (..)", line)) == leaves_out
    [answer] = ask(champion, "kata-analyze 1 allow b C3,A3 1 allow w A1 1")
    assert not answer.startswith("?")


def test_points_to_avoid_leave_a_legal_move(champion: Engine) -> None:
    ask(champion, "clear_board")
    play_all(champion, ["A3", "A2", "B3", "B2"])
    assert ask(champion, "lz-analyze 1 avoid b C3,C2,C1,B1,A1 1", "lz-analyze allow b A3,B3 1") == [
        *("? no legal move is left to analyse",) * 2,
    ]


def test_points_to_avoid_of_the_side_that_is_not_to_move() -> None:
    on = engine("go", UCT, size=5)
    ask(on, "boardsize 5", "play b C3")
    line = search_lines(on, "lz-analyze b 1 avoid b C3,B3 1")[-1]  # C3 is taken
    assert "B3" not in re.findall("move (..)", line) and "D3" in re.findall("move (..)", line)
    assert len(on.at.actions) == 1 and on.at.to_play == 1


def test_a_report_of_no_move_is_no_line() -> None:
    """An empty line would end the answer."""
    on, written, looks = engine("tictactoe", UCT), list[str](), itertools.count()
    session = Session(on, Lines(io.BytesIO(b"")), list[str]().append)
    on.next_line, on.write = lambda: next(looks) % 9 == 8, written.append
    session.answer("lz-analyze 1 maxmoves 0")
    session.answer("kata-analyze 1 maxmoves 0")
    assert written == []
    session.answer("kata-analyze 1 maxmoves 0 rootInfo true")
    assert written and all(line.startswith("rootInfo visits ") for line in written)
    session.lines.finish()
    [answer] = ask(on, "kata-genmove_analyze b 2 maxmoves 0")
    assert re.fullmatch(r"=\nplay [A-C][1-3]", answer)


def test_numbers_and_truths_of_an_analysis_are_read_as_katago_reads_them(champion: Engine) -> None:
    read = [
        display.read_analysis(words.split(), champion.moves, 0, 1.0)
        for words in ("interval 10.5", "W 10.5", "2147483647", "rootInfo TRUE", "rootInfo False maxmoves 0")
    ]
    assert [(asked.side, asked.every) for asked in read[:3]] == [(0, 0.105), (1, 0.105), (0, 21474836.47)]
    assert [(asked.root, asked.most) for asked in read[3:]] == [(True, 2**31 - 1), (False, 0)]


def test_a_move_is_chosen_with_reports(champion: Engine) -> None:
    ask(champion, "clear_board")
    play_all(champion, ["A3", "A2", "B3", "B2"])
    assert ask(champion, "kata-search b", "kata-search_analyze b maxmoves 1")[0] == "= C3"
    assert len(champion.at.actions) == 4
    answer, score = ask(champion, "9 lz-genmove_analyze b 100 maxmoves 1", "final_score")
    assert re.fullmatch(
        r"=9\n(info move C3 visits \d+ winrate 10000 prior \d+ order 0 pv C3\n)+play C3", answer
    )
    assert score == "= B+"
    assert ask(champion, "kata-analyze 1", "azero-visits") == ["? the game is over"] * 2
    assert ask(champion, "lz-genmove_analyze w", "kata-genmove_analyze w avoid w A1 1") == [
        *("=\nplay pass", "? moves cannot be left out when a move is chosen"),
    ]


def test_gogui_and_hexgui_get_colours(champion: Engine) -> None:
    ask(champion, "clear_board")
    play_all(champion, ["A3", "A2", "B3", "B2"])
    commands = [line.rpartition("/")[2] for line in ask(champion, "gogui-analyze_commands")[0].split("\n")]
    commands += [line.rpartition("/")[2] for line in ask(champion, "hexgui-analyze_commands")[0].split("\n")]
    assert set(commands) <= COMMANDS.keys()
    for kind in ("visits", "policy", "value"):
        lines = ask(champion, f"azero-{kind}")[0].removeprefix("= ").split("\n")
        assert lines[0].endswith(" C3") and re.fullmatch(r"COLOR #[0-9a-f]{6} C3", lines[0])
        assert lines[-2].startswith("LABEL C3 ") and lines[-1].startswith("TEXT ") and "best C3" in lines[-1]
        influence, text = ask(champion, f"azero-hex_{kind}")[0].removeprefix("= ").split("\n")
        assert re.fullmatch(r"INFLUENCE( [A-C][1-3] [01]\.\d{3})+", influence) and text == lines[-1]
        assert "C3 1.000" in influence
    assert ask(champion, "azero-line") == ["= C3"]
    on = engine("tictactoe", UCT)
    assert ask(on, "azero-policy") == ["? this player has no policy network"]
    assert ask(on, "azero-visits")[0].startswith("= COLOR") and on.seen and on.seen[1].visits == 200


def test_pondering_is_switched_on_and_off(champion: Engine) -> None:
    reply = "A1" if ask(champion, "clear_board", "genmove b")[1] != "= A1" else "C3"
    assert ask(champion, "azero-param", "azero-param ponder 1", "azero-param") == [
        *("= [bool] ponder 0", "=", "= [bool] ponder 1"),
    ]
    seen = list[int]()

    def ponder(at: GameInProgress, stopping: object) -> None:
        seen.append(len(at.actions))

    thinker = champion.player()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(thinker, "ponder", ponder)
        ask(champion, "clear_board", "genmove b", "name", f"play w {reply}", "name")
        ask(champion, "clear_board", "genmove b", "undo", "name")
    assert seen == [1, 1, 1] and ask(champion, "azero-param ponder 0") == ["="]
    ask(champion, "genmove b")
    assert not champion.pondering


def test_an_engine_that_cannot_ponder_says_so() -> None:
    with pytest.raises(UserError, match=r"^player uct cannot ponder; choose pv_mcts, or set ponder=false\.$"):
        Engine(make_game("tictactoe"), UCT, Config(), ponder=True)


# --- files --------------------------------------------------------------------------------------------------


def write(folder: Path, text: str) -> str:
    """Write a file and return its path."""
    path = folder / "a game.sgf"
    path.write_text(text)
    return str(path)


def test_an_sgf_is_loaded_up_to_a_move(tmp_path: Path) -> None:
    on = engine("go", size=5)
    file = write(tmp_path, "(;GM[1]FF[4]SZ[9]KM[6.5];B[aa];W[bb](;B[cc];W[])(;B[dd]))")
    assert ask(on, f"loadsgf {file}") == ["="]
    assert (on.moves.size, on.komi, moves_of(on)) == ((9, 9), 6.5, ["a9", "b8", "c7", "pass"])
    assert ask(on, f"loadsgf {file} 3", "gogui-rules_side_to_move") == ["=", "= black"]
    assert moves_of(on) == ["a9", "b8"]
    assert ask(on, "undo", "undo", "undo") == ["=", "=", "? cannot undo: no move has been played"]
    assert ask(on, "genmove b")[0].startswith("= ")


def test_an_sgf_that_cannot_be_loaded_leaves_the_board(champion: Engine, tmp_path: Path) -> None:
    on = engine("go", size=5)
    play_all(on, ["C3"])
    for text, reason in (
        ("", "this holds no record"),
        ("hello", "this is not SGF"),
        ("(;GM[1]SZ[5];B[aa]", "SGF, game 1: the file ends inside the game"),
        ("(;GM[1]SZ[5];B[aa];W[aa])", "SGF, game 1: move 2, 'a5', is not legal"),
        ("(;GM[1]SZ[5]HA[2]AB[aa][bb];B[cc];W[cc])", "SGF, game 1: move 2, 'c3', is not legal"),
        ("(;GM[11]SZ[5];B[a1])", "the file has a game of hex; this engine plays go on 5 x 5"),
    ):
        [answer] = ask(on, f"loadsgf {write(tmp_path, text)}")
        assert answer.startswith("? cannot load file: ") and reason in answer, answer
    assert ask(on, "loadsgf /no/such.sgf", "loadsgf /dev/zero", f"loadsgf {'x' * 5000}") == [
        "? cannot load file: /no/such.sgf cannot be read: No such file or directory",
        "? cannot load file: /dev/zero is not a file",
        "? cannot load file: it holds no game",
    ]
    assert moves_of(on) == ["c3"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Engine, "is_fixed", True)  # as where a champion plays
        [answer] = ask(on, f"loadsgf {write(tmp_path, '(;GM[1]SZ[9];B[aa])')}")
    assert answer == "? cannot load file: the file has a game of go on 9 x 9; this engine plays go on 5 x 5"
    own = '(;FF[4]AZERO[{"game": "tictactoe", "options": {}}];B[0];W[4])'
    assert ask(champion, f"loadsgf {write(tmp_path, own)}") == ["="] and moves_of(champion) == ["0", "4"]
    [answer] = ask(champion, f"loadsgf {write(tmp_path, '(;GM[1]SZ[3];B[aa])')}")
    assert answer == "? cannot load file: the file has a game of go; this engine plays tictactoe on 3 x 3"


def test_a_person_s_own_game_is_loaded(tmp_path: Path) -> None:
    name = str(OWN_GAMES / "ring.py")
    on = engine(name)
    ask(on, "genmove b", "genmove w")
    actions = on.at.actions
    record = Record(on.game)
    record.add_line(actions)
    (tmp_path / "own.sgf").write_bytes(write_sgf(record))
    assert ask(on, "clear_board", f"loadsgf {tmp_path / 'own.sgf'}") == ["=", "="]
    assert on.at.actions == actions
