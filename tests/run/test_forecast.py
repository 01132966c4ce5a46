"""The forecast, worked by hand: how training grows with the window, what a tail costs, when a run ends."""

from __future__ import annotations

from dataclasses import replace

import pytest

from azero.config.schema import Config, TrainConfig
from azero.report.forecast import (
    HALF,
    Merging,
    Pace,
    cycle_seconds,
    cycles_in,
    merging_of,
    pace_of,
    run_seconds,
    seconds_left,
    window_examples,
)

TRAIN = TrainConfig(window=5000, epochs=2.0, batch_size=100)
PACE = Pace(selfplay=60.0, examples=2000, merging=Merging(), step=0.1, evaluate=11.0, correctness=2.0)


def test_the_window_grows_by_a_cycle_s_examples_until_it_is_full() -> None:
    assert [window_examples(cycle, 2000, TRAIN) for cycle in (1, 2, 3, 4)] == [2000, 4000, 5000, 5000]


def test_a_bound_on_uses_makes_all_cycles_as_short() -> None:
    """2,000 new examples a cycle may be drawn 3,000 times: 30 steps of 0.1 s, from whatever window."""
    bounded = replace(TRAIN, max_uses=1.5)
    assert [cycle_seconds(PACE, bounded, cycle)["train"] for cycle in (1, 2, 9)] == [3.0, 3.0, 3.0]
    pace = pace_of(CYCLES, Config(train=bounded))
    assert pace is not None and pace.step == pytest.approx(18 / 60)


def test_of_a_million_cycles_some_stand_for_all() -> None:
    assert run_seconds(PACE, TRAIN, 1, 1_000_000) == pytest.approx(83 * 1_000_000, rel=1e-3)


def test_a_cycle_takes_its_stages_and_training_grows_with_the_window() -> None:
    """2,000 examples twice in batches of 100: 40 steps of 0.1 s; then 80; 100 of the full window of 5,000."""
    assert cycle_seconds(PACE, TRAIN, 1) == {
        "selfplay": 60,
        "train": 4.0,
        "evaluate": 11,
        "correctness": 2,
    }
    assert [cycle_seconds(PACE, TRAIN, cycle)["train"] for cycle in (2, 3, 9)] == [8.0, 10.0, 10.0]


def test_a_run_is_the_sum_of_its_cycles() -> None:
    assert run_seconds(PACE, TRAIN, 1, 4) == 4 * 73 + 4 + 8 + 10 + 10
    assert run_seconds(PACE, TRAIN, 4, 4) == 83
    assert run_seconds(PACE, TRAIN, 5, 4) == 0


def test_whole_cycles_that_fit_into_a_bound() -> None:
    """77 s, 81 s, 83 s, 83 s."""
    assert [cycles_in(PACE, TRAIN, seconds, 10) for seconds in (76, 77, 157, 158, 241)] == [0, 1, 1, 2, 3]
    assert cycles_in(PACE, TRAIN, 1e9, 10) == 10


def test_merged_examples_grow_less_than_the_window() -> None:
    """1,000 leave 500 and 4,000 leave 1,000: each doubling gives sqrt(2), so 16,000 leave 2,000."""
    merging = merging_of(1000, 500, 4000, 1000)
    assert merging.growth == pytest.approx(0.5)
    assert merging.left(16000) == pytest.approx(2000) and merging.left(1000) == pytest.approx(500)


def test_windows_of_one_size_keep_their_share_and_without_merging_all_are_left() -> None:
    assert merging_of(1000, 800, 1000, 800).left(500) == pytest.approx(400)
    assert Merging().left(1234) == pytest.approx(1234)


def stats(
    selfplay: float, train: float, window: float, new: float, evaluate: float = 10.0
) -> dict[str, float]:
    """Return the stats of a cycle."""
    return {
        **{
            "time/selfplay": selfplay,
            "time/train": train,
            "time/evaluate": evaluate,
            "time/correctness": 2.0,
        },
        **{"replay/window_examples": window, "replay/trained_examples": window, "replay/new_share": new},
    }


CYCLES = [
    stats(90.0, 14.0, 2000, 1.0),  # compiles
    stats(58.0, 8.0, 4000, 0.5),
    stats(62.0, 10.0, 5000, 0.4),
]


def test_the_pace_of_a_run_leaves_out_the_cycle_that_compiles() -> None:
    """80 and 100 steps took 18 s; the newest cycles gave half of 4,000 and 0.4 of 5,000 examples."""
    pace = pace_of(CYCLES, Config(train=TRAIN))
    merging = Merging(5000, 5000, growth=1.0)
    assert pace == Pace(selfplay=60, examples=2000, merging=merging, step=0.1, evaluate=10, correctness=2)
    alone = pace_of(CYCLES[:1], Config(train=TRAIN))
    assert alone is not None and (alone.selfplay, alone.step) == (90, 14 / 40)


def test_compiling_is_left_out_of_the_first_cycle_too() -> None:
    """Of 90 s of self-play 80 went into compiling, and of 14 s of training 10: 4 s for 40 steps."""
    first = {**CYCLES[0], "time/compile_selfplay": 80.0, "time/compile_train": 10.0}
    pace = pace_of([first], Config(train=TRAIN))
    assert pace is not None and pace.selfplay == 10 and pace.step == pytest.approx(4 / 40)


def test_half_of_the_only_window_says_how_fast_merging_grows() -> None:
    """4,000 left 1,600 and their half 1,600 / 2 ** 0.5: growth 1/2, so 8,000 leave 1,600 * 2 ** 0.5."""
    first = {**stats(60.0, 4.0, 4000, 1.0), "replay/trained_examples": 1600.0}
    proportional = pace_of([first], Config(train=TRAIN))
    assert proportional is not None and proportional.merging.left(8000) == pytest.approx(3200)
    pace = pace_of([{**first, HALF: 1600 / 2**0.5}], Config(train=TRAIN))
    assert pace is not None and pace.merging.left(8000) == pytest.approx(1600 * 2**0.5)
    second = {**stats(60.0, 4.0, 5000, 0.2), "replay/trained_examples": 1600.0}
    both = pace_of([{**first, HALF: 10.0}, second], Config(train=TRAIN))
    assert both is not None and both.merging.growth == 0  # between both cycles; the half no longer counts


def test_the_time_left_is_that_of_the_cycles_to_come_or_of_the_bound() -> None:
    config = Config(train=TRAIN, cycles=5)
    assert seconds_left(CYCLES, config) == pytest.approx(2 * (60 + 10 + 10 + 2))
    assert seconds_left(CYCLES, replace(config, minutes=5.0), spent=200) == 100
    assert seconds_left(CYCLES, replace(config, minutes=5.0), spent=400) == 0
    assert seconds_left(CYCLES, replace(config, minutes=60.0), spent=200) == pytest.approx(164)
    assert seconds_left(CYCLES, replace(config, cycles=3)) == 0
    assert seconds_left([], config) is None and seconds_left([{"evaluate/promoted": 1.0}], config) is None


def test_games_that_are_played_ahead_cost_what_the_rest_does_not_hide() -> None:
    """2,000 examples a cycle in batches of 100, once: 20, 40, 60 steps of 2 s; games of 100 s."""
    train = TrainConfig(batch_size=100, epochs=1.0, window=10_000)
    pace = replace(PACE, selfplay=100.0, step=2.0, evaluate=0.0, correctness=0.0, ahead=True)
    assert [sum(cycle_seconds(pace, train, cycle).values()) for cycle in (1, 2, 3)] == [100, 100, 120]
