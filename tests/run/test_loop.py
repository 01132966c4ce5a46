"""The whole loop at toy size: its files, its resume, and that only the seed decides its end."""

from __future__ import annotations

import csv
import importlib
import re
import shlex
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from running import RunProgram
from toy import NAME, StopInside, Told, ToyUntil, advance, digest_of, toy_config

from azero import loop
from azero.cli.hydra_program import CommandLine
from azero.config.schema import (
    Config,
    EvaluateConfig,
    InferenceConfig,
    SelfplayConfig,
    TrainConfig,
    UserError,
)
from azero.process.signals import Stopped, StopSignal
from azero.report.console import format_seconds
from azero.report.reporter import NullReporter
from azero.run.run import Run
from azero.run.state import run_digest
from azero.stages import selfplay

pytestmark = pytest.mark.usefixtures("unmeasured")

STAGES = {
    name: importlib.import_module(f"azero.{name}") for name in ("initialize", "selfplay", "train", "evaluate")
}


def test_a_run_leaves_its_state_networks_games_and_figures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = toy_config(tmp_path)
    assert loop.run_asked(config, NAME) == 0
    run = Run.read(config, NAME)
    state = run.state
    assert (state.cycle, state.stage, state.seed, state.name) == (2, "selfplay", 3, NAME)
    assert [(shard.cycle, shard.games) for shard in state.shards] == [
        (1, 40),
        (2, 40),
    ] and state.partial == []
    assert [record["cycle"] for record in state.history] == [1, 2]
    assert state.train_steps > 0 and state.elapsed_seconds > 0
    assert state.inference is not None and state.inference["batch_size"] == 16
    assert all(run.read_file(entry) for entry in state.entries())
    with run.paths.metrics_csv.open() as file:
        assert [int(row["cycle"]) for row in csv.DictReader(file)] == [1, 2]
    assert run.paths.config_yaml.is_file() and list(run.paths.tensorboard.rglob("*tfevents*"))
    said = capsys.readouterr().out
    assert f"2 cycles in {format_seconds(state.elapsed_seconds)}." in said
    assert str(run.paths.of(state.champion.file if state.champion else "")) in said
    assert f"azero loop run={NAME} cycles=12" in said


def test_a_finished_run_says_so_and_changes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = toy_config(tmp_path, cycles=1)
    loop.run_asked(config, NAME)
    before = Run.read(config, NAME).state
    capsys.readouterr()
    assert loop.run_asked(config, NAME) == 0
    assert "Run toy has finished its 1 cycle already." in capsys.readouterr().out
    assert Run.read(config, NAME).state == before


def test_a_run_between_stages_with_no_cycles_left_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = toy_config(tmp_path)
    loop.run_asked(replace(config, cycles=1), NAME)
    with Run.open(config, NAME, "test") as run:
        selfplay.run_stage(config, run, NullReporter(), StopSignal())
    capsys.readouterr()
    loop.run_asked(replace(config, cycles=1), NAME)
    said = capsys.readouterr().out
    assert "Run toy has finished its 1 cycle already." in said and "goes on" not in said


def test_more_cycles_continue_a_finished_run_to_the_same_end(tmp_path: Path, undisturbed: str) -> None:
    state = advance(toy_config(tmp_path, cycles=1))
    assert state.cycle == 1 and run_digest(state) != undisturbed
    assert run_digest(advance(toy_config(tmp_path, cycles=2))) == undisturbed


def test_a_run_that_goes_on_says_where(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    advance(toy_config(tmp_path), until="train")
    loop.run_asked(toy_config(tmp_path, cycles=1), NAME)
    said = capsys.readouterr().out
    assert "Run toy goes on with train of cycle 1." in said
    assert "Settings have changed: cycles 2 → 1." in said


def test_a_setting_that_is_left_out_when_a_run_goes_on_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = toy_config(tmp_path, cycles=1)
    loop.run_asked(replace(config, keep=9, train=replace(config.train, lr=0.5)), NAME)
    assert "Settings" not in capsys.readouterr().out
    loop.run_asked(config, NAME)
    assert (
        f"Settings have changed: train.lr 0.5 → {config.train.lr}, keep 9 → {config.keep}.\n"
        in capsys.readouterr().out
    )
    loop.run_asked(config, NAME)
    assert "Settings" not in capsys.readouterr().out


def test_another_seed_gives_another_run(tmp_path: Path, undisturbed: str) -> None:
    assert run_digest(advance(toy_config(tmp_path, seed=4))) != undisturbed


def test_two_workers_give_the_same_run_as_one(tmp_path: Path, undisturbed: str) -> None:
    assert run_digest(advance(toy_config(tmp_path, workers=2))) == undisturbed


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
                stop,
                "requested",
                stop.requested or any(tag.removeprefix("time/") in STAGES for tag in scalars),
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
        assert STAGES[stage].run_asked(config, NAME) == 0
    assert digest_of(config) == undisturbed


def test_a_stage_that_does_not_come_next_is_refused_and_the_next_one_named(tmp_path: Path) -> None:
    config = toy_config(tmp_path)
    for stage in ("selfplay", "train", "evaluate"):
        with pytest.raises(UserError, match=rf"initialize comes next, not {stage}; run azero initialize"):
            STAGES[stage].run_asked(config, NAME)
    STAGES["initialize"].run_asked(config, NAME)
    with pytest.raises(UserError, match="selfplay comes next, not initialize"):
        STAGES["initialize"].run_asked(config, NAME)


def test_minutes_end_a_run_that_can_go_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = toy_config(tmp_path, minutes=1e-6, cycles=1000)
    assert loop.run_asked(config, NAME) == 0
    state = Run.read(config, NAME).state
    assert state.champion is not None and state.cycle == 0  # a first network is made in any case
    assert (
        "minutes=1e-06 is used up after 0 cycles; set a higher minutes= to go on." in capsys.readouterr().out
    )
    assert advance(toy_config(tmp_path, minutes=60.0, cycles=1)).cycle == 1


def test_minutes_count_the_time_of_all_resumes(tmp_path: Path) -> None:
    config = toy_config(tmp_path, cycles=1)
    state = advance(config)
    report = Told()
    used_up = replace(config, cycles=9, minutes=state.elapsed_seconds / 60)
    assert advance(used_up, report=report).cycle == 1
    assert len(report.messages) == 1 and "is used up after 1 cycle;" in report.messages[0]


def test_a_bound_shortens_self_play_and_leaves_time_for_what_follows(tmp_path: Path) -> None:
    """Three seconds, and games for minutes: the cycle holds the games that ended in time."""
    selfplay = SelfplayConfig(games=500_000, concurrent_games=16)
    config = toy_config(
        tmp_path,
        minutes=0.05,
        selfplay=selfplay,
        inference=InferenceConfig("torch", "fp32", cache=0),
        cycles=100,
    )
    report = Told()
    state = advance(config, report=report)
    games = [shard.games for shard in state.shards]
    assert games and all(1 <= count < 500_000 for count in games) and state.partial == []
    assert (
        "of 500,000 games, as many as minutes=0.05 leaves time for."
        in report.messages[1 if state.inference else 0]
    )
    assert "minutes=0.05 leaves no time for" in report.messages[-1] or "is used up" in report.messages[-1]
    assert advance(toy_config(tmp_path, cycles=state.cycle + 1)).cycle == state.cycle + 1


@pytest.mark.parametrize("stage", ["train", "evaluate"])
def test_a_stage_that_took_too_long_last_time_is_not_begun(
    tmp_path: Path, toy_until: ToyUntil, stage: str
) -> None:
    config = replace(toy_until(tmp_path, stage), minutes=60.0, cycles=1)
    report = Told()
    report.scalars = {0: {f"time/{stage}": 3601.0}}
    state = advance(config, report=report)
    wanted = r"minutes=60 leaves no time for the rest of cycle 1 \(about 1 h 00 min\); set a higher minutes="
    assert (state.cycle, state.stage) == (0, stage) and re.match(wanted, report.messages[-1])
    report.scalars = {0: {f"time/{stage}": 5.0}}
    assert advance(config, report=report).cycle == 1


def test_stopped_stages_count_as_time_spent(tmp_path: Path) -> None:
    config = toy_config(tmp_path)
    spent = [advance(config, until="selfplay").elapsed_seconds]
    with Run.open(config, NAME, "test") as run:
        for _ in range(2):
            with pytest.raises(Stopped):
                loop.run_cycles(config, run, NullReporter(), StopInside(run, 1, "selfplay", 5))
            spent.append(run.state.elapsed_seconds)
    assert 0 == spent[0] < spent[1] < spent[2]  # `advance` to a stage keeps no time


def test_a_killed_process_s_correctness_figures_are_told_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        pass

    def kill(*of: object) -> None:
        raise Killed

    config = toy_config(tmp_path, cycles=1)
    with monkeypatch.context() as patch:
        patch.setattr("azero.stages.measure.report_cycle", kill)
        with pytest.raises(Killed):
            loop.run_asked(config, NAME)
    run = Run.read(config, NAME)
    assert run.state.cycle == 1 and "correctness/fixed_search" not in stats_of(run)[0]
    calls = []
    monkeypatch.setattr("azero.stages.measure.report_cycle", lambda *of: calls.append(of) or tell(of[3]))  # type: ignore[func-returns-value]

    def tell(report: NullReporter) -> None:
        report.cycle_scalars(1, {"correctness/fixed_search": 7.0})

    for _ in range(2):
        assert loop.run_asked(config, NAME) == 0
    assert stats_of(run)[0]["correctness/fixed_search"] == "7" and len(calls) == 1


def stats_of(run: Run) -> list[dict[str, str]]:
    """The rows of metrics.csv."""
    with run.paths.metrics_csv.open() as file:
        return list(csv.DictReader(file))


def test_evaluate_alone_tells_what_the_loop_tells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    together, alone = toy_config(tmp_path / "loop", cycles=1), toy_config(tmp_path / "alone", cycles=1)
    loop.run_asked(together, NAME)
    for stage in STAGES.values():
        assert stage.run_asked(alone, NAME) == 0
    rows = [stats_of(Run.read(config, NAME))[0] for config in (together, alone)]
    told = [
        {tag for tag in row if not tag.startswith("time/compile_")} for row in rows
    ]  # what the cache lacked
    assert told[0] == told[1]
    assert told[0] >= {"correctness/fixed_search", "correctness/losses_first_policy", "time/correctness"}
    same = [tag for tag in rows[0] if tag.startswith(("correctness", "evaluate"))]
    assert [rows[0][tag] for tag in same] == [rows[1][tag] for tag in same]
    assert all(Run.read(config, NAME).state.elapsed_seconds > 0 for config in (together, alone))


@pytest.mark.long
def test_the_printed_command_goes_on(tmp_path: Path, run_program: RunProgram) -> None:
    asked = [
        "experiment=smoke",
        "inference.precision=fp32",
        "train.schedule=step",
        "train.milestones=[0.5,0.75]",
        "device=cpu",
    ]
    first = run_program("loop", *asked, folder=tmp_path)
    assert first.returncode == 0, first.stderr
    onward, anew = printed_commands(first.stdout)
    assert onward == ["smoke", *asked[1:], "cycles=11"]
    assert anew == ["smoke", *asked[1:], "run=smoke-2", "seed=2"]
    second = run_program("loop", *onward[:-1], "cycles=2", folder=tmp_path)  # ten cycles take long
    assert second.returncode == 0, second.stderr
    assert "2 cycles in" in second.stdout and printed_commands(second.stdout)[0][-1] == "cycles=12"
    third = run_program(
        "loop", *onward, "minutes=1e-6", folder=tmp_path
    )  # the line itself, which has no time
    assert third.returncode == 0 and printed_commands(third.stdout)[0] == [*onward, "minutes=2"], third.stderr


def printed_commands(output: str) -> list[list[str]]:
    """The arguments of both commands at the end."""
    lines = output.splitlines()[-2:]
    heads = ("  Go on: azero loop ", "  Start anew: azero loop ")
    assert all(line.startswith(head) for line, head in zip(lines, heads, strict=True)), lines
    return [shlex.split(line.removeprefix(head)) for line, head in zip(lines, heads, strict=True)]


def test_the_next_commands_repeat_what_was_asked_for(tmp_path: Path) -> None:
    config = toy_config(tmp_path, minutes=90.0, seed=7)
    asked = CommandLine(("experiment=smoke", "minutes=90", "seed=7", "run=toy"), "smoke")
    run = Run(config, NAME)
    assert loop.next_commands(config, run, asked, all_cycles=False) == (
        "Go on: azero loop smoke seed=7 run=toy minutes=180\n"
        "Start anew: azero loop smoke minutes=90 run=toy-2 seed=8"
    )
    assert "azero loop smoke minutes=90 seed=7 run=toy cycles=10\n" in loop.next_commands(
        config, run, asked, all_cycles=True
    )


def test_a_run_of_a_multirun_is_not_begun_anew(tmp_path: Path) -> None:
    """Its name with another seed could be that of another of its runs."""
    config, asked = toy_config(tmp_path, seed=7), CommandLine(("experiment=smoke", "seed=7"), "smoke")
    commands = loop.next_commands(config, Run(config, "smoke-seed-7"), asked, all_cycles=True)
    assert commands == "Go on: azero loop smoke seed=7 run=smoke-seed-7 cycles=10"


def test_a_run_tells_of_a_setting_that_nothing_reads(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = toy_config(tmp_path, cycles=0)
    assert loop.run_asked(config, NAME, CommandLine(("evaluate.elo1=10", "seed=1"), NAME)) == 0
    said = f"evaluate.elo1 has no effect with evaluate.gate={config.evaluate.gate}."
    assert capsys.readouterr().out.splitlines().count(said) == (config.evaluate.gate != "sequential") == 1


def test_no_cycles_make_the_first_network_only(tmp_path: Path) -> None:
    state = advance(toy_config(tmp_path, cycles=0))
    assert (state.cycle, state.stage, state.shards) == (0, "selfplay", [])
    assert state.champion is not None and state.candidate is not None


@pytest.mark.parametrize(
    "changes",
    [
        {"selfplay": SelfplayConfig(games=3)},
        {
            "evaluate": EvaluateConfig(games=0),
            "train": TrainConfig(batch_size=32, keep_optimizer=False),
        },
        {"selfplay": SelfplayConfig(games=20, opening_fraction=1.0, opening_plies=3)},
        {"evaluate": EvaluateConfig(games=4, temperature=0.0, opening_plies=2, num_simulations=3)},
    ],
    ids=["three games", "no match", "openings", "greedy match"],
)
def test_unusual_settings_run_through(tmp_path: Path, changes: dict[str, object]) -> None:
    assert advance(toy_config(tmp_path, cycles=1, **changes)).cycle == 1


def test_each_cycle_tells_its_figures_and_the_truth_about_the_champion(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    report = Told()
    advance(toy_config(tmp_path, cycles=1), report=report)
    told = report.scalars[1]
    assert {"time/initialize", "time/selfplay", "time/train", "time/evaluate"} <= told.keys()
    assert 0 <= told["correctness/fixed_search"] <= 11 and 0 <= told["correctness/keeps_value_search"] <= 1
    assert report.ended == [1]


def test_the_loop_imports_no_torch_before_a_stage_needs_it() -> None:
    heavy = ("torch", "numba", "hydra", "tensorboard")
    code = f"import sys, azero.loop; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "[]", done.stderr


def test_a_signal_s_status_is_the_loop_s(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(config: Config, run: Run, report: NullReporter, stop: StopSignal) -> None:
        stop.requested, stop.number = True, 15
        raise Stopped

    monkeypatch.setattr("azero.loop.run_cycles", stopped)
    assert loop.run_asked(toy_config(tmp_path), NAME) == 143


@pytest.mark.parametrize(
    ("minutes", "left", "told"),
    [
        (0.0, 3600.0, "9 more cycles: about 1 h 00 min"),
        (5.0, 60.0, "9 more cycles: about 1 min 00 s"),
        (5.0, 240.0, "until minutes=5: about 4 min 00 s"),
    ],
)
def test_the_time_left_is_that_of_the_cycles_or_of_the_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, minutes: float, left: float, told: str
) -> None:
    """A minute is spent, so that minutes=5 leaves four."""
    monkeypatch.setattr(loop, "seconds_left", lambda *of: left)
    config, report = replace(toy_config(tmp_path), cycles=9, minutes=minutes), Told()
    with Run.open(config, NAME, "test") as run:
        run.commit(replace(run.state, elapsed_seconds=60.0))
        loop.report_time_left(config, run, report)
    assert report.messages == [told]
