"""Tic-tac-toe against published counts and against OpenSpiel."""

from __future__ import annotations

import numpy as np
import pytest

from azero.classic.solve import Solution, solve
from azero.games.game import Game


@pytest.fixture(scope="module")
def solution(game: Game) -> Solution:
    return solve(game)


def count_games(solution: Solution) -> tuple[list[int], dict[float, int]]:
    """Sequences of moves by ply, and whole games by outcome for the first player."""
    count = np.zeros(len(solution.states), np.int64)
    count[0] = 1
    by_ply, by_outcome = [], {1.0: 0, 0.0: 0, -1.0: 0}
    while count.any():
        by_ply.append(int(count.sum()))
        for row in np.flatnonzero(count * solution.terminal):
            by_outcome[float(solution.value[row] * (1 - 2 * solution.to_play[row]))] += int(count[row])
        rows, actions = np.nonzero(solution.successor >= 0)
        below = np.zeros_like(count)
        np.add.at(below, solution.successor[rows, actions], count[rows])
        count = below
    return by_ply, by_outcome


def test_there_are_5478_positions_and_4520_are_not_over(solution: Solution) -> None:
    assert len(solution.states) == 5478
    assert int(solution.unfinished.sum()) == 4520


def test_there_are_765_positions_under_symmetry(game: Game, solution: Solution) -> None:
    bits = (solution.states[:, :, None] >> np.arange(9, dtype=np.uint64)) & np.uint64(1)  # [P, 2, 9]
    classes = set()
    for stones in bits:
        images = [stones[:, np.argsort(symmetry)].tobytes() for symmetry in game.cell_symmetries]
        classes.add(min(images))
    assert len(classes) == 765


def test_sequences_by_ply_and_games_by_result_are_the_published_ones(solution: Solution) -> None:
    by_ply, by_outcome = count_games(solution)
    assert by_ply == [1, 9, 72, 504, 3024, 15120, 54720, 148176, 200448, 127872]
    assert by_outcome == {1.0: 131184, -1.0: 77904, 0.0: 46080}
    assert sum(by_outcome.values()) == 255168


def test_the_game_is_a_draw(solution: Solution) -> None:
    assert solution.value[0] == 0.0


def test_the_board_is_drawn_with_its_cells_numbered(game: Game) -> None:
    state = game.step(game.step(game.initial_state(), 4), 0)
    assert game.format_state(state) == " O . .    0 1 2\n . X .    3 4 5\n . . .    6 7 8"


def test_planes_are_the_mover_s_view(game: Game) -> None:
    state = game.step(game.step(game.step(game.initial_state(), 4), 0), 8)  # X 4, O 0, X 8; O is to move
    planes = game.planes(state)
    assert planes[0].ravel().tolist() == [1, 0, 0, 0, 0, 0, 0, 0, 0]
    assert planes[1].ravel().tolist() == [0, 0, 0, 0, 1, 0, 0, 0, 1]


def test_every_position_agrees_with_openspiel(game: Game, solution: Solution) -> None:
    pyspiel = pytest.importorskip(
        "pyspiel", reason="OpenSpiel is not installed; it comes with the extra openspiel"
    )
    stack = [(pyspiel.load_game("tic_tac_toe").new_initial_state(), 0)]
    seen = set()
    while stack:
        theirs, row = stack.pop()
        if row in seen:
            continue
        seen.add(row)
        assert theirs.is_terminal() == solution.terminal[row]
        if theirs.is_terminal():
            assert theirs.returns()[solution.to_play[row]] == game.outcome(solution.states[row])
            continue
        assert theirs.current_player() == solution.to_play[row]
        assert theirs.legal_actions() == game.legal_actions(solution.states[row])
        stack += [
            (theirs.child(action), int(solution.successor[row, action])) for action in theirs.legal_actions()
        ]
    assert len(seen) == len(solution.states)
