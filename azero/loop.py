"""The whole run: self-play, train, evaluate, promote, again. `python -m azero.loop` starts it, or goes on where it stopped.

    initialize ──▶ selfplay ──▶ train ──▶ evaluate ──┐
                      ▲                              │
                      └────────── next cycle ────────┘

The loop decides which stage is next, runs it, and tells how it went. It holds no learning code and no tensors.
"""

from __future__ import annotations

import importlib
import math
import shlex
from typing import Any

from azero.command_line import Asked, program
from azero.config import Config
from azero.forecast import seconds_left
from azero.metrics import Reporter
from azero.monitoring.console import format_seconds
from azero.run import Run, Stopped, StopSignal
from azero.stage import mend_report, run_next, start_clock, tell_changes
from azero.truth.known import has_table
from azero.truth.shipped import check_file


def run_stage(config: Config, run: Run, report: Reporter, stop: StopSignal, **limits: Any) -> None:
    """Import the stage that comes next and run it: torch and the compiled search are loaded only now."""
    importlib.import_module(f"azero.{run.state.stage}").run_stage(config, run, report, stop, **limits)


def run_cycles(config: Config, run: Run, report: Reporter, stop: StopSignal) -> bool:
    """Run stages until the cycles or the minutes are used up. Returns whether all cycles are finished.

    Raises:
        Stopped: a signal came; all that is finished is committed.
    """
    clock = start_clock(config.minutes, run, report)
    mend_report(config, run, report, clock)
    warned = set[str]()
    while run.state.cycle < config.cycles or run.state.stage == "initialize":
        if not clock.has_time_for(run.state.stage):
            report.message(
                f"minutes={config.minutes:g} are used up after {run.state.cycle} cycles; set a higher minutes= to go on."
            )
            return False
        cycle = run.state.cycle
        run_next(run_stage, config, run, report, stop, clock)
        if run.state.cycle > cycle:
            tell_time_left(config, run, report)
            warn(run, report, warned)
        if stop.requested:
            raise Stopped
    return True


def tell_time_left(config: Config, run: Run, report: Reporter) -> None:
    """After a cycle: how long the others will take, going by those that are finished."""
    figures = [report.figures(cycle) for cycle in range(1, run.state.cycle + 1)]
    left, cycles = seconds_left(figures, config, run.state.elapsed_seconds), config.cycles - run.state.cycle
    if left and cycles > 0:
        bounded = config.minutes and left >= 60 * config.minutes - run.state.elapsed_seconds
        rest = f"until minutes={config.minutes:g}" if bounded else f"{cycles} more {'cycle' if cycles == 1 else 'cycles'}"
        report.message(f"{rest}: about {format_seconds(left)}")


def warn(run: Run, report: Reporter, warned: set[str]) -> None:
    """After a cycle: what is in the way of learning, once for each kind; `warned` has the kinds that were told."""
    from azero.doctor import case_of, examine

    for about, sentence in examine(case_of(run)).items():
        if about not in warned:
            report.message(f"doctor: {sentence}")
            warned.add(about)


def finish_run(config: Config, run: Run, report: Reporter, again: str) -> None:
    """Show the correctness table, where things are, and what to try next (`again`, see `next_commands`)."""
    if has_table(config.game.name):
        from azero.cycle_report import report_run

        report_run(config, run.name)
    assert run.state.champion is not None
    rated = f" Ratings: {run.paths.ratings_csv}." if run.paths.ratings_csv.exists() else ""
    report.message(
        f"{run.state.cycle} cycles in {run.state.elapsed_seconds:.0f} s. "
        f"Champion: {run.paths.of(run.state.champion.file)}. Games: {run.paths.data}. Figures: {run.paths.metrics_csv}.{rated}\n"
        f"See it learn: tensorboard --logdir {shlex.quote(config.checkpoints)}\n{again}"
    )


def next_commands(config: Config, run: Run, asked: Asked, all_cycles: bool) -> str:
    """The command that goes on with the run beyond its bound, and one for a run like it."""
    if all_cycles:
        onward = asked.again(run.name, cycles=run.state.cycle + 10)
    else:
        onward = asked.again(run.name, minutes=2 * math.ceil(max(config.minutes, run.state.elapsed_seconds / 60)))
    anew = asked.again(f"{run.name}-2", seed=config.seed + 1)
    return f"Go on: python -m azero.loop {onward}\nStart anew: python -m azero.loop {anew}"


def main(config: Config, name: str, asked: Asked | None = None) -> int:
    """Run or resume the run of that name. Returns the exit status.

    Args:
        config: of the run.
        name: the run's.
        asked: what the command line said, for the commands that are told at the end.
    """
    check_file(config)
    with StopSignal() as stop, Run.open(config, name, "azero.loop") as run, Reporter.open(run) as report:
        if run.state.cycle >= config.cycles and run.state.stage != "initialize":
            report.message(f"Run {name} has finished its {run.state.cycle} cycles already.")
        elif run.state.stage != "initialize":
            report.message(f"Run {name} goes on with {run.state.stage} of cycle {run.state.cycle + 1}.")
        tell_changes(run, report)
        try:
            all_cycles = run_cycles(config, run, report, stop)
        except Stopped:
            report.message("Stopped; the same command goes on from here.")
            return stop.exit_code
        stop.end_at_once()
        finish_run(config, run, report, next_commands(config, run, asked or Asked(), all_cycles))
    return 0


if __name__ == "__main__":
    program(main, tell_asked=True)
