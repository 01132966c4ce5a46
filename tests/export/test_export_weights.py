"""Weights as bytes: what comes back, in Python and in JavaScript, and what is refused."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
import torch
from answering import lived_in

from azero.config.schema import NetworkConfig, UserError
from azero.export import weights
from azero.export.network_code import NetworkCode, network_code
from azero.export.weights import LIMITS, checked_weights, compared_states, decode_weights, encode_weights
from azero.games.game import Game
from azero.network.folded import FoldedNetwork
from azero.network.model import Network

KINDS = tuple(LIMITS)
CONFIG = NetworkConfig(blocks=2, channels=12)
SCRIPT = Path(weights.__file__).parent / "static" / "weights.js"


@pytest.fixture(scope="module")
def network(game: Game) -> Network:
    return lived_in(CONFIG, game)


def small_code(numbers: np.ndarray, layers: tuple[tuple[int, int], ...]) -> NetworkCode:
    """Code of no network, to encode numbers that no network has."""
    return NetworkCode("", numbers, 0, layers, (1, 1, 1), 1)


def test_fp32_comes_back_as_it_was_and_fp16_as_numpy_rounds(network: Network) -> None:
    code = network_code(network)
    assert np.array_equal(decode_weights(*encode_weights(code, "fp32")), code.weights)
    data, description = encode_weights(code, "fp16")
    decoded, place = decode_weights(data, json.loads(json.dumps(description))), 0
    for rows, columns in code.layers:
        own = slice(place, place + rows * columns)
        place = own.stop
        kept = code.weights[own] if rows == 1 else code.weights[own].astype(np.float16).astype(np.float32)
        assert np.array_equal(decoded[own], kept)
    matrices = sum(rows * columns for rows, columns in code.layers if rows > 1)
    assert len(data) == 4 * len(code.weights) - 2 * matrices


def test_int8_rounds_each_column_to_127_steps_up_and_down() -> None:
    """Two groups of three rows. The first column holds 127, -50.4 and 0: its step is 1."""
    matrix = np.zeros((2, 3, 8), np.float32)
    matrix[0, :, 0] = 127.0, -50.4, 0.0
    matrix[1, :, 7] = -2.54, 0.03, 1.0
    bias = np.arange(16, dtype=np.float32) / 7
    data, description = encode_weights(
        small_code(np.concatenate([matrix.ravel(), bias]), ((3, 16), (1, 16))), "int8"
    )
    decoded = decode_weights(data, description)
    found = decoded[:48].reshape(2, 3, 8)
    assert found[0, :, 0] == pytest.approx([127.0, -50.0, 0.0])
    assert found[1, :, 7] == pytest.approx([-2.54, 0.04, 1.0], abs=1e-6)
    assert (found.reshape(-1)[1:8] == 0).all() and np.array_equal(decoded[48:], bias)
    assert len(data) == 16 * 4 + 48 + 16 * 4


@pytest.mark.parametrize("kind", KINDS)
def test_javascript_reads_the_same_numbers(network: Network, kind: str, tmp_path: Path) -> None:
    """Every number of 16 bits, and a network; the bytes lie at an odd place of a larger buffer."""
    if (node := shutil.which("node")) is None:
        pytest.skip("there is no Node")
    halves = np.arange(2**16, dtype=np.uint16).view(np.float16)
    halves = np.where(np.isfinite(halves), halves, np.float16(0)).astype(np.float32)
    program = tmp_path / "read.mjs"
    program.write_text(
        f'import {{ decodeWeights }} from "{SCRIPT.as_uri()}";\n'
        'import { readFileSync, writeFileSync } from "node:fs";\n'
        'const description = JSON.parse(readFileSync("description.json"));\n'
        'const bytes = new Uint8Array(readFileSync("odd.bin")).subarray(1);\n'
        'writeFileSync("decoded.bin", decodeWeights(bytes, description));\n'
    )
    for code in (network_code(network), small_code(halves, ((2**13, 8),))):
        data, description = encode_weights(code, kind)
        (tmp_path / "odd.bin").write_bytes(b"?" + data)
        (tmp_path / "description.json").write_text(json.dumps(description))
        subprocess.run([node, str(program)], check=True, cwd=tmp_path, timeout=60)
        found = np.frombuffer((tmp_path / "decoded.bin").read_bytes(), np.float32)
        assert np.array_equal(found, decode_weights(data, description))


def test_positions_that_are_compared_differ_and_are_the_same_each_time(game: Game, network: Network) -> None:
    states = compared_states(FoldedNetwork(network), game)
    assert len(states) == weights.COMPARED == len(np.unique(states, axis=0))
    assert not any(game.is_terminal(state) for state in states)
    assert np.array_equal(states, compared_states(FoldedNetwork(network), game))


@pytest.mark.parametrize("kind", KINDS)
def test_a_network_is_within_the_limits_and_says_how_far(game: Game, kind: str) -> None:
    network = lived_in(CONFIG, game)
    found = checked_weights(network, network_code(network), game, kind)
    assert found.positions == weights.COMPARED
    assert 0 < found.policy <= LIMITS[kind].policy and 0 <= found.value <= LIMITS[kind].value
    assert decode_weights(found.data, found.description).dtype == np.float32


@pytest.mark.parametrize(
    "kind, factor, advice",
    [
        ("fp16", 600, "export with weights=fp32"),
        ("fp16", 1e6, "export with weights=fp32"),  # more than 65,504, which fp16 lacks
        ("int8", 600, "export with weights=fp16 or weights=fp32"),
    ],
)
def test_a_network_that_rounding_changes_is_refused_in_one_sentence(
    game: Game, kind: str, factor: float, advice: str
) -> None:
    """Large policy weights turn a small error of the tower into another move."""
    network = lived_in(CONFIG, game)
    with torch.no_grad():
        network.policy_head.output.weight *= factor
    with pytest.raises(UserError, match=rf"^With weights={kind}, a move's probability .*; {advice}\.$"):
        checked_weights(network, network_code(network), game, kind)


def test_code_that_computes_something_else_is_refused(game: Game, network: Network) -> None:
    other = network_code(lived_in(NetworkConfig(blocks=1, channels=8), game))
    with pytest.raises(UserError, match="this network cannot be exported"):
        checked_weights(network, other, game, "fp32")
