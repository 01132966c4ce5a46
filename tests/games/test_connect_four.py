"""Connect Four against published counts, and its corners by name. A move is the number of a column."""

from __future__ import annotations

import numpy as np
import pytest
from playing import legal_names, perft, play
from referees import Compiled

from azero.classic.solve import solve
from azero.config.schema import UserError
from azero.games import make_game
from azero.games.game import Game


@pytest.fixture(scope="module")
def game() -> Game:
    return make_game("connect_four")


def test_sequences_by_ply_are_the_published_ones(game: Game) -> None:
    counts, finished = perft(game, 8)
    assert counts == [1, 7, 49, 343, 2401, 16807, 117649, 823536, 5673234]
    assert finished[:7] == [0] * 7  # nobody has four stones before the seventh ply
    assert finished[7] > 0


def test_distinct_positions_by_ply_are_the_published_ones(game: Game) -> None:
    level = {game.initial_state().tobytes()}
    sizes = [1]
    for _ in range(5):
        states = [np.frombuffer(words, np.uint64) for words in level]
        level = {
            game.step(state, action).tobytes() for state in states for action in game.legal_actions(state)
        }
        sizes.append(len(level))
    assert sizes == [1, 7, 49, 238, 1120, 4263]


@pytest.mark.parametrize(("moves", "line"), [
    ("1 1 2 2 3 3 4", "along the bottom row"),
    ("1 2 1 2 1 2 1", "up a column"),
    ("1 2 2 3 3 4 3 4 4 6 4", "up to the right"),
    ("7 6 6 5 5 4 5 4 4 2 4", "up to the left"),
])  # fmt: skip
def test_four_in_a_row_win(game: Game, moves: str, line: str) -> None:
    state = play(game, moves)
    assert game.is_terminal(state), line
    assert game.to_play(state) == 1
    assert game.outcome(state) == -1.0  # for the second player, who would be to move


def test_stones_at_the_end_of_one_column_and_the_start_of_the_next_are_no_line(game: Game) -> None:
    # The second player owns the two upper cells of column 1, bits 4 and 5, and the two lowest of column 2,
    # bits 7 and 8. Bit 6, between them, is always empty.
    state = play(game, "1 1 1 7 1 1 7 1 6 2 6 2")
    assert game.format_state(state).splitlines()[:3] == [
        "6 O . . . . . .",
        "5 O . . . . . .",
        "4 X . . . . . .",
    ]
    assert not game.is_terminal(state)


@pytest.mark.parametrize(("rows", "columns", "connect", "moves"), [
    (31, 2, 3, "1 1 2"),  # two stones on the ground; a third would be 64 bits away
    (15, 4, 5, "1 1 2 2 3 3 4"),  # four in a row of four columns, of which five are wanted
    (8, 7, 8, "1 1 2 2 3 3 4 4 5 5 6 6 7"),
])  # fmt: skip
def test_lines_longer_than_the_board_is_wide_are_not_found_where_the_word_ends(
    rows: int, columns: int, connect: int, moves: str
) -> None:
    game = make_game("connect_four", rows=rows, columns=columns, connect=connect)
    state = play(game, moves)
    assert not game.is_terminal(state)
    assert Compiled(game, state).terminal is False


FULL_DRAW = "1 2 1 2 1 2 2 1 2 1 2 1 3 4 3 4 3 4 4 3 4 3 4 3 5 6 5 6 5 6 6 5 6 5 6 5 7 7 7 7 7 7"


def test_a_full_board_without_a_line_is_a_draw(game: Game) -> None:
    state = play(game, FULL_DRAW)
    assert game.format_state(state) == (
        "6 O X O X O X O\n5 O X O X O X X\n4 O X O X O X O\n"
        "3 X O X O X O X\n2 X O X O X O O\n1 X O X O X O X\n  1 2 3 4 5 6 7"
    )
    assert game.is_terminal(state)
    assert game.outcome(state) == 0.0


def test_the_last_ply_may_win() -> None:
    small = make_game("connect_four", rows=4, columns=4)
    solution = solve(small)
    full = small.max_plies
    stones = np.bitwise_count(solution.states).sum(axis=1)
    last = solution.terminal & (stones == full)
    assert set(solution.value[last].tolist()) == {
        0.0,
        -1.0,
    }  # draws, and wins by the stone that fills the board


def test_a_full_column_is_closed(game: Game) -> None:
    assert legal_names(game, play(game, "4 4 4 4 4 4")) == {"1", "2", "3", "5", "6", "7"}


@pytest.mark.parametrize(("rows", "columns"), [(4, 4), pytest.param(5, 4, marks=pytest.mark.long)])
def test_small_boards_are_draws_as_published(rows: int, columns: int) -> None:
    assert solve(make_game("connect_four", rows=rows, columns=columns)).value[0] == 0.0


def test_planes_are_the_mover_s_view_with_the_top_row_first(game: Game) -> None:
    planes = game.planes(
        play(game, "4 4 1")
    )  # the second player is to move and owns the upper stone of column 4
    assert np.argwhere(planes).tolist() == [[0, 4, 3], [1, 5, 0], [1, 5, 3]]


def test_a_dropped_stone_is_drawn_where_it_comes_to_rest(game: Game) -> None:
    assert game.board
    assert game.board.cell_of(game.initial_state(), 3) == 5 * 7 + 3
    assert game.board.cell_of(play(game, "4 4"), 3) == 3 * 7 + 3


@pytest.mark.parametrize(("options", "sentence"), [
    ({"rows": 0}, "game.options.rows=0 must be a whole number from 1 to 31"),
    ({"columns": "seven"}, "game.options.columns=seven must be a whole number"),
    ({"rows": 9, "columns": 7}, r"must be at most 64"),
    ({"connect": 8}, "game.options.connect=8 must be a whole number from 2 to 7"),
])  # fmt: skip
def test_wrong_options_are_refused_in_a_sentence(options: dict[str, int], sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        make_game("connect_four", **options)
