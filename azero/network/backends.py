"""The backends by name: which of them this machine can use, and inferences made with them."""

from __future__ import annotations

from collections.abc import Sequence

from azero.config.schema import UserError
from azero.games.game import Game
from azero.network import openvino_inference, torch_inference
from azero.network.inference import Inference, InferenceChoice, resolve_device
from azero.network.model import Network
from azero.network.openvino_inference import OpenVinoInference
from azero.network.torch_inference import CpuInference, CudaInference

INT8_NEEDS = (
    'inference.precision=int8 needs OpenVINO; pip install "azero[cpu]" and leave inference.backend=auto.'
)


def candidates(backend: str, precision: str, device: str) -> list[tuple[str, str]]:
    """Return the pairs (backend, precision) that this machine can compute and the settings allow.

    Args:
        backend, precision: as in `InferenceConfig`; "auto" allows any.
        device: "cpu", "cuda" or "mps".

    Raises:
        UserError: this machine lacks the backend or the precision.
    """
    backends = {"auto": ["torch", "openvino"]}.get(backend, [backend])
    precisions = {"auto": ["fp32", "fp16", "bf16"]}.get(precision, [precision])
    reasons = {(name, kind): obstacle(name, kind, device) for name in backends for kind in precisions}
    able = [pair for pair, reason in reasons.items() if reason is None]
    if not able:
        raise UserError(next(iter(reasons.values())) or "")
    return able


def obstacle(backend: str, precision: str, device: str) -> str | None:
    """Return why this machine cannot compute so, as one sentence; None if it can."""
    if precision == "fp16" and device != "cuda":
        return "fp16 is for NVIDIA and AMD GPUs; set inference.precision=auto."
    if backend == "torch":
        return INT8_NEEDS if precision == "int8" else torch_inference.obstacle(precision, device)
    if device != "cpu":
        return "OpenVINO computes on the CPU; set device=cpu, or inference.backend=torch."
    return openvino_inference.obstacle(precision)


def make_inferences(network: Network, game: Game, choice: InferenceChoice, workers: int) -> list[Inference]:
    """Return an inference for each worker. It has a copy of the weights, so later training changes nothing.

    Raises:
        UserError: there is no GPU, or the backend is not installed.
    """
    made: Sequence[OpenVinoInference | CudaInference | CpuInference]
    if choice.backend == "openvino":
        made = openvino_inference.make_inferences(network, game, choice, workers)
    else:
        kind = CudaInference if resolve_device(choice.device) == "cuda" else CpuInference
        made = [kind(network, game, choice) for _ in range(workers)]
    for inference in made:
        inference.title = f"{network.title} (backend {choice.backend}, {choice.precision})"
    return [*made]


def make_inference(network: Network, game: Game, choice: InferenceChoice) -> Inference:
    """Return one inference; see `make_inferences`."""
    return make_inferences(network, game, choice, workers=1)[0]
