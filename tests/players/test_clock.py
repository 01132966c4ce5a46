"""Time limits without a clock: what `slices` asks for when time passes only by the work done."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from azero.players import clock


class Watch:
    """A clock that a test moves on."""

    def __init__(self) -> None:
        self.now = 100.0

    def perf_counter(self) -> float:
        return self.now


def asked_for(monkeypatch: pytest.MonkeyPatch, seconds: float, each: float) -> tuple[list[int], float]:
    """The slices where a unit of work takes `each` seconds, and how long all took."""
    watch, units = Watch(), list[int]()
    monkeypatch.setattr(clock, "time", watch)
    for count in clock.slices(10**12, seconds):
        units.append(count)
        watch.now += count * each
    return units, watch.now - 100.0


def test_slices_grow_to_two_milliseconds_and_end_with_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A unit takes 9.98 µs, so 2 ms hold 200 and 50 ms 5,010.

    1 + 8 + 64 + 24 * 200 = 4,873 of them leave 137.
    """
    units, taken = asked_for(monkeypatch, 0.05, 9.98e-6)
    assert units == [1, 8, 64, *[200] * 24, 137]
    assert taken == pytest.approx(5010 * 9.98e-6)


def test_work_that_takes_longer_than_all_the_time_is_done_once(monkeypatch: pytest.MonkeyPatch) -> None:
    units, taken = asked_for(monkeypatch, 0.05, 1.0)
    assert units == [1] and taken == pytest.approx(1.0)


def test_no_more_work_is_asked_for_than_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "time", Watch())  # on which work takes no time
    assert list(clock.slices(100, 1.0)) == [1, 8, 64, 27]
    assert list(clock.slices(100)) == [100]
    assert list(clock.slices(0, 1.0)) == []


def test_a_pause_between_two_slices_may_end_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "time", Watch())
    asked = list[int]()

    def pause() -> bool:
        asked.append(1)
        return len(asked) == 2

    assert list(clock.slices(100, pause=pause)) == [1, 8] and len(asked) == 2


@given(st.floats(1e-3, 10.0), st.floats(1e-7, 1.0))
def test_the_time_is_used_but_for_less_than_one_unit_and_never_exceeded_after_the_first(
    seconds: float, each: float
) -> None:
    with pytest.MonkeyPatch.context() as patched:
        _, taken = asked_for(patched, seconds, each)
    assert taken <= max(seconds, each) * (1 + 1e-6) and (
        taken > seconds - each * (1 + 1e-6) or taken == pytest.approx(each)
    )
