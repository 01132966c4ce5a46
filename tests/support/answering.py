"""Networks, positions and ways to compute, for the tests of what stands between a network and its answers."""

from __future__ import annotations

from dataclasses import astuple, replace
from importlib.util import find_spec

import numpy as np
import pytest
import torch

from azero.config.schema import NetworkConfig
from azero.games.game import Game
from azero.network import backends
from azero.network.blocks import last_layers
from azero.network.inference import InferenceChoice
from azero.network.model import Network, build_network
from azero.stages.backend import positions_to_time

BATCH = 64
KINDS = [
    NetworkConfig(blocks=3, channels=16, block=block, head=head, policy_output=output)
    for block in ("residual", "pyramid")
    for head in ("convolutional", "pooled")
    for output in ("logits", "linear")
]
KINDS += [
    replace(kind, value_output="wdl")
    for kind in KINDS
    if kind.block == "residual" and kind.policy_output == "logits"
]
KINDS += [replace(KINDS[0], head="spatial", value_output=output) for output in ("scalar", "wdl")]
WAYS = [(backend, precision) for backend in ("torch", "openvino") for precision in ("fp32", "bf16")]
EVERY_WAY = [*WAYS, ("openvino", "int8")]  # "auto" takes int8 for wide networks only

needs_openvino = pytest.mark.skipif(find_spec("openvino") is None, reason="needs OpenVINO, the extra cpu")
every_kind = pytest.mark.parametrize(
    "config", KINDS, ids=lambda config: "-".join(str(choice) for choice in astuple(config)[2:])
)
every_way = pytest.mark.parametrize("way", EVERY_WAY, ids="-".join)


def choice_of(way: tuple[str, str], batch_size: int = BATCH) -> InferenceChoice:
    """That way on the CPU; skips the test where this machine lacks it."""
    if reason := backends.obstacle(*way, "cpu"):
        pytest.skip(reason)
    return InferenceChoice(*way, batch_size, "cpu", 0.0)


def positions(game: Game, count: int = BATCH) -> np.ndarray:
    """[count, C, H, W] positions of random play."""
    return positions_to_time(game, count, seed=1)


def lived_in(config: NetworkConfig, game: Game) -> Network:
    """Return a network whose batch norms differ from the identity in scale, shift and statistics."""
    network = build_network(config, game, 3)
    generator = torch.Generator().manual_seed(4)
    for layer in network.modules():
        if isinstance(layer, torch.nn.BatchNorm2d):
            assert layer.running_mean is not None and layer.running_var is not None
            for tensor, low, high in (
                (layer.weight, 0.5, 1.5),
                (layer.bias, -1, 1),
                (layer.running_mean, -1, 1),
            ):
                tensor.data.uniform_(low, high, generator=generator)
            layer.running_var.uniform_(0.3, 2, generator=generator)
    for head in (network.policy_head, network.value_head):
        for last in last_layers(head):
            for parameter in last.parameters():
                parameter.data.mul_(10)  # a new network's outputs are near 0
    return network
