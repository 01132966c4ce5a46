"""How much is trained on: passes over the window, and the bound on uses."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from toy import advance, toy_config

from azero.config.schema import EvaluateConfig, TrainConfig
from azero.config.window import train_steps


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


def test_a_run_trains_as_little_as_it_is_told(tmp_path: Path) -> None:
    """Three cycles of 40 games, which all stay in the window."""
    config = toy_config(tmp_path, cycles=3, evaluate=EvaluateConfig(games=0))
    train = replace(config.train, window=10_000, max_uses=0.5)
    state = advance(replace(config, train=train))
    assert len(state.shards) == 3
    assert state.train_steps == sum(train_steps(train, 10**9, shard.examples) for shard in state.shards)
