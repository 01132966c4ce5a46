"""Print progress: a live line while a stage works, one line when it ends. The only importer of rich.

On a terminal the live line shows the stage, a bar, the count and the time left, then stats as far as there is
room. So it does where AZERO_LIVE is set: for a notebook, which knows no control code but a carriage return.
Elsewhere (a file, a pipe) only the finished lines are printed. rich is imported for a terminal only.
"""

from __future__ import annotations

import math
import os
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from statistics import mean
from typing import Any, NamedTuple, TextIO

from azero.process.ending import end_at_interrupts
from azero.report.forecast import RECENT_CYCLES
from azero.run.state import CYCLE_STAGES, StageName

TITLES: dict[str, str] = {StageName.SELFPLAY: "self-play"}  # where a title is not the name
PERCENT = ("score",)  # shares, shown in percent
QUOTED = r"(?<!\w)'[^']*'(?!\w)"  # such as a path with a space, from shlex.quote
MEASURABLE = 0.05  # share of a stage; before that, extrapolation is noise
REDRAW_SECONDS = 0.1
LIVE = "AZERO_LIVE"  # environment: who reads the lines writes those with a carriage return over each other
NOTEBOOK_SECONDS = 0.5  # from one live line to the next: a saved notebook may keep them all
NOTEBOOK_COLUMNS = 100  # of a notebook's live line
GAP = "  "  # between the parts of a line
WIDE = 120  # columns of a terminal from which on the bar is long, and finished lines show the minutes
LONG_WAIT = 1.0  # seconds of compiling or starting that a line names, because its speed leaves them out
SHORT_BAR, LONG_BAR, SHORTEST_BAR = 8, 24, 5  # columns


class Progress:
    """Receives the progress of a stage and shows nothing; keeps the last stats for the finished line."""

    def __init__(self) -> None:
        self.done = 0.0
        self.doing = ""  # what the stage does before anything is done
        self.waited_for = ""  # the last of these
        self.stats: dict[str, float | str] = {}
        self.started = time.monotonic()  # of the work that is counted
        self.observe: Callable[[], object] = lambda: None  # called after each update
        self.boards: Callable[[], list[dict[str, Any]]] = list  # some games in flight; see `LiveFile`

    def update(self, done: float, **stats: float | str) -> None:
        """Report how much of the stage's total is done, and stats; stats not named keep their values.

        Cheap enough for every wave or step, and safe from several threads. A stat is shown under its name,
        with spaces for underscores and "/s" for "_per_second". `score` is a share, shown in percent. A string
        (`result="promoted"`) is shown as it is. `doing="compiling"` and its seconds replace the count and
        the stats until something is done, and that time is left out of the forecast.
        """
        self.done = done
        self.doing = str(stats.pop("doing", ""))
        if self.doing:
            self.started, self.waited_for = time.monotonic(), self.doing
        self.stats.update(stats)
        self.observe()


class Console:
    """Prints to one stream, live if it is a terminal.

    Attributes:
        stage_seconds: for each stage the seconds that it took in the cycles so far; the time left is
            estimated from them.
        minutes: wall-clock bound of the run, 0 for none.
        deadline: `time.monotonic()` at which the run ends at the latest, or None.
        beside: returns a note on what goes on beside a stage; "" for none.
        written_over: whether a notebook shows a live line.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self.stream = stream or sys.stdout
        self.stage_seconds: dict[str, list[float]] = {}
        self.minutes = 0.0
        self.deadline: float | None = None
        self.beside: Callable[[], str] = str
        self.written_over = False
        self._rich = make_rich_console(self.stream) if is_terminal(self.stream) else None

    def message(self, text: str) -> None:
        """Print lines, above the live line if there is one.

        A terminal wraps them at words, never in single quotes. A line with two spaces in a row, or one at its
        beginning, is a table, a board or a command and stays as it is; a command that is too long stands
        below its title.
        """
        if self._rich is None:
            self.erase()
            print(text, file=self.stream, flush=True)
            return
        lines = [
            below_title(line, self._rich.width)
            if GAP in line or line.startswith(" ")
            else wrap(re.findall(rf"(?:{QUOTED}|[^ ]| (?=%))+", line), self._rich.width, " ")
            for line in text.split("\n")
        ]
        self._rich.print("\n".join(lines), markup=False, highlight=False, soft_wrap=True)

    def erase(self) -> None:
        """Erase the live line of a notebook, if there is one."""
        if self.written_over:
            self.write_over("")

    def write_over(self, text: str) -> None:
        """Show a live line that the next text is written over."""
        print(f"{text:<{NOTEBOOK_COLUMNS}}\r", end="", file=self.stream, flush=True)

    @contextmanager
    def stage(self, name: str, cycle: int, cycles: int, total: float, unit: str) -> Iterator[Progress]:
        """Show a stage while the block runs; print no finished line if it raises. `cycle` counts from 1."""
        started = time.monotonic()
        if self._rich is None and LIVE not in os.environ:
            yield (progress := Progress())
        else:
            with live_progress(self, name, cycle, cycles, total, unit) as progress:
                yield progress
        took, waited = format_seconds(time.monotonic() - started), progress.started - started
        if waited > LONG_WAIT and any(stat.endswith("_per_second") for stat in progress.stats):
            took += f" ({waited:.0f} s {progress.waited_for})"
        narrow = self._rich is not None and self._rich.width < WIDE
        parts = [
            *filter(None, [self.cycle_title(cycle, cycles, short=narrow)]),
            f"{TITLES.get(name, name):<9}",
            f"{format_count(progress.done, unit)} in {took}",
            *(format_stat(stat, value) for stat, value in progress.stats.items()),
            *filter(None, [self.beside()]),
        ]
        line = GAP.join(parts)
        if self._rich is not None and len(line) > self._rich.width:
            line = wrap([part.rstrip() for part in parts], self._rich.width)
        self.message(line)

    def cycle_title(self, cycle: int, cycles: int, short: bool = False) -> str:
        """Return such as "cycle  3/10" or, with a bound, "cycle 3, 12 of 60 min"; "" before cycle 1.

        The short title has no minutes.
        """
        if not cycle:
            return ""
        if not self.minutes or self.deadline is None:
            return f"cycle {cycle:>{len(str(cycles))}}/{cycles}"
        if short:
            return f"cycle {cycle}"
        spent = self.minutes - (self.deadline - time.monotonic()) / 60
        return f"cycle {cycle}, {spent:.{0 if self.minutes >= 10 else 1}f} of {self.minutes:g} min"

    def seconds_left(
        self, stage: str, cycle: int, cycles: int, elapsed: float, share_done: float
    ) -> float | None:
        """Return the seconds until the whole run ends, or None while a stage has never been timed."""
        left = estimate_seconds_left(self.stage_seconds, stage, cycle, cycles, elapsed, share_done)
        if self.deadline is None:
            return left
        bound = max(0.0, self.deadline - time.monotonic())
        return bound if left is None else min(left, bound)


def estimate_seconds_left(
    stage_seconds: Mapping[str, Sequence[float]],
    stage: str,
    cycle: int,
    cycles: int,
    elapsed: float,
    share_done: float,
) -> float | None:
    """Return the seconds until the last cycle ends, or None while a stage has never been timed.

    Args:
        stage_seconds: seconds that each stage took in the cycles before.
        stage, cycle: what is at work; cycles count from 1.
        cycles: the last cycle; 0 for work outside of cycles.
        elapsed, share_done: seconds that the stage has worked, and how much of it is done, from 0 to 1.
    """
    expected = {name: mean(known[-RECENT_CYCLES:]) for name, known in stage_seconds.items() if known}
    if share_done > MEASURABLE:
        expected[stage] = elapsed / share_done
    if stage not in expected or (cycles and any(name not in expected for name in CYCLE_STAGES)):
        return None
    now = max(0.0, expected[stage] - elapsed)
    if not cycles:
        return now
    seconds = [expected[name] for name in CYCLE_STAGES]
    if stage not in CYCLE_STAGES:
        return now + cycles * sum(seconds)
    return now + sum(seconds[CYCLE_STAGES.index(stage) + 1 :]) + (cycles - cycle) * sum(seconds)


def wrap(parts: Sequence[str], width: int, gap: str = GAP) -> str:
    """Join parts into lines of at most `width` columns; parts stay whole, and further lines are indented."""
    lines = [""]
    for number, part in enumerate(parts):
        if number and len(lines[-1]) + len(gap) + len(part) > width:
            lines.append(GAP + part)
        else:
            lines[-1] += gap + part if number else part
    return "\n".join(line.rstrip() for line in lines)


def below_title(line: str, width: int) -> str:
    """Return a line such as "  Play it: azero play", in two lines if it is too long."""
    title, colon, command = line.partition(": ")
    if len(line) <= width or not colon or GAP in line.lstrip():
        return line
    return f"{title}:\n{GAP}{GAP}{command}"


def format_count(number: float, unit: str) -> str:
    """Return such as "3,000 games" or "1 cycle"; `unit` is a plural in -s."""
    return f"{format_number(number)} {unit.removesuffix('s') if number == 1 else unit}"


def format_stat(name: str, value: float | str) -> str:
    """Return a stat as text: "95,120 simulations/s", "score 91 %", "loss 0.812", "promoted"."""
    if isinstance(value, str):
        return value
    words = name.removesuffix("_per_second").replace("_", " ")
    if name.endswith("_per_second"):
        return f"{format_number(value)} {words}/s"
    return f"{words} {100 * value:.0f} %" if name in PERCENT else f"{words} {format_number(value)}"


def format_number(value: float) -> str:
    """Return whole numbers and those from 1,000 with commas, others with three significant digits."""
    if abs(value) >= 1000 or float(value).is_integer():
        return f"{value:,.0f}"
    return f"{value:.3g}"


def format_share(share: float, digits: int | None = None) -> str:
    """Return such as "38 %" or "4.1 %"; digits after the point, None: one below 10 %."""
    if digits is None:
        digits = 1 if 0 < share < 0.0995 else 0
    return f"{100 * share:.{digits}f} %"


def format_interval(low: float, high: float) -> str:
    """Return an interval of shares, such as "4.1 to 9.3 %"."""
    return f"{100 * low:.1f} to {100 * high:.1f} %"


def format_size(size: float) -> str:
    """Return a number of bytes such as "1.5 MB"."""
    units = ["B", "kB", "MB", "GB"]
    while size >= 1000 and len(units) > 1:
        size, _ = size / 1000, units.pop(0)
    return f"{size:.0f} {units[0]}" if size >= 10 or units[0] == "B" else f"{size:.1f} {units[0]}"


def format_shares(shares: Sequence[float]) -> list[str]:
    """Return shares that sum to 1, such as "46 %", rounded so that the numbers sum to 100.

    All have one digit after the point if one is below 10 %.
    """
    scale = 1000 if any(0 < share < 0.0995 for share in shares) else 100
    parts = [math.floor(scale * share + 1e-9) for share in shares]
    by_rest = sorted(range(len(shares)), key=lambda place: parts[place] - scale * shares[place])
    for place in by_rest[: scale - sum(parts)]:
        parts[place] += 1
    digits = [int(scale == 1000 and 0 < share < 1) for share in shares]
    return [f"{100 * part / scale:.{each}f} %" for part, each in zip(parts, digits, strict=True)]


def format_seconds(seconds: float) -> str:
    """Return such as "0.4 s", "48 s", "3 min 20 s", "2 h 05 min"."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def table_text(rows: Sequence[Sequence[str]]) -> str:
    """Return a table, header first, as text: the first column aligned left, the others right."""
    first, *widths = (max(map(len, column)) for column in zip(*rows, strict=True))
    lines = []
    for name, *row in rows:
        cells = [cell.rjust(width) for cell, width in zip(row, widths, strict=True)]
        lines.append(GAP.join([name.ljust(first), *cells]).rstrip())
    return "\n".join(lines)


def is_terminal(stream: TextIO) -> bool:
    """Check whether the stream understands control codes."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def make_rich_console(stream: TextIO) -> Any:
    """Return a rich console on the stream."""
    from rich.console import Console as RichConsole

    return RichConsole(file=stream)


class LiveLine(NamedTuple):
    """What the live line shows: `head`, a bar of `bar` columns, `note`, with a space between them."""

    head: str
    bar: int
    note: str


Show = Callable[[LiveLine, float | None], None]  # shows a line and how much is done, None: it is not known


def live_line(width: int, title: str, stage: str, count: str, left: str, notes: Sequence[str]) -> LiveLine:
    """Return what fits into `width` columns.

    First notes are dropped, from the right; then the cycle's title, the unit, the word "left" and the time
    left.

    Args:
        width: columns of the terminal.
        title: the cycle, or "".
        stage: the stage.
        count: such as "173/3,000 games".
        left: such as "3 min 20 s left", or "".
        notes: stats, the most important first.
    """
    titled = f"{title}{GAP}{stage}" if title else stage
    number, time_left = count.split()[0], left.removesuffix(" left")
    wanted = LONG_BAR if width >= WIDE else SHORT_BAR
    for head, *shown in (
        (titled, count, left),
        (stage, count, left),
        (stage, number, left),
        (stage, number, time_left),
        (stage, number),
    ):
        note = GAP.join(filter(None, shown))
        free = width - len(head) - len(note) - 2
        if free >= SHORTEST_BAR:
            break
    bar = max(0, min(wanted, free))
    for stat in notes:
        if len(head) + bar + len(note) + 2 + len(GAP) + len(stat) > width:
            break
        note += GAP + stat
    return LiveLine(head, bar, note)


class LiveProgress(Progress):
    """Draws the live line of a stage, at most every `seconds`."""

    def __init__(self, draw: Callable[[Progress], object], total: float, seconds: float) -> None:
        super().__init__()
        self.draw, self.total, self.seconds = draw, total, seconds
        self.drawn = -math.inf  # the first update is drawn at once
        draw(self)

    def update(self, done: float, **stats: float | str) -> None:
        super().update(done, **stats)
        now = time.monotonic()
        if now - self.drawn >= self.seconds or done >= self.total:
            self.drawn = now
            self.draw(self)


@contextmanager
def live_progress(
    console: Console, name: str, cycle: int, cycles: int, total: float, unit: str
) -> Iterator[Progress]:
    """Show the live line of a stage; it vanishes when the block ends."""
    rich, began = console._rich, time.monotonic()

    def line(progress: Progress) -> LiveLine:
        elapsed = time.monotonic() - progress.started
        share = progress.done / total if total else 1.0
        seconds = console.seconds_left(name, cycle, cycles, elapsed, share)
        left = "" if seconds is None else f"{format_seconds(seconds)} left"
        if seconds is None and share > MEASURABLE:
            left = f"stage: {format_seconds(elapsed / share - elapsed)} left"
        count, stats = f"{progress.doing} {time.monotonic() - began:.0f} s", list[str]()
        if not progress.doing:
            of = format_number(total)
            count = f"{format_number(progress.done):>{len(of)}}/{of} {unit}"
            stats = [format_stat(stat, value) for stat, value in progress.stats.items()]
        stats = [*filter(None, [console.beside()]), *stats]
        title, width = console.cycle_title(cycle, cycles), NOTEBOOK_COLUMNS if rich is None else rich.width
        return live_line(width, title, TITLES.get(name, name), count, left, stats)

    with in_notebook(console) if rich is None else in_terminal(rich) as show:
        yield LiveProgress(
            lambda progress: show(line(progress), None if progress.doing else progress.done / (total or 1.0)),
            total,
            NOTEBOOK_SECONDS if rich is None else REDRAW_SECONDS,
        )


@contextmanager
def in_terminal(rich: Any) -> Iterator[Show]:
    """Yield what shows a live line on a terminal."""
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as RichProgress

    end_at_interrupts()  # else the cursor, which is hidden below, would not come back
    bar = BarColumn(bar_width=SHORT_BAR, finished_style="green")  # the usual one is grey in 16 colours
    head, note = TextColumn("[bold cyan]{task.fields[head]}"), TextColumn("{task.fields[note]}", markup=False)
    with RichProgress(head, bar, note, console=rich, transient=True, refresh_per_second=8) as shown:

        def show(line: LiveLine, share: float | None) -> None:
            bar.bar_width = line.bar
            if not shown.task_ids:
                shown.add_task("", **line._asdict())
            total = None if share is None else 1.0  # rich pulses a bar without a total
            shown.update(shown.task_ids[0], total=total, completed=share or 0.0, **line._asdict())

        yield show


@contextmanager
def in_notebook(console: Console) -> Iterator[Show]:
    """Yield what shows a live line in a notebook."""

    def show(line: LiveLine, share: float | None) -> None:
        full = round((share or 0.0) * line.bar)
        console.write_over(f"{line.head} {'━' * full}{'┄' * (line.bar - full)} {line.note}")

    console.written_over = True
    try:
        yield show
    finally:
        console.erase()
        console.written_over = False
