"""Steps as a CUDA graph, without a GPU: a stand-in records torch's operations and does them again."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from bench_train import examples_for
from recorded import recorded
from small_training import SMALL, bits

from azero.config.schema import TrainConfig
from azero.games import make_game
from azero.network.model import build_network
from azero.replay.examples import Examples
from azero.training import steps
from azero.training.fit import Earlier, TrainResult, fit
from azero.training.trainer import Trainer

GAME = make_game("connect_four")
EXAMPLES = examples_for(GAME, 64)
STEPS = 24
# All learning rates are exact in float32, in which a GPU has them.
TRAIN = TrainConfig(
    batch_size=16,
    precision="fp32",
    lr=1 / 128,
    schedule="step",
    milestones=[0.5],
    decay_factor=0.5,
    warmup_steps=4,
    clip_norm=1.0,
)
KINDS: dict[str, dict[str, Any]] = {
    "adamw": {"optimizer": "adamw"},
    "adam": {"optimizer": "adam", "ema_decay": 0.9},
    "sgd": {"optimizer": "sgd", "momentum": 0.9, "symmetries": False},
    "plain sgd": {"optimizer": "sgd", "momentum": 0.0, "clip_norm": 0.0},
    "bf16": {"optimizer": "adamw", "precision": "bf16"},
}


@pytest.fixture(autouse=True)
def recording(monkeypatch: pytest.MonkeyPatch) -> list[Callable[[], None]]:
    """Steps are recorded as on a GPU; return what was."""
    graphs: list[Callable[[], None]] = []

    def record(step: Callable[[], None]) -> Callable[[], None]:
        graphs.append(recorded(step))
        return graphs[-1]

    monkeypatch.setattr(steps, "can_record", lambda trainer: True)
    monkeypatch.setattr(steps, "recorded", record)
    monkeypatch.setattr(steps, "_REFUSED", [])
    return graphs


def trained(config: TrainConfig, examples: Examples = EXAMPLES, **more: Any) -> TrainResult:
    network = build_network(SMALL, GAME, seed=3)
    return fit(network, examples, GAME, config, 7, "cpu", steps=STEPS, **more)


def same(one: TrainResult, other: TrainResult) -> bool:
    """Whether two results are equal in bits: networks, moments, stats."""
    moments = [
        [
            state[name].numpy().tobytes()
            for state in result.optimizer_state["state"].values()
            for name in state
        ]
        for result in (one, other)
    ]
    return (
        bits(one.network) == bits(other.network) and moments[0] == moments[1] and one.scalars == other.scalars
    )


@pytest.mark.parametrize("kind", KINDS)
def test_a_graph_trains_as_its_steps_do(
    kind: str, recording: list[Callable[[], None]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twenty-four steps, of them 21 by the graph: other batches, symmetries and learning rates each time."""
    config = replace(TRAIN, **KINDS[kind])
    by_graph = trained(config)
    assert len(recording) == 1
    monkeypatch.setattr(steps, "can_record", lambda trainer: False)
    one_by_one = trained(config)
    assert bits(by_graph.network) != bits(build_network(SMALL, GAME, seed=3))
    assert same(by_graph, one_by_one)


def test_a_step_of_the_graph_that_is_not_finite_changes_nothing(
    recording: list[Callable[[], None]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of 64 examples is not a number, so about one batch of four is skipped."""
    value = EXAMPLES.value_target.copy()
    value[5] = np.nan
    config = replace(TRAIN, **KINDS["adamw"])
    by_graph = trained(config, EXAMPLES._replace(value_target=value))
    monkeypatch.setattr(steps, "can_record", lambda trainer: False)
    one_by_one = trained(config, EXAMPLES._replace(value_target=value))
    assert by_graph.skipped == one_by_one.skipped == STEPS * 16 // 64
    assert len(recording) == 1 and same(by_graph, one_by_one)


def test_training_goes_on_with_what_a_graph_left() -> None:
    config = replace(TRAIN, **KINDS["adamw"])
    first = trained(config)
    again = [trained(config, earlier=Earlier(first.optimizer_state, STEPS)) for _ in range(2)]
    assert same(*again) and not same(first, again[0])


def test_what_cannot_be_recorded_is_done_step_by_step(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A step that hands Python a number cannot be a graph. azero says so, and trains the same."""
    config = replace(TRAIN, **KINDS["adamw"])
    wanted = trained(config)
    step = Trainer.step

    @functools.wraps(step)
    def asking(self: Trainer, batch: Any, lr: Any, ledger: Any) -> None:
        float(batch.planes.sum())
        step(self, batch, lr, ledger)

    monkeypatch.setattr(Trainer, "step", asking)
    assert same(trained(config), wanted)
    assert capsys.readouterr().err.startswith(
        "azero: training goes on without a CUDA graph, which could not be recorded: aten._local_scalar_dense"
    )


def test_what_may_become_a_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not the steps of a CPU, and not those with a person's own parts."""
    monkeypatch.undo()
    network = build_network(SMALL, GAME, seed=3)
    with Trainer(network, TRAIN, "cpu", None) as trainer:
        assert not steps.can_record(trainer)
        trainer.device = "cuda"
        assert steps.can_record(trainer) == (torch.version.hip is None)
        trainer.is_own = True
        assert not steps.can_record(trainer)
