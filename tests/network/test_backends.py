"""Every backend answers like the network, and rows know neither their place nor their neighbours."""

from __future__ import annotations

import threading

import numpy as np
import pytest
import torch
from answering import BATCH, WAYS, choice_of, every_kind, every_way, lived_in, positions

from azero.config.schema import NetworkConfig, UserError
from azero.games import make_game
from azero.games.game import Game
from azero.network import openvino_inference
from azero.network.backends import candidates, make_inference
from azero.network.choosing import LIMITS, strays
from azero.network.inference import InferenceChoice
from azero.network.model import build_network
from azero.network.torch_inference import one_thread_per_worker

Way = tuple[str, str]
EVERYTHING = NetworkConfig(value_output="wdl", occupation=True)  # all that a head may have besides


@pytest.fixture(scope="module")
def planes(game: Game) -> np.ndarray:
    return positions(game)


@every_way
@every_kind
def test_inference_answers_like_the_network(
    game: Game, planes: np.ndarray, config: NetworkConfig, way: Way
) -> None:
    network = build_network(config, game, 3)
    answers = make_inference(network, game, choice_of(way))
    logits, value = answers.infer(planes)
    assert logits.shape == (BATCH, 9) and value.shape == (BATCH,)
    assert logits.dtype == value.dtype == np.float32
    if (
        config.policy_output == "logits" or way[1] == "fp32"
    ):  # a linear output near 0 means little before it is trained
        assert strays(network, answers, planes) < LIMITS[way[1]]


@every_way
@pytest.mark.parametrize("name", ["connect_four", "othello", "go", "hex"])
def test_it_does_so_on_boards_of_every_shape(name: str, way: Way) -> None:
    game = make_game(name)
    network = build_network(NetworkConfig(blocks=2, channels=24), game, 3)
    assert strays(network, make_inference(network, game, choice_of(way)), positions(game)) < LIMITS[way[1]]


@every_way
def test_a_linear_policy_becomes_legal_outputs_over_their_sum(
    game: Game, planes: np.ndarray, way: Way
) -> None:
    network = build_network(NetworkConfig(blocks=1, channels=8, policy_output="linear"), game, 3)
    bias = torch.tensor([0.5, 0.25, -1.0, 0.0, 0.25, 0.0, 0.0, 0.0, 0.0])
    network.policy_head.output.weight.data.zero_()
    network.policy_head.output.bias.data.copy_(bias)
    logits, _ = make_inference(network, game, choice_of(way)).infer(planes)
    legal = np.array([1, 1, 1, 0, 1, 0, 0, 0, 0], bool)
    weights = np.exp(logits[0][legal])
    assert weights / weights.sum() == pytest.approx(
        [0.5, 0.25, 0.0, 0.25], abs=1e-5
    )  # a negative output counts as none


@every_way
@pytest.mark.parametrize("config", [NetworkConfig(), EVERYTHING], ids=["plain", "everything"])
@pytest.mark.parametrize("batch_size", [16, 64, 100, 256])
def test_a_row_does_not_depend_on_its_place_or_its_neighbours(
    game: Game, planes: np.ndarray, way: Way, batch_size: int, config: NetworkConfig
) -> None:
    answers = make_inference(lived_in(config, game), game, choice_of(way, batch_size))
    rng = np.random.default_rng(2)
    alone = np.zeros((batch_size, 2, 3, 3), np.float32)
    alone[0] = planes[20]
    logits, value = answers.infer(alone)
    for place in (0, 1, batch_size // 2, batch_size - 1):
        crowd = planes[rng.integers(BATCH, size=batch_size)]
        crowd[place] = planes[20]
        crowd_logits, crowd_value = answers.infer(crowd)
        assert np.array_equal(crowd_logits[place], logits[0]) and crowd_value[place] == value[0]


@every_way
@pytest.mark.parametrize("shared", [True, False], ids=["shared", "one each"])
def test_two_workers_get_what_one_gets(game: Game, planes: np.ndarray, way: Way, shared: bool) -> None:
    network = lived_in(NetworkConfig(), game)
    first = make_inference(network, game, choice_of(way))
    second = first if shared else make_inference(network, game, choice_of(way))
    expected = first.infer(planes), first.infer(planes[::-1].copy())
    results: list[tuple[np.ndarray, np.ndarray]] = []
    with one_thread_per_worker():
        workers = [
            threading.Thread(
                target=lambda asked=asked: results.extend(asked.infer(planes) for _ in range(20))
            )
            for asked in (first, second)
        ]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    assert len(results) == 40
    assert all(
        np.array_equal(own, right)
        for result in results
        for own, right in zip(result, expected[0], strict=True)
    )
    assert all(np.array_equal(own[::-1], right) for own, right in zip(expected[1], expected[0], strict=True))


@every_way
def test_answers_change_neither_with_later_training_nor_with_the_next_call(
    game: Game, planes: np.ndarray, way: Way
) -> None:
    network = build_network(NetworkConfig(), game, 1)
    answers = make_inference(network, game, choice_of(way))
    before = answers.infer(planes)
    kept = [array.copy() for array in before]
    for parameter in network.parameters():
        parameter.data.add_(1.0)
    assert all(np.array_equal(one, other) for one, other in zip(answers.infer(planes), before, strict=True))
    answers.infer(np.zeros_like(planes))
    assert all(np.array_equal(one, other) for one, other in zip(kept, before, strict=True))


@every_way
def test_another_shape_or_type_is_refused(game: Game, planes: np.ndarray, way: Way) -> None:
    answers = make_inference(
        build_network(NetworkConfig(blocks=1, channels=4), game, 1), game, choice_of(way)
    )
    for wrong in (planes[:-1], planes.astype(np.float64), planes.reshape(BATCH, 2, 9)):
        with pytest.raises(ValueError):
            answers.infer(wrong)


def test_candidates_are_what_is_wished_and_can_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openvino_inference, "obstacle", lambda precision: None)
    monkeypatch.setattr(torch.ops.mkldnn, "_is_mkldnn_bf16_supported", lambda: True)
    assert candidates("auto", "auto", "cpu") == WAYS
    assert candidates("auto", "bf16", "cpu") == [("torch", "bf16"), ("openvino", "bf16")]
    assert candidates("openvino", "auto", "cpu") == [("openvino", "fp32"), ("openvino", "bf16")]
    assert candidates("auto", "auto", "cuda") == [("torch", "fp32"), ("torch", "fp16"), ("torch", "bf16")]
    with pytest.raises(UserError, match=r"OpenVINO computes on the CPU; set device=cpu"):
        candidates("openvino", "auto", "cuda")
    monkeypatch.setattr(
        openvino_inference, "obstacle", lambda precision: "No." if precision == "bf16" else None
    )
    assert candidates("auto", "auto", "cpu") == [("torch", "fp32"), ("torch", "bf16"), ("openvino", "fp32")]
    with pytest.raises(UserError, match=r"No\."):
        candidates("openvino", "bf16", "cpu")
    for backend in ("auto", "torch", "openvino"):
        with pytest.raises(UserError, match="fp16 is for NVIDIA and AMD GPUs"):
            candidates(backend, "fp16", "cpu")


def test_a_cpu_without_avx512_computes_in_fp32(game: Game, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openvino_inference, "obstacle", lambda precision: "No.")
    monkeypatch.setattr(torch.ops.mkldnn, "_is_mkldnn_bf16_supported", lambda: False)
    assert candidates("auto", "auto", "cpu") == [("torch", "fp32")]
    assert candidates("torch", "bf16", "cuda") == [("torch", "bf16")]
    with pytest.raises(UserError, match=r"no bf16 arithmetic for torch; set inference\.precision=fp32"):
        candidates("torch", "bf16", "cpu")


def test_a_choice_for_the_gpu_needs_one(game: Game, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(UserError, match="device=cuda"):
        make_inference(
            build_network(NetworkConfig(), game, 1), game, InferenceChoice("torch", "fp32", 16, "cuda", 0.0)
        )
