"""The benchmark of training: multiply-adds by hand, its table, its command line."""

from __future__ import annotations

import sys

import pytest
from places import SCRIPTS

from azero.config.schema import NetworkConfig
from azero.games import make_game
from azero.network.model import build_network

sys.path.insert(0, str(SCRIPTS))
import bench_train


def test_multiply_adds_by_hand() -> None:
    """Tic-tac-toe with one block of 8 channels, heads of 8 planes, 5 hidden units of the value.

    Stem 2*8*9 and block 2*8*8*9 weights, two 1x1 convolutions of 8*8, all on 9 cells; dense 72*9 + 72*5 +
    5*1.
    """
    game = make_game("tictactoe")
    planes = game.planes_shape[0]
    network = build_network(NetworkConfig(blocks=1, channels=8, value_hidden=5), game, 1)
    by_hand = (planes * 8 * 9 + 2 * 8 * 8 * 9 + 2 * 8 * 8) * 9 + 72 * 9 + 72 * 5 + 5
    assert bench_train.multiply_adds(network) == by_hand


def test_a_row_says_what_share_of_the_peak_is_used() -> None:
    """64 examples in 0.1 s are 640 a second.

    Of 1000 multiply-adds each, that is 64 % of a million, which would do for 1,000.
    """
    way = bench_train.Way("bf16", 2, True)
    assert (
        bench_train.row(way, 0.1, 64, 1000, 1e6)
        == "| bf16, 2 threads, channels last | 100.0 | 640 | 64% | 1,000 |"
    )
    assert str(bench_train.Way("fp32", 1, False)) == "fp32, 1 thread, channels first"


def test_the_defaults_are_connect_four_in_the_recipe_s_batches() -> None:
    config = bench_train.config_of(bench_train.parse([]))
    assert (config.game.name, config.network.blocks, config.network.channels) == ("connect_four", 6, 64)
    assert config.train.batch_size == 256 and config.train.epochs == 1
    changed = bench_train.config_of(
        bench_train.parse(["--batch", "64", "--network", "1x8", "train.precision=fp32"])
    )
    assert (changed.train.batch_size, changed.network.channels, changed.train.precision) == (64, 8, "fp32")


def test_a_toy_bench_ends_with_the_figure(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench_train, "MATRIX", 64)
    monkeypatch.setattr(bench_train, "cores", lambda: 1)
    words = "--game tictactoe --network 1x4 --batch 16 --examples 64 --rounds 1"
    monkeypatch.setattr("sys.argv", ["bench_train.py", *words.split()])
    bench_train.main()
    lines = capsys.readouterr().out.splitlines()
    assert sum(line.startswith(("| fp32", "| bf16")) for line in lines) == 4
    assert lines[-1].startswith("examples_per_second=") and float(lines[-1].split("=")[1]) > 0
