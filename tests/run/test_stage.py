"""The run's clock, and what happens around a stage."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from toy import NAME, Told, advance, toy_config

from azero import loop
from azero.config.schema import Config, EvaluateConfig
from azero.process.signals import Stopped, StopSignal
from azero.report.reporter import NullReporter, Reporter
from azero.run.run import Run
from azero.stages import initialize, selfplay
from azero.stages.clock import RunClock, start_clock
from azero.stages.run_stage import complete_report, run_next

pytestmark = pytest.mark.usefixtures("unmeasured")


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time, as its only element."""
    time = [1000.0]
    monkeypatch.setattr("azero.stages.clock.time.perf_counter", lambda: time[0])
    return time


def test_self_play_gets_half_of_what_is_left_while_nothing_is_known(now: list[float]) -> None:
    clock = RunClock(minutes=2.0, elapsed_seconds=30.0, last={"train": 5.0})
    assert clock.elapsed == 30.0 and clock.selfplay_seconds() == 45.0
    now[0] = 1080.0
    assert clock.selfplay_seconds() == 5.0 and clock.has_time_for("selfplay")
    now[0] = 1090.0
    assert not clock.has_time_for("selfplay")


def test_self_play_gets_what_the_other_stages_leave(now: list[float]) -> None:
    clock = RunClock(
        minutes=2.0,
        elapsed_seconds=0.0,
        last={"initialize": 500.0, "selfplay": 60.0, "train": 30.0, "evaluate": 10.0},
    )
    assert clock.selfplay_seconds() == 120 - 1.1 * (30 + 10)
    clock.last["correctness"] = 2.0
    assert clock.selfplay_seconds() == 120 - 1.1 * (30 + 10 + 2)
    now[0] = 1043.0  # 77 s are left, 46.2 of them for the other stages: more than half of 60
    assert clock.has_time_for("selfplay")
    now[0] = 1044.0
    assert (
        not clock.has_time_for("selfplay") and clock.has_time_for("train") and clock.has_time_for("evaluate")
    )
    now[0] = 1003.0  # 70.8 s are left for self-play: no game of it would end in time
    clock.last["game"] = 71.0
    assert not clock.has_time_for("selfplay")
    clock.last["game"] = 70.0
    assert clock.has_time_for("selfplay")
    now[0] = 1091.0
    assert not clock.has_time_for("train") and clock.has_time_for("evaluate")
    now[0] = 1e9
    assert not clock.has_time_for("evaluate") and clock.has_time_for("initialize")


def test_a_run_says_whether_its_time_is_used_up_or_too_short_for_what_comes_next(now: list[float]) -> None:
    took = {"selfplay": 40.0, "train": 20.0, "evaluate": 10.0, "correctness": 5.0}
    clock = RunClock(minutes=2.0, elapsed_seconds=78.0, last=took)
    assert clock.shortage("selfplay", 2) == "leaves no time for another cycle (about 1 min 18 s)"
    assert clock.shortage("train", 2) == "leaves no time for the rest of cycle 2 (about 36 s)"
    assert clock.shortage("evaluate", 3) == "leaves no time for the rest of cycle 3 (about 16 s)"
    now[0] += 42.0
    assert clock.shortage("selfplay", 2) == "is used up after 1 cycle"
    assert clock.shortage("train", 3) == "is used up after 2 cycles"


@pytest.mark.parametrize(
    "evaluate, always",
    [
        (EvaluateConfig(gate="off", games=0), True),
        (EvaluateConfig(gate="off", games=0, anchor_games=2), False),
        (EvaluateConfig(gate="off", games=8), False),
        (EvaluateConfig(gate="sequential"), False),
    ],
    ids=["no match", "rated", "measured", "sequential"],
)
def test_there_is_always_time_to_promote_without_a_match(
    tmp_path: Path, evaluate: EvaluateConfig, always: bool
) -> None:
    config = toy_config(tmp_path, evaluate=evaluate)
    with Run.open(config, NAME, "test") as run:
        run.commit(replace(run.state, elapsed_seconds=61.0))
        clock = start_clock(1.0, run, NullReporter())
    assert clock.has_time_for("initialize") and not clock.has_time_for("train")
    assert clock.has_time_for("evaluate") == always


def test_without_a_bound_there_is_always_time() -> None:
    clock = RunClock(minutes=0.0, elapsed_seconds=1e12)
    assert all(clock.has_time_for(stage) for stage in ("selfplay", "train", "evaluate"))
    assert clock.selfplay_seconds() == float("inf")


def test_what_stages_took_is_known_after_a_resume(tmp_path: Path) -> None:
    config = toy_config(tmp_path, cycles=1)
    loop.run_asked(config, NAME)
    with Run.open(config, NAME, "test") as run, Reporter.open(run) as report:
        clock = start_clock(1.0, run, report)
        game = clock.last.pop("game")
        assert clock.last.keys() == {"initialize", "selfplay", "train", "evaluate", "correctness"}
        assert all(seconds >= 0 for seconds in clock.last.values()) and clock.last["train"] > 0
        assert 0 < game < clock.last["selfplay"]
        assert clock.elapsed >= run.state.elapsed_seconds >= 0.9 * sum(clock.last.values())


def test_the_time_of_a_stage_that_stopped_or_failed_is_committed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = toy_config(tmp_path)
    with Run.open(config, NAME, "test") as run:
        clock = start_clock(0.0, run, NullReporter())
        spent = [0.0]
        for failure in (Stopped, ZeroDivisionError):

            def stage(*of: Any, failure: type[Exception] = failure) -> None:
                raise failure

            monkeypatch.setattr(initialize, "run_stage", stage)
            with pytest.raises(failure):
                run_next(config, run, NullReporter(), StopSignal(), clock)
            spent.append(run.state.elapsed_seconds)
        assert spent[0] < spent[1] < spent[2] and run.state.stage == "initialize"


def test_a_stage_that_was_stopped_has_taken_the_time_of_all_its_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """5 s before it was stopped and next to none after; the stage behind it begins at 0 again."""
    config, report = toy_config(tmp_path), Told()
    with Run.open(config, NAME, "test") as run:
        clock = start_clock(0.0, run, report)

        def stopped(*of: Any) -> None:
            clock.begin -= 5.0
            raise Stopped

        with monkeypatch.context() as patch:
            patch.setattr(initialize, "run_stage", stopped)
            with pytest.raises(Stopped):
                run_next(config, run, report, StopSignal(), clock)
        assert 5.0 <= run.state.stage_seconds <= run.state.elapsed_seconds
    with Run.open(config, NAME, "test") as run:
        clock = start_clock(0.0, run, report)
        run_next(config, run, report, StopSignal(), clock)
        assert run.state.stage == "selfplay" and run.state.stage_seconds == 0.0
        assert report.stats(1)["time/initialize"] == clock.last["initialize"] >= 5.0


def test_only_self_play_has_a_deadline_and_a_stage_taken_back_reports_no_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = toy_config(tmp_path)
    report, given = Told(), []
    played = selfplay.run_stage

    def forward(config: Config, run: Run, report: Told, stop: StopSignal, **limits: float) -> None:
        given.append((run.state.stage, *limits))
        played(config, run, report, stop)

    def back(config: Config, run: Run, report: Told, stop: StopSignal, **limits: float) -> None:
        given.append((run.state.stage, *limits))
        run.commit(replace(run.state, stage="train"))

    for stage, function in (("selfplay", forward), ("evaluate", back)):
        advance(config, until=stage)
        with monkeypatch.context() as patch, Run.open(config, NAME, "test") as run:
            patch.setattr(f"azero.stages.{stage}.run_stage", function)
            run_next(config, run, report, StopSignal(), start_clock(0.0, run, report))
    assert given == [("selfplay", "deadline"), ("evaluate",)]
    times = {tag for tag in report.scalars[1] if re.match("time/(?!compile_)", tag)}
    assert times == {"time/selfplay"}


def test_only_the_first_cycle_counts_what_a_stage_does_before_its_work_as_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, now: list[float]
) -> None:
    """Self-play prepares for 5 s and plays for 2 s; only the first cycle prepares for the first time."""
    config, report = toy_config(tmp_path), Told()
    monkeypatch.setattr("azero.stages.run_stage.time.monotonic", lambda: now[0])

    def play(config: Config, run: Run, report: Told, stop: StopSignal, **limits: float) -> None:
        report._work_began["selfplay"] = now[0] + 5
        now[0] += 7
        run.commit(replace(run.state, stage="train"))

    monkeypatch.setattr("azero.stages.selfplay.run_stage", play)
    with Run.open(config, NAME, "test") as run:
        clock = start_clock(0.0, run, report)
        for cycle in (0, 1):
            run.commit(replace(run.state, cycle=cycle, stage="selfplay"))
            run_next(config, run, report, StopSignal(), clock)
            assert clock.last["selfplay"] == (7 if cycle else 2)
    first, second = report.scalars[1], report.scalars[2]
    assert (first["time/selfplay"], first["time/compile_selfplay"]) == (7, 5)
    assert second["time/selfplay"] == 7 and "time/compile_selfplay" not in second


def test_a_cycle_is_measured_again_only_if_it_was_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config, calls = toy_config(tmp_path, cycles=1), list[int]()
    monkeypatch.setattr(
        "azero.stages.measure.report_cycle", lambda config, name, cycle, report: calls.append(cycle)
    )
    report = Told()
    with Run.open(config, NAME, "test") as run:
        complete_report(config, run, report, start_clock(0.0, run, report))  # no cycle is finished
        run.commit(replace(run.state, cycle=4))
        complete_report(config, run, report, start_clock(0.0, run, report))
        report.scalars = {4: {"correctness/fixed_search": 3.0}}
        complete_report(config, run, report, start_clock(0.0, run, report))
    assert calls == [4] and report.ended == [4]
