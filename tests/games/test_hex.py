"""Hex against published counts and solved openings, and its corners by name. a1 is at the top left."""

from __future__ import annotations

import numpy as np
import pytest
from playing import legal_names, perft, play

from azero.classic.solve import solve
from azero.config.schema import UserError
from azero.games import make_game
from azero.games.game import Game


@pytest.fixture(scope="module")
def game() -> Game:
    return make_game("hex", size=7)


def test_all_games_on_3x3_are_counted_as_published() -> None:
    counts, finished = perft(make_game("hex", size=3), 9)
    assert counts == [1, 9, 72, 504, 3024, 15120, 54720, 146880, 207360, 120960]
    assert finished == [0, 0, 0, 0, 0, 1440, 5760, 43200, 86400, 120960]


@pytest.mark.parametrize(("size", "winning"), [(2, 2), (3, 5)])
def test_winning_first_moves_are_as_many_as_published(size: int, winning: int) -> None:
    solution = solve(make_game("hex", size=size))
    assert solution.value[0] == 1.0
    assert int((solution.action_value[0] == 1.0).sum()) == winning


def test_there_is_never_a_draw_and_every_full_board_has_one_winner() -> None:
    solution = solve(make_game("hex", size=3))
    assert set(solution.value.tolist()) == {1.0, -1.0}
    full = np.bitwise_count(solution.states[:, :2]).sum(axis=1) == 9
    assert solution.terminal[full].all()


def test_the_first_player_joins_top_and_bottom(game: Game) -> None:
    state = play(game, "d1 a2 d2 a3 d3 a4 d4 a5 d5 a6 d6 b7 d7")
    assert game.is_terminal(state)
    assert game.to_play(state) == 1
    assert game.outcome(state) == -1.0


def test_the_second_player_joins_left_and_right(game: Game) -> None:
    state = play(game, "a1 a4 b1 b4 c1 c4 d1 d4 e1 e4 f1 f4 a6 g4")
    assert game.is_terminal(state)
    assert game.to_play(state) == 0
    assert game.outcome(state) == -1.0


def test_a_row_along_the_own_edge_wins_nothing(game: Game) -> None:
    assert not game.is_terminal(
        play(game, "a1 a7 b1 b6 c1 c5 d1 d3 e1 e6 f1 f5 g1")
    )  # the first player owns the whole top edge


def test_neighbours_are_joined_along_the_short_diagonal_only() -> None:
    game = make_game("hex", size=2)
    assert game.is_terminal(play(game, "b1 a1 a2"))  # b1 and a2 touch
    assert not game.is_terminal(play(game, "a1 b1 b2"))  # a1 and b2 do not


def test_a_long_winding_chain_wins_when_its_last_gap_is_filled() -> None:
    game = make_game("hex", size=5)
    #   row 1 to 2 at e, back along row 3 to a, along row 5 ... the gap is c3
    first = ["e1", "e2", "d3", "b3", "a3", "a4", "a5"]
    second = ["a1", "b1", "c1", "a2", "b2", "d5", "e5"]
    moves = [name for pair in zip(first, second, strict=True) for name in pair]
    before = play(game, " ".join(moves))
    assert not game.is_terminal(before)
    after = game.step(before, game.parse_action(before, "c3"))
    assert game.is_terminal(after)
    assert game.outcome(after) == -1.0


def test_pieces_joined_late_are_found_whatever_their_order() -> None:
    game = make_game("hex", size=5)
    rng = np.random.default_rng(5)
    column = ["c1", "c2", "c3", "c4", "c5"]
    elsewhere = ["a1", "a2", "a3", "e4"]
    for _ in range(50):
        first = rng.permutation(column).tolist()
        moves = [name for pair in zip(first[:4], elsewhere, strict=True) for name in pair]
        state = play(game, " ".join([*moves, first[4]]))
        assert game.is_terminal(state) and game.outcome(state) == -1.0


def test_swap_takes_over_the_first_stone_mirrored() -> None:
    game = make_game("hex", size=5, swap=True)
    state = play(game, "d2")
    assert "swap" in legal_names(game, state)
    swapped = game.step(state, game.parse_action(state, "swap"))
    assert game.to_play(swapped) == 0
    assert (
        game.format_state(swapped)
        == "1 . . . . .\n 2 . . . . .\n  3 . . . . .\n   4 . O . . .\n    5 . . . . .\n       a b c d e"
    )
    assert "swap" not in legal_names(game, swapped)
    assert len(legal_names(game, swapped)) == 24


def test_swap_is_offered_once_and_only_if_asked_for() -> None:
    game = make_game("hex", size=5, swap=True)
    assert "swap" not in legal_names(game, game.initial_state())
    assert "swap" not in legal_names(game, play(game, "d2 a1"))
    assert make_game("hex", size=5).num_actions == 25


def test_a_swapped_stone_on_the_left_edge_counts_as_joined_to_it() -> None:
    game = make_game("hex", size=3, swap=True)
    state = play(game, "b1 swap a1 b2 c1 c2")  # b1 becomes a2: a2 b2 c2 join left and right
    assert game.is_terminal(state)
    assert game.outcome(state) == -1.0


def test_with_swap_the_second_player_wins_3x3() -> None:
    """After any first move the second player takes the better side, so the first player has lost."""
    solution = solve(make_game("hex", size=3, swap=True))
    assert solution.value[0] == -1.0


@pytest.mark.parametrize(("options", "sentence"), [
    ({"size": 20}, "game.options.size=20 must be a whole number from 1 to 19"),
    ({"swap": 2}, "game.options.swap=2 must be true or false"),
])  # fmt: skip
def test_wrong_options_are_refused_in_a_sentence(options: dict[str, int], sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        make_game("hex", **options)
