"""Breakthrough by hand, against Fairy-Stockfish's counts, and small boards solved."""

from __future__ import annotations

import re
import shutil
import subprocess
from typing import Any

import numpy as np
import pytest
from playing import perft
from searching import random_game

from azero.classic.deepening import Searcher
from azero.classic.solve import solve
from azero.config.schema import UserError
from azero.games import make_game
from azero.games.breakthrough import goal_of, set_up, start_of
from azero.games.game import Game
from azero.games.kit.board import NO_CELL

FAIRY = shutil.which("fairy-stockfish") or shutil.which("fairy-stockfish", path="/usr/games")


def on(board: str, mover: int) -> tuple[Game, np.ndarray]:
    """The game of a picture's size, and its state: P first player's pawns (they move up), p the other's."""
    rows = [line.split() for line in board.strip().splitlines()]
    game = make_game("breakthrough", rows=len(rows), columns=len(rows[0]))
    return game, set_up(np.array([[".Pp".index(cell) for cell in row] for row in rows], np.int8), mover)


def named(game: Game, state: np.ndarray) -> dict[str, int]:
    """The legal actions by the cells that they leave and enter."""
    board, size = game.board, game.planes_shape[1:]
    assert board
    return {
        "".join(board.cell_name(of(state, action, *size)) for of in (start_of, goal_of)): action
        for action in game.legal_actions(state)
    }


def shown(game: Game, state: np.ndarray) -> list[str]:
    """The rows of the board as text, without labels."""
    return [line.split(maxsplit=1)[1] for line in game.format_state(state).splitlines()[:-1]]


def play(game: Game, moves: str) -> np.ndarray:
    """The state after some moves."""
    state = game.initial_state()
    for name in moves.split():
        state = game.step(state, named(game, state)[name])
    return state


def test_each_side_begins_with_two_rows_and_the_first_player_moves_up() -> None:
    game = make_game("breakthrough")
    assert game.format_state(game.initial_state()) == (
        "8 p p p p p p p p\n7 p p p p p p p p\n6 . . . . . . . .\n5 . . . . . . . .\n"
        "4 . . . . . . . .\n3 . . . . . . . .\n2 P P P P P P P P\n1 P P P P P P P P\n  a b c d e f g h"
    )
    moves = set(named(game, game.initial_state()))
    assert len(moves) == 22 and {"a2a3", "a2b3", "h2g3", "h2h3", "d2c3"} <= moves  # 6 * 3 + 2 * 2
    assert set(named(game, play(game, "a2a3"))) == {
        f"{column}7{other}6"
        for column in "abcdefgh"
        for other in "abcdefgh"
        if abs(ord(column) - ord(other)) <= 1
    }


def test_a_pawn_goes_ahead_to_an_empty_cell_only_and_takes_slanting_only() -> None:
    game, state = on("""
        . . . . p
        p . . . .
        . p p p .
        . . P . .
        . . . . P""", 0)  # fmt: skip
    # c2 cannot go to c3; it takes b3 and d3. e1 may go to d2 and e2
    assert set(named(game, state)) == {"c2b3", "c2d3", "e1d2", "e1e2"}
    after = game.step(state, named(game, state)["c2d3"])
    assert shown(game, after) == [". . . . p", "p . . . .", ". p p P .", ". . . . .", ". . . . P"]
    assert not game.is_terminal(after)
    # The second player moves down: d3 is no neighbour ahead of any of its pawns but a4, b3, c3, e5 go on
    assert set(named(game, after)) == {"a4a3", "b3a2", "b3b2", "b3c2", "c3b2", "c3c2", "c3d2", "e5d4", "e5e4"}


def test_own_pawns_stand_in_the_way_in_all_three_directions() -> None:
    game, state = on("""
        p . . .
        . . . .
        P P P .
        . P . .""", 0)  # fmt: skip
    assert set(named(game, state)) == {"a2a3", "a2b3", "b2a3", "b2b3", "b2c3", "c2b3", "c2c3", "c2d3"}


def test_the_columns_at_the_edges_are_no_neighbours() -> None:
    """In bits, a pawn on the first column lies beside one on the last column of another row."""
    game, state = on("""
        . . . p
        . . . .
        . . . .
        P . . P""", 0)  # fmt: skip
    assert set(named(game, state)) == {"a1a2", "a1b2", "d1c2", "d1d2"}


@pytest.mark.parametrize("mover", [0, 1])
def test_who_reaches_the_last_row_has_won(mover: int) -> None:
    game, state = on("""
        . . . .
        P . . p
        . . . .
        . . . .
        P . p .
        . . . .""", mover)  # fmt: skip
    move = ("a5b6", "c2b1")[mover]
    after = game.step(state, named(game, state)[move])
    assert game.is_terminal(after)
    assert (game.to_play(after), game.outcome(after)) == (1 - mover, -1.0)
    assert game.first_outcome(after) == (1.0, -1.0)[mover]


def test_who_takes_the_last_pawn_has_won() -> None:
    game, state = on("""
        . . . .
        . . . .
        . . p .
        . . . P
        P . . .""", 0)  # fmt: skip
    after = game.step(state, named(game, state)["d2c3"])
    assert shown(game, after) == [". . . .", ". . . .", ". . P .", ". . . .", "P . . ."]
    assert game.is_terminal(after) and game.outcome(after) == -1.0 and game.to_play(after) == 1
    quiet = game.step(state, named(game, state)["a1b2"])
    assert not game.is_terminal(quiet)


def test_the_player_to_move_sees_its_own_pawns_move_up() -> None:
    game, state = on("""
        . p . .
        . . . .
        . . . P
        P . . .""", 1)  # fmt: skip
    # turned over: the second player's b4 is in the lowest row, the first player's a1 in the highest
    own, other = game.planes(state).astype(int).tolist()
    assert own == [[0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [0, 1, 0, 0]]
    assert other == [[1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 0, 0], [0, 0, 0, 0]]
    assert game.legal_actions(state) == [13 * 3, 13 * 3 + 1, 13 * 3 + 2]  # from b4, cell 13 as it sees it
    assert set(named(game, state)) == {"b4a3", "b4b3", "b4c3"}


def test_both_players_see_the_same_position_alike() -> None:
    game = make_game("breakthrough", rows=6, columns=6)
    state = play(game, "a2a3 a5a4 b2b3 b5b4")
    turned = set_up(np.where(game.board.marks(state) > 0, 3 - game.board.marks(state), 0)[::-1], 1)  # type: ignore[union-attr]
    assert np.array_equal(game.planes(state), game.planes(turned))
    assert game.legal_actions(state) == game.legal_actions(turned)
    assert (game.to_play(state), game.to_play(turned)) == (0, 1)


def test_a_side_to_move_always_has_a_legal_move() -> None:
    """Its foremost pawn can go slanting: no own pawn is ahead of it. Dense boards, by chance."""
    rng = np.random.default_rng(1)
    for rows, columns in ((4, 2), (5, 4), (6, 6)):
        game = make_game("breakthrough", rows=rows, columns=columns)
        count = (rows - 2) * columns // 2  # of each side: no cell is empty between the last rows
        for mover in (0, 1) * 50:
            marks = np.zeros((rows, columns), np.int8)
            marks[1:-1] = rng.permutation(1 + np.arange(2 * count) % 2).reshape(rows - 2, columns)
            assert game.legal_actions(set_up(marks, mover)), marks


def test_plies_left_counts_the_steps_of_all_pawns() -> None:
    game, state = on("""
        . . p .
        . . . .
        P . . .
        . . . P
        . . . .""", 0)  # fmt: skip
    # before the last row: a3 one step, d2 two, c5 three; and the step that ends the game
    assert game.rules.plies_left(state) == 1 + 2 + 3 + 1
    full = make_game("breakthrough")
    assert full.rules.plies_left(full.initial_state()) == full.max_plies == 2 * 8 * (6 - 1 + 7 - 1) + 1


def test_marks_become_the_state_that_shows_them() -> None:
    game = make_game("breakthrough", rows=6, columns=5)
    assert game.board
    rng = np.random.default_rng(3)
    for state in random_game(game, rng):
        assert np.array_equal(set_up(game.board.marks(state), game.to_play(state)), state)


@pytest.mark.parametrize(("board", "said"), [
    ("P P\n. .\n. .\n. .", "the game was over before the last move"),
    ("P .\n. .\n. p\n. .", "the game was over before the last move"),
    ("p .\nP P\nP P\nP .", "each side has at most 4 pawns"),
])  # fmt: skip
def test_a_position_that_no_game_has_is_refused(board: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        on(board, 0)


def test_a_finished_game_is_a_position() -> None:
    for board in (". .\n. P\n. .\np .", "p p\n. .\n. .\n. ."):  # a pawn on its goal; no pawn is left
        game, state = on(board, 0)
        assert game.is_terminal(state) and game.outcome(state) == -1.0


def test_a_move_beyond_the_edge_has_no_goal() -> None:
    game = make_game("breakthrough", rows=5, columns=4)
    state = game.initial_state()
    assert [goal_of(state, action, 5, 4) for action in (12 * 3, 12 * 3 + 1, 15 * 3 + 2, 1)] == [
        NO_CELL,  # from a2 to the left
        8,  # ahead: a3
        NO_CELL,  # from d2 to the right
        NO_CELL,  # a5, on the last row
    ]
    assert [game.action_name(game.initial_state(), action) for action in (12 * 3, 12 * 3 + 1)] == [
        "a2-left",
        "a2a3",
    ]


def value_by(theirs: Any, known: dict[str, float]) -> float:
    """The value of a state of OpenSpiel for its first player, by plain minimax."""
    if theirs.is_terminal():
        return float(theirs.returns()[0])
    if (key := f"{theirs}{theirs.current_player()}") not in known:
        sign = 1 if theirs.current_player() == 0 else -1
        best = -1.0
        for action in theirs.legal_actions():
            best = max(best, sign * value_by(theirs.child(action), known))
            if best == 1.0:
                break
        known[key] = sign * best
    return known[key]


@pytest.mark.parametrize(("rows", "value"), [(6, 1.0), (7, -1.0)])
def test_boards_of_two_columns_are_won_as_by_openspiel(rows: int, value: float) -> None:
    pyspiel = pytest.importorskip("pyspiel", reason="OpenSpiel is not installed")
    game = make_game("breakthrough", rows=rows, columns=2)
    theirs = pyspiel.load_game(f"breakthrough(rows={rows},columns=2)").new_initial_state()
    assert Searcher(game).search(game.initial_state()).value == value_by(theirs, {}) == value


def test_there_is_never_a_draw() -> None:
    assert set(solve(make_game("breakthrough", rows=4, columns=3)).value.tolist()) == {1.0, -1.0}


def fen(game: Game, state: np.ndarray) -> str:
    """A position as Fairy-Stockfish reads it."""
    assert game.board
    rows = ["".join(".Pp"[mark] for mark in row) for row in game.board.marks(state)]
    rows = [re.sub(r"\.+", lambda empty: str(len(empty[0])), row) for row in rows]
    return f"{'/'.join(rows)} {'wb'[game.to_play(state)]} - - 0 1"


@pytest.mark.skipif(FAIRY is None, reason="fairy-stockfish is not installed")
def test_sequences_are_as_many_as_fairy_stockfish_counts() -> None:
    """20 positions of random games, from the first to the last plies, four moves deep."""
    game = make_game("breakthrough")
    rng = np.random.default_rng(6)
    states = [game.initial_state()]
    for _ in range(19):
        played = list(random_game(game, rng))
        states.append(played[int(rng.integers(len(played)))])
    theirs = fairy_counts([fen(game, state) for state in states], plies=4)
    assert [perft(game, 4, state)[0][4] for state in states] == theirs
    assert theirs[0] == 256_036 and len(theirs) == 20


def fairy_counts(positions: list[str], plies: int) -> list[int]:
    """The number of sequences of `plies` moves from each position, by Fairy-Stockfish."""
    assert FAIRY is not None
    counts = []
    with subprocess.Popen([FAIRY], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as fairy:
        assert fairy.stdin is not None and fairy.stdout is not None
        print("setoption name UCI_Variant value breakthrough", file=fairy.stdin)
        for position in positions:
            print(f"position fen {position}\ngo perft {plies}", file=fairy.stdin, flush=True)
            # an answer ends with its sum; asked too early, the program breaks off the count before
            total = next(line for line in fairy.stdout if line.startswith("Nodes searched"))
            counts.append(int(total.split()[-1]))
        print("quit", file=fairy.stdin, flush=True)
    return counts


@pytest.mark.parametrize("options", [{"rows": 9}, {"rows": 3}, {"columns": 1}, {"columns": 17}])
def test_boards_that_do_not_fit_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(UserError, match=r"(rows|columns)=\S+ (and|must be)"):
        make_game("breakthrough", **options)
