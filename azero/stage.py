"""Running one stage on a run's folder, and the run's clock: what a stage's own program and the loop do alike."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Container, Mapping
from dataclasses import replace

from azero.config import Config
from azero.elo_table import champion_name, csv_text, results_of, scalars_of, table_of
from azero.files.state import STAGES
from azero.metrics import Reporter
from azero.run import Run, State, Stopped, StopSignal
from azero.truth.known import told_last
from azero.truth.shipped import check_file

GAME_SECONDS = "selfplay/game_seconds"  # the figure that self-play tells of its games
KEPT_BACK = 1.1  # of what the other stages took last: training takes longer from cycle to cycle while its window fills

Stage = Callable[..., None]  # (config, run, report, stop); selfplay takes a deadline as well


class Clock:
    """Wall-clock of the run over all its resumes, how long each stage took last, and what the bound leaves time for.

    The one place that knows the time spent: `run_next` commits `elapsed` as `state.elapsed_seconds`.

    Attributes:
        bound: seconds that the run may take in all, infinite for no bound.
        last: by stage, the seconds that it took last; "correctness" is the measuring after a cycle, "game" a game of self-play.
        always: stages that there is always time for.
    """

    def __init__(
        self,
        minutes: float,
        elapsed_seconds: float,
        last: Mapping[str, float] | None = None,
        always: Container[str] = ("initialize",),
    ) -> None:
        """`minutes`: the bound, 0 for none. `elapsed_seconds`: spent before this process. `last`: known from before."""
        self.bound = minutes * 60 if minutes else math.inf
        self.begin = time.perf_counter() - elapsed_seconds
        self.last = dict(last or {})
        self.always = always

    @property
    def elapsed(self) -> float:
        """Seconds spent on this run."""
        return time.perf_counter() - self.begin

    def has_time_for(self, stage: str) -> bool:
        """Whether a stage that takes as long as last time would end in time.

        For self-play, whether it has half of that time, and that of a game: in less it would finish next to none.
        """
        if stage in self.always:
            return True
        if stage == "selfplay":
            return self.selfplay_seconds() > max(self.last.get(stage, 0.0) / 2, self.last.get("game", 0.0))
        return self.elapsed + self.last.get(stage, 0.0) < self.bound

    def selfplay_seconds(self) -> float:
        """Seconds that the bound leaves for self-play: all but a little more than comes after it, or half if that is unknown."""
        left = self.bound - self.elapsed
        if "train" not in self.last or "evaluate" not in self.last:
            return left / 2
        return left - KEPT_BACK * (self.last["train"] + self.last["evaluate"] + self.last.get("correctness", 0.0))


def start_clock(minutes: float, run: Run, report: Reporter) -> Clock:
    """The run's clock, going on where it stood; how long stages took is read back from the figures of the run.

    There is always time for `initialize`, for a run without a network would have nothing to show, and for a promotion without a
    match, for what was trained last would be lost.
    """
    known = {stage: report.last_figure(f"time/{stage}") for stage in (*STAGES, "correctness")}
    known["game"] = report.last_figure(GAME_SECONDS)
    last = {what: seconds for what, seconds in known.items() if seconds is not None}
    evaluate = run.config.evaluate
    matched = evaluate.games or evaluate.anchor_games
    return Clock(minutes, run.state.elapsed_seconds, last, ("initialize",) if matched else ("initialize", "evaluate"))


def run_next(stage: Stage, config: Config, run: Run, report: Reporter, stop: StopSignal, clock: Clock) -> None:
    """Run `stage`, the one that comes next, tell how long it took, measure the champion if that ended a cycle, commit the time.

    Raises:
        Stopped: a stop was requested; all that is finished is committed.
    """
    name, before, begin = run.state.stage, run.state, clock.elapsed - run.state.stage_seconds
    limits = {"deadline": time.perf_counter() + clock.selfplay_seconds()} if name == "selfplay" else {}
    try:
        stage(config, run, report, stop, **limits)
        if place_of(run.state) > place_of(before):  # else the stage took the run back
            tell_seconds(report, clock, before.cycle + 1, name, begin)
            clock.last["game"] = report.last_figure(GAME_SECONDS) or 0.0
        if run.state.cycle > before.cycle:
            finish_cycle(config, run, report, clock)
    finally:
        stopped = place_of(run.state) == place_of(before)
        spent = clock.elapsed - begin if stopped else 0.0
        run.commit(replace(run.state, elapsed_seconds=clock.elapsed, stage_seconds=spent))


def place_of(state: State) -> tuple[int, int]:
    """How far a run is: places grow as stages end."""
    return state.cycle, STAGES.index(state.stage)


def tell_seconds(report: Reporter, clock: Clock, cycle: int, what: str, begin: float) -> None:
    """Note and tell what something took that began at `begin` by the run's clock."""
    clock.last[what] = clock.elapsed - begin
    report.cycle_scalars(cycle, {f"time/{what}": clock.last[what]})


def finish_cycle(config: Config, run: Run, report: Reporter, clock: Clock) -> None:
    """Measure the champion where the truth is known, and close the cycle's row in the metrics."""
    cycle, begin = run.state.cycle, clock.elapsed
    if told_last(config):
        from azero.cycle_report import report_cycle

        report_cycle(config, run.name, cycle, report)
        tell_seconds(report, clock, cycle, "correctness", begin)
    report_ratings(run, report)
    report.end_cycle(cycle)


def report_ratings(run: Run, report: Reporter) -> None:
    """Write the Elo table of what is committed, and tell where the champion stands in it, if there are rated games."""
    results, champion = results_of(run.state.history), run.state.champion
    if not results or champion is None:
        return
    table = table_of(results)
    report.ratings(csv_text(table))
    for row in table:
        if row.player == champion_name(champion.cycle):
            report.cycle_scalars(run.state.cycle, scalars_of(row.rating))


def mend_report(config: Config, run: Run, report: Reporter, clock: Clock) -> None:
    """Measure the champion of the last finished cycle if the process that finished it was killed before it did.

    The Elo table is made anew in any case, so that it never tells more than is committed.
    """
    report_ratings(run, report)
    figure = told_last(config)
    if run.state.cycle and figure and figure not in report.figures(run.state.cycle):
        finish_cycle(config, run, report, clock)


def tell_changes(run: Run, report: Reporter) -> None:
    """Say which settings a run goes on with that it did not have before: one left out of the command has fallen back."""
    if run.changes:
        report.message(f"Settings have changed: {', '.join(run.changes)}.")


def run_alone(name: str, stage: Stage, config: Config, run_name: str) -> int:
    """Run one stage if it is the one that comes next, without the bound of `minutes`. Returns the exit status.

    Raises:
        UserError: another stage comes next, or `oracle.file` cannot be asked about.
    """
    check_file(config)
    with StopSignal() as stop, Run.open(config, run_name, f"azero.{name}", stage=name) as run, Reporter.open(run) as report:
        tell_changes(run, report)
        clock = start_clock(0.0, run, report)
        mend_report(config, run, report, clock)
        try:
            run_next(stage, config, run, report, stop, clock)
        except Stopped:
            return stop.exit_code
        report.message(f"{name} is done; {run.state.stage} comes next in {run.paths.folder}.")
    return 0
