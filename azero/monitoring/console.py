"""What a run prints: a live line while a stage works, one short line when it ends. The only importer of rich.

On a terminal the live line shows the stage, its bar, its figures and the time left for the whole run. Anywhere else (a file, a
pipe) nothing but the line at the end of each stage is printed, without control codes, and rich is never imported.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol, TextIO

from azero.forecast import RECENT_CYCLES

CYCLE_STAGES = ("selfplay", "train", "evaluate")  # the stages of one cycle, in order
TITLES = {"initialize": "initialize", "selfplay": "self-play", "train": "train", "evaluate": "evaluate"}
PERCENT = ("batch_fill", "cache_hits", "score", "policy_agreement")  # figures between 0 and 1 that are shown in percent
REDRAW_SECONDS = 0.1


class Progress(Protocol):
    """What a stage tells while it works."""

    def update(self, done: float, **figures: float | str) -> None:
        """Tell how much of the stage's total is done, with figures to show beside it; figures not named stay as they were.

        Cheap enough for every wave or step, and safe from several threads. Figures are shown under their names with spaces for
        underscores and "/s" for "_per_second"; `batch_fill`, `cache_hits` and `score` are shares, shown in percent; a string
        (`result="promoted"`) is shown as it is.
        """


class SilentProgress:
    """Shows nothing; remembers the last update for the line at the stage's end."""

    def __init__(self) -> None:
        self.done = 0.0
        self.figures: dict[str, float | str] = {}

    def update(self, done: float, **figures: float | str) -> None:
        """See `Progress.update`."""
        self.done = done
        self.figures.update(figures)


class Console:
    """Prints to one stream, live where it is a terminal.

    Attributes:
        stage_seconds: for each stage the seconds it took in the cycles so far, filled by the owner; the time left is estimated
            from them.
        deadline: `time.monotonic()` at which the run will end in any case, or None.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self.stream = stream or sys.stdout
        self.stage_seconds: dict[str, list[float]] = {}
        self.deadline: float | None = None
        self._rich = make_rich_console(self.stream) if is_terminal(self.stream) else None

    def message(self, text: str) -> None:
        """Print one line, above the live line where there is one."""
        if self._rich is None:
            print(text, file=self.stream, flush=True)
        else:
            self._rich.print(text, markup=False, highlight=False, soft_wrap=True)

    @contextmanager
    def stage(self, name: str, cycle: int, cycles: int, total: float, unit: str) -> Iterator[Progress]:
        """Show a stage of a cycle (counted from 1) while the block runs; a stage that raises prints no line at its end."""
        started = time.monotonic()
        if self._rich is None:
            progress = SilentProgress()
            yield progress
        else:
            with live_progress(self, name, cycle, cycles, total, unit) as progress:
                yield progress
        self.message(stage_line(name, cycle, cycles, progress.done, unit, time.monotonic() - started, progress.figures))

    def seconds_left(self, stage: str, cycle: int, cycles: int, elapsed: float, share_done: float) -> float | None:
        """Seconds until the whole run ends, or None while a stage of the cycle has never been timed."""
        left = estimate_seconds_left(self.stage_seconds, stage, cycle, cycles, elapsed, share_done)
        if self.deadline is None:
            return left
        bound = max(0.0, self.deadline - time.monotonic())
        return bound if left is None else min(left, bound)


def estimate_seconds_left(
    stage_seconds: Mapping[str, Sequence[float]], stage: str, cycle: int, cycles: int, elapsed: float, share_done: float
) -> float | None:
    """Seconds until the last stage of the last cycle ends.

    Args:
        stage_seconds: seconds that each stage took in the cycles before.
        stage: the stage at work.
        cycle: the cycle at work, counted from 1.
        cycles: the last cycle; 0 for work that belongs to no cycle.
        elapsed: seconds the stage has worked.
        share_done: how much of the stage is done, from 0 to 1.
    """
    expected = {name: sum(known[-RECENT_CYCLES:]) / len(known[-RECENT_CYCLES:]) for name, known in stage_seconds.items() if known}
    if share_done > 0.05:  # before that, extrapolation is noise
        expected[stage] = elapsed / share_done
    if stage not in expected or (cycles and any(name not in expected for name in CYCLE_STAGES)):
        return None
    if not cycles:
        return max(0.0, expected[stage] - elapsed)
    later = CYCLE_STAGES[CYCLE_STAGES.index(stage) + 1 :] if stage in CYCLE_STAGES else CYCLE_STAGES
    full_cycles = cycles - cycle if stage in CYCLE_STAGES else max(0, cycles - 1)
    now = max(0.0, expected[stage] - elapsed)
    return now + sum(expected[name] for name in later) + full_cycles * sum(expected[name] for name in CYCLE_STAGES)


def stage_line(
    name: str, cycle: int, cycles: int, done: float, unit: str, seconds: float, figures: Mapping[str, float | str]
) -> str:
    """The line at the end of a stage."""
    head = [
        f"{cycle_title(cycle, cycles)}{TITLES.get(name, name):<9}",
        f"{format_number(done)} {unit} in {format_seconds(seconds)}",
    ]
    return "  ".join([*head, *format_figures(figures)])


def cycle_title(cycle: int, cycles: int) -> str:
    """Such as "cycle  3/10  "; empty before the first cycle."""
    return f"cycle {cycle:>{len(str(cycles))}}/{cycles}  " if cycle else ""


def format_figures(figures: Mapping[str, float | str]) -> list[str]:
    """Each figure as a person reads it: "95,120 simulations/s", "batch fill 91 %", "loss 0.812", "promoted"."""
    return [format_figure(name, value) for name, value in figures.items()]


def format_figure(name: str, value: float | str) -> str:
    """One figure with its name."""
    if isinstance(value, str):
        return value
    if name.endswith("_per_second"):
        return f"{format_number(value)} {name.removesuffix('_per_second').replace('_', ' ')}/s"
    if name in PERCENT:
        return f"{name.replace('_', ' ')} {100 * value:.0f} %"
    return f"{name.replace('_', ' ')} {format_number(value)}"


def format_number(value: float) -> str:
    """Whole numbers and large ones with thousands separated, others with three significant digits."""
    if abs(value) >= 1000 or float(value).is_integer():
        return f"{value:,.0f}"
    return f"{value:.3g}"


def format_seconds(seconds: float) -> str:
    """Such as "0.4 s", "48 s", "3 min 20 s", "2 h 05 min"."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def table_text(rows: Sequence[Sequence[str]]) -> str:
    """A table, its header first, as aligned text: the first column to the left, the others to the right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [
        [row[0].ljust(widths[0])] + [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)] for row in rows
    ]
    return "\n".join("  ".join(line).rstrip() for line in lines)


def is_terminal(stream: TextIO) -> bool:
    """Whether the stream understands control codes."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def make_rich_console(stream: TextIO) -> Any:
    """A rich console on the stream."""
    from rich.console import Console as RichConsole

    return RichConsole(file=stream)


@contextmanager
def live_progress(console: Console, name: str, cycle: int, cycles: int, total: float, unit: str) -> Iterator[SilentProgress]:
    """The live line of a stage; it vanishes when the block ends."""
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as RichProgress

    columns = (
        TextColumn(f"[bold]{cycle_title(cycle, cycles)}[/bold][cyan]{TITLES.get(name, name)}"),
        BarColumn(bar_width=24),
        TextColumn("{task.fields[note]}", markup=False),
    )
    started = time.monotonic()

    def note(progress: SilentProgress) -> str:
        elapsed = time.monotonic() - started
        parts = [f"{format_number(progress.done)}/{format_number(total)} {unit}", *format_figures(progress.figures)]
        left = console.seconds_left(name, cycle, cycles, elapsed, progress.done / total if total else 1.0)
        return "  ".join(parts if left is None else [*parts, f"{format_seconds(left)} left"])

    with RichProgress(*columns, console=console._rich, transient=True, refresh_per_second=8) as rich_progress:
        task = rich_progress.add_task(name, total=total or 1.0, note=note(SilentProgress()))

        class LiveProgress(SilentProgress):
            redrawn = 0.0

            def update(self, done: float, **figures: float | str) -> None:
                super().update(done, **figures)
                now = time.monotonic()
                if now - self.redrawn >= REDRAW_SECONDS or done >= total:
                    self.redrawn = now
                    rich_progress.update(task, completed=done, note=note(self))

        yield LiveProgress()
