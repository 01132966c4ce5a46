"""How a run computes its network: chosen once, kept while it fits, else chosen again with a message."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from answering import needs_openvino
from toy import NAME, Told, advance, digest_of, toy_config

from azero.config.schema import Config, InferenceConfig, SelfplayConfig, UserError
from azero.games.game import Game
from azero.network.backends import obstacle
from azero.network.choosing import LIMITS
from azero.network.inference import InferenceChoice, device_for
from azero.process.signals import StopSignal
from azero.run.run import Run
from azero.run.state import State
from azero.stages import backend as inference_choice
from azero.stages.registry import stage_named

pytestmark = pytest.mark.usefixtures("unmeasured")

STORED = InferenceChoice("torch", "fp32", 16, "cpu", 1000.0)


NO_BF16 = obstacle("torch", "bf16", "cpu")
needs_bf16 = pytest.mark.skipif(NO_BF16 is not None, reason=NO_BF16 or "")


@pytest.mark.parametrize(
    ("games", "rows"),
    [(1, 16), (3, 16), (64, 16), (127, 16), (128, 32), (500, 64), (1024, 256), (10_000_000, 256)],
)
def test_a_batch_has_a_row_for_a_quarter_of_the_games_between_16_and_256(games: int, rows: int) -> None:
    assert inference_choice.batch_rows(Config(selfplay=SelfplayConfig(games=games))) == rows
    assert inference_choice.batch_rows(Config(selfplay=SelfplayConfig(games=games, concurrent_games=7))) == 7


def test_positions_for_timing_are_of_real_games(game: Game) -> None:
    planes = inference_choice.positions_to_time(game, 50, seed=1)
    assert planes.shape == (50, 2, 3, 3) and planes.dtype == np.float32
    own, other = planes[:, 0].sum(axis=(1, 2)), planes[:, 1].sum(axis=(1, 2))
    assert (
        (own == other) | (own + 1 == other)
    ).all()  # the side that has moved last has as many stones or one more
    assert (planes.sum(axis=1) <= 1).all()
    assert len(np.unique(planes, axis=0)) > 30


def begun(config: Config, stored: InferenceChoice = STORED) -> None:
    """A run that has a network and remembers a choice."""
    advance(config, until="selfplay")
    with Run.open(config, NAME, "test") as run:
        run.commit(replace(run.state, inference=asdict(stored)))


def played_on(config: Config) -> tuple[State, list[str]]:
    """What is committed after self-play, and the messages about inference."""
    report = Told()
    state = advance(config, until="train", report=report)
    return state, [text for text in report.messages if text.startswith("inference")]


def kept_by(state: State) -> InferenceChoice:
    """The choice that a run remembers."""
    assert state.inference is not None
    return InferenceChoice(**state.inference)


def test_the_backend_is_chosen_once_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = toy_config(tmp_path)
    state, told = played_on(config)
    chosen = kept_by(state)
    assert (chosen.backend, chosen.precision, chosen.batch_size) == ("torch", "fp32", 16)
    assert len(told) == 1 and "again" not in told[0]

    def refuse(*of: object) -> None:
        raise AssertionError("chosen again")

    monkeypatch.setattr("azero.stages.backend.choose_inference", refuse)
    assert (
        kept_by(advance(replace(config, cycles=1, inference=InferenceConfig()), until="evaluate")) == chosen
    )
    with Run.open(config, NAME, "test") as run:
        stage_named(run.state.stage).run(config, run, Told(), StopSignal())
        stage_named(run.state.stage).run(config, run, Told(), StopSignal())
        assert (run.state.cycle, run.state.stage, kept_by(run.state)) == (1, "train", chosen)


@pytest.mark.parametrize(
    "change, key, wish, said",
    [
        pytest.param(
            {"inference": InferenceConfig(precision="bf16")},
            "precision",
            "bf16",
            "precision fp32 → bf16",
            marks=needs_bf16,
        ),
        ({"selfplay": SelfplayConfig(games=40, concurrent_games=32)}, "batch_size", 32, "batch_size 16 → 32"),
        ({"selfplay": SelfplayConfig(games=130)}, "batch_size", 32, "batch_size 16 → 32"),
    ],
)
def test_another_wish_on_resume_is_obeyed_and_said(
    tmp_path: Path, change: dict[str, Any], key: str, wish: object, said: str
) -> None:
    config = toy_config(tmp_path)
    begun(config)
    state, told = played_on(replace(config, **change))
    assert state.inference is not None and state.inference[key] == wish
    assert len(told) == 1 and f"chosen again: {said}" in told[0]


@needs_bf16
def test_auto_asks_for_nothing(tmp_path: Path) -> None:
    config = toy_config(tmp_path, inference=InferenceConfig(), device="auto")
    stored = replace(STORED, precision="bf16", device="cuda" if torch.cuda.is_available() else "cpu")
    begun(config, stored)
    state, told = played_on(config)
    assert kept_by(state) == stored and not told


@pytest.mark.parametrize("device", ["cpu", "auto"])
def test_a_run_begun_on_a_gpu_goes_on_without_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, device: str
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    config = toy_config(tmp_path)
    begun(config, replace(STORED, device="cuda"))
    state, told = played_on(replace(config, device=device))
    assert state.inference is not None and state.inference["device"] == "cpu"
    assert len(told) == 1 and "chosen again: device cuda → cpu" in told[0]


@pytest.mark.parametrize("wish", ["auto", "openvino"])
def test_a_run_begun_with_openvino_goes_on_without_it_unless_it_is_insisted_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wish: str
) -> None:
    monkeypatch.setattr("azero.network.openvino_inference.is_installed", lambda: False)
    config = toy_config(tmp_path, inference=InferenceConfig(backend=wish, precision="fp32"))
    begun(config, replace(STORED, backend="openvino"))
    if wish == "openvino":
        with pytest.raises(UserError, match=r'pip install "azero\[cpu\]"'):
            played_on(config)
        return
    state, told = played_on(config)
    assert state.inference is not None and state.inference["backend"] == "torch"
    assert len(told) == 1 and "chosen again: OpenVINO is not installed" in told[0]


def test_who_asks_for_openvino_and_leaves_the_device_open_means_the_cpu(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    for wish in (InferenceConfig(backend="openvino"), InferenceConfig(precision="int8")):
        assert device_for(Config(inference=wish)) == "cpu"
    assert device_for(Config(inference=InferenceConfig(backend="openvino"), device="cuda")) == "cuda"
    assert device_for(Config()) == "cuda"


@needs_openvino
def test_a_network_that_strays_in_int8_is_computed_otherwise_and_said_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(LIMITS, "int8", 0.0)
    report = Told()
    state = advance(
        toy_config(tmp_path, cycles=1, inference=InferenceConfig(precision="int8")), report=report
    )
    assert state.inference is not None and state.inference["precision"] == "int8"  # the next network may suit
    strayed = [text for text in report.messages if "strays too far in int8; it is computed in" in text]
    assert [text.split()[1] for text in strayed] == ["champion", "champion"]  # in self-play and in the match


@needs_openvino
@pytest.mark.parametrize("precision", ["fp32", "int8"])
def test_games_with_openvino_are_the_same_in_one_worker_and_in_two(tmp_path: Path, precision: str) -> None:
    openvino = InferenceConfig(backend="openvino", precision=precision)
    whole = {
        workers: toy_config(tmp_path / str(workers), inference=openvino, workers=workers)
        for workers in (1, 2)
    }
    states = [advance(replace(config, cycles=1)) for config in whole.values()]
    assert [(state.cycle, state.inference["backend"]) for state in states if state.inference] == [
        (1, "openvino")
    ] * 2
    assert len({digest_of(config) for config in whole.values()}) == 1


@needs_bf16
def test_the_match_obeys_another_wish_as_well(tmp_path: Path) -> None:
    config = toy_config(tmp_path, cycles=1)
    advance(config, until="evaluate")
    report = Told()
    state = advance(replace(config, inference=InferenceConfig(precision="bf16")), report=report)
    assert state.cycle == 1 and state.inference is not None and state.inference["precision"] == "bf16"
    assert sum("chosen again" in text for text in report.messages) == 1


@pytest.mark.skipif(NO_BF16 is None, reason="this CPU has bf16 arithmetic")
def test_bf16_is_refused_in_one_sentence_where_the_cpu_lacks_it(tmp_path: Path) -> None:
    config = toy_config(tmp_path, inference=InferenceConfig(precision="bf16"))
    with pytest.raises(UserError, match=r"no bf16 arithmetic for torch; set inference\.precision=fp32"):
        advance(config, until="train")


def test_rows_that_depend_on_their_place_are_warned_of() -> None:
    assert "Warning" not in inference_choice.describe(STORED, [])
    assert "Warning" in inference_choice.describe(replace(STORED, rows_independent=False), [])
