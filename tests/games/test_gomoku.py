"""Gomoku and its family, corners by name.

Moves are written as on a Go board with the letter i: a1 is at the bottom left.
"""

from __future__ import annotations

import numpy as np
import pytest
from playing import perft, play

from azero.classic.solve import solve
from azero.config.schema import UserError
from azero.games import make_game
from azero.games.game import Game


@pytest.fixture(scope="module")
def game() -> Game:
    return make_game("gomoku")


def alternate(first: str, second: str) -> str:
    """Two players' moves in the order in which they are played."""
    ours, theirs = first.split(), second.split()
    order = [name for pair in zip(ours, theirs, strict=False) for name in pair]
    return " ".join(order + ours[len(theirs) :])


@pytest.mark.parametrize(("first", "second", "line"), [
    ("a1 b1 c1 d1 e1", "a3 b3 c3 d3", "along the bottom edge"),
    ("o11 o12 o13 o14 o15", "a3 b3 c3 d3", "up the right edge"),
    ("a1 b2 c3 d4 e5", "a3 b4 c5 d6", "a diagonal that starts in the corner"),
    ("k15 l14 m13 n12 o11", "a3 b3 c3 d3", "a diagonal between two edges"),
    ("a5 b4 c3 d2 e1", "a3 b3 d3 e3", "a diagonal cut off by the corner"),
])  # fmt: skip
def test_five_in_a_row_win(game: Game, first: str, second: str, line: str) -> None:
    state = play(game, alternate(first, second))
    assert game.is_terminal(state), line
    assert game.outcome(state) == -1.0  # for the other, who would be to move


def test_an_overline_wins_too(game: Game) -> None:
    state = play(
        game, alternate("a1 b1 c1 e1 f1 d1", "a3 b3 d3 e3 g3")
    )  # six in a row, closed by the stone in the middle
    assert game.is_terminal(state)
    assert game.outcome(state) == -1.0


@pytest.mark.parametrize("first", [
    "l2 m2 n2 o2 a1",  # o2 and a1 are neighbours in bits, at opposite edges
    "l9 m8 n7 o6 a4",  # o6 and a4 are as far apart in bits as neighbours on a falling diagonal
    "d9 c8 b7 a6 o6",  # a6 and o6 as neighbours on a rising one
])  # fmt: skip
def test_a_line_does_not_run_on_over_the_edge(game: Game, first: str) -> None:
    assert not game.is_terminal(play(game, alternate(first, "h1 h3 j5 e9")))


def test_four_in_a_row_do_not_win(game: Game) -> None:
    assert not game.is_terminal(play(game, alternate("a1 b1 c1 d1 f1", "a3 b3 c3 d3")))


def test_a_line_over_two_words_of_the_state_wins() -> None:
    game = make_game("gomoku", rows=9, columns=9)  # cell 63 is the last of the first word: row 7, column 0
    state = play(game, alternate("a1 a2 a3 a4 a5", "c1 d1 e1 f1"))
    assert game.is_terminal(state)


def test_a_full_board_without_a_line_is_a_draw() -> None:
    game = make_game("gomoku", rows=3, columns=4, connect=4)
    state = play(game, "a1 b1 b2 a2 c1 d1 d2 c2 a3 b3 c3 d3")
    assert game.format_state(state) == "3 X O X O\n2 O X O X\n1 X O X O\n  a b c d"
    assert game.is_terminal(state)
    assert game.outcome(state) == 0.0


def test_three_by_three_with_three_in_a_row_is_tic_tac_toe() -> None:
    game = make_game("gomoku", rows=3, columns=3, connect=3)
    assert perft(game, 9)[0] == [1, 9, 72, 504, 3024, 15120, 54720, 148176, 200448, 127872]
    solution = solve(game)
    assert len(solution.states) == 5478
    assert solution.value[0] == 0.0


def test_three_in_a_row_on_three_rows_of_four_are_won_by_the_first_player() -> None:
    assert solve(make_game("gomoku", rows=3, columns=4, connect=3)).value[0] == 1.0


def test_planes_are_the_mover_s_view(game: Game) -> None:
    planes = game.planes(play(game, "a15 o1 h8"))  # the second player is to move
    assert np.argwhere(planes).tolist() == [[0, 14, 14], [1, 0, 0], [1, 7, 7]]


@pytest.mark.parametrize(("options", "sentence"), [
    ({"rows": 26}, "game.options.rows=26 must be a whole number from 1 to 25"),
    ({"columns": 0}, "game.options.columns=0 must be"),
    ({"connect": 16}, "game.options.connect=16 must be a whole number from 2 to 15"),
])  # fmt: skip
def test_wrong_options_are_refused_in_a_sentence(options: dict[str, int], sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        make_game("gomoku", **options)
