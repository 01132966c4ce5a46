"""Running one stage on a run's folder: what a stage's own program and the loop do alike."""

from __future__ import annotations

from collections.abc import Callable

from azero.config import Config, UserError
from azero.metrics import Reporter
from azero.run import Run, Stopped, StopSignal

Stage = Callable[[Config, Run, Reporter, StopSignal], None]


def run_alone(name: str, stage: Stage, config: Config, run_name: str) -> int:
    """Run one stage if it is the one that comes next. Returns the exit status.

    Raises:
        UserError: another stage comes next.
    """
    with StopSignal() as stop, Run.open(config, run_name, f"azero.{name}") as run, Reporter.open(run) as report:
        if run.state.stage != name:
            raise UserError(
                f"In run {run_name} the stage {run.state.stage} comes next, not {name}; run python -m azero.{run.state.stage}."
            )
        try:
            stage(config, run, report, stop)
        except Stopped:
            return stop.exit_code
        report.message(f"{name} is done; {run.state.stage} comes next in {run.paths.folder}.")
    return 0
