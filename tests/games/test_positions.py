"""Positions as lines of text, and beginning at them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from azero.config.schema import UserError
from azero.games import make_game
from azero.games.game import Game
from azero.games.go import BOARDS
from azero.games.playing import GameInProgress
from azero.play import main as play
from azero.trace import main as trace

GAMES = [
    ("tictactoe", {}),
    ("connect_four", {}),
    ("connect_four", {"rows": 5, "columns": 9}),
    ("othello", {"size": 6}),
    ("gomoku", {"rows": 5, "columns": 7, "connect": 4}),
    ("hex", {"size": 5, "swap": True}),
    ("hex", {"size": 9}),
    ("go", {"size": 5}),
    ("go", {"size": 9}),
]


@pytest.mark.parametrize(("name", "options"), GAMES, ids=str)
def test_every_position_of_random_games_is_read_back(name: str, options: dict[str, int]) -> None:
    game, rng = make_game(name, **options), np.random.default_rng(1)
    for _ in range(8):
        state = game.initial_state()
        while True:
            again = game.position(game.text(state))
            # a line of Go has no passes, no ko and no number of plies
            compared = slice(BOARDS, None) if name == "go" else slice(None)
            assert np.array_equal(again[compared], state[compared])
            assert game.to_play(again) == game.to_play(state)
            if game.is_terminal(state):
                break
            state = game.step(state, int(rng.choice(game.legal_actions(state))))


@pytest.mark.parametrize(
    ("name", "line", "reason"),
    [
        ("tictactoe", "XX./O../...", "must end with a blank and who is to play, X or O"),
        ("tictactoe", "XX./O.. X", "must have 3 rows of 3 cells"),
        ("tictactoe", "XX./O../..Z X", "'Z' is not one of . X O"),
        ("tictactoe", "XX./.../... X", "with 2 stones and 0, the first player cannot be to play"),
        ("tictactoe", "XXX/OO./O.. X", "the game was over before the last move"),
        ("connect_four", "....X../" + "/".join(["......."] * 5) + " O", "a stone hangs in the air"),
        ("gomoku", "XXXXX/OOOO./O..../...../..... X", "the game was over before the last move"),
        ("hex", "X../X../XOO X", "with 3 stones and 2, the first player cannot be to play"),
        ("hex", "X../XO./XO. O", None),
        ("hex", "XO./XOO/X.. X", "the game was over before the last move"),
        ("go", "OX./XX./... O", "a chain has no liberty"),
    ],
)
def test_what_is_no_position_is_refused_with_a_reason(name: str, line: str, reason: str | None) -> None:
    game = make_game(name, **SIZES.get(name, {}))
    if reason is None:
        assert game.is_terminal(game.position(line)) and game.outcome(game.position(line)) == -1.0
        return
    with pytest.raises(UserError) as refused:
        game.position(line)
    assert str(refused.value).startswith(f"{line!r} is not a position of {name}: ") and reason in str(
        refused.value
    )


SIZES = {"gomoku": {"rows": 5, "columns": 5}, "hex": {"size": 3}, "go": {"size": 3}}


def test_who_answers_the_first_stone_of_hex_may_swap_and_who_answers_a_swap_may_not() -> None:
    game = make_game("hex", size=3, swap=True)
    assert game.action_name(game.initial_state(), 9) == "swap"
    assert 9 in game.legal_actions(game.position("X../.../... O"))
    assert 9 not in game.legal_actions(game.position("O../.../... X"))


def test_a_set_up_position_of_go_has_its_chains_in_atari() -> None:
    # . X O    a1 captures b3's chain? White's c3 has the one liberty c2, so black may take it
    game = make_game("go", size=3)
    state = game.position(".XO/.../..X X")
    after = game.step(state, game.parse_action(state, "c2"))
    assert game.text(after) == ".X./..X/..X O"


def lines_of(capsys: pytest.CaptureFixture[str]) -> str:
    read = capsys.readouterr()
    return read.out + read.err


def test_a_person_begins_at_a_position(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("builtins.input", lambda _prompt: "2")
    assert play(["game=tictactoe", "opponent=random", "position=XX./OO./... X"]) == 0
    assert "You win." in lines_of(capsys)
    (line,) = (tmp_path / "data" / "play.jsonl").read_text().splitlines()
    kept = json.loads(line)
    assert (kept["position"], kept["moves"], kept["outcome"]) == ("XX./OO./... X", ["2"], 1.0)
    assert play(["game=tictactoe", "position=XXX/OO./... O"]) == 2
    assert "the game is over there" in lines_of(capsys)


def test_a_search_is_traced_from_a_position(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["game=tictactoe", "position=XO./OO./X.X X", "player.num_simulations=3"]
    assert trace(arguments) == 0
    assert "from the start of XO./OO./X.X X" in lines_of(capsys)


def test_an_own_start_is_known_by_its_line() -> None:
    game: Game = make_game("tictactoe")
    assert GameInProgress(game, [4]).start == ""
    at = GameInProgress(game, [2], game.position("XX./OO./... X"))
    assert at.start == "XX./OO./... X" and at.moves == ["2"] and at.outcome == 1.0


def test_a_person_may_write_chess_as_people_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    typed = iter(["Help", "kb7", "Qb7#"])
    monkeypatch.setattr("builtins.input", lambda _prompt: next(typed))
    position = "position=k7/7Q/1K6/8/8/8/8/8 w - - 0 1"
    assert play(["game=chess", "opponent=random", position]) == 0
    shown = lines_of(capsys)
    assert "'kb7' is not a move of chess here; moves are written K" in shown
    assert "You win by checkmate." in shown
    assert "(Q)" in shown  # the last move is marked
