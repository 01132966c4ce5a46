"""The network's code, compiled for this machine, answers like the folded network in torch."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
import torch
from answering import KINDS, every_kind, lived_in, positions
from hypothesis import given, settings
from hypothesis import strategies as st

from azero.config.schema import NetworkConfig
from azero.export.native import NativeNetwork
from azero.export.network_code import NetworkCode, network_code
from azero.export.network_kernels import GROUP
from azero.export.webassembly import STACK_TOP, Memory, build, call_of
from azero.games.game import Game
from azero.network.folded import FoldedNetwork
from azero.network.model import Network


def check_answers(network: Network, planes: np.ndarray) -> NetworkCode:
    """Assert that the code's answers are torch's up to rounding; return the code."""
    code = network_code(network)
    logits, values = NativeNetwork(code, code.weights).infer(planes)
    with torch.no_grad():
        expected, expected_values = (
            part.numpy() for part in FoldedNetwork(network)(torch.from_numpy(planes))
        )
    if network.config.policy_output == "linear":  # the logarithm of a small output blows up its last bits
        logits, expected = np.exp(logits), np.exp(expected)
    size = max(1.0, np.abs(expected).max())
    np.testing.assert_allclose(logits / size, expected / size, rtol=0, atol=1e-5)
    np.testing.assert_allclose(values, expected_values, rtol=0, atol=1e-5)
    return code


def network_and_planes(
    config: NetworkConfig, shape: tuple[int, int, int], actions: int
) -> tuple[Network, np.ndarray]:
    """Return an untrained network of any shape, and three inputs of noise."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        network = Network(config, shape, actions).eval()
    return network, np.random.default_rng(1).standard_normal((3, *shape)).astype(np.float32)


@every_kind
def test_the_code_of_every_kind_of_network_answers_like_torch(game: Game, config: NetworkConfig) -> None:
    check_answers(lived_in(config, game), positions(game))


@settings(max_examples=12)
@given(
    shape=st.tuples(st.integers(1, 9), st.integers(1, 7), st.integers(1, 7)),
    channels=st.integers(2, 41),
    blocks=st.integers(0, 3),
    actions=st.integers(1, 30),
    choices=st.fixed_dictionaries(
        {
            "block": st.sampled_from(["residual", "pyramid"]),
            "head": st.sampled_from(["convolutional", "pooled", "spatial"]),
            "policy_output": st.sampled_from(["logits", "linear"]),
            "value_output": st.sampled_from(["scalar", "wdl"]),
            "value_hidden": st.integers(1, 20),
        }
    ),
)
def test_any_shape_answers_like_torch(
    shape: tuple[int, int, int], channels: int, blocks: int, actions: int, choices: dict[str, object]
) -> None:
    """Boards down to one cell, channels that fill no group, all choices of layers."""
    if choices["head"] == "spatial":  # a move or more for each cell, and others
        actions += shape[1] * shape[2] - 1
    config = NetworkConfig(blocks=blocks, channels=channels, **choices)  # type: ignore[arg-type]
    code = check_answers(*network_and_planes(config, shape, actions))
    assert sum(rows * columns for rows, columns in code.layers) == len(code.weights)
    assert all(columns % GROUP == 0 for _, columns in code.layers)


def test_a_board_of_19_x_19_with_128_channels() -> None:
    config = NetworkConfig(blocks=2, channels=128)
    check_answers(*network_and_planes(config, (17, 19, 19), 362))


def test_equal_networks_give_equal_code_and_scratch_needs_no_cleaning(game: Game) -> None:
    config = NetworkConfig(blocks=2, channels=12, block="pyramid")
    one, other = (network_code(lived_in(config, game)) for _ in range(2))
    assert one.ir == other.ir and np.array_equal(one.weights, other.weights)
    native, planes = NativeNetwork(one, one.weights), positions(game)
    dirty = np.full(one.scratch_floats, np.nan, np.float32)
    logits, value = np.empty(game.num_actions, np.float32), np.empty(1, np.float32)
    for _ in range(2):
        native.evaluate(*(part.ctypes.data for part in (planes[5], native.weights, dirty, logits, value)))
        expected, expected_values = native.infer(planes[5:6])
        assert np.array_equal(logits, expected[0]) and value[0] == expected_values[0]


# Reads the job and each position's planes, and writes its logits and value.
RUNNER = """
import { readFileSync, writeFileSync } from "node:fs";
const { addresses, sizes, bytes, stack } = JSON.parse(readFileSync("job.json"));
const env = {
  __linear_memory: new WebAssembly.Memory({ initial: Math.ceil(bytes / 65536) }),
  __stack_pointer: new WebAssembly.Global({ value: "i32", mutable: true }, stack),
  exp: Math.exp, log: Math.log, tanh: Math.tanh,
};
const { instance } = await WebAssembly.instantiate(readFileSync("module.wasm"), { env });
const at = addresses.map((start, i) => new Float32Array(env.__linear_memory.buffer, start, sizes[i]));
const numbers = (name) => new Float32Array(new Uint8Array(readFileSync(name)).buffer);
const planes = numbers("planes.bin"), found = [];
at[1].set(numbers("weights.bin"));
for (let start = 0; start < planes.length; start += sizes[0]) {
  at[0].set(planes.subarray(start, start + sizes[0]));
  instance.exports.infer();
  found.push(...at[3], at[4][0]);
}
writeFileSync("found.bin", new Float32Array(found));
"""


@pytest.mark.parametrize("config", [KINDS[1], KINDS[8], KINDS[-1]], ids=["linear", "wdl", "everything"])
def test_webassembly_gives_the_same_bits(game: Game, config: NetworkConfig, tmp_path: Path) -> None:
    """Only exp, log and tanh may differ in their last bits: they are JavaScript's."""
    if (node := shutil.which("node")) is None:
        pytest.skip("there is no Node")
    code, planes, memory = network_code(lived_in(config, game)), positions(game), Memory()
    sizes = [planes[0].size, len(code.weights), code.scratch_floats, code.num_actions, 1]
    arrays = [np.zeros(size, np.float32) for size in sizes]
    module = build([code.ir, call_of("evaluate_network", "infer", arrays, memory)], memory)
    job = {
        "addresses": [memory.address(array) for array in arrays],
        "sizes": sizes,
        "bytes": memory.size,
        "stack": STACK_TOP,
    }
    (tmp_path / "module.wasm").write_bytes(module)
    (tmp_path / "job.json").write_text(json.dumps(job))
    (tmp_path / "planes.bin").write_bytes(planes.tobytes())
    (tmp_path / "weights.bin").write_bytes(code.weights.tobytes())
    (tmp_path / "run.mjs").write_text(RUNNER)
    subprocess.run([node, "run.mjs"], check=True, cwd=tmp_path, timeout=60)
    found = np.fromfile(tmp_path / "found.bin", np.float32).reshape(len(planes), -1)
    logits, values = NativeNetwork(code, code.weights).infer(planes)
    own = found[:, :-1]
    if config.policy_output == "linear":
        np.testing.assert_allclose(own, logits, rtol=1e-6, atol=1e-6)
    else:
        assert np.array_equal(own, logits)
    np.testing.assert_allclose(found[:, -1], values, rtol=0, atol=1e-6)
