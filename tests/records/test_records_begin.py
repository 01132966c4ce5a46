"""Games in a file as a beginning: of a game with a person, of a trace, and as openings of a match."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from places import DOUBLE_MOVE

from azero import arena, play, trace
from azero.config.schema import UserError
from azero.games import make_game
from azero.play import run_session
from azero.records.files import open_records
from azero.records.record import Record

OWN = Path(DOUBLE_MOVE)
ENDED = "0 3 1 4 2"


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in a folder with a file of games of tic-tac-toe and one of Hex."""
    monkeypatch.chdir(tmp_path)
    write("games.sgf", "tictactoe", [ENDED, "4 0", "0 3 8 6"])
    write("hex.jsonl", "hex", ["c3 b2"], size=5)


def write(name: str, game: str, games: list[str], **options: int) -> None:
    """Write a file of games."""
    rules = make_game(game, **options)
    with open_records(Path(name)) as add:
        for moves in games:
            record = Record(rules)
            record.add_line([rules.parse_action(rules.initial_state(), move) for move in moves.split()])
            add(record)


def person(*words: str) -> Callable[[str], str]:
    """Return a person who types these words and leaves."""
    waiting = list(words)

    def ask(_prompt: str) -> str:
        if not waiting:
            raise EOFError
        return waiting.pop(0)

    return ask


def test_a_game_of_a_file_is_played_on_to_its_end() -> None:
    shown: list[str] = []
    # X . .   X has 0 and 1, O has 3 and 4; 2 wins for the person
    run_session(["from=games.sgf", "ply=4", "opponent=random"], person("undo", "1", "2"), shown.append)
    assert "You win." in shown[-2]
    (line,) = map(json.loads, Path("data/play.jsonl").read_text().splitlines())
    assert line["moves"][:3] == ["0", "3", "1"] and line["moves"][-1] == "2"


def test_the_board_is_shown_before_the_opponent_goes_on() -> None:
    shown: list[str] = []
    run_session(["from=games.sgf", "ply=3", "opponent=random"], person(), shown.append)
    assert shown[1] == "\n X(X).    0 1 2\n O . .    3 4 5\n . . .    6 7 8"
    assert len(json.loads(Path("data/play.jsonl").read_text())["moves"]) == 4


@pytest.mark.parametrize(("number", "moves"), [(2, "4 0"), (-1, "0 3 8 6"), (-2, "4 0"), (3, "0 3 8 6")])
def test_a_game_of_the_file_is_chosen(number: int, moves: str) -> None:
    run_session(["from=games.sgf", f"number={number}", "opponent=random"], person("1", "quit"), print)
    kept = json.loads(Path("data/play.jsonl").read_text())["moves"]
    assert kept[: len(moves.split()) + 1] == [*moves.split(), "1"]


def test_without_a_new_move_nothing_is_kept() -> None:
    run_session(["from=games.sgf", "ply=4", "opponent=random"], person(), print)
    assert not Path("data/play.jsonl").read_text()


def test_the_rules_and_their_options_come_from_the_file() -> None:
    shown: list[str] = []
    run_session(["from=hex.jsonl", "game=hex5", "opponent=random"], person("c4", "quit"), shown.append)
    line = json.loads(Path("data/play.jsonl").read_text())
    assert (line["game"], line["options"]["size"]) == ("hex", 5)
    assert line["moves"][:3] == ["c3", "b2", "c4"]


def test_a_game_of_ones_own_needs_its_file() -> None:
    write("own.jsonl", str(OWN), ["0 1"])
    with pytest.raises(UserError, match="unknown here"):
        run_session(["from=own.jsonl", "opponent=random"], person(), print)
    shown: list[str] = []
    run_session(["from=own.jsonl", f"game={OWN}", "opponent=random"], person(), shown.append)
    assert shown


def test_a_trace_begins_where_the_file_ends(capsys: pytest.CaptureFixture[str]) -> None:
    assert trace.main(["from=games.sgf", "ply=4", "player.num_simulations=3"]) == 0
    from_file = capsys.readouterr().out
    assert trace.main(["moves=0 3 1 4", "player.num_simulations=3"]) == 0
    assert from_file == capsys.readouterr().out


def test_a_match_takes_its_openings_from_games(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["first=random", "second=random", "games=4", "record=out.jsonl", "book=games.sgf"]
    assert arena.main([*words, "opening_plies=2"]) == 0
    lines = sorted(
        map(json.loads, Path("out.jsonl").read_text().splitlines()), key=lambda line: line["number"]
    )
    # two of the three games begin alike
    assert [line["moves"][:2] for line in lines] == [["0", "3"], ["0", "3"], ["4", "0"], ["4", "0"]]
    assert {line["opening_plies"] for line in lines} == {2}


@pytest.mark.parametrize(
    ("main", "words", "said"),
    [
        (
            trace.main,
            "from=games.sgf",
            "from=games.sgf: the game is over after its 5 moves; set ply=",
        ),
        (
            trace.main,
            "from=games.sgf ply=5",
            "the game is over after its 5 moves; set ply= to fewer, or number=",
        ),
        (play.main, "from=games.sgf number=4", "number=4: from=games.sgf has no such game."),
        (play.main, "from=games.sgf number=-4", "number=-4: from=games.sgf has no such game."),
        (play.main, "from=games.sgf number=0", "number=0: from=games.sgf has no such game."),
        (play.main, "number=2", "number= needs a game, from=FILE."),
        (trace.main, "from=games.sgf ply=6", "ply=6 must be from 0 to 5, the moves of the game of from="),
        (trace.main, "from=games.sgf ply=-1", "ply=-1 must be from 0 to 5"),
        (trace.main, "from=games.sgf ply=4 moves=4", "from= and moves= cannot both be set."),
        (trace.main, "from=hex.jsonl game=tictactoe", "from=hex.jsonl has a game of hex, not of tictactoe."),
        (trace.main, "from=hex.jsonl game=hex", "from=hex.jsonl has a game of hex(size=5, "),
        (play.main, f"from=games.sgf game={OWN} ply=2", "from=games.sgf has a game of tictactoe, not of "),
        (trace.main, "ply=4", "ply= needs a game, from=FILE."),
        (trace.main, "from=none.sgf", "none.sgf cannot be read: No such file or directory."),
        (trace.main, "form=games.sgf", "unknown setting 'form'; did you mean from?"),
        (
            arena.main,
            "book=games.sgf",
            "the game is over after its 5 moves; set opening_plies=",
        ),
        (arena.main, "book=games.sgf opening_plies=3", "opening_plies=3 must be from 0 to 2, the moves of"),
        (
            arena.main,
            "book=hex.jsonl",
            "book=hex.jsonl has a game of hex, not of tictactoe.",
        ),
    ],
)
def test_a_mistake_is_one_sentence(
    main: Callable[[list[str]], int], words: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words.split()) == 2
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1
