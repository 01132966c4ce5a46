"""The backends by name, and a network behind one of them."""

from __future__ import annotations

from azero.config import UserError
from azero.games.game import Game
from azero.network import openvino_inference
from azero.network.inference import Inference, InferenceChoice, resolve_device
from azero.network.model import Network
from azero.network.torch_inference import CpuInference, CudaInference

INT8_NEEDS = 'inference.precision=int8 needs OpenVINO; pip install "azero[cpu]" and leave inference.backend=auto.'


def candidates(backend: str, precision: str, device: str) -> list[tuple[str, str]]:
    """(backend, precision) of all that this machine can compute and the wishes allow; "auto" allows any.

    Args:
        backend, precision: as in `InferenceConfig`.
        device: "cpu" or "cuda".

    Raises:
        UserError: a backend or precision is asked for that cannot be had here.
    """
    backends = {"auto": ["torch", "openvino"]}.get(backend, [backend])
    precisions = {"auto": ["fp32", "bf16"]}.get(precision, [precision])
    reasons = {pair: obstacle(*pair, device) for pair in ((name, kind) for name in backends for kind in precisions)}
    able = [pair for pair, reason in reasons.items() if reason is None]
    if not able:
        raise UserError(next(iter(reasons.values())) or "")
    return able


def obstacle(backend: str, precision: str, device: str) -> str | None:
    """Why this machine cannot compute so, as one sentence; None where it can."""
    if backend == "torch":
        return INT8_NEEDS if precision == "int8" else None
    if device != "cpu":
        return "OpenVINO computes on the CPU; set device=cpu, or inference.backend=torch."
    return openvino_inference.obstacle(precision)


def make_inferences(network: Network, game: Game, choice: InferenceChoice, lanes: int) -> list[Inference]:
    """The network behind the search's interface, once for each lane. The weights are copied: later training changes no answer.

    Raises:
        UserError: the choice is for a GPU and there is none, or for a backend that is not installed.
    """
    if choice.backend == "openvino":
        return [*openvino_inference.make_inferences(network, game, choice, lanes)]
    kind = CudaInference if resolve_device(choice.device) == "cuda" else CpuInference
    return [kind(network, game, choice) for _ in range(lanes)]


def make_inference(network: Network, game: Game, choice: InferenceChoice) -> Inference:
    """One such; see `make_inferences`."""
    return make_inferences(network, game, choice, lanes=1)[0]
