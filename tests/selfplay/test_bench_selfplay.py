"""The benchmark of self-play: its arithmetic, its command line, and a stage at toy size."""

from __future__ import annotations

import argparse
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from places import SCRIPTS

from azero.search.counters import WorkerStats

SCRIPTS = SCRIPTS
sys.path.insert(0, str(SCRIPTS))
import bench_selfplay  # noqa: E402

STATS = WorkerStats(
    games=10,
    plies=300,
    simulations=8000,
    evaluations=6000,
    rows=8000,
    cache_asked=100,
    cache_found=25,
    seconds=15.0,
    inference_seconds=12.0,
    full_seconds=10.0,
    full_evaluations=5000,
)
ROUND = bench_selfplay.Round(
    10.0, 1.5, 1.0, 0.5, STATS, workers=2, pure=1200.0, inference="torch fp32 on cpu, batches of 64"
)


def test_rates_are_over_the_whole_stage() -> None:
    assert (ROUND.simulations, ROUND.evaluations, ROUND.positions, ROUND.games) == (800.0, 600.0, 30.0, 1.0)


def test_the_steady_state_is_that_of_all_workers_in_full_waves() -> None:
    """5,000 evaluations in 10 s of workers' time are 500 a second in each of 2 workers."""
    assert ROUND.steady == 1000.0
    assert replace(ROUND, stats=WorkerStats(evaluations=3)).steady == 0.0


def test_shares_are_of_the_workers_time_and_sum_to_one() -> None:
    """Two workers for 10 s are 20 s: 12 in the network, 3 in the tree, 5 before, after and idle."""
    assert ROUND.inference_share == pytest.approx(0.6)
    assert ROUND.search_share == pytest.approx(0.15)
    assert ROUND.rest_share == pytest.approx(0.25)
    assert (ROUND.fill, ROUND.hits) == (0.75, 0.25)


def test_the_table_has_medians_and_ends_with_the_figure() -> None:
    slow, fast = replace(ROUND, seconds=20.0), replace(ROUND, seconds=5.0)
    lines = bench_selfplay.table([fast, ROUND, slow]).splitlines()
    stage = "stage: 10.00 s, of them 1.50 before the first game (1.00 to choose the inference)"
    assert f"{stage} and 0.50 after the last" in lines
    # 6,000 evaluations in the other 9 s are 667 a second
    later = "evaluations of a later stage, which need not choose, over pure inference: 0.556"
    assert later in lines
    assert lines[-1] == "simulations_per_second=800"
    assert lines[-2] == "evaluations_over_pure_inference=0.500"
    assert (
        "| simulations | 800 | 1,333 | |" in lines
    )  # 1000 evaluations/s in full waves, 8 simulations to 6 evaluations


def test_a_network_s_size_is_blocks_by_channels() -> None:
    assert bench_selfplay.network_size("6x64") == (6, 64)
    for wrong in ("6", "x64", "6x", "sixxten", "6x64x2"):
        with pytest.raises(argparse.ArgumentTypeError, match="6x64"):
            bench_selfplay.network_size(wrong)


def test_the_defaults_are_connect_four_without_a_cache() -> None:
    config = bench_selfplay.config_of(bench_selfplay.parse([]))
    assert (config.game.name, config.network.blocks, config.network.channels) == ("connect_four", 6, 64)
    assert (config.search.num_simulations, config.inference.cache, config.selfplay.games) == (32, 0, 400)


def test_options_and_settings_reach_the_config() -> None:
    words = "--game tictactoe --network 4x32 --games 7 --workers 1 --concurrent 8 --precision fp32"
    config = bench_selfplay.config_of(bench_selfplay.parse([*words.split(), "seed=5", "search.fpu=0.5"]))
    assert (config.game.name, config.network.blocks, config.selfplay.games, config.workers) == (
        "tictactoe",
        4,
        7,
        1,
    )
    assert (config.selfplay.concurrent_games, config.inference.precision, config.search.fpu) == (
        8,
        "fp32",
        0.5,
    )
    assert config.seed == 5


@pytest.mark.long
def test_a_stage_at_toy_size(tmp_path: Path) -> None:
    """One small stage of tic-tac-toe in a process of its own; nothing of it stays."""
    words = [
        "--game",
        "tictactoe",
        "--network",
        "1x4",
        "--simulations",
        "3",
        "--games",
        "20",
        "--rounds",
        "1",
    ]
    command = [sys.executable, str(SCRIPTS / "bench_selfplay.py"), *words]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=280)
    assert done.returncode == 0, done.stderr
    name, value = done.stdout.splitlines()[-1].split("=")
    assert name == "simulations_per_second" and float(value) > 0
    assert "20 games" in done.stdout and not list(tmp_path.iterdir())
