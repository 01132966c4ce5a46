"""How long a run takes: arithmetic over what was measured, the same for `azero.estimate` beforehand and for the loop at work.

A cycle's self-play, match and measuring take as long in every cycle, as far as one can know. Training grows with the replay
window until that is full, or as long as it grows: a cycle's steps follow from the games before it.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from azero.config import Config, TrainConfig
from azero.window import train_steps, window_size

RECENT_CYCLES = 3  # a stage is expected to take as long as on average in so many cycles before
MANY_CYCLES = 1000  # that are calculated one by one


@dataclass(frozen=True)
class Merging:
    """How many examples are left of a window where equal ones are merged; by default all.

    The first examples of a run are mostly new positions, later ones mostly not. Twice the window leaves 2 ** growth times as
    many, and each further doubling has `fall` times the growth of the one before.

    Attributes:
        window, kept: a window that was seen, and what was left of it.
        growth: of the doubling that ends with that window.
        fall: from each doubling to the next.
    """

    window: float = 1.0
    kept: float = 1.0
    growth: float = 1.0
    fall: float = 1.0

    def left(self, window: float) -> float:
        """Examples trained on, of so many in the window."""
        doublings = math.log2(window / self.window)
        if doublings > 0 and self.fall < 1:
            doublings = self.fall * (1 - self.fall**doublings) / (1 - self.fall)  # of falling growth, the same in all
        return min(window, self.kept * 2 ** (self.growth * doublings))


def merging_of(*seen: tuple[float, float]) -> Merging:
    """What windows tell, each as (examples in it, examples left of them), rising; of those of one size, the share stays."""
    growths = []
    for (few, few_left), (many, many_left) in itertools.pairwise(seen):
        growth = math.log(many_left / few_left) / math.log(many / few) if many > few else 1.0
        growths.append(min(1.0, max(0.0, growth)))
    fall = min(1.0, growths[-1] / growths[-2]) if len(growths) > 1 and growths[-2] > 0 else 1.0
    return Merging(*seen[-1], growths[-1] if growths else 1.0, fall)


@dataclass(frozen=True)
class Pace:
    """What a cycle of a run is made of, and what that takes on this machine.

    Attributes:
        selfplay: seconds of all its games.
        examples: that its games give.
        merging: how many of a window are left to train on.
        step: seconds of one training step.
        window_example: seconds that an example of the window takes to be read and encoded.
        evaluate, correctness: seconds of the match, and of measuring the champion.
        other: seconds of a cycle beside these.
    """

    selfplay: float
    examples: float
    merging: Merging
    step: float
    evaluate: float
    window_example: float = 0.0
    correctness: float = 0.0
    other: float = 0.0


def window_examples(cycle: int, examples: float, train: TrainConfig) -> float:
    """Examples in the replay window when cycle `cycle`, counted from 1, trains, if each cycle gives so many."""
    return min(float(window_size(train, cycle * examples)), cycle * examples)


def cycle_seconds(pace: Pace, train: TrainConfig, cycle: int) -> dict[str, float]:
    """Seconds of each part of a cycle, counted from 1."""
    window = window_examples(cycle, pace.examples, train)
    steps = train_steps(train, pace.merging.left(window), pace.examples)
    return {
        "selfplay": pace.selfplay,
        "train": window * pace.window_example + steps * pace.step,
        "evaluate": pace.evaluate,
        "correctness": pace.correctness,
        "other": pace.other,
    }


def run_seconds(pace: Pace, train: TrainConfig, first: int, last: int) -> float:
    """Seconds of the cycles from `first` to `last`, both included; of very many, evenly spaced ones stand for all."""
    cycles = range(first, last + 1, 1 + max(0, last - first) // MANY_CYCLES)
    seconds = sum(sum(cycle_seconds(pace, train, cycle).values()) for cycle in cycles)
    return seconds * (last + 1 - first) / len(cycles) if cycles else 0.0


def cycles_in(pace: Pace, train: TrainConfig, seconds: float, most: int) -> int:
    """How many whole cycles fit into so many seconds, at most `most`."""
    cycle = 0
    while cycle < most and (seconds := seconds - sum(cycle_seconds(pace, train, cycle + 1).values())) >= 0:
        cycle += 1
    return cycle


def pace_of(cycles: Sequence[Mapping[str, float]], config: Config) -> Pace | None:
    """The pace of a run from the figures of its finished cycles by tag, oldest first; None where they do not tell.

    The first cycle, which compiles, counts only while there is no other.
    """
    told = [figures for figures in cycles if {"time/selfplay", "time/train", "time/evaluate"} <= figures.keys()]
    recent = (told[1:] or told)[-RECENT_CYCLES:]
    if not recent or "replay/window_examples" not in recent[-1]:
        return None

    def mean(tag: str) -> float:
        return sum(figures.get(tag, 0.0) for figures in recent) / len(recent)

    windows = [(figures["replay/window_examples"], figures["replay/trained_examples"]) for figures in told]
    smaller = max((window for window in windows if window[0] < windows[-1][0]), default=windows[-1])
    new = [figures["replay/new_share"] * figures["replay/window_examples"] for figures in recent]
    left = [figures["replay/trained_examples"] for figures in recent]
    steps = sum(train_steps(config.train, *counts) for counts in zip(left, new, strict=True))
    return Pace(
        selfplay=mean("time/selfplay"),
        examples=sum(new) / len(recent),
        merging=merging_of(smaller, windows[-1]),
        step=sum(figures["time/train"] for figures in recent) / steps,
        evaluate=mean("time/evaluate"),
        correctness=mean("time/correctness"),
    )


def seconds_left(cycles: Sequence[Mapping[str, float]], config: Config, spent: float = 0.0) -> float | None:
    """Seconds until the run ends, from the figures of its finished cycles; None where they do not tell.

    Args:
        cycles: all finished cycles' figures by tag, oldest first.
        config: of the run.
        spent: seconds the run has taken so far, for the bound `minutes`.
    """
    pace = pace_of(cycles, config)
    if pace is None:
        return None
    left = run_seconds(pace, config.train, len(cycles) + 1, config.cycles)
    return min(left, max(0.0, 60 * config.minutes - spent)) if config.minutes else left


def places_end(plies: Sequence[float], places: int) -> list[float]:
    """After how many plies each of so many places has nothing left, each taking the next game when its own has ended.

    Args:
        plies: of each game, in the order in which they begin.
        places: games in flight, in all lanes together.
    """
    busy_until = [0.0] * max(1, min(places, len(plies)))
    for length in plies:
        heapq.heapreplace(busy_until, busy_until[0] + length)
    return busy_until


def plies_paid(ends: Sequence[float], least: int) -> float:
    """What games side by side cost, counted in plies at full speed: a round costs as much as `least` games, be there fewer.

    That is the tail of a stage, in which the smallest batches are not filled any more.

    Args:
        ends: after how many plies each place has nothing left.
        least: rows of the smallest batches of all lanes together.
    """
    before, total = 0.0, 0.0
    for ended, end in enumerate(sorted(ends)):
        total += (end - before) * max(len(ends) - ended, least)
        before = end
    return total
