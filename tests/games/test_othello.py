"""Othello against published counts, a solved game, and its corners by name."""

from __future__ import annotations

import numpy as np
import pytest
from playing import legal_names, perft, play, printed_score

from azero.classic.solve import solve
from azero.config.schema import UserError
from azero.games import make_game
from azero.games.game import Game

# Best play on 6 x 6: second player wins 20 to 16, with one pass of the first player on the way.
SOLVED_6X6 = "c2 b4 c5 d2 e4 e3 d1 c1 b1 d5 d6 f4 b3 b2 f3 f2 e2 b6 a4 c6 a6 a2 b5 a5 e6 e5 a3 a1 f5 f6 e1 f1"


@pytest.fixture(scope="module")
def game() -> Game:
    return make_game("othello")


def board_of(game: Game, text: str, to_play: int) -> np.ndarray:
    """The state with the discs of a picture, X for the first player and O for the second.

    Its list of moves is not filled in.
    """
    cells = text.split()
    first = sum(1 << cell for cell, mark in enumerate(cells) if mark == "X")
    second = sum(1 << cell for cell, mark in enumerate(cells) if mark == "O")
    own, other = (first, second) if to_play == 0 else (second, first)
    return np.array([own, other, 0, to_play], np.uint64)


def test_the_start_is_black_on_the_rising_diagonal(game: Game) -> None:
    assert game.format_state(game.initial_state()) == (
        "1 . . . . . . . .\n2 . . . . . . . .\n3 . . . . . . . .\n4 . . . O X . . .\n"
        "5 . . . X O . . .\n6 . . . . . . . .\n7 . . . . . . . .\n8 . . . . . . . .\n  a b c d e f g h"
    )
    assert legal_names(game, game.initial_state()) == {"d3", "c4", "f5", "e6"}


@pytest.mark.parametrize(("size", "expected"), [
    (8, [4, 12, 56, 244, 1396, 8200, 55092, 390216]),
    (6, [4, 12, 56, 244, 1364, 7604, 47740, 308716, 2114912]),
    (4, [4, 12, 44, 128, 424, 1256, 3624, 9116]),
])  # fmt: skip
def test_sequences_by_ply_are_the_published_ones(size: int, expected: list[int]) -> None:
    """Published counts keep a finished game as one sequence at every later ply.

    On 4 x 4 four games end at ply 7.
    """
    counts, finished = perft(make_game("othello", size=size), len(expected))
    kept = [count + sum(finished[:ply]) for ply, count in enumerate(counts)]
    assert kept[1:] == expected
    if size == 4:
        assert sum(finished[:8]) == 4


def test_the_solved_game_on_6x6_ends_16_to_20_after_one_pass() -> None:
    game = make_game("othello", size=6)
    state, passes = game.initial_state(), 0
    for name in SOLVED_6X6.split():
        if legal_names(game, state) == {"pass"}:
            state = game.step(state, game.parse_action(state, "pass"))
            passes += 1
        assert name in legal_names(game, state)
        state = game.step(state, game.parse_action(state, name))
    assert game.is_terminal(state)
    assert passes == 1
    assert printed_score(game, state) == (16, 20)
    assert game.outcome(state) == (1.0 if game.to_play(state) == 1 else -1.0)


def test_4x4_is_won_by_the_second_player() -> None:
    assert solve(make_game("othello", size=4)).value[0] == -1.0


def test_a_pass_is_legal_only_when_it_is_forced() -> None:
    game = make_game("othello", size=4)
    passes = 0
    rng = np.random.default_rng(1)
    for _ in range(200):
        state = game.initial_state()
        while not game.is_terminal(state):
            names = legal_names(game, state)
            assert names == {"pass"} or "pass" not in names
            if names == {"pass"}:
                passed = game.step(state, game.parse_action(state, "pass"))
                assert passed[:2].tolist() == state[1::-1].tolist()  # the same discs, seen by the other
                assert not game.is_terminal(passed)
                assert legal_names(game, passed) != {"pass"}  # else the game would have been over before
                passes += 1
            state = game.step(state, int(rng.choice(game.legal_actions(state))))
    assert passes > 50


def test_a_full_board_ends_the_game() -> None:
    game = make_game("othello", size=4)
    before = board_of(game, """
        . X O O
        O O O O
        O O O O
        O O O O""", 1)  # fmt: skip
    before[2] = 1  # a1 takes b1 ... the second player's line a1 b1 c1
    after = game.step(before, game.parse_action(before, "a1"))
    assert game.is_terminal(after)  # a full board of the second player's discs
    assert game.outcome(after) == -1.0  # for the first player, who would be to move


def test_a_side_without_discs_has_lost_at_once_and_empty_squares_count_for_the_winner(game: Game) -> None:
    wiped = play(game, "e6 f4 e3 f6 g5 d6 e7 f5 c5")  # the shortest wipe-out: 13 to 0 after nine plies
    assert game.is_terminal(wiped)
    assert game.to_play(wiped) == 1
    assert game.outcome(wiped) == -1.0
    assert printed_score(game, wiped) == (64, 0)
    assert np.bitwise_count(wiped[:2]).tolist() == [0, 13]


def test_neither_side_can_move_though_squares_are_empty() -> None:
    game = make_game("othello", size=4)
    rng = np.random.default_rng(2)
    with_empties = 0
    for _ in range(300):
        state = game.initial_state()
        while not game.is_terminal(state):
            state = game.step(state, int(rng.choice(game.legal_actions(state))))
        discs = np.bitwise_count(state[:2])
        with_empties += int(discs.sum() < 16 and discs.min() > 0)
        assert sum(printed_score(game, state)) == 16 or discs[0] == discs[1]
        assert np.sign(float(discs[0]) - float(discs[1])) == game.outcome(state)
    assert with_empties > 10


def test_a_move_turns_lines_in_all_eight_directions() -> None:
    game = make_game("othello", size=6)
    before = board_of(game, """
        X . X . X .
        . O O O . .
        X O . O X .
        . O O O . .
        X . X . X .
        . . . . . .""", 0)  # fmt: skip
    after = game.step(before, game.parse_action(before, "c3"))
    assert game.format_state(after).splitlines()[1:4] == ["2 . X X X . .", "3 X X X X X .", "4 . X X X . ."]


def test_a_line_does_not_run_on_over_the_edge() -> None:
    game = make_game("othello", size=4)
    state = board_of(game, """
        . . . O
        O X . .
        . . . .
        . . . .""", 1)  # fmt: skip
    passed = game.step(state, game.parse_action(state, "pass"))
    # c1, d1, a2, b2 follow each other in bits: c1 would enclose d1 and a2, were there no edge between them
    assert legal_names(game, passed) == {"pass"}


@pytest.mark.parametrize("size", [5, 10, "eight", 8.0, True])
def test_other_sizes_are_refused(size: object) -> None:
    with pytest.raises(UserError, match="must be one of: 4, 6, 8"):
        make_game("othello", size=size)
