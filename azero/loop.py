"""The whole run: self-play, train, evaluate, promote, again. `python -m azero.loop` starts it, or goes on where it stopped.

    initialize ──▶ selfplay ──▶ train ──▶ evaluate ──┐
                      ▲                              │
                      └────────── next cycle ────────┘

The loop decides which stage is next, runs it, and tells how it went. It holds no learning code and no tensors.
"""

from __future__ import annotations

import importlib
import time

from azero.command_line import program
from azero.config import Config
from azero.metrics import Reporter
from azero.run import Run, Stopped, StopSignal


class Clock:
    """Wall-clock of the run, over all its resumes, and how long each stage took last."""

    def __init__(self, minutes: float, elapsed_seconds: float) -> None:
        """`minutes`: the bound, 0 for none. `elapsed_seconds`: spent before this process."""
        self.bound = minutes * 60 if minutes else float("inf")
        self.begin = time.perf_counter() - elapsed_seconds
        self.last: dict[str, float] = {}

    @property
    def elapsed(self) -> float:
        """Seconds of work on this run."""
        return time.perf_counter() - self.begin

    def has_time_for(self, stage: str) -> bool:
        """Whether a stage that takes as long as last time would end in time; before a cycle's first stage, the whole cycle.

        `initialize` always has time: a run without a network would have nothing to show.
        """
        needed = sum(self.last.values()) if stage == "selfplay" else self.last.get(stage, 0.0)
        return stage == "initialize" or self.elapsed + needed < self.bound


def run_stage(config: Config, run: Run, report: Reporter, stop: StopSignal) -> None:
    """Import the stage that comes next and run it: torch and the compiled search are loaded only now."""
    importlib.import_module(f"azero.{run.state.stage}").run_stage(config, run, report, stop)


def run_cycles(config: Config, run: Run, report: Reporter, stop: StopSignal) -> None:
    """Run stages until the cycles or the minutes are used up.

    Raises:
        Stopped: a signal came; all that is finished is committed.
    """
    clock = Clock(config.minutes, run.state.elapsed_seconds)
    while run.state.cycle < config.cycles or run.state.stage == "initialize":
        stage, cycle = run.state.stage, run.state.cycle
        if not clock.has_time_for(stage):
            report.message(f"minutes={config.minutes:g} are used up after {cycle} cycles; set a higher minutes= to go on.")
            return
        begin = clock.elapsed
        run_stage(config, run, report, stop)
        clock.last[stage] = clock.elapsed - begin
        report.cycle_scalars(cycle + 1, {f"time/{stage}": clock.last[stage]})
        if run.state.cycle > cycle:
            finish_cycle(config, run, report)
        if stop.requested:
            raise Stopped


def finish_cycle(config: Config, run: Run, report: Reporter) -> None:
    """Measure the champion where the truth is known, and close the cycle's row in the metrics."""
    if config.game.name == "tictactoe":
        from azero.cycle_report import report_cycle

        report_cycle(config, run.name, run.state.cycle, report)
    report.end_cycle(run.state.cycle)


def finish_run(config: Config, run: Run, report: Reporter) -> None:
    """Show the correctness table, where things are, and what to try next."""
    if config.game.name == "tictactoe":
        from azero.cycle_report import report_run

        report_run(config, run.name)
    assert run.state.champion is not None
    again = f"python -m azero.loop run={run.name}"
    report.message(
        f"{run.state.cycle} cycles in {run.state.elapsed_seconds:.0f} s. "
        f"Champion: {run.paths.of(run.state.champion.file)}. Games: {run.paths.data}. Figures: {run.paths.metrics_csv}.\n"
        f"See it learn: tensorboard --logdir {config.checkpoints}\n"
        f"Go on: {again} cycles={config.cycles + 10}\n"
        f"Start anew: {again}-2 seed={config.seed + 1}"
    )


def main(config: Config, name: str) -> int:
    """Run or resume the run of that name. Returns the exit status."""
    with StopSignal() as stop, Run.open(config, name, "azero.loop") as run, Reporter.open(run) as report:
        if run.state.cycle >= config.cycles and run.state.stage == "selfplay":
            report.message(f"Run {name} has finished its {run.state.cycle} cycles already.")
        elif run.state.stage != "initialize":
            report.message(f"Run {name} goes on with {run.state.stage} of cycle {run.state.cycle + 1}.")
        try:
            run_cycles(config, run, report, stop)
        except Stopped:
            report.message("Stopped; the same command goes on from here.")
            return stop.exit_code
        stop.end_at_once()
        finish_run(config, run, report)
    return 0


if __name__ == "__main__":
    program(main)
