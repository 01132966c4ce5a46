"""The estimate of a recipe: it reports time, speed, memory and disk, and touches no run."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest
from toy import NAME, toy_config

from azero import estimate
from azero.config.schema import Config, EvaluateConfig, InferenceConfig, SearchConfig
from azero.games import make_game
from azero.report.console import Progress
from azero.stages.trials import Trial
from azero.workers.memory import cache_bytes, tree_bytes, worker_bytes


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SELFPLAY_SECONDS", "TRAIN_SECONDS", "MATCH_SECONDS"):
        monkeypatch.setattr(estimate, name, 0.4)


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> tuple[Config, estimate.Measured]:
    config = toy_config(tmp_path_factory.mktemp("none"))
    return config, estimate.measure(config, NAME, tmp_path_factory.mktemp("trial"), Progress())


def test_an_estimate_touches_no_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = toy_config(tmp_path)
    assert estimate.main(config, NAME) == 0
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

    loop.main(config, NAME)
    known = estimate.known_plies(config, NAME)
    assert known is not None and 5 <= known <= 9
    asked = replace(config, selfplay=replace(config.selfplay, games=400))
    assert estimate.known_plies(asked, NAME) == known  # of a game, however many a cycle is to have
    before = sorted(path for path in tmp_path.rglob("*"))
    estimate.main(config, NAME)
    assert sorted(path for path in tmp_path.rglob("*")) == before


def test_memory_counts_the_workers_as_they_are_checked(measured: tuple[Config, estimate.Measured]) -> None:
    config, told = measured
    game = make_game("tictactoe")
    assert (told.workers, told.rows) == (1, 16)
    large = replace(
        config,
        inference=replace(config.inference, cache=2**20),
        evaluate=replace(config.evaluate, games=0, anchor_games=0),  # a match would have two such caches
    )
    workers = worker_bytes(game, 16, large) / 2**20
    assert f"workers (1) {workers:,.0f}" in estimate.memory_text(large, told, game)
    match = replace(
        config, evaluate=replace(config.evaluate, games=20_000)
    )  # all under way together, a tree for each side
    needed = 2 * 20_000 * tree_bytes(game, config.search) + 2 * cache_bytes(game, match)
    assert f"match {needed / 2**20:,.0f}" in estimate.memory_text(match, told, game)


def test_a_cycle_s_games_are_those_of_the_recipe(measured: tuple[Config, estimate.Measured]) -> None:
    _, told = measured
    assert 5 <= told.plies <= 9 and told.speed.whole and len(told.speed.finished) == 40
    pace = told.pace
    assert pace.examples == pytest.approx(40 * told.plies) and pace.selfplay == told.speed.seconds
    assert pace.evaluate > 0 and pace.step > 0
    speed = replace(told.speed, plies=100.0, whole=False)
    assert estimate.selfplay_seconds(40, 5.0, speed, 16) == (40 + 4) * 5 / 100


def test_the_range_is_as_wide_in_cycles_as_in_seconds(measured: tuple[Config, estimate.Measured]) -> None:
    config, told = measured
    low, high = estimate.estimate_seconds(config, told)
    assert high / low == pytest.approx(estimate.SPREAD**2)
    bounded = replace(config, minutes=5.0, cycles=1_000_000)
    held = estimate.cycles_held(bounded, told)
    few, many = (estimate.cycles_held(bounded, told, factor) for factor in (1.5, 1 / 1.5))
    assert 1 < few < held < many < 1_000_000
    text = estimate.time_text(bounded, told)
    assert f"cycle {held}" in text and f"for about {held} cycles, {few} to {many}" in text
    assert estimate.cycles_held(config, told) == config.cycles
    counted, game = replace(config, cycles=held), make_game("tictactoe")
    assert estimate.disk_text(bounded, told) == estimate.disk_text(counted, told)
    assert estimate.memory_text(bounded, told, game) == estimate.memory_text(counted, told, game)


def test_a_trial_ends_with_its_time_also_where_a_worker_has_nothing_to_do(tmp_path: Path) -> None:
    """Two workers take all 32 games, of half a million simulations each; the third ends at once."""
    search = SearchConfig(num_simulations=100_000, tree_reuse=False)
    config = toy_config(
        tmp_path, search=search, inference=InferenceConfig(backend="torch", precision="fp32", cache=0)
    )
    trial, begin = Trial(config, tmp_path / "trial"), time.perf_counter()
    speed = trial.play(3, 16, 0.3, 32)
    assert not speed.finished and time.perf_counter() - begin < 60


def test_a_stage_that_is_stopped_is_multiplied(tmp_path: Path) -> None:
    """Training is stopped after a few of 2,000 steps, the match long before its 4,000 games have ended."""
    config = toy_config(tmp_path)
    train = replace(config.train, epochs=2000 * config.train.batch_size / 250)
    evaluate = replace(config.evaluate, games=4000)
    trial = Trial(replace(config, train=train, evaluate=evaluate), tmp_path / "trial")
    games = trial.play(1, 16, 60.0, 40).finished
    training = trial.train(games, 0.2, whole=True)
    assert training.seconds is None and 0 < training.each() < 0.2 and training.total > 100
    match = trial.match(0.2)
    assert match.seconds is None and match.total == 4000


def test_games_against_fixed_opponents_take_time_where_there_is_no_match(tmp_path: Path) -> None:
    config = toy_config(tmp_path, evaluate=EvaluateConfig(games=0, gate="off", anchor_games=2, anchors=[5]))
    assert estimate.measure(config, NAME, tmp_path, Progress()).pace.evaluate > 0
    without = replace(config, evaluate=replace(config.evaluate, anchor_games=0))
    assert estimate.measure(without, NAME, tmp_path / "without", Progress()).pace.evaluate == 0
