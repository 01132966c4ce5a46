"""Forecast how long a run takes, from measured times. `azero estimate` and the loop share this arithmetic.

Self-play, the match and measuring the champion are taken to last equally long in every cycle. Training lasts
longer while the replay window grows, because its steps follow from the examples in the window.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from azero.config.schema import Config, TrainConfig
from azero.config.window import train_steps
from azero.run.state import CYCLE_STAGES, StageName

RECENT_CYCLES = 3  # a stage is expected to take its mean time of this many cycles
MANY_CYCLES = 1000  # up to this many are calculated one by one
HALF = "replay/half_trained"  # stat of the first cycle: the examples that merging leaves of half its window


@dataclass(frozen=True)
class Merging:
    """How many examples of a window remain after equal ones are merged; by default all.

    Attributes:
        window, kept: the size of an observed window, and what remained of it.
        growth: doubling the window multiplies what remains by 2 ** growth.
    """

    window: float = 1.0
    kept: float = 1.0
    growth: float = 1.0

    def left(self, window: float) -> float:
        """Return how many examples of a window remain."""
        return min(window, self.kept * math.pow(window / self.window, self.growth))


def merging_of(few: float, few_left: float, many: float, many_left: float) -> Merging:
    """Return the merging that fits two windows, each as its examples and those that remained.

    The share that remains is taken as constant if both have one size.
    """
    grew = many > few > 0 and many_left > 0 and few_left > 0
    growth = math.log(many_left / few_left) / math.log(many / few) if grew else 1.0
    return Merging(many, many_left, min(1.0, max(0.0, growth)))


@dataclass(frozen=True)
class Pace:
    """The parts of a cycle, and how long each takes on this machine.

    Attributes:
        selfplay: seconds of all games of a cycle.
        examples: how many these games give.
        merging: how many examples of a window remain.
        step: seconds of one training step, with its share of reading and encoding the window.
        evaluate, correctness: seconds of the match, and of measuring the champion.
        ahead: whether self-play goes on while the head does the rest, so that a cycle waits only for games
            that this does not hide.
    """

    selfplay: float
    examples: float
    merging: Merging
    step: float
    evaluate: float
    correctness: float = 0.0
    ahead: bool = False


def window_examples(cycle: int, examples: float, train: TrainConfig) -> float:
    """Return the examples in the replay window when cycle `cycle` (from 1) trains."""
    return min(float(train.window), cycle * examples)


def cycle_seconds(pace: Pace, train: TrainConfig, cycle: int) -> dict[str, float]:
    """Return the seconds of each part of a cycle, counted from 1."""
    window = window_examples(cycle, pace.examples, train)
    steps = train_steps(train, pace.merging.left(window), pace.examples)
    rest = {
        StageName.TRAIN: steps * pace.step,
        StageName.EVALUATE: pace.evaluate,
        "correctness": pace.correctness,
    }
    hidden = sum(rest.values()) if pace.ahead else 0.0
    return {StageName.SELFPLAY: max(0.0, pace.selfplay - hidden), **rest}


def run_seconds(pace: Pace, train: TrainConfig, first: int, last: int) -> float:
    """Return the seconds of the cycles `first` to `last`, both included.

    Of more than MANY_CYCLES, evenly spaced ones are calculated.
    """
    cycles = range(first, last + 1, 1 + max(0, last - first) // MANY_CYCLES)
    seconds = sum(sum(cycle_seconds(pace, train, cycle).values()) for cycle in cycles)
    return seconds * (last + 1 - first) / len(cycles) if cycles else 0.0


def cycles_in(pace: Pace, train: TrainConfig, seconds: float, most: int) -> int:
    """Return how many whole cycles fit into `seconds`, at most `most`."""
    cycle = 0
    while cycle < most and (seconds := seconds - sum(cycle_seconds(pace, train, cycle + 1).values())) >= 0:
        cycle += 1
    return cycle


def seconds_of(stats: Mapping[str, float], what: str) -> float | None:
    """Return the seconds of a stage or of "correctness", without compiling and first use; None if unknown."""
    seconds = stats.get(f"time/{what}")
    return None if seconds is None else max(0.0, seconds - stats.get(f"time/compile_{what}", 0.0))


def pace_of(cycles: Sequence[Mapping[str, float]], config: Config) -> Pace | None:
    """Return the pace of a run from the stats of its finished cycles, oldest first, or None.

    Compiling and first use do not count. The first cycle counts only while it is the only one.
    """
    timed = [stats for stats in cycles if {f"time/{stage}" for stage in CYCLE_STAGES} <= stats.keys()]
    recent = (timed[1:] or timed)[-RECENT_CYCLES:]
    if not recent or "replay/window_examples" not in recent[-1]:
        return None

    def mean(what: str) -> float:
        return sum(seconds_of(stats, what) or 0.0 for stats in recent) / len(recent)

    windows = [(stats["replay/window_examples"], stats["replay/trained_examples"]) for stats in timed]
    halves = [(stats["replay/window_examples"] / 2, stats[HALF]) for stats in timed if HALF in stats]
    smaller = max((each for each in halves + windows if each[0] < windows[-1][0]), default=windows[-1])
    new = [stats["replay/new_share"] * stats["replay/window_examples"] for stats in recent]
    left = [stats["replay/trained_examples"] for stats in recent]
    steps = sum(train_steps(config.train, *counts) for counts in zip(left, new, strict=True))
    return Pace(
        selfplay=mean(StageName.SELFPLAY),
        examples=sum(new) / len(recent),
        merging=merging_of(*smaller, *windows[-1]),
        step=mean(StageName.TRAIN) * len(recent) / steps,
        evaluate=mean(StageName.EVALUATE),
        correctness=mean("correctness"),
    )


def seconds_left(cycles: Sequence[Mapping[str, float]], config: Config, spent: float = 0.0) -> float | None:
    """Return the seconds until the run ends, from its finished cycles; None if they say too little.

    `cycles` are the stats of all finished cycles by tag, oldest first. The run has taken `spent` seconds.
    """
    pace = pace_of(cycles, config)
    if pace is None:
        return None
    left = run_seconds(pace, config.train, len(cycles) + 1, config.cycles)
    return min(left, max(0.0, 60 * config.minutes - spent)) if config.minutes else left
