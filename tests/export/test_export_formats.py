"""Networks in other formats answer like torch, say what they are, and appear whole or not at all."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from answering import every_kind, lived_in, positions

from azero.config.schema import NetworkConfig, UserError
from azero.export.onnx import write_onnx
from azero.export.torchscript import write_torchscript
from azero.games import make_game
from azero.games.game import Game
from azero.network.folded import FoldedNetwork
from azero.network.model import Network

FACTS = {"run": "first", "cycle": "7"}


def check_answers(network: Network, planes: np.ndarray, policy: np.ndarray, value: np.ndarray) -> None:
    """Assert that answers are the folded network's up to rounding."""
    with torch.no_grad():
        logits, values = (part.numpy() for part in FoldedNetwork(network)(torch.from_numpy(planes)))
    assert policy.shape == logits.shape and value.shape == values.shape
    np.testing.assert_allclose(np.exp(policy), np.exp(logits), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(value, values, rtol=0, atol=1e-5)


@every_kind
def test_onnx_answers_like_torch_for_any_number_of_positions(
    game: Game, config: NetworkConfig, tmp_path: Path
) -> None:
    onnx = pytest.importorskip("onnx", reason="needs onnx, the extra onnx")
    runtime = pytest.importorskip("onnxruntime", reason="needs onnxruntime, the extra dev")
    network, path = lived_in(config, game), tmp_path / "network.onnx"
    write_onnx(network, game, FACTS, path)
    onnx.checker.check_model(onnx.load(path), full_check=True)
    session = runtime.InferenceSession(path, providers=["CPUExecutionProvider"])
    for count in (1, 5):
        planes = positions(game)[-count:]
        policy, value = session.run(["policy", "value"], {"planes": planes})
        check_answers(network, planes, policy, value)
    properties = session.get_modelmeta().custom_metadata_map
    assert properties["run"] == "first" and properties["cycle"] == "7"
    check_readme(properties["README"])


@every_kind
def test_torchscript_answers_like_torch_for_any_number_of_positions(
    game: Game, config: NetworkConfig, tmp_path: Path
) -> None:
    network, path = lived_in(config, game), tmp_path / "network.pt"
    write_torchscript(network, game, FACTS, path)
    extra = {"README.md": ""}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # torch deprecates TorchScript
        read = torch.jit.load(path, _extra_files=extra)
    assert "mkldnn" not in str(read.inlined_graph)  # which only some machines have
    for count in (1, 5):
        planes = positions(game)[-count:]
        with torch.no_grad():
            policy, value = read(torch.from_numpy(planes))
        check_answers(network, planes, policy.numpy(), value.numpy())
    text = extra["README.md"]
    check_readme(text.decode() if isinstance(text, bytes) else text)


def test_several_moves_of_a_cell_come_in_the_same_order_in_every_format(tmp_path: Path) -> None:
    pytest.importorskip("onnx", reason="needs onnx, the extra onnx")
    runtime = pytest.importorskip("onnxruntime", reason="needs onnxruntime, the extra dev")
    game = make_game("breakthrough", rows=6, columns=6)
    network = lived_in(NetworkConfig(blocks=1, channels=8, head="spatial"), game)
    planes = positions(game)[-3:]
    write_onnx(network, game, FACTS, tmp_path / "network.onnx")
    session = runtime.InferenceSession(tmp_path / "network.onnx", providers=["CPUExecutionProvider"])
    check_answers(network, planes, *session.run(["policy", "value"], {"planes": planes}))
    write_torchscript(network, game, FACTS, tmp_path / "network.pt")
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore", DeprecationWarning)  # torch deprecates TorchScript
        policy, value = torch.jit.load(tmp_path / "network.pt")(torch.from_numpy(planes))
    check_answers(network, planes, policy.numpy(), value.numpy())


def check_readme(text: str) -> None:
    """Assert that a README says what the file is, what goes in and what comes out."""
    for said in ("azero", "tictactoe", "run: first", "cycle: 7", "[batch, 2, 3, 3]", "[batch, 9]"):
        assert said in text
    assert "for the player to move: 1 is a win" in text and "7 = 7, 8 = 8\n" in text


def test_equal_networks_give_equal_onnx_files(game: Game, tmp_path: Path) -> None:
    pytest.importorskip("onnx", reason="needs onnx, the extra onnx")
    files = [tmp_path / name for name in ("one", "other")]
    for path in files:
        write_onnx(lived_in(NetworkConfig(blocks=1, channels=8), game), game, FACTS, path)
    assert files[0].read_bytes() == files[1].read_bytes()
    assert sorted(tmp_path.iterdir()) == files


@pytest.mark.parametrize("write", [write_onnx, write_torchscript])
def test_a_file_that_cannot_be_written_is_one_sentence(
    game: Game, write: Callable[..., None], tmp_path: Path
) -> None:
    if write is write_onnx:
        pytest.importorskip("onnx", reason="needs onnx, the extra onnx")
    network = lived_in(NetworkConfig(blocks=0, channels=4), game)
    with pytest.raises(UserError, match=r"cannot be written: No such file or directory\.$"):
        write(network, game, FACTS, tmp_path / "missing" / "network")
    assert not [*tmp_path.iterdir()]


def test_without_onnx_the_extra_is_named(game: Game, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    network = lived_in(NetworkConfig(blocks=0, channels=4), game)
    with pytest.raises(UserError, match=r"needs the package onnx; pip install \"azero\[onnx\]\"\.$"):
        write_onnx(network, game, FACTS, tmp_path / "network.onnx")
    assert not [*tmp_path.iterdir()]
