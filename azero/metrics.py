"""What a run tells of itself: TensorBoard, `metrics.csv` and the console, behind one small interface.

    tensorboard/train    x = training step      groups loss/ and train/
    tensorboard/cycle    x = cycle, from 1      everything else; 0 is the run's beginning
    metrics.csv          one row a cycle: its figures, and the last ones of training
    ratings.csv          the Elo table, made anew from what is committed

Figures belong to a stage (`STAGE_OF_GROUP`). When a run is opened, everything that a stage told which was not committed is cut
away, in the event files and in the CSV, so that in each tag the steps strictly increase however often a run was interrupted.
No failure to write here ever stops a run: it is told once, and tried again later.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, TextIO

import numpy as np

from azero.config import Config, UserError, flatten
from azero.files.disk import Disk, replace_if_other
from azero.files.state import STAGES
from azero.monitoring.console import Console, Progress, SilentProgress
from azero.monitoring.event_files import (
    LAYOUT_TAG,
    Chart,
    EventFolder,
    histogram_value,
    image_value,
    layout_value,
    scalar_value,
    text_value,
)
from azero.monitoring.metrics_csv import MetricsTable

if TYPE_CHECKING:
    from azero.files.state import State
    from azero.run import Run

Kept = Callable[[int, str], bool]

STAGE_OF_GROUP = {  # the part of a tag before its slash: the stage that tells it; of a group not named here, evaluate
    "config": "initialize",
    LAYOUT_TAG: "initialize",
    "selfplay": "selfplay",
    "replay": "train",
    "loss": "train",
    "train": "train",
    "evaluate": "evaluate",
    "rating": "evaluate",
    "correctness": "evaluate",
    "oracle": "evaluate",
}
TRAIN_GROUPS = ("loss", "train")
STAGE_TIMES = tuple(f"time/{stage}" for stage in STAGES)


LAYOUT: dict[str, tuple[Chart, ...]] = {
    "start here": (
        Chart("right of 11 positions: search, policy", ("correctness/fixed_search", "correctness/fixed_policy")),
        Chart(
            "perfect in all positions: search, policy",
            ("correctness/keeps_value_search", "correctness/keeps_value_policy"),
        ),
        Chart(
            "games lost of all that an opponent can make: as first, as second",
            ("correctness/losses_first_search", "correctness/losses_second_search"),
        ),
        Chart(
            "candidate v. champion: score, 95 %",
            ("evaluate/score",),
            ("evaluate/score_low", "evaluate/score_high"),
        ),
        Chart("Elo, summed over promotions", ("evaluate/elo_chain",)),
        Chart("wins, draws, losses of the candidate", ("evaluate/wins", "evaluate/draws", "evaluate/losses")),
        Chart("loss", ("loss/policy", "loss/value", "loss/total")),
        Chart("simulations a second", ("selfplay/simulations_per_second",)),
    ),
    "does it learn": (
        Chart("keeps the value of solved positions: search, policy", ("oracle/keeps_value_search", "oracle/keeps_value_policy")),
        Chart("openings of Hex whose value has the right sign", ("oracle/openings_right",)),
        Chart("distance to the exact value: search, network", ("oracle/value_error_search", "oracle/value_error_policy")),
        Chart("error of the value", ("train/value_error",)),
        Chart("policy agrees with its target", ("train/policy_agreement",)),
        Chart("entropy of policy and target", ("train/policy_entropy", "train/target_entropy")),
        Chart("learning rate", ("train/lr",)),
        Chart(
            "Elo against fixed opponents (evaluate.anchor_games), 95 %", ("rating/elo",), ("rating/elo_low", "rating/elo_high")
        ),
    ),
    "what it plays": (
        Chart(
            "first wins, draws, second wins",
            ("selfplay/first_wins", "selfplay/draws", "selfplay/second_wins"),
        ),
        Chart("plies in a game", ("selfplay/game_length",)),
        Chart("distinct games", ("selfplay/distinct_games",)),
        Chart("examples in the replay window", ("replay/window_examples",)),
        Chart("age of the window in cycles", ("replay/window_age_cycles",)),
    ),
    "where the time goes": (
        Chart("batch fill and cache hits", ("selfplay/batch_fill", "selfplay/cache_hits")),
        Chart("games a second", ("selfplay/games_per_second",)),
        Chart("seconds of each stage", ("time/selfplay", "time/train", "time/evaluate", "time/correctness")),
    ),
}


def stage_of(tag: str) -> str:
    """The stage that tells a tag; `time/<stage>` belongs to that stage."""
    group, _, rest = tag.partition("/")
    if group == "time" and rest in STAGES:
        return rest
    return STAGE_OF_GROUP.get(group, "evaluate")


def is_committed(cycle: int, tag: str, cycles_finished: int, next_stage: str) -> bool:
    """Whether a figure of a cycle was told by a stage that was committed.

    Args:
        cycle: the figure's cycle, counted from 1; 0 is the beginning.
        tag: its tag.
        cycles_finished: cycles committed.
        next_stage: the stage that comes next in the cycle under way.
    """
    if next_stage == "initialize":
        return False
    stage = STAGES.index(stage_of(tag))
    return cycle <= cycles_finished or (cycle == cycles_finished + 1 and stage < STAGES.index(next_stage))


def kept_of(state: State) -> tuple[Kept, Kept]:
    """Which values of a committed run stay: (by cycle and tag, by training step and tag)."""

    def cycle_kept(cycle: int, tag: str) -> bool:
        return is_committed(cycle, tag, state.cycle, state.stage)

    def train_kept(step: int, tag: str) -> bool:
        return step <= state.train_steps and state.stage != "initialize"

    return cycle_kept, train_kept


def format_config(config: Config) -> str:
    """Every setting by its dotted key, one a line."""
    return "\n".join(f"{key}={value}" for key, value in flatten(config).items())


class Reporter:
    """The one place that prints progress and writes TensorBoard and CSV. A stage is handed one and never closes it."""

    def __init__(self, console: Console, train: EventFolder, cycle: EventFolder, table: MetricsTable, ratings_csv: Path) -> None:
        """For `open`."""
        self._console = console
        self._train = train
        self._cycle = cycle
        self._table = table
        self._ratings_csv = ratings_csv
        self._last_train_scalars: dict[str, float] = {}
        self._failed: set[str] = set()

    @classmethod
    def open(cls, run: Run, stream: TextIO | None = None) -> Reporter:
        """A reporter for a run that this process holds the lock of. What was told but not committed is cut away.

        Args:
            run: its folder, what was committed last, and its configuration.
            stream: where progress is printed; by default stdout.
        """
        cycle_kept, train_kept = kept_of(run.state)
        reporter = cls(
            Console(stream),
            EventFolder(run.paths.tensorboard / "train", train_kept),
            EventFolder(run.paths.tensorboard / "cycle", cycle_kept),
            MetricsTable(run.paths.metrics_csv, cycle_kept),
            run.paths.ratings_csv,
        )
        reporter._expect_times(run.config.minutes * 60 - run.state.elapsed_seconds if run.config.minutes else None)
        reporter._write(reporter._cycle, 0, [layout_value(LAYOUT)])
        reporter._write_config(run)
        return reporter

    def cut_back(self, run: Run) -> None:
        """Cut away what was told of stages that the run has taken back, so that they can be told again."""
        cycle_kept, train_kept = kept_of(run.state)
        self._train.cut(train_kept)
        self._cycle.cut(cycle_kept)
        self._table.cut(cycle_kept)

    def figures(self, cycle: int) -> dict[str, float]:
        """What was told of a cycle, by tag, also before a resume."""
        return {tag: float(text) for tag, text in self._table.rows.get(cycle, {}).items()}

    def last_figure(self, tag: str) -> float | None:
        """The value of the last cycle that has one."""
        return next(reversed(self._table.column(tag)), None)

    def close(self) -> None:
        """Close the event files."""
        self._train.close()
        self._cycle.close()

    def __enter__(self) -> Reporter:
        """The reporter itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Close it."""
        self.close()

    @contextlib.contextmanager
    def stage(self, name: str, cycle: int, cycles: int, total: float, unit: str) -> Iterator[Progress]:
        """Show a stage at work while the block runs.

        Args:
            name: one of STAGES.
            cycle: the cycle at work, counted from 1; 0 for `initialize`.
            cycles: the last cycle of the run.
            total: how much there is to do, in units.
            unit: what is counted, in the plural, such as "games" or "steps".
        """
        with self._console.stage(name, cycle, cycles, total, unit) as progress:
            yield progress
        if name == "train":
            self._add_to_table(cycle, self._last_train_scalars)

    def cycle_scalars(self, cycle: int, scalars: Mapping[str, float]) -> None:
        """Figures of a cycle, by tag, for TensorBoard and the CSV. May be called several times a cycle.

        The time left is estimated from `time/<stage>`, the seconds that a stage took.
        """
        for tag, value in scalars.items():
            if tag in STAGE_TIMES:
                self._console.stage_seconds.setdefault(stage_of(tag), []).append(value)
        self._write(self._cycle, cycle, [scalar_value(tag, value) for tag, value in scalars.items()])
        self._add_to_table(cycle, scalars)

    def train_scalars(self, step: int, scalars: Mapping[str, float]) -> None:
        """Figures after a training step, counted from the run's beginning. The last ones of a cycle go to the CSV as well."""
        self._write(self._train, step, [scalar_value(tag, value) for tag, value in scalars.items()])
        self._last_train_scalars = dict(scalars)

    def histogram(self, tag: str, values: np.ndarray, step: int) -> None:
        """The distribution of values of any shape; step is the training step for loss/ and train/, the cycle for others."""
        finite = np.asarray(values, np.float64).ravel()
        finite = finite[np.isfinite(finite)]
        if finite.size:
            self._write(self._folder_of(tag), step, [histogram_value(tag, finite)])

    def image(self, tag: str, picture: np.ndarray, step: int) -> None:
        """A picture, [H, W, 3] uint8."""
        self._write(self._folder_of(tag), step, [image_value(tag, picture)])

    def text(self, tag: str, text: str, step: int) -> None:
        """Text, shown as it is typed."""
        self._write(self._folder_of(tag), step, [text_value(tag, text)])

    def ratings(self, text: str) -> None:
        """The content of `ratings.csv`; the file is left as it is where it has that already."""
        try:
            replace_if_other(Disk(), self._ratings_csv, text.encode())
        except UserError as error:
            self._tell_failure(str(self._ratings_csv), getattr(error.__cause__, "strerror", None) or str(error))

    def end_cycle(self, cycle: int) -> None:
        """Close the cycle's row of the CSV: write again what could not be written before."""
        self._add_to_table(cycle, {})

    def message(self, text: str) -> None:
        """Print one line."""
        self._console.message(text)

    def _expect_times(self, seconds_left: float | None) -> None:
        self._console.deadline = None if seconds_left is None else time.monotonic() + seconds_left
        self._console.stage_seconds = {stage: self._table.column(f"time/{stage}") for stage in STAGES}

    def _write_config(self, run: Run) -> None:
        with self._telling_failure(self._cycle):
            self._cycle.write_text_if_other(run.state.cycle, text_value("config", format_config(run.config)))

    def _folder_of(self, tag: str) -> EventFolder:
        return self._train if tag.partition("/")[0] in TRAIN_GROUPS else self._cycle

    def _write(self, folder: EventFolder, step: int, values: list[Any]) -> None:
        with self._telling_failure(folder):
            folder.write(step, values)

    @contextlib.contextmanager
    def _telling_failure(self, folder: EventFolder) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self._tell_failure(f"TensorBoard's files in {folder.path}", error.strerror or str(error))

    def _add_to_table(self, cycle: int, scalars: Mapping[str, float]) -> None:
        try:
            self._table.add(cycle, scalars)
        except UserError as error:
            self._tell_failure(str(self._table.path), getattr(error.__cause__, "strerror", None) or str(error))

    def _tell_failure(self, what: str, why: str) -> None:
        if what not in self._failed:
            self._failed.add(what)
            self.message(f"{what} could not be written ({why}); the run goes on without, and tries again.")


class NullReporter(Reporter):
    """Prints and writes nothing."""

    def __init__(self) -> None:
        """Needs nothing."""

    def close(self) -> None:
        """See `Reporter.close`."""

    def cut_back(self, run: Run) -> None:
        """See `Reporter.cut_back`."""

    def figures(self, cycle: int) -> dict[str, float]:
        """None are remembered."""
        return {}

    def last_figure(self, tag: str) -> float | None:
        """None is remembered."""
        return None

    @contextlib.contextmanager
    def stage(self, name: str, cycle: int, cycles: int, total: float, unit: str) -> Iterator[Progress]:
        """See `Reporter.stage`."""
        yield SilentProgress()

    def cycle_scalars(self, cycle: int, scalars: Mapping[str, float]) -> None:
        """See `Reporter.cycle_scalars`."""

    def train_scalars(self, step: int, scalars: Mapping[str, float]) -> None:
        """See `Reporter.train_scalars`."""

    def histogram(self, tag: str, values: np.ndarray, step: int) -> None:
        """See `Reporter.histogram`."""

    def image(self, tag: str, picture: np.ndarray, step: int) -> None:
        """See `Reporter.image`."""

    def text(self, tag: str, text: str, step: int) -> None:
        """See `Reporter.text`."""

    def ratings(self, text: str) -> None:
        """See `Reporter.ratings`."""

    def end_cycle(self, cycle: int) -> None:
        """See `Reporter.end_cycle`."""

    def message(self, text: str) -> None:
        """See `Reporter.message`."""
