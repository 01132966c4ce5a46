"""Report what a run measures: TensorBoard, `metrics.csv` and the console behind one small interface.

    tensorboard/train    x = training step      groups loss/ and train/
    tensorboard/cycle    x = cycle, from 1      everything else; 0 is the run's beginning
    metrics.csv          one row a cycle: its stats, and the last ones of training
    ratings.csv          the Elo table, written anew from committed matches
    live.json            what the run is doing, while somebody watches

Each stat belongs to a stage (`STAGE_OF_GROUP`). Opening a run removes the stats of stages that were not
committed from the event files and the CSV. So the steps of a tag strictly increase, however often a run was
interrupted. A failure to write does not stop a run: it is reported once, and later writes try again.
"""

from __future__ import annotations

import contextlib
import io
import os
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any, TextIO

import numpy as np

from azero.config.schema import UserError, flatten
from azero.report.console import Console, Progress, format_count
from azero.report.forecast import seconds_of
from azero.report.live import LiveFile
from azero.report.metrics_csv import MetricsTable
from azero.run.disk import Disk, replace_if_other
from azero.run.run import Run
from azero.run.state import STAGES, StageName, State

if TYPE_CHECKING:
    from azero.report.event_files import EventFolder  # imports TensorBoard

Kept = Callable[[int, str], bool]

LAYOUT_TAG = "custom_scalars__config__"  # TensorBoard's name

# The stage that reports a tag, by the tag's group: the part before its slash. Other groups belong to
# evaluate.
STAGE_OF_GROUP: dict[str, StageName] = {
    **{stage.value: stage for stage in STAGES},
    "config": StageName.INITIALIZE,
    "cluster": StageName.SELFPLAY,
    LAYOUT_TAG: StageName.INITIALIZE,
    "replay": StageName.TRAIN,
    "loss": StageName.TRAIN,
    "rating": StageName.EVALUATE,
    "correctness": StageName.EVALUATE,
    "oracle": StageName.EVALUATE,
}
TRAIN_GROUPS = ("loss", StageName.TRAIN)
GAME_SECONDS = "selfplay/game_seconds"  # a stat that self-play reports
STEPS = "replay/train_steps"  # and one that training reports: steps since the beginning
SPEED = "train/steps_per_second"  # belongs to a cycle, not to a training step

# Groups of charts, each chart with its tags. A tag may be a regular expression. X, X_low and X_high make a
# line in a band.
LAYOUT = {
    "start here": {
        "right replies in 11 fixed positions": "correctness/fixed_search correctness/fixed_policy",
        "positions in which the move keeps the value": (
            "correctness/keeps_value_search correctness/keeps_value_policy"
        ),
        "games lost, of all that an opponent can make: first, second player": (
            "correctness/losses_first_search correctness/losses_second_search"
        ),
        "candidate v. champion: score with 95 % interval": (
            "evaluate/score evaluate/score_low evaluate/score_high"
        ),
        "Elo, summed over promotions": "evaluate/elo_chain",
        "wins, draws, losses of the candidate": "evaluate/wins evaluate/draws evaluate/losses",
        "loss": "loss/.*",
        "simulations per second": "selfplay/simulations_per_second",
    },
    "does it learn": {
        "solved positions: share of moves without mistake": (
            "oracle/keeps_value_search oracle/keeps_value_policy"
        ),
        "Hex: share of first moves judged right": "oracle/openings_right",
        "solved positions: error of the value": "oracle/value_error_search oracle/value_error_policy",
        "value error in training": "train/value_error",
        "share of policies whose best move is the target's": "train/policy_agreement",
        "entropy of policy and target": "train/policy_entropy train/target_entropy",
        "learning rate": "train/lr",
        "Elo against fixed opponents (evaluate.anchor_games) with 95 % interval": (
            "rating/elo rating/elo_low rating/elo_high"
        ),
    },
    "what it plays": {
        "wins of the first player, draws, wins of the second": (
            "selfplay/first_wins selfplay/draws selfplay/second_wins"
        ),
        "plies per game": "selfplay/game_length",
        "distinct games": "selfplay/distinct_games",
        "examples in the replay window": "replay/window_examples",
        "age of the window in cycles": "replay/window_age_cycles",
    },
    "where the time goes": {
        "batch fill and cache hits": "selfplay/batch_fill selfplay/cache_hits",
        "games per second": "selfplay/games_per_second",
        "seconds per stage": "time/selfplay time/train time/evaluate time/correctness",
    },
}


def stage_of(tag: str) -> StageName:
    """Return the stage that reports a tag; `time/<stage>` and `time/compile_<stage>` belong to that stage."""
    group, _, rest = tag.partition("/")
    if group == "time" and rest.removeprefix("compile_") in STAGES:
        return StageName(rest.removeprefix("compile_"))
    return STAGE_OF_GROUP.get(group, StageName.EVALUATE)


def is_committed(cycle: int, tag: str, cycles_finished: int, next_stage: str) -> bool:
    """Check whether the stage that reported a stat of a cycle, or of the run's start (0), was committed.

    `next_stage` comes next in the cycle after the `cycles_finished` finished ones.
    """
    if next_stage == StageName.INITIALIZE:
        return False
    stage = STAGES.index(stage_of(tag))
    return cycle <= cycles_finished or (cycle == cycles_finished + 1 and stage < STAGES.index(next_stage))


def kept_of(state: State) -> tuple[Kept, Kept]:
    """Return which values of a committed run stay: tests by cycle and tag, and by training step and tag."""

    def cycle_kept(cycle: int, tag: str) -> bool:
        return is_committed(cycle, tag, state.cycle, state.stage)

    def train_kept(step: int, tag: str) -> bool:
        return step <= state.train_steps and state.stage != StageName.INITIALIZE

    return cycle_kept, train_kept


def folder_of(tag: str) -> str:
    """Return the folder of a tag's event files."""
    return "train" if tag.partition("/")[0] in TRAIN_GROUPS else "cycle"


def step_near(steps: Mapping[int, object], about: float) -> int:
    """Return the training step that a stat with six digits means: the nearest reported, if one is close."""
    if round(about) in steps:
        return round(about)
    nearest = min(steps, key=lambda step: abs(step - about), default=0)
    return nearest if abs(nearest - about) <= about * 1e-5 else round(about)


def in_cycles(folders: Mapping[str, EventFolder]) -> dict[int, dict[str, float]]:
    """Return the numbers in the event files by cycle and tag; of training a cycle's last ones."""
    train, found = folders["train"].scalars, {}
    for cycle, stats in folders["cycle"].scalars.items():
        last = step_near(train, stats[STEPS]) if STEPS in stats else 0
        found[cycle] = {**train.get(last, {}), **stats}
    return found


def in_folders(
    rows: Mapping[int, Mapping[str, float]], folders: Mapping[str, EventFolder]
) -> dict[str, dict[int, dict[str, float]]]:
    """Return stats by cycle and tag as the event files have them: by folder, step and tag."""
    wanted: dict[str, dict[int, dict[str, float]]] = {"train": {}, "cycle": {}}
    for cycle, stats in rows.items():
        of_steps = {tag for tag in stats if folder_of(tag) == "train" and tag != SPEED}
        wanted["cycle"][cycle] = {tag: stat for tag, stat in stats.items() if tag not in of_steps}
        if STEPS in stats:
            step = step_near(folders["train"].scalars, stats[STEPS])
            wanted["train"][step] = {tag: stats[tag] for tag in of_steps}
    return wanted


class Reporter:
    """Prints progress and writes TensorBoard and CSV. A stage receives one and never closes it.

    A step is the training step for tags in TRAIN_GROUPS and the cycle for others.
    """

    def __init__(
        self,
        console: Console,
        folders: Mapping[str, EventFolder],
        table: MetricsTable,
        ratings_csv: Path,
        live: Path,
    ) -> None:
        """Use `open` instead; `folders` are "train" and "cycle"."""
        self._console = console
        self._folders = folders
        self._table = table
        self._ratings_csv = ratings_csv
        self._live = LiveFile(live)
        self._last_train_scalars: dict[str, float] = {}
        self._work_began: dict[str, float] = {}
        self._failed: set[Path] = set()

    @classmethod
    def open(cls, run: Run, stream: TextIO | None = None) -> Reporter:
        """Return a reporter for a run whose lock this process holds; remove stats that were not committed.

        Progress is printed to `stream`, by default stdout.
        """
        from azero.report.event_files import EventFolder

        cycle_kept, train_kept = kept_of(run.state)
        train = EventFolder(run.paths.tensorboard / "train", train_kept)
        cycle = EventFolder(run.paths.tensorboard / "cycle", cycle_kept)
        table = MetricsTable(run.paths.metrics_csv, cycle_kept)
        console = Console(stream)
        console.minutes = run.config.minutes
        if console.minutes:
            console.deadline = time.monotonic() + 60 * console.minutes - run.state.elapsed_seconds
        folders = {"train": train, "cycle": cycle}
        reporter = cls(console, folders, table, run.paths.ratings_csv, run.paths.live)
        reporter._complete(run.state.cycle)
        for number in sorted(table.rows):
            reporter._expect_times(reporter.stats(number))
        reporter._write("cycle", "layout", 0, {LAYOUT_TAG: LAYOUT})
        settings = "\n".join(f"{key}={value}" for key, value in flatten(run.config).items())
        with reporter._reporting_failure(cycle.path):
            cycle.write_text_if_other(run.state.cycle, "config", settings)
        return reporter

    def _complete(self, cycles: int) -> None:
        """Let the table of `cycles` finished cycles and the event files complete each other, and say so."""
        table, lost = self._table, set(range(1, cycles + 1)) - self._table.rows.keys()
        with self._reporting_failure(table.path):
            if table.complete(in_cycles(self._folders)):
                table.write()
        gone = lost - table.rows.keys()
        rest = f", without {format_count(len(gone), 'cycles')} that they lack too" if gone else ""
        again = f"what was lost is made again from TensorBoard's files{rest}"
        if table.damaged:
            self.message(f"{table.path} is damaged; {again}, and the old file is {table.damaged.name}.")
        elif lost:
            self.message(f"{table.path} lacks {format_count(len(lost), 'cycles')}; {again}.")
        for folder in self._folders.values():
            if folder.damaged:
                left_out = f"{quote(str(folder.path))} has damaged records, which are left out"
                self.message(f"{left_out}; what {table.path.name} has of them is written again.")
        self._fill()

    def _fill(self) -> None:
        """Write to the event files the stats that only the table has."""
        wanted = in_folders({cycle: self.stats(cycle) for cycle in self._table.rows}, self._folders)
        for name, folder in self._folders.items():
            with self._reporting_failure(folder.path):
                folder.fill(wanted[name])

    def cut_back(self, run: Run) -> None:
        """Remove the stats of stages that the run has taken back; those stages report again."""
        cycle_kept, train_kept = kept_of(run.state)
        for name, folder in self._folders.items():
            folder.cut(train_kept if name == "train" else cycle_kept)
        self._table.cut(cycle_kept)

    def stats(self, cycle: int) -> dict[str, float]:
        """Return the stats of a cycle by tag, also those from before a resume."""
        return {tag: float(text) for tag, text in self._table.rows.get(cycle, {}).items()}

    def last_stat(self, tag: str) -> float | None:
        """Return a stat of the last cycle that has it, or None."""
        cycle = max((cycle for cycle, stats in self._table.rows.items() if tag in stats), default=None)
        return None if cycle is None else float(self._table.rows[cycle][tag])

    def close(self) -> None:
        """Close the event files, after a last try at what could not be written."""
        if self._failed:
            self._fill()
        for folder in self._folders.values():
            folder.close()

    def __enter__(self) -> Reporter:
        """Return the reporter."""
        return self

    def __exit__(self, *error: object) -> None:
        """Close the event files."""
        self.close()

    @contextlib.contextmanager
    def stage(self, name: str, cycle: int, cycles: int, total: float, unit: str) -> Iterator[Progress]:
        """Show the progress of a stage while the block runs.

        Args:
            name: one of STAGES.
            cycle: counted from 1; 0 for `initialize`.
            cycles: the last cycle of the run.
            total: the amount of work, in units.
            unit: a plural, such as "games" or "steps".
        """
        with self._console.stage(name, cycle, cycles, total, unit) as progress:

            def describe() -> dict[str, Any]:
                elapsed = time.monotonic() - progress.started
                share = progress.done / total if total else 1.0
                return {
                    **{"stage": name, "cycle": cycle, "cycles": cycles, "total": total, "unit": unit},
                    **{"done": progress.done, "doing": progress.doing, "stats": progress.stats},
                    "seconds_left": self._console.seconds_left(name, cycle, cycles, elapsed, share),
                    "boards": progress.boards(),
                }

            progress.observe = lambda: self._live.write(describe)
            try:
                yield progress
            finally:
                progress.observe = list  # no circle: what it leads to leaves memory with the stage
        self._work_began[name] = progress.started
        if name == StageName.TRAIN:
            self._add_to_table(cycle, self._last_train_scalars)

    def work_began(self, stage: str, otherwise: float) -> float:
        """Return the `time.monotonic()` at which the newest progress of a stage began, or `otherwise`."""
        return self._work_began.get(stage, otherwise)

    def cycle_scalars(self, cycle: int, scalars: Mapping[str, float]) -> None:
        """Report stats of a cycle by tag, to TensorBoard and the CSV. May be called several times per cycle.

        The time left is estimated from `time/<stage>`, the seconds that a stage took.
        """
        self._expect_times(scalars)
        self._write("cycle", "scalar", cycle, scalars)
        self._add_to_table(cycle, scalars)

    def train_scalars(self, step: int, scalars: Mapping[str, float]) -> None:
        """Report stats of a training step of the run; a cycle's last ones also go to the CSV."""
        self._write("train", "scalar", step, scalars)
        self._last_train_scalars = dict(scalars)

    def histogram(self, tag: str, values: np.ndarray, step: int) -> None:
        """Report the distribution of values of any shape."""
        finite = np.asarray(values, np.float64).ravel()
        finite = finite[np.isfinite(finite)]
        if finite.size:
            self._write(folder_of(tag), "histogram", step, {tag: finite})

    def image(self, tag: str, picture: np.ndarray, step: int) -> None:
        """Report a picture, [H, W, 3] uint8."""
        self._write(folder_of(tag), "image", step, {tag: picture})

    def text(self, tag: str, text: str, step: int) -> None:
        """Report text; it is shown as it is."""
        self._write(folder_of(tag), "text", step, {tag: text})

    def ratings(self, text: str) -> None:
        """Write `ratings.csv`, unless it holds this text already."""
        with self._reporting_failure(self._ratings_csv):
            replace_if_other(Disk(), self._ratings_csv, text.encode())

    def end_cycle(self, cycle: int) -> None:
        """Close the cycle's row of the CSV; rows that could not be written before are tried again."""
        self._add_to_table(cycle, {})

    def show_beside(self, text: Callable[[], str]) -> None:
        """Show what goes on beside the stages from now on; see `Console.beside`."""
        self._console.beside = text

    def message(self, text: str) -> None:
        """Print lines; see `Console.message`."""
        self._console.message(text)

    def _expect_times(self, stats: Mapping[str, float]) -> None:
        for stage in STAGES:
            if (seconds := seconds_of(stats, stage)) is not None:
                self._console.stage_seconds.setdefault(stage, []).append(seconds)

    def _write(self, folder: str, kind: str, step: int, stats: Mapping[str, Any]) -> None:
        files = self._folders[folder]
        with self._reporting_failure(files.path):
            files.write(kind, step, stats)

    def _add_to_table(self, cycle: int, scalars: Mapping[str, float]) -> None:
        with self._reporting_failure(self._table.path):
            self._table.add(cycle, scalars)

    @contextlib.contextmanager
    def _reporting_failure(self, path: Path) -> Iterator[None]:
        try:
            yield
        except (OSError, UserError) as error:
            cause = error if isinstance(error, OSError) else error.__cause__
            if path not in self._failed:
                self._failed.add(path)
                why = getattr(cause, "strerror", None) or str(error)
                self.message(
                    f"{quote(str(path))} could not be written ({why}); the run goes on and tries again later."
                )


class NullReporter(Reporter):
    """Prints and writes nothing."""

    def __init__(self) -> None:
        """Open nothing."""
        nowhere = Path(os.devnull)
        table = MetricsTable(nowhere, lambda cycle, tag: True)
        super().__init__(Console(io.StringIO()), {}, table, nowhere, nowhere / "none")

    def _write(self, folder: str, kind: str, step: int, stats: Mapping[str, Any]) -> None:
        """Write nothing."""

    def _add_to_table(self, cycle: int, scalars: Mapping[str, float]) -> None:
        """Write nothing."""

    def ratings(self, text: str) -> None:
        """Write nothing."""
