"""Run all stages, cycle after cycle: `azero loop` starts a run, or goes on where it stopped.

    initialize ──▶ selfplay ──▶ train ──▶ evaluate ──┐
                      ▲                              │
                      └────────── next cycle ────────┘

The loop decides which stage is next, runs it, and reports. It holds no learning code and no tensors.
"""

from __future__ import annotations

import math
import shlex
import sys
from functools import partial
from textwrap import indent

from azero.cli.hydra_program import CommandLine, idle_texts, program
from azero.cli.overrides import misfit_text
from azero.config.schema import Config
from azero.process.signals import STOPPED, Stopped, StopSignal
from azero.process.typed import azero_command, typed
from azero.report.console import TITLES, format_count, format_seconds
from azero.report.forecast import seconds_left
from azero.report.reporter import Reporter
from azero.run.run import Run
from azero.run.state import StageName
from azero.stages import warm_up
from azero.stages.ahead import Ahead
from azero.stages.clock import RunClock, start_clock
from azero.stages.preflight import check_run
from azero.stages.run_stage import complete_report, report_changes, run_next
from azero.truth.known import has_table


def run_cycles(config: Config, run: Run, report: Reporter, stop: StopSignal) -> bool:
    """Run stages until the cycles or the minutes are used up. Return whether all cycles are finished.

    Raises:
        Stopped: a signal came; all that is finished is committed.
    """
    clock = start_clock(config.minutes, run, report)
    complete_report(config, run, report, clock)
    with Ahead(config, run, report) as ahead:
        return run_stages(config, run, report, stop, clock, ahead)


def run_stages(
    config: Config, run: Run, report: Reporter, stop: StopSignal, clock: RunClock, ahead: Ahead
) -> bool:
    """Run stages; see `run_cycles`."""
    warned = set[str]()
    while run.state.cycle < config.cycles or run.state.stage == StageName.INITIALIZE:
        if not clock.has_time_for(run.state.stage):
            shortage = clock.shortage(run.state.stage, run.state.cycle + 1)
            report.message(f"minutes={config.minutes:g} {shortage}; set a higher minutes= to go on.")
            return False
        cycle = run.state.cycle
        run_next(config, run, report, stop, clock, ahead)
        if run.state.cycle > cycle:
            report_time_left(config, run, report)
            warn(run, report, warned)
        if stop.requested:
            raise Stopped
    return True


def report_time_left(config: Config, run: Run, report: Reporter) -> None:
    """Report after a cycle how long the others will take, going by those that are finished."""
    stats = [report.stats(cycle) for cycle in range(1, run.state.cycle + 1)]
    left, cycles = seconds_left(stats, config, run.state.elapsed_seconds), config.cycles - run.state.cycle
    if left and cycles > 0:
        bounded = config.minutes and left >= 60 * config.minutes - run.state.elapsed_seconds
        more = f"{cycles} more {'cycle' if cycles == 1 else 'cycles'}"
        rest = f"until minutes={config.minutes:g}" if bounded else more
        report.message(f"{rest}: about {format_seconds(left)}")


def warn(run: Run, report: Reporter, warned: set[str]) -> None:
    """Report what is in the way of learning, each kind once; `warned` holds the kinds reported so far."""
    from azero.stages.diagnosis import case_of, examine, rules_of

    for about, sentence in examine(case_of(run, rules_of(run))).items():
        if about not in warned:
            report.message(f"doctor: {sentence}")
            warned.add(about)


def finish_run(config: Config, run: Run, report: Reporter, again: str) -> None:
    """Show the correctness table, where things are, and what to try next (`again`, see `next_commands`)."""
    if has_table(config.game.name):
        from azero.stages.measure import report_run

        report_run(config, run.name)
    from azero.truth.summary import closing_text

    assert run.state.champion is not None
    files = {"Champion": run.paths.of(run.state.champion.file), "Games": run.paths.data}
    files |= {"Stats": run.paths.metrics_csv, "Ratings": run.paths.ratings_csv}
    places = [f"  {what}: {shlex.quote(str(path))}" for what, path in files.items() if path.exists()]
    curves = f"{typed('tensorboard', 'tensorboard.main')} --logdir {shlex.quote(config.checkpoints)}"
    report.message(
        f"{format_count(run.state.cycle, 'cycles')} in {format_seconds(run.state.elapsed_seconds)}.\n"
        + "\n".join(places)
        + f"\n{closing_text(config, run.name, report.stats(run.state.cycle))}\n"
        f"  See it learn: {curves}\n{indent(again, '  ')}"
    )


def next_commands(config: Config, run: Run, asked: CommandLine, all_cycles: bool) -> str:
    """Return the command that goes on with the run beyond its bound, and one for a run like it.

    A multirun has other runs like it, whose names that one could take.
    """
    minutes = 2 * math.ceil(max(config.minutes, run.state.elapsed_seconds / 60))
    further: dict[str, float] = {"cycles": run.state.cycle + 10} if all_cycles else {"minutes": minutes}
    onward = asked.again(run.name, **further)
    anew, loop = asked.again(f"{run.name}-2", seed=config.seed + 1), f"{azero_command()} loop"
    further_one = "" if asked.is_one_of_many(run.name) else f"\nStart anew: {loop} {anew}"
    return f"Go on: {loop} {onward}{further_one}"


def run_asked(config: Config, name: str, asked: CommandLine | None = None) -> int:
    """Run or resume the run of that name. Return the exit status.

    asked: the command line, for the recipe and the commands that the report ends with.
    """
    from azero.games import held_rules  # here, because the room imports Numba

    if not config.cluster.address:
        warm_up.start_if_new(config.search.kind)
    warnings = check_run(config, name)
    asked = asked or CommandLine()
    with (
        held_rules(config.game.name) as rules,
        StopSignal() as stop,
        Run.open(config, name, "azero.loop", recipe=asked.recipe, rules=rules) as run,
        Reporter.open(run) as report,
    ):
        if run.state.cycle >= config.cycles and run.state.stage != StageName.INITIALIZE:
            report.message(f"Run {name} has finished its {format_count(run.state.cycle, 'cycles')} already.")
        elif run.state.stage != StageName.INITIALIZE:
            stage = TITLES.get(run.state.stage, run.state.stage)
            report.message(f"Run {name} goes on with {stage} of cycle {run.state.cycle + 1}.")
        elif note := misfit_text(asked.overrides):
            report.message(note)
        report_changes(run, report)
        for warning in (*warnings, *idle_texts(config, asked.overrides)):
            report.message(warning)
        try:
            all_cycles = run_cycles(config, run, report, stop)
        except Stopped:
            report.message(STOPPED)
            return stop.exit_code
        stop.end_at_once()
        finish_run(config, run, report, next_commands(config, run, asked, all_cycles))
    return 0


main = partial(program, "loop", run_asked, pass_arguments=True)

if __name__ == "__main__":
    sys.exit(main())
