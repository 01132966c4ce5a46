"""The run's clock: the time spent over all resumes, and what `minutes` leaves time for."""

from __future__ import annotations

import math
import time
from collections.abc import Container, Mapping

from azero.report.console import format_count, format_seconds
from azero.report.forecast import seconds_of
from azero.report.reporter import GAME_SECONDS, Reporter
from azero.run.run import Run
from azero.run.state import CYCLE_STAGES, STAGES, StageName
from azero.stages.registry import RECORDS, stage_named
from azero.truth.known import MEASURING

# Times what later stages took last: training takes longer from cycle to cycle while its window fills.
KEPT_BACK = 1.1


class RunClock:
    """Wall-clock of a run over all its resumes.

    Attributes:
        bound: seconds that the run may take in all, from `minutes`; infinite for 0.
        last: seconds that each stage took last, without compiling. "correctness" is the measuring after a
            cycle, "game" one game of self-play.
        always: stages that also run when the time is used up.
    """

    def __init__(
        self,
        minutes: float,
        elapsed_seconds: float,
        last: Mapping[str, float] | None = None,
        always: Container[str] = (StageName.INITIALIZE,),
    ) -> None:
        """Start the clock of a run that took `elapsed_seconds` before this process."""
        self.bound = minutes * 60 if minutes else math.inf
        self.begin = time.perf_counter() - elapsed_seconds
        self.last = dict(last or {})
        self.always = always

    @property
    def elapsed(self) -> float:
        """Seconds spent on this run."""
        return time.perf_counter() - self.begin

    def has_time_for(self, stage: str) -> bool:
        """Return whether a stage that takes as long as last time ends in time.

        A stage that can end early needs only half of that time, but at least the time of a game.
        """
        if stage in self.always:
            return True
        if stage_named(stage).ends_early:
            return self.selfplay_seconds() > max(self.last.get(stage, 0.0) / 2, self.last.get("game", 0.0))
        return self.elapsed + self.last.get(stage, 0.0) < self.bound

    def selfplay_seconds(self) -> float:
        """Return the seconds left for self-play: all but what follows needs, or half if that is unknown."""
        left = self.bound - self.elapsed
        if StageName.TRAIN not in self.last or StageName.EVALUATE not in self.last:
            return left / 2
        return left - self.seconds_after(StageName.SELFPLAY)

    def seconds_after(self, stage: str) -> float:
        """Return the seconds that are kept back for what follows a stage in its cycle."""
        parts = (*CYCLE_STAGES, MEASURING)
        return KEPT_BACK * sum(self.last.get(what, 0.0) for what in parts[parts.index(stage) + 1 :])

    def shortage(self, stage: str, cycle: int) -> str:
        """Return what `minutes` leaves no time for: what begins with a stage, in a cycle counted from 1."""
        if self.elapsed >= self.bound:
            return f"is used up after {format_count(cycle - 1, 'cycles')}"
        seconds = self.last.get(stage, 0.0) + self.seconds_after(stage)
        what = "another cycle" if stage == StageName.SELFPLAY else f"the rest of cycle {cycle}"
        return f"leaves no time for {what} (about {format_seconds(seconds)})"


def start_clock(minutes: float, run: Run, report: Reporter) -> RunClock:
    """Return the run's clock, which goes on where it stood. Times of stages come from the run's stats."""
    last: dict[str, float] = {}
    for cycle in range(run.state.cycle + 2):  # the newest time of each counts
        last |= times_of(report.stats(cycle))
    always = {record.name for record in RECORDS if record.ignores_minutes(run.config)}
    return RunClock(minutes, run.state.elapsed_seconds, last, always)


def times_of(stats: Mapping[str, float]) -> dict[str, float]:
    """Return the seconds in a cycle's stats by what took them, without compiling; see `RunClock.last`."""
    times = {what: seconds_of(stats, what) for what in (*STAGES, MEASURING)}
    game, stage = stats.get(GAME_SECONDS), times[StageName.SELFPLAY]
    if game is not None and stage is not None:  # games in flight waited for the compiler, as the stage did
        game *= stage / max(stats[f"time/{StageName.SELFPLAY}"], 1e-9)
    times["game"] = game
    return {what: seconds for what, seconds in times.items() if seconds is not None}
