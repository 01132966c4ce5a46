"""Go against pictures, published counts, a plain Python twin, OpenSpiel and GNU Go.

Pictures show rows from the top, X for black, who plays first, and O for white.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gnugo import PROGRAM, PlayedGo, choose, compare_with_gnugo
from numba import njit
from plain_go import PlainGo

from azero.config.schema import UserError
from azero.games import make_game
from azero.games.game import Game
from azero.games.kit.grid import common, flood, make_grid, neighbours, only_cell, same, union, without

BLACK, WHITE = 0, 1


def go(size: int, **options: Any) -> Game:
    return make_game("go", size=size, **options)


def rows_of(picture: str) -> list[str]:
    """The rows of a picture without the spaces between its cells."""
    return ["".join(row.split()) for row in picture.strip().splitlines()]


def drawn(game: Game, state: np.ndarray) -> list[str]:
    """A state as the rows of a picture."""
    assert game.board is not None
    return ["".join(".XO"[mark] for mark in row) for row in game.board.marks(state)]


def legal(game: Game, state: np.ndarray, name: str) -> bool:
    return game.parse_action(state, name) in game.legal_actions(state)


def play(game: Game, state: np.ndarray, moves: str) -> np.ndarray:
    """The state after moves such as "c3 pass d4", each of them legal."""
    for name in moves.split():
        assert legal(game, state, name), f"{name} is not legal:\n{game.format_state(state)}"
        state = game.step(state, game.parse_action(state, name))
    return state


def moves_to(game: Game, picture: str, to_play: int) -> str:
    """Moves from the empty board to a picture; who has no stone left to place passes.

    Nothing is captured on the way: a chain that is not complete yet has an empty cell beside it.
    """
    cells = "".join(rows_of(picture))
    black, white = (
        [game.action_name(game.initial_state(), cell) for cell, mark in enumerate(cells) if mark == stone]
        for stone in "XO"
    )
    pairs = max(len(black), len(white))
    moves = [side[pair] if pair < len(side) else "pass" for pair in range(pairs) for side in (black, white)]
    if moves and moves[-1] == "pass":
        moves.pop()
    return " ".join(moves if len(moves) % 2 == to_play else [*moves, "pass"])


def position(game: Game, picture: str, to_play: int = BLACK) -> np.ndarray:
    """A state of that picture."""
    state = play(game, game.initial_state(), moves_to(game, picture, to_play))
    assert drawn(game, state) == rows_of(picture)
    assert game.to_play(state) == to_play
    return state


# Captures and suicide


def test_a_chain_without_liberties_is_captured() -> None:
    game = go(5)
    before = """
        . . . . .
        X X X X X
        O O O O O
        O O O O O
        . O O O O
    """
    after = """
        . . . . .
        X X X X X
        . . . . .
        . . . . .
        X . . . .
    """
    assert drawn(game, play(game, position(game, before), "a1")) == rows_of(after)


def test_one_stone_captures_several_chains() -> None:
    game = go(5)
    before = """
        . . X . .
        . X O X .
        X O . O X
        . X O X .
        . . X . .
    """
    after = """
        . . X . .
        . X . X .
        X . X . X
        . X . X .
        . . X . .
    """
    assert drawn(game, play(game, position(game, before), "c3")) == rows_of(after)


def test_suicide_of_one_stone_is_refused() -> None:
    game = go(4)
    picture = """
        . O . .
        O . . .
        . . . .
        . . . .
    """
    assert not legal(game, position(game, picture, BLACK), "a4")
    assert legal(game, position(game, picture, WHITE), "a4")


def test_suicide_of_several_stones_is_refused() -> None:
    game = go(4)
    picture = """
        . . . .
        O O O .
        X X X O
        X . X O
    """
    assert not legal(game, position(game, picture, BLACK), "b1")
    after = play(game, position(game, picture, WHITE), "b1")
    assert drawn(game, after) == ["....", "OOO.", "...O", ".O.O"]


def test_the_last_liberty_may_be_filled_to_capture() -> None:
    game = go(4)
    picture = """
        . O X .
        O X . .
        X . . .
        . . . .
    """
    assert drawn(game, play(game, position(game, picture), "a4")) == ["X.X.", ".X..", "X...", "...."]


def test_snapback() -> None:
    game = go(5)
    picture = """
        . . . . .
        . . . . .
        . X X X .
        X O O O X
        X O . . X
    """
    state = play(game, position(game, picture), "c1 d1")  # white takes one stone
    assert drawn(game, state)[3:] == ["XOOOX", "XO.OX"]
    state = play(
        game, state, "c1"
    )  # black takes five: taking back is forbidden only where one stone took one
    assert drawn(game, state)[3:] == ["X...X", "X.X.X"]


# Ko and superko


@pytest.mark.parametrize("superko", ["positional", "simple"])
def test_a_ko_is_taken_back_only_after_a_move_elsewhere(superko: str) -> None:
    game = go(4, superko=superko)
    picture = """
        . X O .
        X O . O
        . X O .
        . . . .
    """
    state = play(game, position(game, picture), "c3")
    assert drawn(game, state) == [".XO.", "X.XO", ".XO.", "...."]
    assert game.format_state(state).endswith("O to play; the ko forbids b3")
    assert np.flatnonzero(game.planes(state)[3]).tolist() == [game.parse_action(state, "b3")]
    assert not legal(game, state, "b3")
    state = play(game, state, "d1 a1")
    assert drawn(game, play(game, state, "b3")) == [".XO.", "XO.O", ".XO.", "X..O"]


SEND_TWO = """
    . . . .
    . . . .
    X X O .
    . O . O
"""


def test_superko_forbids_a_cycle_of_three_plies() -> None:
    game = go(4)
    played = PlayedGo(game)
    for (
        name
    ) in f"{moves_to(game, SEND_TWO, WHITE)} a1 c1".split():  # white sends two stones, black takes them
        played.play(game.parse_action(played.state, name))
    assert drawn(game, played.state) == ["....", "....", "XXO.", "..XO"]
    return_one = game.parse_action(played.state, "b1")
    assert drawn(game, game.step(played.state, return_one)) == rows_of(SEND_TWO)
    assert return_one not in played.legal_actions()
    assert return_one in game.legal_actions(played.state)  # a state knows no history


def test_simple_superko_lets_positions_come_back() -> None:
    game = go(4, superko="simple")
    assert game.repetition_words == 0
    state = play(game, position(game, SEND_TWO, WHITE), "a1 c1 b1")
    assert drawn(game, state) == rows_of(SEND_TWO)


def test_passing_is_never_a_repetition() -> None:
    game = go(4)
    played = PlayedGo(game)
    for name in ("a1", "pass", "b1"):
        played.play(game.parse_action(played.state, name))
    assert 16 in played.legal_actions()


# The end


SEKI = """
    . . O . .
    O O O O .
    X X X O O
    . O X X O
    O O . X O
"""


def test_in_seki_who_fills_a_shared_liberty_is_captured() -> None:
    game = go(5)
    state = play(game, position(game, SEKI, WHITE), "a2 c1")
    assert drawn(game, state) == ["..O..", "OOOO.", "XXXOO", "..XXO", "..XXO"]
    state = play(game, position(game, SEKI, BLACK), "a2 c1")
    assert drawn(game, state) == ["..O..", "OOOO.", "...OO", ".O..O", "OOO.O"]


def test_a_seki_is_scored_by_its_stones() -> None:
    game = go(5)
    state = play(game, position(game, SEKI, BLACK), "pass pass")
    # black: 6 stones; white: 12 stones and 5 cells at the top; a2 and c1 are nobody's; 6 + 17 + 2 = 25
    assert game.format_state(state).endswith("over; O leads by 18.5 with komi 7.5")
    assert game.outcome(state) == -1.0


@pytest.mark.parametrize(("komi", "outcome"), [(-0.5, 1.0), (0, 0.0), (0.5, -1.0)])
def test_empty_cells_that_see_both_colours_count_for_nobody_and_komi_decides(
    komi: float, outcome: float
) -> None:
    game = go(5, komi=komi)
    picture = """
        . X . O .
        . X . O .
        . X . O .
        . X . O .
        . X . O .
    """
    for to_play, turned in ((BLACK, outcome), (WHITE, -outcome)):
        state = play(game, position(game, picture, to_play), "pass pass")  # 10 cells for each side
        assert game.to_play(state) == to_play
        assert game.outcome(state) == turned


def test_two_passes_in_a_row_end_the_game() -> None:
    game = go(5)
    state = play(game, game.initial_state(), "pass a1 pass")
    assert not game.is_terminal(state)
    assert game.format_state(state).endswith("O to play; X has passed")
    assert game.planes(state)[5].all()
    state = play(game, state, "pass")
    assert game.is_terminal(state)
    assert game.to_play(state) == BLACK
    assert game.outcome(state) == -1.0  # white owns the board


def test_a_game_that_reaches_max_plies_is_scored_as_it_stands() -> None:
    game = go(5, max_plies=3, komi=0.5)
    assert game.max_plies == 3
    state = play(game, game.initial_state(), "a1 pass")
    assert not game.is_terminal(state)
    state = play(game, state, "b1")
    assert game.is_terminal(state)
    assert game.to_play(state) == WHITE
    assert game.outcome(state) == -1.0  # black owns the board
    assert go(5).max_plies == 2 * 25


# Names and options


def test_moves_are_named_by_column_and_row_without_the_letter_i() -> None:
    game = go(9)
    names = [game.action_name(game.initial_state(), action) for action in range(game.num_actions)]
    assert names[0] == "a9" and names[8] == "j9" and names[72] == "a1" and names[81] == "pass"
    assert [game.parse_action(game.initial_state(), name) for name in names] == list(range(82))
    assert not any("i" in name for name in names)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"size": 1}, "game.options.size=1 must be a whole number from 2 to 19."),
        ({"size": 20}, "game.options.size=20 must be a whole number from 2 to 19."),
        ({"size": 9.0}, "game.options.size=9.0 must be a whole number from 2 to 19."),
        ({"komi": "much"}, "game.options.komi=much must be a number from -361 to 361."),
        ({"komi": float("nan")}, "game.options.komi=nan must be a number from -361 to 361."),
        ({"superko": "situational"}, "game.options.superko=situational must be one of: positional, simple."),
        ({"max_plies": -1}, "game.options.max_plies=-1 must be a whole number from 0 to 10,000."),
    ],
)
def test_wrong_options_are_refused_with_one_sentence(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UserError) as refused:
        make_game("go", **options)
    assert str(refused.value) == sentence


# Counts


@njit
def count_legal_positions(cells, grid):  # type: ignore[no-untyped-def]
    """How many of all boards are legal: every chain is reached from an empty cell beside it."""
    legal_positions = 0
    for code in range(3**cells):
        black = white = without(grid.cells, grid.cells)
        for cell in range(cells):
            if code % 3 == 1:
                black = union(black, only_cell(cell, grid))
            elif code % 3 == 2:
                white = union(white, only_cell(cell, grid))
            code //= 3
        beside = neighbours(without(grid.cells, union(black, white)), grid)
        alive = True
        for stones in (black, white):
            alive = alive and same(flood(common(beside, stones), stones, grid), stones)
        legal_positions += alive
    return legal_positions


@pytest.mark.parametrize(("size", "published"), [(2, 57), (3, 12_675)])
def test_legal_positions_are_as_many_as_published(size: int, published: int) -> None:
    assert count_legal_positions(size * size, make_grid(size)) == published


# Side by side with other rules


def names_of(game: Game, actions: list[int]) -> set[str]:
    return {game.action_name(game.initial_state(), action) for action in actions}


def play_beside_the_twin(size: int, seed: int, look_every: int = 1) -> int:
    """Play a random game here and in plain Python, compare everything.

    Return how many moves superko alone forbade.
    """
    game, rng = go(size), np.random.default_rng(seed)
    played, twin = PlayedGo(game), PlainGo(size)
    while not game.is_terminal(played.state):
        if len(twin.history) % look_every == 0:
            planes = game.planes(played.state).reshape(6, -1)
            atari = {
                twin.name(point) for point in twin.stones if len(twin.liberties(twin.stones, point)) == 1
            }
            assert names_of(game, np.flatnonzero(planes[2]).tolist()) == atari
            assert names_of(game, game.legal_actions(played.state)) == twin.legal_moves("simple")
            assert names_of(game, played.legal_actions()) == twin.legal_moves("positional")
        action = choose(
            played, game.legal_actions(played.state) if look_every > 1 else played.legal_actions(), rng
        )
        played.play(action)
        twin.play(game.action_name(game.initial_state(), action))
        for side, colour in enumerate(("black", "white")):
            assert played.stones(side) == {
                twin.name(point) for point, stone in twin.stones.items() if stone == colour
            }
    assert twin.passes == 2 or len(twin.history) - 1 == game.max_plies
    lead = twin.lead() - 7.5
    assert game.outcome(played.state) == np.sign(lead if twin.mover == "black" else -lead)
    return played.repeats


@pytest.mark.parametrize(
    ("size", "games"), [(2, 40), (3, 20), (4, 10), (5, 6), (6, 2), (7, 1), (8, 1), (9, 1)]
)
def test_random_games_are_those_of_the_plain_twin(size: int, games: int) -> None:
    repeats = sum(play_beside_the_twin(size, seed) for seed in range(games))
    assert repeats > 0 or size > 3


@pytest.mark.long
def test_a_random_game_on_19x19_is_that_of_the_plain_twin() -> None:
    play_beside_the_twin(19, seed=1, look_every=40)


@pytest.mark.skipif(PROGRAM is None, reason="GNU Go is not installed; Debian's package is gnugo")
@pytest.mark.parametrize(("size", "games"), [(9, 3), (3, 10)])
def test_random_games_agree_with_gnu_go(size: int, games: int) -> None:
    played, plies, mismatches = compare_with_gnugo(games, seed=1, size=size)
    assert played == games and plies > games
    assert mismatches == 0
