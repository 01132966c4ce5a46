"""A folded network answers like the network it comes from."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from answering import every_kind, lived_in, positions
from torch import Tensor
from torch.nn import functional

from azero.config.schema import NetworkConfig
from azero.games import make_game
from azero.games.game import Game
from azero.network.folded import FoldedNetwork
from azero.network.model import build_network


@every_kind
def test_folded_equals_unfolded(game: Game, config: NetworkConfig) -> None:
    network, planes = lived_in(config, game), torch.from_numpy(positions(game))
    folded = FoldedNetwork(network)
    with torch.no_grad():
        policy, value = network(planes)
        expected = policy.clamp_min(1e-6).log() if config.policy_output == "linear" else policy
        logits, own_value = folded(planes)
    assert torch.allclose(logits.exp(), expected.exp(), rtol=1e-4, atol=1e-5)
    assert torch.allclose(own_value, value, atol=1e-5)


def test_a_board_edge_sees_the_padding_that_training_saw(game: Game) -> None:
    """The first batch norm of a pyramid block precedes the zero padding; folded into the kernel it would be
    wrong at the edge.
    """
    network = lived_in(NetworkConfig(blocks=1, channels=4, block="pyramid"), game)
    corner = torch.zeros(1, 2, 3, 3)
    with torch.no_grad():
        assert torch.allclose(FoldedNetwork(network)(corner)[0], network(corner)[0], atol=1e-5)


def test_what_a_gpu_fuses_is_the_same_block(monkeypatch: pytest.MonkeyPatch) -> None:
    """cuDNN's kernel as its documents define it, max(0, conv(x) + times * added + bias), stands in."""
    calls = list[float]()

    def kernel(x: Tensor, weight: Tensor, added: Tensor, times: float, bias: Tensor, *rest: Any) -> Tensor:
        assert rest == ((1, 1), (1, 1), (1, 1), 1) and added.shape == x.shape
        calls.append(times)
        return (functional.conv2d(x, weight, bias, padding=1) + times * added).relu()

    game = make_game("connect_four")
    network = FoldedNetwork(build_network(NetworkConfig(blocks=2, channels=8), game, seed=1)).eval()
    planes = torch.rand(3, *game.planes_shape)
    with torch.no_grad():
        expected = network(planes)
        monkeypatch.setattr(torch, "cudnn_convolution_add_relu", kernel)
        monkeypatch.setattr("azero.network.folded.fuses", lambda x: True)
        half = network(planes)
        network.lend_zeros(3, game.planes_shape[1:])
        whole = network(planes)
    assert calls == [1.0, 1.0, 0.0, 1.0, 0.0, 1.0]  # two blocks without zeros, two with
    for found in (half, whole):
        for mine, other in zip(found, expected, strict=True):
            torch.testing.assert_close(mine, other)
