"""Moves that the history forbids, on boards of Go so small that positions come back all the time. Keys are
the stones.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from gnugo import PlayedGo
from hand_driven import NOISELESS, PLAIN, HandDriven
from playing import play
from searching import FakeInference
from trees import root_with

from azero.champion.champion import Champion
from azero.config.schema import Config, SearchConfig
from azero.games import make_game
from azero.games.game import Game
from azero.games.repetition import History
from azero.match.lockstep import play_match
from azero.match.openings import random_opening, random_openings
from azero.players import Player, make_player
from azero.players.pv_mcts import PvMcts
from azero.process.signals import StopSignal
from azero.report.console import Progress
from azero.search.algorithm import sound_for
from azero.search.repetition import ban
from azero.search.tree import ROOT, edges_of
from azero.workers.threads import GameQueue, play_games


@pytest.fixture(scope="module")
def game() -> Game:
    return make_game("go", size=2, komi=0.5, max_plies=40)


def legal_throughout(game: Game, actions: list[int]) -> PlayedGo:
    """Return the history of a game with those plies. Superko must allow each."""
    played = PlayedGo(game)
    for ply, action in enumerate(actions):
        assert action in played.legal_actions(), f"ply {ply} repeats a position"
        played.play(action)
    return played


def test_what_the_history_forbids_is_what_a_list_of_all_positions_forbids(game: Game) -> None:
    rng = np.random.default_rng(3)
    forbidden = 0
    for _ in range(40):
        played, past, only = PlayedGo(game), History(game, 1), np.zeros(1, np.int64)
        while not game.is_terminal(played.state):
            banned = past.banned(only, played.state[None])
            assert banned is not None
            allowed = np.flatnonzero(game.legal_mask(played.state) & ~banned[0]).tolist()
            assert allowed == played.legal_actions()
            forbidden += int(banned.sum())
            past.add(only, played.state[None])
            played.play(int(rng.choice(allowed)))
    assert forbidden > 5


def test_a_pass_repeats_nothing(game: Game) -> None:
    past, only = History(game, 1), np.zeros(1, np.int64)
    start = game.initial_state()
    past.add(only, start[None])
    passed = play(game, "pass")
    banned = past.banned(only, passed[None])
    assert banned is not None and not banned.any()


def test_a_game_without_a_repetition_key_keeps_nothing() -> None:
    game = make_game("tictactoe")
    past = History(game, 3)
    past.add(np.arange(3), np.stack([game.initial_state()] * 3))
    assert past.banned(np.arange(3), np.stack([game.initial_state()] * 3)) is None
    assert past.states.size == 0


def test_a_banned_move_leaves_with_its_visits_and_the_others_share_its_prior() -> None:
    """Priors 0.5, 0.3, 0.2; visits 4, 2, 1. Without the first: 0.3 / 0.5 = 0.6 and 0.2 / 0.5 = 0.4, and 8 - 4
    visits are left.
    """
    tree = root_with(prior=[0.5, 0.3, 0.2], visits=[4, 2, 1], value_sums=[2.0, -1.0, 0.5])
    before, value_before = int(tree.nodes["node_visits"][0, ROOT]), float(tree.nodes["value_sum"][0, ROOT])
    ban(tree, 0, np.array([True, False, False]))
    edges = edges_of(tree, 0, ROOT)
    assert edges["action"].tolist() == [1, 2]
    np.testing.assert_allclose(edges["prior"], [0.6, 0.4], rtol=1e-6)
    assert edges["child_visits"].tolist() == [2, 1] and edges["child_value_sum"].tolist() == [-1.0, 0.5]
    assert tree.nodes["node_visits"][0, ROOT] == before - 4
    assert tree.nodes["value_sum"][0, ROOT] == value_before - 2.0


def test_where_all_of_the_prior_is_banned_the_rest_is_alike() -> None:
    tree = root_with(prior=[1.0, 0.0, 0.0], visits=[3, 0, 0], value_sums=[1.0, 0.0, 0.0])
    ban(tree, 0, np.array([True, False, False]))
    edges = edges_of(tree, 0, ROOT)
    assert edges["action"].tolist() == [1, 2]
    np.testing.assert_allclose(edges["prior"], [0.5, 0.5])


def test_nothing_is_proven_where_positions_may_not_repeat(game: Game) -> None:
    """A proof would be one for the game without superko. Where only a ko is not taken back, the rule is in
    the position.
    """
    asked = SearchConfig(solver=True, num_simulations=8)
    assert not PvMcts(game, FakeInference(game), asked).search.solver
    assert sound_for(asked, make_game("go", size=2, superko="simple")).solver
    records, _ = play_games(
        game,
        [FakeInference(game)],
        Config(search=asked),
        GameQueue(iter(range(4))),
        np.arange(4, dtype=np.uint64),
        Progress(),
        StopSignal(),
    )
    assert all(record.proven is None for record in records)


@pytest.mark.parametrize(("tree_reuse", "solver"), [(False, False), (True, False), (True, True)])
def test_self_play_never_repeats_a_position(game: Game, tree_reuse: bool, solver: bool) -> None:
    settings = PLAIN._replace(
        num_simulations=12, tree_reuse=tree_reuse, opening_fraction=0.5, opening_plies=12
    )
    played = HandDriven(game, 40, settings, search=replace(NOISELESS, solver=solver))
    played.play_out()
    forbidden = 0
    for place in range(40):
        plies = int(played.worker.ply[place])
        actions = played.worker.actions[place, :plies].tolist()
        forbidden += legal_throughout(game, actions).repeats
        targets = [played.target(place, ply) for ply in range(plies)]
        history = PlayedGo(game)
        for ply, action in enumerate(actions):
            allowed = history.legal_actions()
            assert targets[ply].sum() == pytest.approx(
                1.0 if played.worker.searched[place, ply] else 0.0, abs=1e-5
            )
            assert set(np.flatnonzero(targets[ply]).tolist()) <= set(allowed)
            history.play(action)
    assert forbidden > 5


@pytest.mark.parametrize("name", ["random", "uct", "alpha_beta", "policy", "pv_mcts"])
def test_no_player_repeats_a_position_in_a_match(game: Game, name: str) -> None:
    options: dict[str, dict[str, Any]] = {
        "uct": {"num_simulations": 20},
        "alpha_beta": {"depth": 3},
        "pv_mcts": {"num_simulations": 16},
    }
    needs_network = name in ("policy", "pv_mcts")
    inference = FakeInference(game) if needs_network else None
    player: Player = make_player(name, game, inference=inference, **options.get(name, {}))
    result = play_match(
        game,
        (player, make_player("random", game)),
        np.arange(30, dtype=np.uint64),
        random_openings(game, 6, 15),
    )
    assert sum(legal_throughout(game, played.actions).repeats for played in result.games) > 5


def test_a_champion_s_game_and_a_random_opening_repeat_nothing(game: Game) -> None:
    champion = Champion(game, FakeInference(game), SearchConfig(num_simulations=8))
    played = champion.play_game(make_player("random", game))
    legal_throughout(game, [game.parse_action(game.initial_state(), name) for name in played.moves])
    repeats = 0
    for seed in range(30):
        repeats += legal_throughout(game, random_opening(game, 15, np.random.default_rng(seed))).repeats
    assert repeats > 0
