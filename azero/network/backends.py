"""The backends by name, and a network behind one of them."""

from __future__ import annotations

from azero.config import UserError
from azero.games.game import Game
from azero.network import openvino_inference
from azero.network.inference import Inference, InferenceChoice, resolve_device
from azero.network.model import Network
from azero.network.openvino_inference import OpenVinoInference
from azero.network.torch_inference import CpuInference, CudaInference


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
        return None
    if device != "cpu":
        return "OpenVINO computes on the CPU; set device=cpu, or inference.backend=torch."
    return openvino_inference.obstacle(precision)


def make_inference(network: Network, game: Game, choice: InferenceChoice) -> Inference:
    """The network behind the search's interface. The weights are copied: later training does not change its answers.

    Raises:
        UserError: the choice is for a GPU and there is none, or for a backend that is not installed.
    """
    if choice.backend == "openvino":
        return OpenVinoInference(network, game, choice)
    cuda = resolve_device(choice.device) == "cuda"
    return CudaInference(network, game, choice) if cuda else CpuInference(network, game, choice)
