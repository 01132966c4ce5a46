"""One worker's compiled code: openings, the search before each ply, and the record that it writes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hand_driven import PLAIN, HandDriven
from places import DOUBLE_MOVE
from searching import FakeInference, after

from azero.config.schema import Config, SearchConfig
from azero.games import make_game
from azero.games.game import Game
from azero.players.pv_mcts import PvMcts
from azero.process.seeds import SELFPLAY, game_seeds
from azero.process.signals import StopSignal
from azero.search.root import Temperature
from azero.search.tree import NO_LEAF, ROOT, UNVISITED, edges_of, soften
from azero.workers.games import (
    FINISHED,
    FULL,
    IDLE,
    PLAYING,
)
from azero.workers.threads import GameQueue, make_workers

GAMES = ("tictactoe", DOUBLE_MOVE)


def test_a_game_without_an_opening_starts_at_the_initial_state(game: Game) -> None:
    played = HandDriven(game, 5)
    assert (played.worker.status == PLAYING).all() and (played.worker.ply == 0).all()
    assert (played.tree.states[:, ROOT] == game.initial_state()).all()


def test_openings_are_random_plies_that_count_as_not_searched(game: Game) -> None:
    settings = PLAIN._replace(opening_fraction=1.0, opening_plies=4)
    played = HandDriven(game, 4000, settings)
    worker = played.worker
    # 1, 2, 3 or 4 plies, a quarter of the games each
    np.testing.assert_allclose(
        np.bincount(worker.ply, minlength=6)[1:5] / 4000, 0.25, atol=5 * (0.25 * 0.75 / 4000) ** 0.5
    )
    assert worker.ply.min() == 1 and worker.ply.max() == 4
    # the first action is any of nine
    np.testing.assert_allclose(
        np.bincount(worker.actions[:, 0], minlength=9) / 4000, 1 / 9, atol=5 * (8 / 81 / 4000) ** 0.5
    )
    for place in range(200):
        state = game.initial_state()
        for ply in range(worker.ply[place]):
            assert (worker.states[place, ply] == state).all() and worker.to_play[place, ply] == game.to_play(
                state
            )
            assert not worker.searched[place, ply]
            assert worker.root_value[place, ply] == 0.0 and worker.target_counts[place, ply] == 0
            state = game.step(state, int(worker.actions[place, ply]))
        assert (played.tree.states[place, ROOT] == state).all()


def test_an_opening_stops_before_the_ply_that_would_end_the_game(game: Game) -> None:
    played = HandDriven(game, 100, PLAIN._replace(opening_fraction=1.0, opening_plies=100, num_simulations=4))
    assert (played.worker.ply <= 8).all() and (played.worker.ply >= 1).all()
    assert not any(game.is_terminal(state) for state in played.tree.states[:, ROOT])
    played.play_out()
    assert (played.worker.status == FINISHED).all()


def test_the_share_of_games_with_an_opening_is_the_one_asked_for(game: Game) -> None:
    played = HandDriven(game, 4000, PLAIN._replace(opening_fraction=0.3, opening_plies=2))
    assert (played.worker.ply > 0).mean() == pytest.approx(0.3, abs=5 * (0.3 * 0.7 / 4000) ** 0.5)


def test_a_share_of_the_games_begins_with_lines_of_a_book_that_count_as_not_searched(game: Game) -> None:
    """Half of 4,000 games begin with 0 4, or with 8 4 2, as often; the others at the initial state."""
    book = np.array([[0, 4, -1], [8, 4, 2]], np.int32)
    played = HandDriven(game, 4000, PLAIN._replace(book=book, book_fraction=0.5))
    worker = played.worker
    shares = np.bincount(worker.ply, minlength=4) / 4000
    np.testing.assert_allclose(shares, [0.5, 0.0, 0.25, 0.25], atol=5 * (0.25 / 4000) ** 0.5)
    for place in range(200):
        plies = worker.ply[place]
        line = book[plies - 2][:plies] if plies else []
        assert worker.actions[place, :plies].tolist() == list(line)
        assert not worker.searched[place, :plies].any()
        assert (played.tree.states[place, ROOT] == after(game, *line)).all()
    few = HandDriven(game, 40, PLAIN._replace(book=book, book_fraction=0.5))
    few.play_out()
    assert (few.worker.status == FINISHED).all()


def test_after_a_wave_every_game_waits_for_the_network_or_is_finished(game: Game) -> None:
    played = HandDriven(game, 12)
    finished, evaluated = 0, []
    while finished < 12:
        finished = played.wave()
        waiting = played.tree.searches["leaf"] != NO_LEAF
        assert (waiting == (played.worker.status == PLAYING)).all()
        assert finished == (played.worker.status == FINISHED).sum()
        if finished < 12:
            evaluated.append(played.evaluate())
            assert evaluated[-1] == 12 - finished
    assert evaluated[0] == 12


def test_an_idle_place_plays_no_game(game: Game) -> None:
    played = HandDriven(game, 3)
    played.worker.status[1] = IDLE
    while played.wave() < 2:
        assert played.evaluate() <= 2
    assert played.worker.status.tolist() == [FINISHED, IDLE, FINISHED]
    assert played.worker.ply[1] == 0


@pytest.mark.parametrize("name", GAMES, ids=["tictactoe", "double_move"])
@pytest.mark.parametrize("tree_reuse", [True, False], ids=["tree kept", "tree anew"])
def test_each_ply_s_target_and_value_are_those_of_a_search_of_its_state(name: str, tree_reuse: bool) -> None:
    """Without noise, the player of a match finds the same visits, one state after another."""
    game = make_game(name)
    settings = PLAIN._replace(tree_reuse=tree_reuse, num_simulations=24)
    played = HandDriven(game, 6, settings)
    played.play_out()
    player = PvMcts(
        game, FakeInference(game), SearchConfig(num_simulations=24, tree_reuse=tree_reuse), cache=0
    )
    player.new_games(np.zeros(6, np.uint64))
    for place in range(6):
        for ply in range(played.worker.ply[place]):
            player.search_states(played.worker.states[place, ply][None], np.array([place]))
            counts = player.visit_counts(np.array([place]))[0]
            np.testing.assert_array_equal(
                played.target(place, ply), (counts / counts.sum()).astype(np.float32)
            )
            assert played.worker.root_value[place, ply] == np.float32(
                player.root_values(np.array([place]))[0]
            )
            assert played.worker.searched[place, ply]
            assert counts[played.worker.actions[place, ply]] > 0


def test_a_new_tree_has_exactly_the_simulations_asked_for_and_a_kept_one_more(game: Game) -> None:
    for tree_reuse in (False, True):
        played = HandDriven(game, 8, PLAIN._replace(tree_reuse=tree_reuse))
        played.play_out()
        at_end = played.tree.nodes["node_visits"][
            :, ROOT
        ]  # of the last search: 1 + its simulations, and those kept
        assert (at_end == 17).all() if not tree_reuse else (at_end > 17).any()
        assert (at_end >= 17).all()


def test_at_temperature_0_the_most_visited_action_is_played(game: Game) -> None:
    played = HandDriven(game, 8, PLAIN._replace(temperature=Temperature(1.0, 2, 0, 0.0)))
    played.play_out()
    worker = played.worker
    differs = False
    for place in range(8):
        best = [played.target(place, ply).argmax() for ply in range(worker.ply[place])]
        actions = worker.actions[place, : worker.ply[place]]
        assert (actions[2:] == best[2:]).all()
        differs |= bool((actions[:2] != best[:2]).any())
    assert differs


def test_the_outcome_is_the_first_player_s(game: Game) -> None:
    """Players that want the lowest free cell: X 0, O 1, X 2, O 3, X 4, O 5; X wins with 6 (2 4 6)."""
    lowest = np.arange(9, 0, -1, dtype=np.float32) * 40
    settings = PLAIN._replace(num_simulations=1, temperature=Temperature(0.0, 0, 0, 0.0))
    played = HandDriven(game, 2, settings, answer=lambda planes: (lowest, np.float32(0)))
    played.play_out()
    assert played.worker.actions[0, : played.worker.ply[0]].tolist() == [0, 1, 2, 3, 4, 5, 6]
    assert played.worker.first_outcome.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("search", [SearchConfig(), SearchConfig(kind="gumbel", tree_reuse=False)])
def test_games_whose_targets_need_more_room_are_the_same(game: Game, search: SearchConfig) -> None:
    """There is room for the targets of one ply at first, so games are FULL more than once."""
    settings = PLAIN._replace(tree_reuse=search.tree_reuse, opening_fraction=0.5, opening_plies=3)
    wide, narrow = (HandDriven(game, 12, settings, search=search) for _ in range(2))
    room = np.zeros((12, game.num_actions))
    narrow.worker = narrow.worker._replace(
        target_actions=room.astype(np.int32), target_weights=room.astype(np.float32)
    )
    full = 0
    while narrow.wave() < 12 or (narrow.worker.status == FULL).any():
        full += int((narrow.worker.status == FULL).sum())
        narrow.make_room()
        narrow.evaluate()
    wide.play_out()
    assert full > 1 and narrow.worker.target_actions.shape[1] < wide.worker.target_actions.shape[1] == 9 * 9
    for field in ("status", "ply", "stream", "actions", "target_counts", "targets", "root_value"):
        np.testing.assert_array_equal(getattr(narrow.worker, field), getattr(wide.worker, field))
    for place in range(12):
        for ply in range(wide.worker.ply[place]):
            np.testing.assert_array_equal(narrow.target(place, ply), wide.target(place, ply))


def test_self_play_makes_room_for_targets(game: Game, monkeypatch: pytest.MonkeyPatch) -> None:
    def played() -> tuple[list[list[Any]], int]:
        config = Config(search=SearchConfig(num_simulations=16))
        (worker,) = make_workers(game, [FakeInference(game)], config)
        queue = GameQueue(iter(range(20)))
        worker.play(queue, game_seeds(1, 1, SELFPLAY, 20), StopSignal())
        games = [[each.actions.tolist(), each.root_value.tolist()] for each in queue.in_order()]
        return games, worker.worker.target_actions.shape[1]

    wide, most = played()
    monkeypatch.setattr("azero.workers.games.TARGET_PLIES", 1)
    narrow, room = played()
    assert narrow == wide and 9 < room < most == 9 * 9


def softmax(logits: np.ndarray) -> np.ndarray:
    weights = np.exp(logits.astype(np.float64) - logits.max())
    return weights / weights.sum()


def test_noise_is_in_the_root_and_in_no_other_node(game: Game) -> None:
    settings = PLAIN._replace(num_simulations=30)
    played = HandDriven(game, 3, settings, search=SearchConfig(dirichlet_fraction=0.5))
    for _ in range(8):
        assert played.wave() == 0
        played.evaluate()
    tree = played.tree
    for place in range(3):
        for index in range(tree.searches["num_nodes"][place]):
            if not tree.nodes["expanded"][place, index]:
                continue
            state = tree.states[place, index]
            legal = game.legal_mask(state)
            logits, _ = played.inference.answer(game.planes(state))
            clean = softmax(logits[legal])
            soften(tree, place, index)
            edges = edges_of(tree, place, index)
            assert edges["action"].tolist() == game.legal_actions(state)
            prior = edges["prior"]
            if index == ROOT:
                assert np.abs(prior - clean).max() > 0.01
                assert prior.sum() == pytest.approx(1.0, abs=1e-6)
            else:
                np.testing.assert_allclose(prior, clean, atol=1e-6)


def test_a_kept_child_gets_noise_when_it_becomes_the_root(game: Game) -> None:
    played = HandDriven(game, 4, search=SearchConfig(dirichlet_fraction=1.0, dirichlet_alpha=0.3))
    while (played.worker.ply == 0).any():
        assert played.wave() == 0
        played.evaluate()
    for place in range(4):
        state = played.tree.states[place, ROOT]
        assert played.worker.ply[place] == 1
        legal = game.legal_mask(state)
        clean = softmax(played.inference.answer(game.planes(state))[0][legal])
        edges = edges_of(played.tree, place, ROOT)
        assert edges["child"].max() != UNVISITED
        assert np.abs(edges["prior"] - clean).max() > 0.01
