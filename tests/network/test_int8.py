"""int8: the levels come from the network's own play, the same each time, and 0 is one of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from answering import BATCH, choice_of, lived_in, needs_openvino, positions

from azero.config.schema import NetworkConfig
from azero.games.game import Game
from azero.network.backends import make_inference
from azero.network.folded import FoldedNetwork
from azero.network.int8 import GAMES, own_play, play_alone
from azero.network.model import Network, build_network
from azero.network.openvino_graph import Graph, levels, openvino


@pytest.fixture(scope="module")
def network(game: Game) -> Network:
    return build_network(NetworkConfig(blocks=2, channels=8), game, 1)


def test_the_network_plays_itself_from_the_first_ply_to_the_last_and_again(
    game: Game, network: Network
) -> None:
    stones = own_play(FoldedNetwork(network), game).planes.sum(axis=(2, 3, 4))  # [plies, games]
    assert stones.shape == (9, GAMES) and not stones[0].any()
    assert ((np.diff(stones, axis=0) == 1) | (stones[1:] == 0)).all()
    assert stones.max() == 8 and (stones[5:] == 0).any()


def test_ranges_hold_all_that_was_met_and_are_the_same_each_time(game: Game, network: Network) -> None:
    folded = FoldedNetwork(network)
    ranges = own_play(folded, game).ranges
    assert ranges == play_alone(folded, game).ranges and len(ranges) == 4
    with torch.no_grad():
        first = torch.relu(folded.stem(torch.from_numpy(own_play(folded, game).planes).flatten(0, 1)))
    assert ranges[0] == pytest.approx((0.0, float(first.max())))


def test_its_answers_are_the_network_s_own_and_the_last_networks_are_remembered(
    game: Game, network: Network
) -> None:
    folded = FoldedNetwork(network)
    played = own_play(folded, game)
    with torch.no_grad():
        logits, values = network(torch.from_numpy(played.planes).flatten(0, 1))
    assert np.allclose(played.logits.reshape(logits.shape), logits, atol=1e-4)
    assert np.allclose(played.values.ravel(), values, atol=1e-4)
    assert own_play(FoldedNetwork(network), game) is played
    others = [FoldedNetwork(build_network(network.config, game, seed)) for seed in (2, 3)]
    assert own_play(others[0], game) is not played and own_play(folded, game) is played
    own_play(others[0], game), own_play(others[1], game)
    assert own_play(folded, game) is not played


def test_a_linear_policy_plays_other_games_with_equal_weights(game: Game, network: Network) -> None:
    linear = build_network(replace(network.config, policy_output="linear"), game, 1)
    one, other = (own_play(FoldedNetwork(each), game) for each in (network, linear))
    assert not np.array_equal(one.logits[0], other.logits[0])


def test_long_games_are_fewer(game: Game, network: Network, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("azero.network.int8.POSITIONS", 95)
    other = build_network(network.config, game, 9)
    assert own_play(FoldedNetwork(other), game).planes.shape[:2] == (9, 10)


@needs_openvino
@pytest.mark.parametrize("block", ["residual", "pyramid"])
def test_equal_networks_give_equal_answers(game: Game, block: str) -> None:
    config = NetworkConfig(blocks=2, channels=8, block=block)
    one, other = (
        make_inference(lived_in(config, game), game, choice_of(("openvino", "int8"))) for _ in range(2)
    )
    planes = positions(game)
    assert all(
        np.array_equal(own, right) for own, right in zip(one.infer(planes), other.infer(planes), strict=True)
    )


@needs_openvino
@pytest.mark.parametrize("low, high", [(0.0, 5.1), (-1.0, 3.0), (-2.0, 0.0), (0.0, 0.0)])
def test_levels_reach_from_end_to_end_and_keep_0(low: float, high: float) -> None:
    library = openvino()
    graph = Graph(library, (1, 1, 1, BATCH), {})
    answer = graph.op.result(levels(graph.op, graph.planes, low, high))
    model = library.Model([answer], [graph.planes], "levels")
    request = library.Core().compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    asked = np.linspace(low, high, BATCH, dtype=np.float32)
    asked[0] = 0.0
    found = request(asked.reshape(1, 1, 1, BATCH))[0].ravel()
    step = max(high - low, 1e-6) / 255
    assert abs(found[0]) < 1e-6 and np.abs(found - asked).max() <= step * 1.01
