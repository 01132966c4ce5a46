"""How much is trained on: the law of the window by its published numbers, the bound on uses, and what a run
keeps for both.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from toy import advance, toy_config

from azero.config.schema import TrainConfig
from azero.config.window import train_steps, window_size
from azero.run.state import format_state, parse_state

KATAGO = TrainConfig(window=250_000, window_beta=0.4, window_alpha=0.75)


def test_the_window_is_full_before_it_grows() -> None:
    assert [window_size(KATAGO, made) for made in (0, 1, 249_999, 250_000)] == [250_000] * 4


@pytest.mark.parametrize(
    "times, window", [(16, 250_000 * (1 + 0.4 * 7 / 0.75)), (81, 250_000 * (1 + 0.4 * 26 / 0.75))]
)
def test_the_published_law_at_powers_of_16_and_81(times: int, window: float) -> None:
    """16 ** 0.75 is 8 and 81 ** 0.75 is 27."""
    assert window_size(KATAGO, 250_000 * times) == int(window)


def test_a_new_example_lengthens_a_window_just_full_by_beta() -> None:
    assert window_size(KATAGO, 260_000) - 250_000 == pytest.approx(0.4 * 10_000, rel=0.01)


@given(beta=st.floats(0.05, 1.0), alpha=st.floats(0.1, 1.0), times=st.floats(1.0, 8.0))
def test_the_law_is_the_sum_of_what_each_new_example_adds(beta: float, alpha: float, times: float) -> None:
    """A plain twin: example n beyond the first c lengthens the window by beta (n / c) ** (alpha - 1)."""
    full, made = 1000, int(1000 * times)
    added = sum(beta * ((number + 0.5) / full) ** (alpha - 1) for number in range(full, made))
    assert window_size(TrainConfig(window=full, window_beta=beta, window_alpha=alpha), made) == pytest.approx(
        full + added, abs=1
    )


def test_without_beta_it_stays() -> None:
    assert {window_size(TrainConfig(window=123), made) for made in (0, 123, 10**9)} == {123}


@given(
    window=st.integers(1, 10**6),
    beta=st.floats(0, 1),
    alpha=st.floats(0.01, 1),
    made=st.integers(0, 10**8),
    new=st.integers(0, 10**6),
)
def test_what_the_next_window_wants_is_in_this_one_or_new(
    window: int, beta: float, alpha: float, made: int, new: int
) -> None:
    """The window never grows by more than what is made, so a run may delete the games that have left it."""
    train = TrainConfig(window=window, window_beta=beta, window_alpha=alpha)
    now, then = min(made, window_size(train, made)), min(made + new, window_size(train, made + new))
    assert then <= now + new + 1  # one for the last bit of a power


def test_steps_are_passes_over_the_examples() -> None:
    train = TrainConfig(epochs=2.0, batch_size=100)
    assert [train_steps(train, examples, 0) for examples in (1, 74, 76, 2000)] == [1, 1, 2, 40]
    assert (
        train_steps(TrainConfig(epochs=100, batch_size=100), 5000, 5000) == 100 * 50
    )  # as published for tic-tac-toe


def test_steps_are_bounded_by_uses_of_new_examples() -> None:
    """4 draws for each of 1,000 new examples are 40 batches of 100; 8 passes over 5,000 would be 400."""
    train = TrainConfig(epochs=8.0, batch_size=100, max_uses=4.0)
    assert train_steps(train, 5000, 1000) == 40
    assert train_steps(train, 400, 1000) == 32  # fewer are left: 8 passes over them
    assert train_steps(train, 5000, 0) == 1


def test_a_run_counts_what_it_made_and_trains_as_little_as_it_is_told(tmp_path: Path) -> None:
    """40 games a cycle: the window of 100 grows with them, and old games are kept as far as it reaches."""
    config = toy_config(tmp_path, cycles=3)
    train = replace(config.train, window=100, window_beta=1.0, window_alpha=1.0, max_uses=0.5)
    state = advance(replace(config, train=train))
    assert (
        state.examples == sum(shard.examples for shard in state.shards) and len(state.shards) == 3
    )  # beta 1: all stay
    assert state.train_steps == sum(train_steps(train, 10**9, shard.examples) for shard in state.shards)


def test_a_state_of_before_examples_were_counted_has_those_of_its_shards(tmp_path: Path) -> None:
    state = advance(toy_config(tmp_path), until="train")
    document = json.loads(format_state(state))
    del document["digest"], document["examples"]
    digest = hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()
    assert (
        parse_state(json.dumps({"digest": digest, **document}).encode(), "old").examples == state.examples > 0
    )
