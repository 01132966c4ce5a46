"""A backend that gathers the logits of legal moves gives the games and searches of one that does not."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from searching import FakeInference, columns_of, random_game, searched, thought_of

from azero.config.schema import Config, NetworkConfig, SearchConfig, SelfplayConfig
from azero.games import make_game
from azero.games.game import Game
from azero.network.backends import make_inference
from azero.network.inference import InferenceChoice
from azero.network.model import build_network
from azero.network.side_by_side import SideBySideInference
from azero.players.pv_mcts import PvMcts
from azero.process.signals import StopSignal
from azero.report.console import Progress
from azero.workers.threads import GameQueue, play_games

SEARCHES = (
    SearchConfig(num_simulations=24, solver=True),
    SearchConfig(kind="gumbel", num_simulations=16, tree_reuse=False),
)


class GatheringInference(FakeInference):
    """Answers with the logits of the moves that it is asked for."""

    gathers = True

    def infer(
        self, planes: np.ndarray, rows: int | None = None, moves: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        logits, values = super().infer(planes, rows)
        assert moves is not None
        assert moves.shape[1] < self.game.num_actions  # the games below have no position with all actions
        return np.take_along_axis(logits[: len(moves)], moves, axis=1), values


@pytest.fixture(scope="module")
def othello() -> Game:
    return make_game("othello", size=4)


@pytest.mark.parametrize("search", SEARCHES, ids=lambda search: search.kind)
def test_self_play_is_the_same(othello: Game, search: SearchConfig) -> None:
    config = Config(search=search, selfplay=SelfplayConfig(games=12))
    games = []
    for kind in (FakeInference, GatheringInference):
        queue = GameQueue(iter(range(12)))
        played, _ = play_games(
            othello, [kind(othello)], config, queue, np.arange(12, dtype=np.uint64), Progress(), StopSignal()
        )
        games.append([(game.actions.tolist(), game.target_weights.tolist()) for game in played])
    assert games[0] == games[1]


@pytest.mark.parametrize("search", SEARCHES, ids=lambda search: search.kind)
def test_searches_side_by_side_are_the_same(othello: Game, search: SearchConfig) -> None:
    states = random_game(othello, np.random.default_rng(3))
    dense, gathered = (
        searched(othello, states, search, kind(othello)).visit_counts(np.arange(len(states)))
        for kind in (FakeInference, GatheringInference)
    )
    assert dense.any()
    assert np.array_equal(dense, gathered)


@pytest.mark.parametrize("cache", [0, 1024])
def test_a_search_of_one_position_is_the_same(othello: Game, cache: int) -> None:
    for state in random_game(othello, np.random.default_rng(4))[:6]:
        found = [
            columns_of(thought_of(PvMcts(othello, inference, SEARCHES[0], cache=cache), state), 17)
            for inference in (
                FakeInference(othello),
                GatheringInference(othello),
                SideBySideInference([GatheringInference(othello, batch_size=3) for _ in range(2)]),
            )
        ]
        for visits, values in found[1:]:
            assert np.array_equal(visits, found[0][0])
            np.testing.assert_array_equal(values, found[0][1])


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_a_gpu_gathers(othello: Game, monkeypatch: pytest.MonkeyPatch) -> None:
    network = build_network(NetworkConfig(), othello, 1)
    choice = InferenceChoice("torch", "fp32", 8, "cuda", 0.0)
    states = random_game(othello, np.random.default_rng(5))[:8]
    planes = np.stack([othello.planes(state) for state in states])
    logits, values = make_inference(network, othello, choice).infer(planes)
    moves = np.array([(othello.legal_actions(state) * 4)[:4] for state in states], np.int32)
    expected = np.take_along_axis(logits, moves, axis=1)
    for most in (5, 3):  # 3: too few for these moves, so that all logits leave the GPU
        monkeypatch.setattr("azero.network.torch_inference.GATHERED", most)
        inference = make_inference(network, othello, choice)
        found, again = inference.infer(planes, len(planes), moves)  # type: ignore[call-arg]
        assert found.shape[1] >= 4
        assert np.array_equal(found[:, :4], expected)
        assert np.array_equal(again, values)
        assert np.array_equal(inference.infer(planes)[0], logits)
