"""Inference: folded networks answer like the networks they come from, and rows do not know their neighbours."""

from __future__ import annotations

import dataclasses
import threading

import numpy as np
import pytest
import torch

from azero.config import InferenceConfig, NetworkConfig, UserError
from azero.games import make_game
from azero.games.game import Game
from azero.network import inference as module
from azero.network.inference import FoldedNetwork, InferenceChoice, choose_inference, make_inference, resolve_device, strays
from azero.network.model import Network, build_network

KINDS = [
    NetworkConfig(blocks=3, channels=16, block=block, head=head, policy_output=output)
    for block in ("residual", "pyramid")
    for head in ("convolutional", "pooled")
    for output in ("logits", "linear")
]
BATCH = 64


@pytest.fixture(scope="module")
def game() -> Game:
    return make_game("tictactoe")


@pytest.fixture(scope="module")
def planes(game: Game) -> np.ndarray:
    """[BATCH, C, H, W] positions of random play."""
    rng = np.random.default_rng(1)
    rows: list[np.ndarray] = []
    state = game.initial_state()
    while len(rows) < BATCH:
        rows.append(game.planes(state))
        state = game.step(state, int(rng.choice(game.legal_actions(state))))
        state = game.initial_state() if game.is_terminal(state) else state
    return np.array(rows)


def lived_in(config: NetworkConfig, game: Game) -> Network:
    """A network whose batch norms have seen something: no scale is 1, no shift and no statistic is what it was at first."""
    network = build_network(config, game, 3)
    generator = torch.Generator().manual_seed(4)
    for layer in network.modules():
        if isinstance(layer, torch.nn.BatchNorm2d):
            assert layer.running_mean is not None and layer.running_var is not None
            for tensor, low, high in ((layer.weight, 0.5, 1.5), (layer.bias, -1, 1), (layer.running_mean, -1, 1)):
                tensor.data.uniform_(low, high, generator=generator)
            layer.running_var.uniform_(0.3, 2, generator=generator)
    return network


def choice(precision: str = "fp32", batch_size: int = BATCH) -> InferenceChoice:
    return InferenceChoice("torch", precision, batch_size, "cpu", 0.0)


@pytest.mark.parametrize("config", KINDS, ids=lambda config: f"{config.block}-{config.head}-{config.policy_output}")
def test_folded_equals_unfolded(game: Game, planes: np.ndarray, config: NetworkConfig) -> None:
    network = lived_in(config, game)
    folded = FoldedNetwork(network)
    with torch.no_grad():
        policy, value = network(torch.from_numpy(planes))
        expected = policy.clamp_min(1e-6).log() if config.policy_output == "linear" else policy
        logits, own_value = folded(torch.from_numpy(planes))
    assert torch.allclose(logits.exp(), expected.exp(), rtol=1e-4, atol=1e-5)
    assert torch.allclose(own_value, value, atol=1e-5)


def test_a_board_edge_sees_the_padding_that_training_saw(game: Game) -> None:
    """The first batch norm of a pyramid block precedes the zero padding; folded into the kernel it would be wrong at the edge."""
    network = lived_in(NetworkConfig(blocks=1, channels=4, block="pyramid"), game)
    corner = torch.zeros(1, 2, 3, 3)
    with torch.no_grad():
        assert torch.allclose(FoldedNetwork(network)(corner)[0], network(corner)[0], atol=1e-5)


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
@pytest.mark.parametrize("config", KINDS, ids=lambda config: f"{config.block}-{config.head}-{config.policy_output}")
def test_inference_answers_like_the_network(game: Game, planes: np.ndarray, config: NetworkConfig, precision: str) -> None:
    network = build_network(config, game, 3)
    answers = make_inference(network, game, choice(precision))
    logits, value = answers.infer(planes)
    assert logits.shape == (BATCH, 9) and value.shape == (BATCH,)
    assert logits.dtype == value.dtype == np.float32
    if config.policy_output == "logits" or precision == "fp32":  # a linear output near 0 means little before it is trained
        assert strays(network, answers, planes) < module.LIMITS[precision]


def test_a_linear_policy_becomes_legal_outputs_over_their_sum(game: Game, planes: np.ndarray) -> None:
    network = build_network(NetworkConfig(blocks=1, channels=8, policy_output="linear"), game, 3)
    bias = torch.tensor([0.5, 0.25, -1.0, 0.0, 0.25, 0.0, 0.0, 0.0, 0.0])
    network.policy_head.output.weight.data.zero_()
    network.policy_head.output.bias.data.copy_(bias)
    logits, _ = make_inference(network, game, choice()).infer(planes)
    legal = np.array([1, 1, 1, 0, 1, 0, 0, 0, 0], bool)
    weights = np.exp(logits[0][legal])
    assert weights / weights.sum() == pytest.approx([0.5, 0.25, 0.0, 0.25], abs=1e-5)  # a negative output counts as none


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
@pytest.mark.parametrize("batch_size", [16, 64, 100, 256])
def test_a_row_does_not_depend_on_its_place_or_its_neighbours(
    game: Game, planes: np.ndarray, precision: str, batch_size: int
) -> None:
    answers = make_inference(lived_in(NetworkConfig(), game), game, choice(precision, batch_size))
    rng = np.random.default_rng(2)
    alone = np.zeros((batch_size, 2, 3, 3), np.float32)
    alone[0] = planes[20]
    logits, value = answers.infer(alone)
    for place in (0, 1, batch_size // 2, batch_size - 1):
        crowd = planes[rng.integers(BATCH, size=batch_size)]
        crowd[place] = planes[20]
        crowd_logits, crowd_value = answers.infer(crowd)
        assert np.array_equal(crowd_logits[place], logits[0]) and crowd_value[place] == value[0]


def test_two_lanes_share_one_inference(game: Game, planes: np.ndarray) -> None:
    answers = make_inference(lived_in(NetworkConfig(), game), game, choice())
    expected = answers.infer(planes)
    results: list[tuple[np.ndarray, np.ndarray]] = []
    with module.one_thread_a_lane():
        lanes = [threading.Thread(target=lambda: results.extend(answers.infer(planes) for _ in range(20))) for _ in range(2)]
        for lane in lanes:
            lane.start()
        for lane in lanes:
            lane.join()
    assert len(results) == 40
    assert all(np.array_equal(own, right) for result in results for own, right in zip(result, expected, strict=True))


def test_every_call_computes_on_one_thread_and_gives_the_count_back(
    game: Game, planes: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = make_inference(build_network(NetworkConfig(blocks=1, channels=8), game, 1), game, choice())
    counts: list[int] = []
    forward = FoldedNetwork.forward

    def watched(self: FoldedNetwork, batch: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        counts.append(torch.get_num_threads())
        return forward(self, batch)

    monkeypatch.setattr(FoldedNetwork, "forward", watched)
    with module.torch_threads(2):
        answers.infer(planes)
        assert torch.get_num_threads() == 2
    assert counts == [1]


def test_answers_do_not_change_with_later_training(game: Game, planes: np.ndarray) -> None:
    network = build_network(NetworkConfig(), game, 1)
    answers = make_inference(network, game, choice())
    before = answers.infer(planes)
    for parameter in network.parameters():
        parameter.data.add_(1.0)
    assert all(np.array_equal(one, other) for one, other in zip(answers.infer(planes), before, strict=True))


def test_another_shape_or_type_is_refused(game: Game, planes: np.ndarray) -> None:
    answers = make_inference(build_network(NetworkConfig(blocks=1, channels=4), game, 1), game, choice())
    for wrong in (planes[:-1], planes.astype(np.float64), planes.reshape(BATCH, 2, 9)):
        with pytest.raises(ValueError):
            answers.infer(wrong)


def test_explicit_settings_are_obeyed_and_auto_measures(game: Game, planes: np.ndarray) -> None:
    network = build_network(NetworkConfig(blocks=1, channels=8), game, 1)
    for precision in ("fp32", "bf16"):
        chosen = choose_inference(network, game, InferenceConfig(precision=precision), "cpu", 32, planes)
        assert (chosen.backend, chosen.precision, chosen.batch_size, chosen.device) == ("torch", precision, 32, "cpu")
    chosen = choose_inference(network, game, InferenceConfig(), "cpu", 32, planes[:5])
    assert chosen.precision in ("fp32", "bf16") and chosen.evaluations_per_second > 0
    assert InferenceChoice(**dataclasses.asdict(chosen)) == chosen


def test_a_precision_that_strays_is_not_chosen(game: Game, planes: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    network = build_network(NetworkConfig(blocks=1, channels=8), game, 1)
    monkeypatch.setattr(module, "measure", lambda inference, batch: 1e9 if inference.dtype == torch.bfloat16 else 1.0)
    assert choose_inference(network, game, InferenceConfig(), "cpu", 32, planes).precision == "bf16"
    monkeypatch.setitem(module.LIMITS, "bf16", 0.0)
    assert choose_inference(network, game, InferenceConfig(), "cpu", 32, planes).precision == "fp32"
    monkeypatch.setitem(module.LIMITS, "fp32", -1.0)
    with pytest.raises(UserError, match=r"inference\.precision"):
        choose_inference(network, game, InferenceConfig(), "cpu", 32, planes)


def test_rows_that_depend_on_their_place_are_found_and_avoided(
    game: Game, planes: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Uneven:
        batch_size = BATCH

        def infer(self, planes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            return planes.reshape(BATCH, -1) + np.arange(BATCH, dtype=np.float32)[:, None] * 1e-7, planes[:, 0, 0, 0]

    network = build_network(NetworkConfig(blocks=1, channels=8), game, 1)
    assert not module.rows_are_independent(Uneven(), planes)
    assert module.rows_are_independent(make_inference(network, game, choice()), planes)
    monkeypatch.setattr(module, "measure", lambda inference, batch: 1e9 if inference.dtype == torch.bfloat16 else 1.0)
    monkeypatch.setattr(module, "rows_are_independent", lambda inference, batch: inference.dtype == torch.float32)
    chosen = choose_inference(network, game, InferenceConfig(), "cpu", 32, planes)
    assert chosen.precision == "fp32" and chosen.rows_independent


def test_noise_in_the_timing_does_not_choose_bf16(game: Game, planes: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    network = build_network(NetworkConfig(blocks=1, channels=8), game, 1)
    monkeypatch.setattr(module, "measure", lambda inference, batch: 110.0 if inference.dtype == torch.bfloat16 else 100.0)
    assert choose_inference(network, game, InferenceConfig(), "cpu", 32, planes).precision == "fp32"


def test_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert resolve_device("auto") == resolve_device("cpu") == "cpu"
    with pytest.raises(UserError, match="device=cuda"):
        resolve_device("cuda")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert resolve_device("auto") == resolve_device("cuda") == "cuda"


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_the_gpu_answers_like_the_network(game: Game, planes: np.ndarray, precision: str) -> None:
    network = lived_in(NetworkConfig(), game)
    answers = make_inference(network, game, InferenceChoice("torch", precision, BATCH, "cuda", 0.0))
    assert strays(network, answers, planes) < module.LIMITS[precision]
    first = answers.infer(planes)
    assert all(np.array_equal(one, other) for one, other in zip(answers.infer(planes), first, strict=True))
