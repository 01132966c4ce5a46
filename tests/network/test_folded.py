"""A folded network answers like the network it comes from."""

from __future__ import annotations

import torch
from answering import every_kind, lived_in, positions

from azero.config.schema import NetworkConfig
from azero.games.game import Game
from azero.network.folded import FoldedNetwork


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
