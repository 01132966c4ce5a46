"""OpenVINO as a backend: where it is missing one sentence says so, and where it is it talks to nobody."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from answering import choice_of, lived_in, needs_openvino, positions

from azero.config.schema import NetworkConfig, UserError
from azero.games import make_game
from azero.network import openvino_graph, openvino_inference
from azero.network.backends import candidates, make_inference
from azero.network.folded import FoldedNetwork
from azero.network.model import build_network

PROGRAM = """
import socket, sys
def refuse(*of): raise AssertionError("it reaches out")
socket.socket.connect = socket.getaddrinfo = refuse
from azero.config.schema import NetworkConfig
from azero.network.inference import InferenceChoice
from azero.network.model import build_network
from azero.network.backends import make_inference
import numpy as np
from types import SimpleNamespace
game = SimpleNamespace(planes_shape=(2, 3, 3), num_actions=9)
choice = InferenceChoice("openvino", "fp32", 4, "cpu", 0.0)
inference = make_inference(build_network(NetworkConfig(), game, 1), game, choice)
inference.infer(np.zeros((4, 2, 3, 3), np.float32))
print(sorted(name for name in sys.modules if name.startswith("openvino_telemetry.")))
"""


def test_without_openvino_it_is_no_candidate_and_asking_for_it_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(openvino_inference, "is_installed", lambda: False)
    assert {backend for backend, _ in candidates("auto", "auto", "cpu")} == {"torch"}
    with pytest.raises(UserError, match=r'pip install "azero\[cpu\]"'):
        candidates("openvino", "auto", "cpu")


@needs_openvino
def test_a_choice_made_where_openvino_was_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    game = make_game("tictactoe")
    choice = choice_of(("openvino", "fp32"))
    monkeypatch.setattr(openvino_inference, "is_installed", lambda: False)
    with pytest.raises(UserError, match=r'pip install "azero\[cpu\]"'):
        make_inference(build_network(NetworkConfig(), game, 1), game, choice)


@needs_openvino
def test_a_cpu_without_bf16_is_not_asked_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    class Core:
        def get_property(self, device: str, name: str) -> list[str]:
            return ["FP32", "INT8"]

    monkeypatch.setattr(openvino_graph.openvino(), "Core", Core)
    assert candidates("openvino", "auto", "cpu") == [("openvino", "fp32")]
    with pytest.raises(
        UserError, match=r"no bf16 arithmetic for OpenVINO; set inference\.precision=fp32 or auto"
    ):
        candidates("openvino", "bf16", "cpu")


@pytest.mark.long
@needs_openvino
def test_it_sends_nothing_and_writes_nothing(tmp_path: Path) -> None:
    home, work = tmp_path / "home", tmp_path / "work"
    home.mkdir()
    work.mkdir()
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", PROGRAM],
        env=os.environ | {"HOME": str(home), "NUMBA_CACHE_DIR": str(tmp_path / "kernels")},
        cwd=work,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stderr, done.stdout) == (0, "", "[]\n")
    assert [path for path in (*home.rglob("*"), *work.rglob("*")) if path.is_file()] == []


@needs_openvino
def test_a_smaller_batch_is_compiled_once_the_rows_it_would_have_spared_have_cost_as_much() -> None:
    game = make_game("tictactoe")
    choice = replace(choice_of(("openvino", "fp32")), batches=(8, 32, 64))
    inference = openvino_inference.make_inferences(build_network(NetworkConfig(), game, 1), game, choice, 1)[
        0
    ]
    assert list(inference.compiled) == [64]
    inference.row_seconds, inference.compile_seconds = 0.001, 0.15
    # 64 rows for 5 instead of 8: 56 ms each time; 56, 112, and 168 ms are more than 150
    assert [inference.worthwhile(8) for _ in range(3)] == [64, 64, 8]
    inference.compile(32)
    inference.compile_seconds = 0.15
    inference.missed[8] = 0.0
    # now 32 rows are the next larger batch: 24 ms each time, and the seventh makes 168
    assert [inference.worthwhile(8) for _ in range(7)] == [32] * 6 + [8]
    assert inference.worthwhile(32) == 32 and inference.worthwhile(64) == 64


@needs_openvino
def test_several_moves_of_a_cell_come_in_torch_s_order() -> None:
    game = make_game("breakthrough", rows=6, columns=6)
    network = lived_in(NetworkConfig(blocks=1, channels=8, head="spatial"), game)
    planes = positions(game)
    inference = make_inference(network, game, choice_of(("openvino", "fp32")))
    with torch.no_grad():
        logits, values = FoldedNetwork(network)(torch.from_numpy(planes))
    answers = inference.infer(planes)
    np.testing.assert_allclose(answers[0], logits.numpy(), atol=1e-4)
    np.testing.assert_allclose(answers[1], values.numpy(), atol=1e-4)


@needs_openvino
def test_planes_of_a_smaller_batch_are_computed_in_that_batch() -> None:
    game = make_game("tictactoe")
    choice = replace(choice_of(("openvino", "fp32")), batches=(8, 64))
    inference = openvino_inference.make_inferences(build_network(NetworkConfig(), game, 1), game, choice, 1)[
        0
    ]
    assert len(inference.infer(np.zeros((8, *game.planes_shape), np.float32))[0]) == 8
    assert list(inference.compiled) == [64, 8]
