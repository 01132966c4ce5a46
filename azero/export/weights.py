"""The weights of a network's code as bytes: fp32, fp16 or int8, and what the rounding costs.

Each matrix of `NetworkCode.layers` follows the one before. Biases stay float32. With fp16 a weight has two
bytes; with int8 a matrix is the float32 step of each column, then a byte for each weight, which is a multiple
of its column's step. Numbers are little-endian. `static/weights.js` reads the same.

Letters: N positions, A actions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from azero.config.schema import UserError
from azero.export.connectx import matrices
from azero.export.native import NativeNetwork
from azero.export.network_code import NetworkCode
from azero.export.network_kernels import GROUP
from azero.games.game import Game
from azero.games.inputs import encode
from azero.network.folded import FoldedNetwork
from azero.network.int8 import PLIES, own_states
from azero.network.model import Network
from azero.network.torch_inference import torch_threads

COMPARED = 256  # positions
STATES = 1024  # among which they are chosen
Infer = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]  # planes to logits and values


class Limit(NamedTuple):
    """The largest distance from torch in fp32 that a kind of weights may have, in any position."""

    policy: float  # of a legal move's probability
    value: float


# The largest distances of ten trained networks of tic-tac-toe, Connect Four and Hex were 0.002 and 0.003 with
# fp16, 0.03 and 0.04 with int8, 0.000002 with fp32.
LIMITS = {"fp16": Limit(0.01, 0.01), "int8": Limit(0.1, 0.1), "fp32": Limit(1e-4, 1e-4)}


class Weights(NamedTuple):
    """Weights as they lie in a file.

    Attributes:
        data: the bytes.
        description: what `decode_weights` needs to read them; it can be written as JSON.
        policy, value: the largest distances from torch, in `positions` positions.
        positions: how many positions were compared.
    """

    data: bytes
    description: dict[str, Any]
    policy: float
    value: float
    positions: int

    @property
    def distance(self) -> str:
        """Return the largest distances as text."""
        return f"{self.policy:.2g} in a move's probability and {self.value:.2g} in the value"


def checked_weights(
    network: Network,
    code: NetworkCode,
    game: Game,
    kind: str,
    reader: Callable[[bytes, dict[str, Any]], Infer] | None = None,
) -> Weights:
    """Return a network's weights as bytes, after its code was compared with torch in real positions.

    Args:
        network: on the CPU.
        code: the network's.
        game: the network's.
        kind: of LIMITS.
        reader: makes, of the bytes and their description, what computes the network; None: the code does.

    Raises:
        UserError: the answers are farther from torch's than LIMITS allows.
    """
    data, description = encode_weights(code, kind)
    folded = FoldedNetwork(network)
    states = compared_states(folded, game)
    if reader:
        own = reader(data, description)
    else:
        own = NativeNetwork(code, decode_weights(data, description)).infer
    policy, value = distances(folded, own, game, states)
    limit = LIMITS[kind]
    if not (policy <= limit.policy and value <= limit.value):  # NaN is not <= either
        other = "weights=fp16 or weights=fp32" if kind == "int8" else "weights=fp32"
        advice = "this network cannot be exported" if kind == "fp32" else f"export with {other}"
        raise UserError(
            f"With weights={kind}, a move's probability is off by {policy:.3g} (at most {limit.policy} is "
            f"allowed) and a position's value by {value:.3g} (at most {limit.value}); {advice}."
        )
    return Weights(data, description, policy, value, len(states))


def encode_weights(code: NetworkCode, kind: str) -> tuple[bytes, dict[str, Any]]:
    """Return the weights as bytes, and their description."""
    parts, place = [], 0
    for rows, columns in code.layers:
        matrix = code.weights[place : place + rows * columns]
        place += rows * columns
        if rows == 1 or kind == "fp32":
            parts.append(matrix.astype("<f4").tobytes())
        elif kind == "fp16":
            with np.errstate(over="ignore"):  # infinity is refused when the answers are compared
                parts.append(matrix.astype("<f2").tobytes())
        else:
            groups = matrix.reshape(-1, rows, GROUP)
            steps = np.abs(groups).max(1, keepdims=True) / np.float32(127)
            levels = np.rint(groups / np.where(steps == 0, 1, steps)).astype(np.int8)
            parts += [steps.astype("<f4").tobytes(), levels.tobytes()]
    return b"".join(parts), {"kind": kind, "group": GROUP, "layers": [list(layer) for layer in code.layers]}


def decode_weights(data: bytes, description: dict[str, Any]) -> np.ndarray:
    """Return the weights [n] float32 that bytes of `encode_weights` hold."""
    return np.concatenate([matrix.ravel() for matrix in matrices(data, description)])


def compared_states(folded: FoldedNetwork, game: Game) -> np.ndarray:
    """Return COMPARED different states, or as many as are met: [N, S].

    Half of the games are random: people play moves that the network would not.
    """
    games = math.ceil(STATES / min(PLIES, game.max_plies))
    states = np.concatenate(list(own_states(folded, game, games, random=games // 2)))
    found = np.unique(states, axis=0)
    return found[np.linspace(0, len(found) - 1, min(COMPARED, len(found))).astype(int)]


def distances(folded: FoldedNetwork, infer: Infer, game: Game, states: np.ndarray) -> tuple[float, float]:
    """Return the largest distances of a legal move's probability and of a value between code and torch."""
    planes, legal_mask = encode(game, states)
    (logits, values), (own_logits, own_values) = answers(folded, planes), infer(planes)
    policy, own_policy = (legal_policy(each, legal_mask) for each in (logits, own_logits))
    return float(np.abs(own_policy - policy).max()), float(np.abs(own_values - values).max())


def answers(folded: FoldedNetwork, planes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return torch's logits [N, A] and values [N]."""
    import torch  # here, because a program's help needs no torch

    with torch_threads(1), torch.inference_mode():
        logits, values = folded(torch.from_numpy(planes))
    return logits.numpy(), values.numpy()


def legal_policy(logits: np.ndarray, legal_mask: np.ndarray) -> np.ndarray:
    """Return the softmax of logits [N, A] over the legal moves."""
    masked = np.where(legal_mask, logits, -np.inf)
    with np.errstate(invalid="ignore"):  # logits that are not finite give a policy of NaN
        powers = np.exp(masked - masked.max(1, keepdims=True))
        return powers / powers.sum(1, keepdims=True)
