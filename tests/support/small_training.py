"""A small network, and batches for it."""

from __future__ import annotations

import pytest
import torch
from bench_train import examples_for

from azero.config.schema import NetworkConfig, TrainConfig
from azero.games.game import Game
from azero.network.model import Network
from azero.training import shards
from azero.training.batches import Batch, draw_batch, load_data

SMALL = NetworkConfig(blocks=2, channels=8)


TRAIN = TrainConfig(batch_size=30, precision="fp32", optimizer="sgd", momentum=0.9, lr=0.1)


@pytest.fixture(autouse=True)
def four_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shards of seven rows: a batch of 30 has four, of 7, 8, 7 and 8."""
    monkeypatch.setattr(shards, "SHARD_ROWS", 7)
    monkeypatch.setattr(shards, "PRODUCTS_A_SHARD", 1)


def batch_of(game: Game, rows: int = 30) -> Batch:
    return draw_batch(load_data(examples_for(game, rows), game, "cpu"), game, torch.arange(rows), None)


def bits(network: Network) -> dict[str, bytes]:
    return {name: value.numpy().tobytes() for name, value in network.state_dict().items()}
