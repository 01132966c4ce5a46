"""Run a stage, in the loop or alone: time it, measure the champion after a cycle, commit."""

from __future__ import annotations

import time
from dataclasses import replace
from shlex import quote

from azero.cli.hydra_program import CommandLine
from azero.config.schema import Config
from azero.match.elo_table import champion_name, csv_text, results_of, scalars_of, table_of
from azero.process.signals import STOPPED, Stopped, StopSignal
from azero.report.reporter import Reporter
from azero.run.run import Run
from azero.run.state import STAGES, StageName, State
from azero.stages.ahead import Ahead
from azero.stages.clock import RunClock, start_clock, times_of
from azero.stages.preflight import check_run
from azero.stages.registry import stage_named
from azero.truth.known import MEASURING, last_metric

SHORT = 0.05  # lost seconds that are not worth a note


def run_next(
    config: Config, run: Run, report: Reporter, stop: StopSignal, clock: RunClock, ahead: Ahead | None = None
) -> None:
    """Run the stage that comes next, report its time, measure a cycle's champion, commit the time.

    ahead: plays the next cycle's games beside the stages that follow self-play.

    Raises:
        Stopped: a stop was requested; all that is finished is committed.
        UserError: the stage cannot run; nothing is lost.
    """
    from azero.kernels.compiling import CompileTimer  # here, because it imports Numba

    report_damage(run, report)
    try_metrics(config, run)
    before, begin, begun = run.state, clock.elapsed - run.state.stage_seconds, time.monotonic()
    stage = stage_named(before.stage)
    try:
        with CompileTimer() as compiling:
            games = ahead.look(before.stage) if ahead else None
            stage.run(config, run, report, stop, time.perf_counter() + clock.selfplay_seconds(), games)
        if place_of(run.state) > place_of(before):  # else the stage took the run back
            first_use = 0.0 if before.cycle else report.work_began(stage.name, begun) - begun
            lost = max(compiling.seconds, first_use)
            report_seconds(report, clock, before.cycle + 1, stage.name, begin, lost)
            clock.last["game"] = times_of(report.stats(before.cycle + 1)).get("game", 0.0)
        if run.state.cycle > before.cycle:
            finish_cycle(config, run, report, clock)
    finally:
        stopped = place_of(run.state) == place_of(before)
        spent = clock.elapsed - begin if stopped else 0.0
        run.commit(replace(run.state, elapsed_seconds=clock.elapsed, stage_seconds=spent))


def try_metrics(config: Config, run: Run) -> None:
    """Measure with a person's own file before the first games, so that its mistakes are told before them.

    Raises:
        UserError: it fails, or returns something else than numbers by name.
    """
    state = run.state
    if config.metrics and state.stage == StageName.SELFPLAY and not (state.shards or state.partial):
        from azero.stages.measure import own_numbers

        own_numbers(config, run.name, 1)


def place_of(state: State) -> tuple[int, int]:
    """Return how far a run is. Places grow as stages end."""
    return state.cycle, STAGES.index(StageName(state.stage))


def report_seconds(
    report: Reporter, clock: RunClock, cycle: int, what: str, begin: float, lost: float = 0.0
) -> None:
    """Report the seconds since `begin`, a moment of the run's clock, `lost` of them to the first use."""
    seconds = clock.elapsed - begin
    clock.last[what] = max(0.0, seconds - lost)
    compiled = {f"time/compile_{what}": lost} if lost > SHORT else {}
    report.cycle_scalars(cycle, {f"time/{what}": seconds, **compiled})


def finish_cycle(config: Config, run: Run, report: Reporter, clock: RunClock) -> None:
    """Measure the champion where the truth is known, and close the cycle's row in the metrics."""
    cycle, begin = run.state.cycle, clock.elapsed
    if last_metric(config):
        from azero.kernels.compiling import CompileTimer
        from azero.stages.measure import report_cycle

        with CompileTimer() as compiling:
            report_cycle(config, run.name, cycle, report)
        report_seconds(report, clock, cycle, MEASURING, begin, compiling.seconds)
    report_ratings(run, report)
    from azero.truth.summary import strength_text

    if strength := strength_text(config, report.stats(cycle)):
        report.message(f"After cycle {cycle}: {strength}.")
    report.end_cycle(cycle)


def report_ratings(run: Run, report: Reporter) -> None:
    """Write the Elo table of what is committed, and report the champion's rating, if any."""
    results, champion = results_of(run.state.history), run.state.champion
    if not results or champion is None:
        return
    table = table_of(results)
    report.ratings(csv_text(table))
    for row in table:
        if row.player == champion_name(champion.cycle):
            report.cycle_scalars(run.state.cycle, scalars_of(row.rating))


def complete_report(config: Config, run: Run, report: Reporter, clock: RunClock) -> None:
    """Measure the last finished cycle's champion if a killed process did not, and renew the Elo table."""
    report_ratings(run, report)
    metric = last_metric(config)
    if run.state.cycle and metric and metric not in report.stats(run.state.cycle):
        finish_cycle(config, run, report, clock)


def report_changes(run: Run, report: Reporter) -> None:
    """Report settings and rules that differ from those that the run had before."""
    if run.new_rules:
        what = f"The text of the rules of {run.config.game.name} has changed since the run played last"
        report.message(f"{what}; its newest games are still played so.")
    if run.changes:
        report.message(f"Settings have changed: {', '.join(run.changes)}.")


def report_damage(run: Run, report: Reporter) -> None:
    """Go back from a damaged champion where that is accepted, and report it."""
    run.accept_previous()
    while run.went_back:
        report.message(run.went_back.pop(0))


def run_alone(name: str, config: Config, run_name: str, asked: CommandLine | None = None) -> int:
    """Run a stage once, without `minutes`, as its program does; return the exit status.

    Raises:
        UserError: before anything is written, if another stage comes next or `check_run` refuses.
    """
    from azero.games import held_rules  # here, because the room imports Numba

    warnings = check_run(config, run_name)
    with (
        held_rules(config.game.name) as rules,
        StopSignal() as stop,
        Run.open(
            *(config, run_name, f"azero.{name}"),
            stage=name,
            recipe=asked.recipe if asked else "",
            rules=rules,
        ) as run,
        Reporter.open(run) as report,
    ):
        report_changes(run, report)
        for warning in warnings:
            report.message(warning)
        clock = start_clock(0.0, run, report)
        complete_report(config, run, report, clock)
        try:
            run_next(config, run, report, stop, clock)
        except Stopped:
            report.message(STOPPED)
            return stop.exit_code
        report.message(f"{name} is done; {run.state.stage} comes next in {quote(str(run.paths.folder))}.")
    return 0
