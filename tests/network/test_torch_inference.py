"""torch as a backend: one thread a call on the CPU, the same answers from a GPU."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from answering import BATCH, choice_of, lived_in, positions

from azero.config.schema import NetworkConfig
from azero.games import make_game
from azero.network.backends import make_inference
from azero.network.choosing import LIMITS, strays
from azero.network.folded import FoldedNetwork
from azero.network.inference import InferenceChoice
from azero.network.model import build_network
from azero.network.torch_inference import CpuInference, torch_threads


def test_every_call_computes_on_one_thread_and_gives_the_count_back(monkeypatch: pytest.MonkeyPatch) -> None:
    game = make_game("tictactoe")
    network = build_network(NetworkConfig(blocks=1, channels=8), game, 1)
    answers = make_inference(network, game, choice_of(("torch", "fp32")))
    counts: list[int] = []
    forward = FoldedNetwork.forward

    def watched(self: FoldedNetwork, batch: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        counts.append(torch.get_num_threads())
        return forward(self, batch)

    monkeypatch.setattr(FoldedNetwork, "forward", watched)
    with torch_threads(2):
        answers.infer(positions(game))
        assert torch.get_num_threads() == 2
    assert counts == [1]


def test_fp16_is_nearer_to_the_network_than_bf16(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is for GPUs. torch computes it on a CPU too, but for the dense layers of oneDNN."""
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: False)
    game = make_game("tictactoe")
    network, planes = lived_in(NetworkConfig(), game), positions(game)
    ways = {
        precision: strays(network, CpuInference(network, game, choice), planes)
        for precision in ("fp16", "bf16")
        for choice in [InferenceChoice("torch", precision, BATCH, "cpu", 0.0)]
    }
    assert 0 < ways["fp16"] < 0.5 * ways["bf16"]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("precision", ["fp32", "fp16", "bf16"])
def test_the_gpu_answers_like_the_network(precision: str) -> None:
    game = make_game("tictactoe")
    network, planes = lived_in(NetworkConfig(), game), positions(game)
    answers = make_inference(network, game, InferenceChoice("torch", precision, BATCH, "cuda", 0.0))
    assert strays(network, answers, planes) < LIMITS[precision]
    first = answers.infer(planes)
    assert all(np.array_equal(one, other) for one, other in zip(answers.infer(planes), first, strict=True))
