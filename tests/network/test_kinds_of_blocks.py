"""The networks of scripts/experiments/blocks.py, which learn in place of azero's own layers."""

from __future__ import annotations

import pytest
import torch
from blocks import Tower
from places import PROJECT

from azero.config.schema import NetworkConfig
from azero.games import make_game
from azero.network.model import check_network, first_network

FILE = str(PROJECT / "scripts" / "experiments" / "blocks.py")
SHAPE = 2, 6, 7  # of Connect Four's planes


@pytest.mark.parametrize("kind", ["tower", "attention", "transformer"])
def test_each_kind_keeps_what_training_and_search_rely_on(kind: str) -> None:
    options = {"kind": kind, "blocks": 2, "channels": 16}
    check_network(NetworkConfig(file=FILE, options=options, value_output="wdl"), make_game("connect_four"))


def test_the_tower_is_azero_s_own() -> None:
    """As many weights, in layers of the same shapes."""
    own = first_network(
        NetworkConfig(blocks=5, channels=64, value_output="wdl"), make_game("connect_four"), 1
    )
    shapes = [sorted(tuple(each.shape) for each in net.parameters()) for net in (own, Tower(SHAPE, 7))]
    assert shapes[0] == shapes[1]


def test_a_cell_attends_to_all_others_and_to_none_of_another_board() -> None:
    torch.manual_seed(1)
    layers = Tower(SHAPE, 7, "transformer", blocks=1, channels=16).tower.eval()
    boards = torch.randn(2, 16, 6, 7)
    changed = boards.clone()
    changed[0, 0, 0, 0] += 1
    differs = (layers(changed) - layers(boards)).abs().amax(1) > 1e-6
    assert differs[0].all() and not differs[1].any()
