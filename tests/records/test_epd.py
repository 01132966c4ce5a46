"""EPD: a suite of mates in one, what is refused, and the program that counts what a player solves."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from azero.config.schema import UserError
from azero.epd import main
from azero.games import make_game
from azero.records.epd import read_epd

CHESS = make_game("chess")
MATES = """# mates in one
6k1/5ppp/8/8/8/8/5PPP/3R2K1 w - - bm Rd8#; id "back rank";
7k/8/5K2/8/8/8/8/6Q1 w - - bm Qg7#; id "queen and king";
k7/8/1K6/8/8/8/8/7R w - - id "rook; and king"; bm Rh8#;

r1bqkb1r/pppp1ppp/2n2n2/4p2Q/2B1P3/8/PPPP1PPP/RNB1K1NR w KQkq - bm Qxf7#; c0 "a comment";
6rk/6pp/8/6N1/8/8/8/6K1 w - - 0 1 bm Nf7#; am Kh1 Kg2; id "smothered";
"""


def test_a_suite_is_read() -> None:
    problems = read_epd(MATES.encode(), CHESS)
    assert [problem.name for problem in problems] == [
        *("back rank", "queen and king", "rook; and king", "line 6", "smothered")
    ]
    names = [[CHESS.action_name(each.state, action) for action in each.best] for each in problems]
    assert names == [["d1d8"], ["g1g7"], ["h1h8"], ["h5f7"], ["g5f7"]]
    assert len(problems[4].avoided) == 2
    for problem in problems:
        after = CHESS.step(problem.state, problem.best[0])
        assert CHESS.is_terminal(after) and CHESS.outcome(after) == -1.0


def test_positions_of_other_games_are_their_rows_and_who_is_to_play() -> None:
    """X threatens 2."""
    game = make_game("tictactoe")
    problems = read_epd(b'XX./.O./... O bm 2; id "stop";\nXX./OO./... X am 5 8', game)
    assert [each.name for each in problems] == ["stop", "line 2"]
    assert [(each.best, each.avoided) for each in problems] == [([2], []), ([], [5, 8])]
    pawns = make_game("breakthrough", rows=6, columns=6)
    (problem,) = read_epd(b"pppppp/pppppp/....../....../PPPPPP/PPPPPP P bm a2a3;", pawns)
    assert [pawns.action_name(problem.state, action) for action in problem.best] == ["a2a3"]
    with pytest.raises(UserError, match="has fewer than the 2 fields of a position"):
        read_epd(b"...", game)


def test_avoided_moves_alone_leave_all_others() -> None:
    (problem,) = read_epd(b"7k/8/5K2/8/8/8/8/6Q1 w - - am Qg6 Qg8+;", CHESS)
    moves = {each: CHESS.parse_action(problem.state, each) for each in ("Qg6", "Qg7", "Kf7")}
    assert {name: problem.is_solved_by(action) for name, action in moves.items()} == {
        "Qg6": False,
        "Qg7": True,
        "Kf7": True,
    }


@pytest.mark.parametrize(
    "text, said",
    [
        ("", "no line has bm or am"),
        ("8/8 w -", "EPD, line 1: '8/8 w -' has fewer than the 4 fields"),
        ("\n8/8/8/8 w - - bm e4;", "EPD, line 2: "),
        ("7k/8/5K2/8/8/8/8/6Q1 w - - bm Qa8;", "'Qa8' is not a legal move"),
        ('7k/8/5K2/8/8/8/8/6Q1 w - - id "x', "is not an operation"),
    ],
)
def test_a_wrong_suite_is_refused_in_one_sentence(text: str, said: str) -> None:
    with pytest.raises(UserError) as error:
        read_epd(text.encode(), CHESS)
    assert said in str(error.value) and "\n" not in str(error.value)


@given(text=st.text(alphabet='8/kKwb -;"bmidQg7#\\n', max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    said = list[object]()
    for line in (text, f"7k/8/5K2/8/8/8/8/6Q1 w - - {text}"):
        try:
            said.append(read_epd(line.encode(), CHESS))
        except UserError as error:
            said.append(error)
    assert all(said) and not any("\n" in str(each) for each in said if isinstance(each, UserError))


def test_the_program_counts_what_a_player_solves(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    suite = tmp_path / "mates.epd"
    suite.write_text(MATES)
    assert main([f"file={suite}", "player=alpha_beta", "player.depth=1"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("alpha_beta depth=1: solved 5 of 5, ")
    suite.write_text(MATES.replace("bm Qg7#", "bm Qg6"))
    assert main([f"file={suite}", "player=alpha_beta", "player.depth=1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-3].split() == ["position", "played", "wanted"]
    assert lines[-2].split() == ["queen", "and", "king", "g1g7", "g1g6"] and "solved 4 of 5" in lines[-1]
    suite.write_text("8/8 w -")
    assert main([f"file={suite}"]) == 2
    assert f"{suite}: EPD, line 1: '8/8 w -' has fewer" in capsys.readouterr().err
    assert main(["player=random"]) == 2 and "Name a suite with file=" in capsys.readouterr().err
