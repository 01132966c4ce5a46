"""Heuristics: worked by hand, compiled against the plain twin, antisymmetric, better than random play."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from playing import legal_names, play
from searching import random_game

from azero.classic.deepening import Searcher
from azero.config.schema import UserError
from azero.games import make_game
from azero.games.breakthrough import set_up
from azero.games.game import Game
from azero.heuristics import Heuristic, make_heuristic
from azero.match.lockstep import play_match
from azero.players import make_player

CASES: list[tuple[str, str, dict[str, Any]]] = [
    ("discs", "othello", {"size": 8}),
    ("mobility", "othello", {"size": 4}),
    ("mobility", "othello", {"size": 6}),
    ("mobility", "othello", {"size": 8}),
    ("mobility", "chess", {"variant": "losalamos", "max_plies": 40}),
    ("squares", "othello", {"size": 4}),
    ("squares", "othello", {"size": 6}),
    ("squares", "othello", {"size": 8}),
    ("lines", "connect_four", {}),
    ("lines", "connect_four", {"rows": 4, "columns": 5, "connect": 3}),
    ("lines", "gomoku", {"rows": 9, "columns": 9}),
    ("lines", "gomoku", {"rows": 3, "columns": 5, "connect": 3}),
    ("shortest_path", "hex", {"size": 4}),
    ("shortest_path", "hex", {"size": 9}),
    ("shortest_path", "hex", {"size": 5, "swap": True}),
    ("material", "breakthrough", {}),
    ("material", "breakthrough", {"rows": 5, "columns": 4}),
    ("rollouts", "tictactoe", {}),
    ("rollouts", "go", {"size": 5}),
]
EVERY = pytest.mark.parametrize("name, game_name, options", CASES)


def random_states(game: Game, games: int, seed: int) -> list[np.ndarray]:
    """Return the unfinished positions of random games."""
    rng = np.random.default_rng(seed)
    return [state for _ in range(games) for state in random_game(game, rng)]


def plain(heuristic: Heuristic, state: np.ndarray) -> float:
    """Return the value by the plain Python twin."""
    with np.errstate(over="ignore"):
        return float(heuristic.function.__wrapped__(state))


def compiled(game: Game, heuristic: Heuristic, state: np.ndarray) -> list[float]:
    """Return the values after each legal move that does not end the game, for the player who moves."""
    searcher, values = Searcher(game, 1, heuristic=heuristic, table=0), []
    for action in game.legal_actions(state):
        only = np.arange(game.num_actions) != action
        if not game.is_terminal(game.step(state, action)):
            values.append(searcher.search(state, only).value)
    return values


@EVERY
def test_compiled_and_plain_agree_and_stay_strictly_within_1(
    name: str, game_name: str, options: dict[str, Any]
) -> None:
    game = make_game(game_name, **options)
    heuristic = make_heuristic(name, game)
    for state in random_states(game, games=4, seed=1)[::3]:
        below = [game.step(state, action) for action in game.legal_actions(state)]
        by_twin = [-plain(heuristic, successor) for successor in below if not game.is_terminal(successor)]
        assert compiled(game, heuristic, state) == pytest.approx(by_twin, abs=1e-12)
        assert all(-1.0 < value < 1.0 for value in by_twin)


def exchanged(game: Game, state: np.ndarray) -> np.ndarray:
    """Return the board with the stones of the two players exchanged."""
    if game.name == "othello":
        return game.step(state, game.num_actions - 1)  # what a pass does
    other, width = state.copy(), len(state) // 2
    other[:width], other[width : 2 * width] = state[width : 2 * width], state[:width]
    return other


@pytest.mark.parametrize(
    "name, game_name, options", [case for case in CASES if case[1] in ("othello", "connect_four", "gomoku")]
)
def test_exchanged_stones_turn_the_sign(name: str, game_name: str, options: dict[str, Any]) -> None:
    game = make_game(game_name, **options)
    heuristic = make_heuristic(name, game)
    for state in random_states(game, games=3, seed=2)[::2]:
        assert plain(heuristic, exchanged(game, state)) == -plain(heuristic, state)


def test_discs_after_the_first_move_at_othello() -> None:
    game = make_game("othello", size=4)
    state = game.step(game.initial_state(), game.legal_actions(game.initial_state())[0])
    value = plain(make_heuristic("discs", game), state)
    assert value == (1 - 4) / 17  # black has put one disc and turned one of two: 4 to 1, and white is to play


def test_mobility_after_the_first_move_at_othello() -> None:
    """White may answer d3 with c3, e3 or c5, and black could go on at three as well.

    After c3 black has 4 moves, white 5.
    """
    game = make_game("othello")
    heuristic = make_heuristic("mobility", game)
    state = play(game, "d3")
    assert (legal_names(game, state), len(legal_names(game, game.step(state, 64)))) == ({"c3", "e3", "c5"}, 3)
    assert plain(heuristic, state) == 0.0
    state = play(game, "d3 c3")
    assert (len(legal_names(game, state)), len(legal_names(game, game.step(state, 64)))) == (4, 5)
    assert plain(heuristic, state) == (4 - 5) / (4 + 5 + 1)


def test_weighted_squares_at_othello() -> None:
    """4 x 4.

    Black to play has a1 (100) and b2, which counts nothing beside a corner that is taken; white has d2.

    d2 lies beside the corner d1, which is empty: -25. The lead is 100 + 25, worth 125 / (100 + 125).
    """
    game = make_game("othello", size=4)
    state = np.array([1 << 0 | 1 << 5, 1 << 7, 0, 0], np.uint64)
    assert plain(make_heuristic("squares", game), state) == 125 / 225


def test_lines_at_connect_four() -> None:
    """X at 4, then O at 4 above it; X is to play.

    X, on the bottom in column 4: 4 lines along the row, none up the column (O stands on it), 1 on each
    diagonal: 6. O, second from below: 4 along the row, 1 up the column, 2 on each diagonal: 9. Each line has
    one stone and counts 1.
    """
    game = make_game("connect_four")
    assert plain(make_heuristic("lines", game), play(game, "4 4")) == pytest.approx((6 - 9) / (16 + 3))


def test_lines_with_more_stones_count_four_times_as_much() -> None:
    """Gomoku on one row of five, three in a row: X a, O e, X c. O is to play.

    X: a b c has two stones (4); b c d has one (1); c d e holds O. O: its only line c d e holds X. A lead of 4
    is worth a half.
    """
    game = make_game("gomoku", rows=1, columns=5, connect=3)
    assert plain(make_heuristic("lines", game), play(game, "a1 e1 c1")) == -5 / (4 + 5)


def test_pawns_of_breakthrough_are_worth_more_near_the_goal_and_at_home() -> None:
    game = make_game("breakthrough")
    heuristic = make_heuristic("material", game)
    marks = np.zeros((8, 8), np.int8)
    marks[7, 0], marks[2, 3], marks[5, 5] = 1, 1, 1  # a1 at home, d6 two rows from the goal, f3 five rows
    marks[6, 7], marks[1, 1] = 2, 2  # h2 one row from the goal, b7 six rows
    lead = 29 + 26 + 20 - (36 + 20)
    assert plain(heuristic, set_up(marks, 0)) == lead / (60 + lead)
    assert plain(heuristic, set_up(marks, 1)) == -lead / (60 + lead)
    assert plain(heuristic, game.initial_state()) == 0.0


def test_pieces_of_chess_are_worth_1_3_3_5_and_9() -> None:
    """State words: own, opponent, pawns, knights, bishops, rooks, queens, kings, flags.

    Own: king, queen, three pawns, bishop: 9 + 3 + 3. The opponent's: king, two rooks, knight: 10 + 3.
    """
    kings, queens, bishops, rooks, knights = 1 | 1 << 63, 1 << 1, 1 << 2, 3 << 61, 1 << 60
    pawns = 0b111 << 8
    own, other = 1 | queens | bishops | pawns, 1 << 63 | rooks | knights
    state = np.array([own, other, pawns, knights, bishops, rooks, queens, kings, 0], np.uint64)
    chess = replace(make_game("tictactoe"), name="chess")  # only its name is looked at
    assert plain(make_heuristic("material", chess), state) == (15 - 13) / (3 + 2)
    state[[0, 1]] = state[[1, 0]]
    assert plain(make_heuristic("material", chess), state) == -2 / 5


def test_pieces_of_chess_are_worth_more_where_they_reach_more_cells() -> None:
    """White: king a1, knight b1, rook d4. Black: king a8, bishop h1. White is to play.

    The knight reaches a3, c3 and d2, the rook 7 cells of its row and 7 of its file: 17. The bishop reaches 6,
    up to b7, because a8 has a piece of its own. In tenths of a pawn the lead is 10 * (3 + 5 - 3) + 17 - 6.
    """
    game = make_game("chess")
    heuristic = make_heuristic("mobility", game)
    assert plain(heuristic, game.position("k7/8/8/8/3R4/8/8/KN5b w - - 0 1")) == 61 / (30 + 61)
    assert plain(heuristic, game.position("k7/8/8/8/3R4/8/8/KN5b b - - 0 1")) == -61 / (30 + 61)
    assert plain(heuristic, game.initial_state()) == 0.0


def test_the_shortest_path_at_hex() -> None:
    """3 x 3, first player X from top to bottom, second player O from left to right; O is to play.

    . X .      X: b1 reaches b2 or a2 and then the bottom, 2 stones missing
     . . .     O: without b1 any row is open: a2 b2 c2, of which it has none, 3 missing
      . . .
    """
    game = make_game("hex", size=3)
    assert plain(make_heuristic("shortest_path", game), play(game, "b1")) == (2 - 3) / 4
    assert plain(make_heuristic("shortest_path", game), play(game, "b1 b2")) == (1 + 1 - 2) / 4 + (2 - 2) / 4


def test_rollouts_of_one_position_are_always_the_same_and_see_a_won_game() -> None:
    game = make_game("tictactoe")
    first, second = make_heuristic("rollouts", game), make_heuristic("rollouts", game)
    state = play(game, "0 3 1 4 8")  # O to play: 5 wins at once, 2 stops X, both lines are open
    assert plain(first, state) == plain(second, state)
    forced = play(game, "0 2 1 4 5 3 6 8")  # only 7 is left, and the game is a draw
    assert plain(first, forced) == 0.0
    won = play(game, "0 1 3 4 2 8 7 5")  # only 6 is left, which completes X's column
    assert plain(first, won) == 16 / 17


class StoneCounter:
    """Values a position by the stones of the player to move: 0.3 each, and certain of a win from four on."""

    batch_size = 3

    def infer(self, planes: np.ndarray, rows: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        stones = planes[:, 0].sum(axis=(1, 2)).astype(np.float32)
        return np.zeros((3, 7), np.float32), np.minimum(1.0, 0.3 * stones)


def test_the_network_is_asked_for_its_value() -> None:
    game = make_game("connect_four")
    heuristic = make_heuristic("network", game, StoneCounter())
    found = Searcher(game, 2, heuristic=heuristic).search(game.initial_state())
    assert found.value == pytest.approx(0.3)  # after two plies the mover owns one stone
    certain = Searcher(game, 1, heuristic=heuristic).search(play(game, "1 2 3 4 5 6 7"))
    assert -1.0 < certain.value < -0.999  # X owns four stones


@pytest.mark.parametrize(
    "heuristic, game_name, options",
    [
        ("mobility", "othello", {"size": 6}),
        ("mobility", "chess", {"variant": "gardner"}),
        ("squares", "othello", {"size": 6}),
        ("discs", "othello", {"size": 6}),
        ("lines", "connect_four", {}),
        ("lines", "gomoku", {"rows": 9, "columns": 9}),
        ("shortest_path", "hex", {"size": 5}),
        ("material", "breakthrough", {"rows": 6, "columns": 6}),
        ("rollouts", "connect_four", {}),
    ],
)
def test_two_plies_with_it_beat_random_play(heuristic: str, game_name: str, options: dict[str, Any]) -> None:
    game = make_game(game_name, **options)
    player = make_player("alpha_beta", game, depth=2, heuristic=heuristic)
    result = play_match(game, (player, make_player("random", game)), np.arange(40, dtype=np.uint64))
    assert result.wins > 2 * result.losses + 4, (result.wins, result.draws, result.losses)


def test_a_heuristic_of_another_game_is_refused() -> None:
    with pytest.raises(
        UserError, match="discs is for othello only; for connect_four choose one of: lines, rollouts, network"
    ):
        make_heuristic("discs", make_game("connect_four"))


def test_an_unknown_heuristic_is_refused() -> None:
    with pytest.raises(UserError, match="heuristic=gut must be one of: discs"):
        make_heuristic("gut", make_game("othello"))


def test_the_network_s_value_needs_a_network() -> None:
    with pytest.raises(UserError, match="heuristic=network needs a trained network"):
        make_heuristic("network", make_game("tictactoe"))
