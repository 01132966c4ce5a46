"""Every game keeps the laws of games/game.py, shipped or not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from places import DOUBLE_MOVE, MANY_ACTIONS

from azero.check_game import report
from azero.config.schema import UserError
from azero.games import SHIPPED, make_game
from azero.games.game import Game
from azero.games.kit.board import owner_of
from azero.games.laws.check import check_game

# Small boards, on which random games meet the corners of the rules often; full and smallest sizes stand in
# FULL_SIZE.
EVERY_GAME: list[tuple[str, dict[str, object]]] = [
    ("tictactoe", {}),
    ("connect_four", {}),
    ("connect_four", {"rows": 4, "columns": 3, "connect": 3}),
    ("othello", {"size": 4}),
    ("othello", {"size": 6}),
    ("go", {"size": 3, "komi": 0.5}),
    ("go", {"size": 5, "komi": 2.0, "superko": "simple"}),
    ("gomoku", {"rows": 3, "columns": 5, "connect": 3}),
    ("gomoku", {"rows": 8, "columns": 9, "connect": 4}),
    ("hex", {"size": 4, "swap": False}),
    ("hex", {"size": 5, "swap": True}),
    ("breakthrough", {"rows": 5, "columns": 4}),
    ("breakthrough", {"rows": 6, "columns": 6}),
    ("chess", {"variant": "gardner", "max_plies": 60}),
    (DOUBLE_MOVE, {}),
    (MANY_ACTIONS, {}),
]
FULL_SIZE: list[tuple[str, dict[str, object]]] = [
    ("connect_four", {"rows": 7, "columns": 8, "connect": 4}),
    ("connect_four", {"rows": 1, "columns": 1, "connect": 2}),
    ("go", {"size": 2}),
    ("gomoku", {"rows": 8, "columns": 8, "connect": 5}),
    ("gomoku", {"rows": 1, "columns": 1, "connect": 2}),
    ("hex", {"size": 1}),
    ("othello", {}),
    ("go", {}),
    ("gomoku", {}),
    ("hex", {"size": 11, "swap": True}),
    ("breakthrough", {}),
    ("breakthrough", {"rows": 4, "columns": 2}),
    ("breakthrough", {"rows": 32, "columns": 2}),
    ("chess", {"variant": "losalamos"}),
    ("chess", {}),
]


def title(entry: tuple[str, dict[str, object]]) -> str:
    """A game's name and options as the name of a test."""
    name, options = entry
    return " ".join([Path(name).stem, *map(str, options.values())])


@pytest.fixture(scope="module", params=EVERY_GAME, ids=title)
def game(request: pytest.FixtureRequest) -> Game:
    name, options = request.param
    return make_game(name, **options)


def test_every_shipped_game_is_tested() -> None:
    assert {name for name, _ in EVERY_GAME} >= set(SHIPPED)


@pytest.mark.parametrize("entry", FULL_SIZE, ids=title)
def test_a_game_of_full_or_smallest_size_keeps_every_law(entry: tuple[str, dict[str, object]]) -> None:
    name, options = entry
    check = check_game(make_game(name, **options), games=2, seed=5)
    assert not check.findings, report(check)


def test_the_board_shows_every_piece_that_is_placed(game: Game) -> None:
    """After a placement the cell that `cell_of` names is marked for the side that moved."""
    if game.board is None:
        pytest.skip("this game says nothing of its board")
    rng = np.random.default_rng(7)
    for _ in range(10):
        state = game.initial_state()
        while not game.is_terminal(state):
            action = int(rng.choice(game.legal_actions(state)))
            cell, mover = game.board.cell_of(state, action), game.to_play(state)
            state = game.step(state, action)
            marks = game.board.marks(state)
            assert marks.shape == (len(game.board.rows), len(game.board.columns))
            assert cell == -1 or owner_of(marks.ravel()[cell]) == mover + 1


def test_a_game_keeps_every_law(game: Game) -> None:
    check = check_game(game, games=20, seed=3)
    assert not check.findings, report(check)
    assert len(check.terminals) == 20
    assert max(check.lengths) <= game.max_plies
    assert len({look.state.tobytes() for look in check.terminals}) > 10
    assert check.movers == {0, 1}


def test_symmetries_form_a_group(game: Game) -> None:
    rows = {tuple(row) for row in game.action_symmetries.tolist()}
    assert len(rows) == len(game.action_symmetries)
    assert {
        tuple(second[first]) for first in game.action_symmetries for second in game.action_symmetries
    } == rows


def test_the_text_of_a_state_changes_with_every_move(game: Game) -> None:
    state = game.initial_state()
    texts = {game.format_state(state)}
    for ply in range(1, 4):
        state = game.step(state, game.legal_actions(state)[0])
        texts.add(game.format_state(state))
        assert len(texts) == ply + 1


def test_actions_are_parsed_as_they_are_written(game: Game) -> None:
    state = game.initial_state()
    actions = range(0, game.num_actions, 1 + game.num_actions // 100)
    for action in actions if game.fixed_names else game.legal_actions(state):
        assert game.parse_action(state, f" {game.action_name(state, action).upper()} ") == action
    with pytest.raises(ValueError, match="is not a move of"):
        game.parse_action(state, "nonsense")


def test_a_side_may_move_twice_in_a_row() -> None:
    game = make_game(DOUBLE_MOVE)
    state, movers = game.initial_state(), []
    for action in (0, 1, 3, 4, 2, 5, 6):
        movers.append(game.to_play(state))
        state = game.step(state, action)
    assert movers == [0, 1, 1, 0, 0, 1, 1]


def test_who_wins_with_the_first_of_two_stones_is_still_to_play_and_has_won() -> None:
    game = make_game(DOUBLE_MOVE)
    state = game.initial_state()
    for action in (0, 3, 6, 1, 7, 4, 8, 2):  # first: 0 1 7 2, second: 3 6 4 8
        assert not game.is_terminal(state)
        state = game.step(state, action)
    assert game.is_terminal(state)  # 0 1 2 by the first player, with the first stone of a turn
    assert game.to_play(state) == 0
    assert game.outcome(state) == 1.0


def test_an_unknown_game_is_refused_with_the_games_there_are() -> None:
    with pytest.raises(UserError, match="tictactoe"):
        make_game("noughts")
    with pytest.raises(UserError, match="cannot be read: No such file"):
        make_game("no_such_file.py")
    with pytest.raises(UserError, match="no options"):
        make_game("tictactoe", size=4)


def test_a_file_without_make_game_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty.py").write_text("")
    with pytest.raises(UserError, match="must define make_game"):
        make_game(str(tmp_path / "empty.py"))


def test_the_record_of_a_state_has_the_shapes_it_says(game: Game) -> None:
    state = game.initial_state()
    assert state.shape == (game.state_words,) and state.dtype == np.uint64
    assert game.planes(state).shape == game.planes_shape
    assert game.legal_mask(state).shape == (game.num_actions,)
