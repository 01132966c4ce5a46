"""A folded network as an ONNX file, for onnxruntime and whatever else reads ONNX.

torch's newer exporter needs another package; the older one's way through TorchScript is deprecated. The file
is of an old version of the format, so that old readers take it.

Letters: B the batch, A actions, C H W planes.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Mapping
from pathlib import Path

import azero
from azero.config.schema import UserError
from azero.export.readme import readme
from azero.export.torchscript import traceable_network
from azero.games.game import Game
from azero.network.model import Network
from azero.network.own import traceable
from azero.run.disk import write_for_user

OPERATIONS = 17  # version of ONNX's operations, of 2022


def write_onnx(network: Network, game: Game, facts: Mapping[str, str], path: Path) -> None:
    """Write a network: planes [B, C, H, W] to policy logits [B, A] and value [B], for the player to move.

    Args:
        network: on the CPU.
        game: the network's.
        facts: lines of the README in the file's metadata, such as run and cycle.
        path: the file.

    Raises:
        UserError: onnx is not installed, or the file cannot be written.
    """
    try:
        import onnx
    except ImportError as missing:
        raise UserError('format=onnx needs the package onnx; pip install "azero[onnx]".') from missing
    text, model = readme(game, facts), onnx.load_from_string(traced(network))
    model.doc_string, model.graph.name = text, "azero"
    model.producer_name, model.producer_version = "azero", azero.__version__
    onnx.helper.set_model_props(model, {"README": text, **facts})
    write_for_user(path, model.SerializeToString(deterministic=True))


def traced(network: Network) -> bytes:
    """Return a network as an ONNX file, by torch; UserError: it cannot be traced."""
    import torch

    plain, buffer = traceable_network(network), io.BytesIO()
    with warnings.catch_warnings(), traceable():
        warnings.simplefilter("ignore")  # that this way of torch's is deprecated; the other needs a package
        torch.onnx.export(
            plain,
            (torch.zeros(2, *network.planes_shape),),
            buffer,  # type: ignore[arg-type]
            input_names=["planes"],
            output_names=["policy", "value"],
            dynamic_axes={name: {0: "batch"} for name in ("planes", "policy", "value")},
            opset_version=OPERATIONS,
            dynamo=False,
        )
    return buffer.getvalue()
