"""The estimate of a recipe: it reports time, speed, memory and disk, and touches no run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from toy import NAME, toy_config

from azero import estimate
from azero.config.schema import Config, EvaluateConfig
from azero.games import make_game
from azero.report.console import Progress
from azero.stages import trials
from azero.stages.trials import Trial
from azero.workers.memory import cache_bytes, tree_bytes, worker_bytes


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SELFPLAY_SECONDS", "TRAIN_SECONDS", "MATCH_SECONDS"):
        monkeypatch.setattr(trials, name, 0.4)


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> tuple[Config, Trial]:
    config = toy_config(tmp_path_factory.mktemp("none"))
    return config, estimate.measure(config, NAME, tmp_path_factory.mktemp("trial"), Progress())


def test_an_estimate_touches_no_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = toy_config(tmp_path)
    assert estimate.run_asked(config, NAME) == 0
    assert list(tmp_path.iterdir()) == []
    told = capsys.readouterr().out
    for word in (
        "self-play",
        "train",
        "evaluate",
        "correctness",
        "together",
        "2 cycles:",
        "simulations/s",
        "memory",
        "disk",
    ):
        assert word in told, told
    assert "; the whole run takes " in told


def test_a_run_s_own_games_are_taken_where_it_has_finished_a_cycle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("azero.stages.measure.report_cycle", lambda *of: None)
    config = toy_config(tmp_path, cycles=1)
    assert estimate.known_plies(config, NAME) is None
    from azero import loop

    loop.run_asked(config, NAME)
    known = estimate.known_plies(config, NAME)
    assert known is not None and 5 <= known <= 9
    asked = replace(config, selfplay=replace(config.selfplay, games=400))
    assert estimate.known_plies(asked, NAME) == known  # of a game, however many a cycle is to have
    before = sorted(path for path in tmp_path.rglob("*"))
    estimate.run_asked(config, NAME)
    assert sorted(path for path in tmp_path.rglob("*")) == before


def test_memory_counts_the_workers_as_they_are_checked(measured: tuple[Config, Trial]) -> None:
    config, told = measured
    game = make_game("tictactoe")
    assert told.workers == 1
    large = replace(
        config,
        inference=replace(config.inference, cache=2**20),
        evaluate=replace(config.evaluate, games=0, anchor_games=0),  # a match would have two such caches
    )
    workers = worker_bytes(game, 16, large) / 2**20
    assert f"workers (1) {workers:,.0f}" in estimate.memory_text(large, told)
    match = replace(
        config, evaluate=replace(config.evaluate, games=20_000)
    )  # all under way together, a tree for each side
    needed = 2 * 20_000 * tree_bytes(game, config.search) + 2 * cache_bytes(game, match)
    assert f"match {needed / 2**20:,.0f}" in estimate.memory_text(match, told)


def test_a_cycle_s_games_are_those_of_the_recipe(measured: tuple[Config, Trial]) -> None:
    _, told = measured
    assert 5 <= told.plies <= 9 and told.whole and told.games == 40
    assert told.pace.examples == pytest.approx(40 * told.plies) and told.pace.selfplay > 0
    assert told.pace.evaluate > 0 and told.pace.step > 0


def test_games_that_did_not_end_are_multiplied(measured: tuple[Config, Trial]) -> None:
    """40 games and a quarter of the 16 in flight, of 25 simulations a ply, at 100 a second."""
    config, told = measured
    played = trials.Timer(1.0)
    began = played.progress.started
    played.made = [(began + 1, 50.0), (began + 2, 150.0)]  # the first second fills the cache
    each = told.plies * config.search.num_simulations / 100
    assert told.selfplay_seconds(played, 1) == pytest.approx((40 + 4) * each)


def test_a_cluster_s_speed_is_that_of_workers_that_have_started(monkeypatch: pytest.MonkeyPatch) -> None:
    """They begin after 4 s, make 100 a second, and the rate that is shown counts from the beginning."""
    now = 0.0
    monkeypatch.setattr(trials, "time", SimpleNamespace(monotonic=lambda: now))
    played = trials.Timer(60.0)
    for now in (5.0, 7.0, 10.0):
        played.progress.started = 4.0
        played.progress.stats = {"simulations_per_second": 100 * (now - 4) / now, "nodes": 1.0}
        played.look()
    assert played.simulations() == pytest.approx(100)


def test_the_range_is_as_wide_in_cycles_as_in_seconds(measured: tuple[Config, Trial]) -> None:
    config, told = measured
    _, low, high = estimate.estimate_seconds(config, told)
    assert high / low == pytest.approx(estimate.SPREAD**2)
    bounded = replace(config, minutes=5.0, cycles=1_000_000)
    held = estimate.cycles_held(bounded, told)
    few, many = (estimate.cycles_held(bounded, told, factor) for factor in (1.5, 1 / 1.5))
    assert 1 < few < held < many < 1_000_000
    text = estimate.time_text(bounded, told)
    assert f"cycle {held}" in text and f"for about {held} cycles, {few} to {many}" in text
    assert estimate.cycles_held(config, told) == config.cycles
    counted = replace(config, cycles=held)
    assert estimate.disk_text(bounded, told) == estimate.disk_text(counted, told)
    assert estimate.memory_text(bounded, told) == estimate.memory_text(counted, told)


def test_what_takes_too_long_is_stopped_and_multiplied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 100,000 games, 2,000 steps and a match of 4,000 games, only some are made."""
    monkeypatch.setattr(trials, "FEW_STEPS", 2000)
    for name in ("SELFPLAY", "TRAIN", "MATCH"):
        monkeypatch.setattr(trials, f"{name}_SECONDS", 0.5)
    config = toy_config(tmp_path)
    many = replace(
        config,
        selfplay=replace(config.selfplay, games=100_000),
        evaluate=replace(config.evaluate, games=4000),
    )
    told = estimate.measure(many, NAME, tmp_path / "trial", Progress())
    assert not told.whole and told.source.endswith("simulations a move")
    assert 0 < told.pace.step < 0.2 and told.pace.selfplay > 1 and told.pace.evaluate > 0.05


def test_games_against_fixed_opponents_take_time_where_there_is_no_match(tmp_path: Path) -> None:
    config = toy_config(tmp_path, evaluate=EvaluateConfig(games=0, gate="off", anchor_games=2, anchors=[5]))
    assert estimate.measure(config, NAME, tmp_path, Progress()).pace.evaluate > 0
    without = replace(config, evaluate=replace(config.evaluate, anchor_games=0))
    assert estimate.measure(without, NAME, tmp_path / "without", Progress()).pace.evaluate == 0
