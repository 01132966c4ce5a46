"""The whole loop at toy size: what it leaves on the disk, how it goes on, and that nothing but the seed decides its end."""

from __future__ import annotations

import csv
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from toy import NAME, StopInside, Told, advance, digest_of, toy_config

from azero import evaluate, initialize, loop, selfplay, train
from azero.config import Config, EvaluateConfig, SelfplayConfig, TrainConfig, UserError
from azero.loop import Clock
from azero.metrics import NullReporter
from azero.run import Run, Stopped, StopSignal, run_digest

STAGES = {"initialize": initialize, "selfplay": selfplay, "train": train, "evaluate": evaluate}


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures that decide nothing, and take most of a toy run's time, are left out; one test puts them back."""
    monkeypatch.setattr("azero.cycle_report.report_cycle", lambda *of: None)
    monkeypatch.setattr("azero.cycle_report.report_run", lambda *of: None)
    monkeypatch.setattr("azero.network.inference.TIMING_SECONDS", 0.01)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The digest of the toy run."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr("azero.cycle_report.report_cycle", lambda *of: None)
        return run_digest(advance(toy_config(tmp_path_factory.mktemp("undisturbed"))))


def test_a_run_leaves_its_state_networks_games_and_figures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = toy_config(tmp_path)
    assert loop.main(config, NAME) == 0
    run = Run.read(config, NAME)
    state = run.state
    assert (state.cycle, state.stage, state.seed, state.name) == (2, "selfplay", 3, NAME)
    assert [(shard.cycle, shard.games) for shard in state.shards] == [(1, 40), (2, 40)] and state.partial == []
    assert [record["cycle"] for record in state.history] == [1, 2]
    assert state.train_steps > 0 and state.elapsed_seconds > 0
    assert state.inference is not None and state.inference["batch_size"] == 16
    assert all(run.read_file(entry) for entry in state.entries())
    with run.paths.metrics_csv.open() as file:
        assert [int(row["cycle"]) for row in csv.DictReader(file)] == [1, 2]
    assert run.paths.config_yaml.is_file() and list(run.paths.tensorboard.rglob("*tfevents*"))
    said = capsys.readouterr().out
    assert f"2 cycles in {state.elapsed_seconds:.0f} s." in said
    assert str(run.paths.of(state.champion.file if state.champion else "")) in said
    assert f"python -m azero.loop run={NAME} cycles=12" in said


def test_a_finished_run_says_so_and_changes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = toy_config(tmp_path, cycles=1)
    loop.main(config, NAME)
    before = Run.read(config, NAME).state
    capsys.readouterr()
    assert loop.main(config, NAME) == 0
    assert "Run toy has finished its 1 cycles already." in capsys.readouterr().out
    assert Run.read(config, NAME).state == before


def test_more_cycles_continue_a_finished_run_to_the_same_end(tmp_path: Path, undisturbed: str) -> None:
    state = advance(toy_config(tmp_path, cycles=1))
    assert state.cycle == 1 and run_digest(state) != undisturbed
    assert run_digest(advance(toy_config(tmp_path, cycles=2))) == undisturbed


def test_a_run_that_goes_on_says_where(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    advance(toy_config(tmp_path), until="train")
    loop.main(toy_config(tmp_path, cycles=1), NAME)
    assert "Run toy goes on with train of cycle 1." in capsys.readouterr().out


def test_the_same_seed_gives_the_same_run_and_another_seed_another(tmp_path: Path, undisturbed: str) -> None:
    assert run_digest(advance(toy_config(tmp_path / "same"))) == undisturbed
    assert run_digest(advance(toy_config(tmp_path / "other", seed=4))) != undisturbed


def test_two_lanes_give_the_same_run_as_one(tmp_path: Path, undisturbed: str) -> None:
    assert run_digest(advance(toy_config(tmp_path, lanes=2))) == undisturbed


@pytest.mark.parametrize(("stage", "looks"), [("selfplay", 35), ("train", 3), ("evaluate", 3)])
def test_a_run_stopped_in_the_middle_of_a_stage_goes_on_to_the_same_end(
    tmp_path: Path, undisturbed: str, stage: str, looks: int
) -> None:
    config = toy_config(tmp_path)
    with Run.open(config, NAME, "test") as run:
        for cycle in (1, 2):
            with pytest.raises(Stopped):
                loop.run_cycles(config, run, NullReporter(), StopInside(run, cycle, stage, looks))
            assert (run.state.cycle, run.state.stage) == (cycle - 1, stage)
        if stage == "selfplay":
            assert 0 < sum(part.games for part in run.state.partial) < 40
    assert run_digest(advance(config)) == undisturbed


def test_a_run_stopped_between_stages_goes_on_to_the_same_end(tmp_path: Path, undisturbed: str) -> None:
    """A stop that came before each stage ended: the loop looks after every one of them."""
    config, stop, ends = toy_config(tmp_path), StopSignal(), []
    with Run.open(config, NAME, "test") as run:
        while run.state.cycle < 2:
            stop.requested = False
            report = Told()
            report.cycle_scalars = lambda cycle, scalars: setattr(  # type: ignore[method-assign]
                stop, "requested", stop.requested or any(tag.startswith("time/") for tag in scalars)
            )
            with pytest.raises(Stopped):
                loop.run_cycles(config, run, report, stop)
            ends.append((run.state.cycle, run.state.stage))
    assert ends == [
        *((0, "selfplay"), (0, "train"), (0, "evaluate"), (1, "selfplay")),
        *((1, "train"), (1, "evaluate"), (2, "selfplay")),
    ]
    assert digest_of(config) == undisturbed


def test_stages_run_alone_in_order_give_the_same_run_as_the_loop(tmp_path: Path, undisturbed: str) -> None:
    config = toy_config(tmp_path)
    for stage in ("initialize", *("selfplay", "train", "evaluate") * 2):
        assert STAGES[stage].main(config, NAME) == 0
    assert digest_of(config) == undisturbed


def test_a_stage_that_does_not_come_next_is_refused_and_the_next_one_named(tmp_path: Path) -> None:
    config = toy_config(tmp_path)
    for stage in ("selfplay", "train", "evaluate"):
        with pytest.raises(UserError, match=rf"initialize comes next, not {stage}; run python -m azero\.initialize"):
            STAGES[stage].main(config, NAME)
    initialize.main(config, NAME)
    with pytest.raises(UserError, match="selfplay comes next, not initialize"):
        initialize.main(config, NAME)


def test_minutes_end_a_run_that_can_go_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = toy_config(tmp_path, minutes=1e-6, cycles=1000)
    assert loop.main(config, NAME) == 0
    state = Run.read(config, NAME).state
    assert state.champion is not None and state.cycle == 0  # a first network is made in any case
    assert "minutes=1e-06 are used up after 0 cycles; set a higher minutes= to go on." in capsys.readouterr().out
    assert advance(toy_config(tmp_path, minutes=60.0, cycles=1)).cycle == 1


def test_minutes_count_the_time_of_all_resumes(tmp_path: Path) -> None:
    config = toy_config(tmp_path, cycles=1)
    state = advance(config)
    report = Told()
    used_up = replace(config, cycles=9, minutes=state.elapsed_seconds / 60)
    assert advance(used_up, report=report).cycle == 1
    assert len(report.messages) == 1 and "are used up after 1 cycles" in report.messages[0]


def test_the_clock_ends_a_run_before_a_stage_that_would_not_end_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr("azero.loop.time.perf_counter", lambda: now)
    clock = Clock(minutes=2.0, elapsed_seconds=30.0)
    assert clock.elapsed == 30.0 and clock.has_time_for("selfplay")
    clock.last = {"initialize": 0.0, "selfplay": 20.0, "train": 30.0, "evaluate": 10.0}
    now = 1029.0  # 59 of 120 seconds: a whole cycle takes 60
    assert clock.has_time_for("selfplay")
    now = 1031.0  # 61: no cycle is begun, but one that is under way goes on
    assert not clock.has_time_for("selfplay") and clock.has_time_for("train") and clock.has_time_for("evaluate")
    now = 1061.0  # 91
    assert not clock.has_time_for("train") and clock.has_time_for("evaluate")
    now = 1e9
    assert not clock.has_time_for("evaluate") and clock.has_time_for("initialize")
    assert Clock(minutes=0.0, elapsed_seconds=1e12).has_time_for("selfplay")


def test_no_cycles_make_the_first_network_only(tmp_path: Path) -> None:
    state = advance(toy_config(tmp_path, cycles=0))
    assert (state.cycle, state.stage, state.shards) == (0, "selfplay", [])
    assert state.champion is not None and state.candidate is not None


@pytest.mark.parametrize(
    "changes",
    [
        {"selfplay": SelfplayConfig(games=3)},
        {"evaluate": EvaluateConfig(games=0), "train": TrainConfig(batch_size=32, start_from="champion", keep_optimizer=False)},
        {"selfplay": SelfplayConfig(games=20, opening_fraction=1.0, opening_plies=3)},
        {"evaluate": EvaluateConfig(games=4, temperature=0.0, opening_plies=2, num_simulations=3)},
    ],
    ids=["three games", "no match", "openings", "greedy match"],
)
def test_unusual_settings_run_through(tmp_path: Path, changes: dict[str, object]) -> None:
    assert advance(toy_config(tmp_path, cycles=1, **changes)).cycle == 1


def test_each_cycle_tells_its_figures_and_the_truth_about_the_champion(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    report = Told()
    advance(toy_config(tmp_path, cycles=1), report=report)
    told = report.scalars[1]
    assert {"time/initialize", "time/selfplay", "time/train", "time/evaluate"} <= told.keys()
    assert 0 <= told["correctness/fixed_search"] <= 11 and 0 <= told["correctness/keeps_value_search"] <= 1
    assert report.ended == [1]


def test_the_loop_imports_no_torch_before_a_stage_needs_it() -> None:
    code = "import sys, azero.loop; print([name for name in ('torch', 'numba', 'hydra', 'tensorboard') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "[]", done.stderr


def test_a_signal_s_status_is_the_loop_s(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(config: Config, run: Run, report: NullReporter, stop: StopSignal) -> None:
        stop.requested, stop.number = True, 15
        raise Stopped

    monkeypatch.setattr("azero.loop.run_cycles", stopped)
    assert loop.main(toy_config(tmp_path), NAME) == 143
