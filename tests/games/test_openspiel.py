"""Games of OpenSpiel behind azero's interface: the same games, and refusals of unsupported ones."""

from __future__ import annotations

import pickle
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from running import RunProgram

import azero
from azero.check_game import main, report
from azero.config.schema import UserError
from azero.games import make_game
from azero.games.game import Game
from azero.games.laws.check import check_game
from azero.players import make_player

pyspiel = pytest.importorskip(
    "pyspiel", reason="OpenSpiel is not installed; it comes with the extra openspiel"
)

from azero.games import openspiel  # noqa: E402  after the skip

# name: options. In dots_and_boxes and mancala one side may move twice; in chess OpenSpiel's player 1 moves
# first.
GAMES: dict[str, dict[str, Any]] = {
    "breakthrough": {"rows": 5, "columns": 4},
    "dots_and_boxes": {},
    "tic_tac_toe": {},
    "mancala": {},
    "nim": {"pile_sizes": "1;2;3"},
    "chess": {"max_plies": 500},
}
TOY = (
    "cycles=1", "network.blocks=1", "network.channels=4", "search.num_simulations=4", "selfplay.games=32",
    "workers=2", "selfplay.concurrent_games=16", "train.batch_size=16", "train.epochs=1", "evaluate.games=4",
    "device=cpu",
)  # fmt: skip


def engine_of(game: Game) -> openspiel.OpenSpielEngine:
    """The adapter behind a game."""
    return getattr(game.format_state, "__self__")  # noqa: B009  mypy knows no __self__ of a Callable


@pytest.fixture(params=GAMES)
def named(request: pytest.FixtureRequest) -> tuple[str, Game]:
    """OpenSpiel's name of a game, and the game."""
    return request.param, make_game(f"openspiel:{request.param}", **GAMES[request.param])


def random_actions(game: Game, seed: int) -> list[int]:
    """One random game."""
    rng, state, actions = np.random.default_rng(seed), game.initial_state(), list[int]()
    while not game.is_terminal(state):
        actions.append(int(rng.choice(game.legal_actions(state))))
        state = game.step(state, actions[-1])
    return actions


@pytest.mark.parametrize("name", ["breakthrough", "dots_and_boxes"])
def test_a_game_of_openspiel_keeps_every_law(name: str) -> None:
    check = check_game(make_game(f"openspiel:{name}", **GAMES[name]), games=30, seed=1)
    assert not check.findings, report(check)
    assert len(check.terminals) == 30


def test_random_games_are_those_of_openspiel_played_directly(named: tuple[str, Game]) -> None:
    name, game = named
    parameters = {key: value for key, value in GAMES[name].items() if key != "max_plies"}
    for seed in range(5):
        theirs, state = pyspiel.load_game(name, parameters).new_initial_state(), game.initial_state()
        first = theirs.current_player()
        for action in random_actions(game, seed):
            assert not theirs.is_terminal() and not game.is_terminal(state)
            player = theirs.current_player()
            assert game.to_play(state) == (player != first)
            assert game.legal_actions(state) == sorted(theirs.legal_actions())
            assert game.format_state(state) == str(theirs)
            planes = game.planes(state)
            assert planes[:-1].ravel().tolist() == theirs.observation_tensor(player)
            assert (planes[-1] == (player != first)).all()
            theirs.apply_action(action)
            state = game.step(state, action)
        assert game.is_terminal(state)
        if theirs.is_terminal():
            assert game.outcome(state) == theirs.returns()[first] * (1 - 2 * game.to_play(state))


def test_at_the_end_whoever_did_not_make_the_last_move_is_to_play(named: tuple[str, Game]) -> None:
    _, game = named
    state, last = game.initial_state(), 0
    for action in random_actions(game, 9):
        last, state = game.to_play(state), game.step(state, action)
    assert game.to_play(state) == 1 - last


def test_tic_tac_toe_is_azeros_own() -> None:
    ours, theirs = make_game("tictactoe"), make_game("openspiel:tic_tac_toe")
    for seed in range(20):
        mine, other = ours.initial_state(), theirs.initial_state()
        for action in random_actions(ours, seed):
            assert ours.legal_actions(mine) == theirs.legal_actions(other)
            mine, other = ours.step(mine, action), theirs.step(other, action)
        assert ours.is_terminal(mine) and theirs.is_terminal(other)
        assert (ours.outcome(mine), ours.to_play(mine)) == (theirs.outcome(other), theirs.to_play(other))


def test_a_search_with_the_same_seed_plays_the_same_moves_in_either_tic_tac_toe() -> None:
    def moves(name: str) -> list[int]:
        game = make_game(name)
        player = make_player("uct", game, num_simulations=60)
        player.new_games(np.array([7], np.uint64))
        state, chosen = game.initial_state(), list[int]()
        while not game.is_terminal(state):
            chosen.append(int(player.choose(state[None], np.zeros(1, np.int64), np.full(1, len(chosen)))[0]))
            state = game.step(state, chosen[-1])
        return chosen

    assert moves("openspiel:tic_tac_toe") == moves("tictactoe")


def test_a_state_means_the_same_to_an_engine_that_has_not_seen_its_game(named: tuple[str, Game]) -> None:
    name, game = named
    state = game.initial_state()
    for action in random_actions(game, 3)[:-1]:
        state = game.step(state, action)
    state = pickle.loads(pickle.dumps(state))
    parameters = {key: value for key, value in GAMES[name].items() if key != "max_plies"}
    fresh = openspiel.adapt(pyspiel.load_game(name, parameters), game.max_plies)
    assert not engine_of(fresh).kept
    assert fresh.format_state(state) == game.format_state(state)
    assert fresh.legal_actions(state) == game.legal_actions(state)


def test_no_more_positions_are_kept_than_allowed_and_answers_stay_right(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(openspiel, "POSITIONS_KEPT", 3)
    game = openspiel.adapt(pyspiel.load_game("hex", {"board_size": 4}), 16)
    check = check_game(game, games=5, seed=1)
    assert not check.findings, report(check)
    assert len(engine_of(game).kept) == 3


def test_the_key_is_equal_for_one_position_reached_in_two_ways() -> None:
    game = make_game("openspiel:hex", board_size=4)

    def key(*actions: int) -> bytes:
        state, words = game.initial_state(), np.zeros(game.key_words, np.uint64)
        for action in actions:
            state = game.step(state, action)
        game.rules.evaluation_key(state, words)
        return words.tobytes()

    assert key(0, 5, 9) == key(9, 5, 0)
    assert len({key(0, 5, 9), key(0, 9, 5), key(0, 5), key()}) == 4


def test_a_side_that_closes_a_box_moves_again() -> None:
    game = make_game("openspiel:dots_and_boxes")
    for seed in range(5):
        state, movers = game.initial_state(), list[int]()
        for action in random_actions(game, seed):
            movers.append(game.to_play(state))
            state = game.step(state, action)
        assert any(first == second for first, second in pairwise(movers))


def test_a_game_without_a_board_has_cells_of_one() -> None:
    assert make_game("openspiel:nim", **GAMES["nim"]).planes_shape[1:] == (1, 1)


def test_actions_are_called_as_openspiel_calls_them_for_both_players() -> None:
    game = make_game("openspiel:tic_tac_toe")
    names = [game.action_name(game.initial_state(), action) for action in (0, 8)]
    assert names == ["(0,0)", "(2,2)"]  # x(0,0), o(0,0)
    go = make_game("openspiel:go", board_size=5)
    assert [go.action_name(go.initial_state(), action) for action in (0, 24, 25)] == ["a1", "e5", "pass"]
    chess = make_game("openspiel:chess", max_plies=500)
    assert chess.action_name(chess.initial_state(), 9) == "9"  # Nf3, or Nxf3: it depends on the position
    assert go.parse_action(go.initial_state(), "PASS") == 25


def test_a_longer_game_than_allowed_is_a_draw() -> None:
    game = make_game("openspiel:breakthrough", max_plies=10)
    for seed in range(5):
        actions, state = random_actions(game, seed), game.initial_state()
        for action in actions:
            state = game.step(state, action)
        assert len(actions) == 10 and game.outcome(state) == 0.0
    check = check_game(game, games=10)
    assert not check.findings, report(check)


@pytest.mark.parametrize(
    "name, options, parts",
    [
        ("backgammon", {}, ["openspiel:backgammon", "chance moves"]),
        ("dark_hex", {}, ["hidden information"]),
        ("oshi_zumo", {}, ["at the same time"]),
        ("chinese_checkers", {"players": 3}, ["3 players"]),
        ("chess", {}, ["17,695 plies", "game.options.max_plies"]),
        ("breakthrough", {"max_plies": 0}, ["game.options.max_plies=0", "from 1 to 209"]),
        ("breakthrough", {"row": 5}, ["unknown setting 'game.options.row'; did you mean game.options.rows?"]),
        ("breakthrough", {"rows": "five"}, ["game.options.rows=five must be a whole number"]),
        ("breakthrough(rows=5", {}, ["breakthrough(rows=5", "bracket"]),
        ("breakthru", {}, ["game.name=breakthru ", "breakthrough"]),
        ("", {}, ["game.name= ", "breakthrough", "hex"]),
    ],
)
def test_what_cannot_be_played_is_refused_with_the_reason(
    name: str, options: dict[str, Any], parts: list[str]
) -> None:
    with pytest.raises(UserError) as refusal:
        make_game(f"openspiel:{name}", **options)
    text = str(refusal.value)
    assert text.endswith((".", "?")) and "\n" not in text and all(part in text for part in parts), text


def test_a_missing_openspiel_is_answered_with_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspiel", None)
    with pytest.raises(UserError, match=r'pip install "azero\[openspiel\]"'):
        make_game("openspiel:breakthrough")


def test_parameters_may_stand_in_the_name_or_among_the_options() -> None:
    assert make_game("openspiel:breakthrough(rows=5,columns=4)") is make_game(
        "openspiel:breakthrough", rows=5, columns=4
    )
    assert make_game("openspiel:breakthrough(rows=5,columns=4)").options == {
        "rows": 5,
        "columns": 4,
        "max_plies": 57,
    }
    assert make_game("openspiel:misere(game=tic_tac_toe())").num_actions == 9
    assert make_game("openspiel:go", board_size=5, komi=7).options["komi"] == 7.0


def test_check_game_takes_a_game_of_openspiel(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["openspiel:breakthrough", "rows=4", "columns=4", "games=10"]) == 0
    assert "openspiel:breakthrough: 10 random games, " in capsys.readouterr().out


@pytest.mark.long
def test_a_game_of_openspiel_is_trained_and_goes_on_however_it_is_named(
    run_program: RunProgram, tmp_path: Path
) -> None:
    sizes = ("game.options.rows=4", "game.options.columns=4", *TOY)
    done = run_program("loop", "game=openspiel", "game.name=breakthrough", *sizes, folder=tmp_path)
    assert done.returncode == 0 and not done.stderr, done.stdout + done.stderr
    assert (tmp_path / "checkpoints" / "breakthrough" / "champion" / "000000.pt").is_file()
    champion = azero.load_champion("breakthrough", str(tmp_path / "checkpoints"), "cpu")
    assert champion.game.name == "openspiel:breakthrough" and champion.play_game().outcome in (1.0, -1.0)
    again = run_program("loop", "game=openspiel:breakthrough", *sizes, folder=tmp_path)
    assert again.returncode == 0 and "has finished its 1 cycle already" in again.stdout, (
        again.stdout + again.stderr
    )
    other = run_program(
        "loop", "game=openspiel", "game.name=hex", "run=breakthrough", *sizes[2:], folder=tmp_path
    )
    assert other.returncode == 2 and "game.name openspiel:breakthrough → openspiel:hex" in other.stderr
