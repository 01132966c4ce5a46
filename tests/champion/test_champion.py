"""The Python interface: values and moves of a champion, here of a random network in a run of its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from searching import FakeInference

import azero
from azero.champion.champion import Champion
from azero.config.schema import Config, NetworkConfig, SearchConfig, UserError
from azero.games import make_game
from azero.games.playing import GameInProgress
from azero.players import make_player
from azero.run.run import Run

SMALL = NetworkConfig(blocks=1, channels=4, value_hidden=4)


@pytest.fixture(scope="module")
def champion(tmp_path_factory: pytest.TempPathFactory) -> Champion:
    """The champion of a run that has only been initialized."""
    from azero.network.model import build_network, pack_network

    folder = tmp_path_factory.mktemp("champion")
    config = Config(network=SMALL, checkpoints=str(folder / "checkpoints"), data=str(folder / "data"))
    game = make_game("tictactoe")
    data = pack_network(build_network(SMALL, game, 3), game=game)
    with Run.open(config, "random", "test") as run:
        run.commit(replace(run.state, champion=run.write_network("champion", 0, data), stage="selfplay"))
    return azero.load_champion("random", str(folder / "checkpoints"), device="cpu")


def test_a_policy_is_a_distribution_over_legal_moves(champion: Champion) -> None:
    for moves in ("", "4", "4 0 8", "0 1 2 4 3 5 7"):
        state = champion.position(moves)
        policy, legal = champion.policy(state), champion.game.legal_mask(state)
        assert policy.shape == (9,) and policy.sum() == pytest.approx(1.0, abs=1e-6)
        assert (policy[legal] > 0).all() and (policy[~legal] == 0).all()


def test_a_value_is_the_networks_for_the_player_to_move(champion: Champion) -> None:
    state = champion.position("4 0")
    planes = np.repeat(champion.game.planes(state)[None], champion.network.inference.batch_size, axis=0)
    assert champion.value(state) == pytest.approx(
        float(champion.network.inference.infer(planes)[1][0]), abs=1e-6
    )


def test_the_value_of_a_finished_game_is_its_outcome(champion: Champion) -> None:
    assert (
        champion.value(champion.position("0 3 1 4 2")) == -1.0
    )  # the first player has three in a row; the second is to play
    assert champion.value(champion.position("0 1 2 4 3 5 7 6 8")) == 0.0


def test_the_search_finds_a_win_in_one_and_asks_twice_alike(champion: Champion) -> None:
    state = champion.position("0 3 1 4")  # 2 wins
    assert champion.best_move(state) == 2
    assert champion.best_move(state) == 2


def test_a_game_is_played_to_its_end(champion: Champion) -> None:
    game = champion.play_game()
    state = champion.position(" ".join(game.moves))
    assert champion.game.is_terminal(state)
    assert game.board == champion.game.format_state(state)
    assert str(game).splitlines()[0] == " ".join(game.moves)
    assert game == champion.play_game()


@pytest.mark.parametrize("moves_first", [True, False])
def test_the_outcome_is_told_for_the_first_player(champion: Champion, moves_first: bool) -> None:
    class FirstFree:
        """Always takes the first free cell, and so loses to a search."""

        name = "first_free"
        deterministic = True

        def new_games(self, seeds: np.ndarray) -> None:
            """Nothing to begin."""

        def choose(
            self, states: np.ndarray, games: np.ndarray, plies: np.ndarray, banned: np.ndarray | None = None
        ) -> np.ndarray:
            """The first legal action."""
            return np.array([champion.game.legal_actions(state)[0] for state in states])

    game = champion.play_game(FirstFree(), moves_first=moves_first)
    state = champion.position(" ".join(game.moves))
    winner = (len(game.moves) - 1) % 2 if champion.game.outcome(state) else None
    assert game.outcome == {0: 1.0, 1: -1.0, None: 0.0}[winner]
    assert str(game).endswith(f"\n{game.result}")
    assert game.result == {0: "X wins", 1: "O wins", None: "Draw"}[winner]


def test_any_player_can_be_the_opponent(champion: Champion) -> None:
    game = champion.play_game(make_player("alpha_beta", champion.game))
    assert game.outcome <= 0.0


@pytest.mark.parametrize("moves, named", [("9", "'9'"), ("x", "'x'"), ("4 4", "'4'"), ("0 3 1 4 2 5", "'5'")])
def test_a_move_that_cannot_be_is_named(champion: Champion, moves: str, named: str) -> None:
    with pytest.raises(UserError, match=named):
        champion.position(moves)


@pytest.mark.parametrize("moves", [5, None, ["4", "0"]])
def test_moves_that_are_no_text_get_one_sentence(champion: Champion, moves: Any) -> None:
    with pytest.raises(UserError, match=r"^position\(.*\): moves must be one text"):
        champion.position(moves)


@pytest.mark.parametrize("ask", [Champion.value, Champion.policy, Champion.best_move, Champion.picture])
@pytest.mark.parametrize("state", [np.zeros(2, np.int64), np.zeros(3, np.uint64), "0 4", None], ids=str)
def test_what_is_no_state_gets_one_sentence(
    champion: Champion, ask: Callable[[Champion, Any], object], state: Any
) -> None:
    with pytest.raises(UserError, match=r"^A state of tictactoe is an array of 2 uint64 words"):
        ask(champion, state)


def test_a_move_that_repeats_a_position_is_not_legal_where_superko_holds() -> None:
    game = make_game("go", size=2, komi=0.5)
    champion = Champion(game, FakeInference(game), SearchConfig(num_simulations=2))
    at, rng, banned = GameInProgress(game), np.random.default_rng(0), np.zeros(game.num_actions, np.bool_)
    while not banned.any():
        if at.is_over or len(at.actions) > 30:
            at = GameInProgress(game)
        at.play(int(rng.choice(at.legal_actions())))
        found = at.banned()
        assert found is not None
        banned = found & (not at.is_over)
    repeat = game.action_name(game.initial_state(), int(np.flatnonzero(banned)[0]))
    champion.position(" ".join(at.moves))
    with pytest.raises(UserError, match="is not legal after"):
        champion.position(" ".join([*at.moves, repeat]))


@pytest.mark.parametrize("ask", [Champion.best_move, Champion.policy])
def test_a_finished_game_has_no_move(
    champion: Champion, ask: Callable[[Champion, np.ndarray], object]
) -> None:
    with pytest.raises(UserError, match="over"):
        ask(champion, champion.position("0 3 1 4 2"))


def test_a_run_that_is_not_there_is_answered_with_those_that_are(tmp_path: Path, champion: Champion) -> None:
    with pytest.raises(UserError, match="nonsense"):
        azero.load_champion("nonsense", str(tmp_path))


def test_a_run_s_name_that_is_no_text_gets_one_sentence() -> None:
    number: Any = 5
    with pytest.raises(UserError, match=r"^run=5 cannot name a folder; use letters, digits, '-' and '_'\.$"):
        azero.load_champion(number)


# Search


def test_a_search_says_what_it_knows_of_each_action(champion: Champion) -> None:
    state = champion.position("4 0 1")  # 7 is forced, else the first player has 1, 4 and 7
    found = champion.search(state, num_simulations=200)
    legal = champion.game.legal_mask(state)
    assert found.best_move == found.line[0] == 7
    assert found.visits.sum() == found.simulations <= 200
    assert (found.visits[~legal] == 0).all() and (found.priors[~legal] == 0).all()
    assert np.isnan(found.values[found.visits == 0]).all() and np.isnan(found.lower[~legal]).all()
    assert found.priors == pytest.approx(champion.policy(state), abs=1e-5)
    tried = found.visits > 0
    assert (np.abs(found.values[tried]) <= 1).all() and -1 <= found.value <= 1
    assert (found.lower[legal] <= found.upper[legal]).all()
    after = state
    for action in found.line:
        assert champion.game.legal_mask(after)[action]
        after = champion.game.step(after, action)


@pytest.mark.parametrize("solver", [False, True])
def test_a_proven_win_has_bounds_and_ends_a_search_with_proofs(champion: Champion, solver: bool) -> None:
    search = SearchConfig(solver=solver)
    prover = Champion(champion.game, champion.network.inference, search)
    found = prover.search(champion.position("0 3 1 4"), num_simulations=500)  # 2 wins
    assert (found.best_move, found.line) == (2, (2,)) and found.value > 0.5
    assert (found.lower[2], found.upper[2]) == (1.0, 1.0)
    assert (found.simulations < 500) == solver


def test_without_a_number_the_search_is_the_run_s_and_agrees_with_best_move(champion: Champion) -> None:
    for moves in ("", "4", "4 0 8", "0 4"):
        state = champion.position(moves)
        found = champion.search(state)
        assert found.best_move == champion.best_move(state)
        assert found.simulations <= SearchConfig().num_simulations
        again = champion.search(state)
        assert (again.visits == found.visits).all() and again.line == found.line


def test_a_number_of_simulations_may_be_numpy_s(champion: Champion) -> None:
    number: Any = np.int64(5)
    assert champion.search(champion.position("4"), number).simulations == 5


def test_a_search_with_the_moves_plays_no_repeat() -> None:
    game = make_game("go", size=2, komi=0.5)
    searched = Champion(game, FakeInference(game), SearchConfig(num_simulations=30))
    at, banned = GameInProgress(game), np.zeros(5, np.bool_)
    while not banned.any():  # the first legal stone, until one would repeat a position
        at.play(at.legal_actions()[0])
        found = at.banned()
        assert found is not None and not at.is_over
        banned = found
    assert searched.search(at.state).visits[banned].any()
    with_moves = searched.search(at.state, moves=" ".join(at.moves))
    assert not with_moves.visits[banned].any() and not banned[with_moves.best_move]


@pytest.mark.parametrize(
    ("moves", "options", "said"),
    [
        ("4", {"num_simulations": 0}, "num_simulations=0 must be a whole number"),
        ("4", {"moves": "3"}, r"search\(moves='3'\): these moves lead to another position than the state\."),
        ("4", {"moves": "9"}, "'9'"),
        ("4", {"moves": 4}, r"^search\(moves=4\): moves must be one text with spaces between the moves\.$"),
        ("4", {"moves": ["4"]}, r"^search\(moves=\['4'\]\): moves must be one text"),
        ("0 3 1 4 2", {}, "is over; there is no move to choose"),
    ],
)
def test_a_search_that_cannot_be_is_refused(
    champion: Champion, moves: str, options: dict[str, Any], said: str
) -> None:
    with pytest.raises(UserError, match=said):
        champion.search(champion.position(moves), **options)
