"""A folded network as a TorchScript file, for programs that have torch and not azero, in Python or C++.

torch 2.13 says that TorchScript is deprecated; it still writes and reads it. The README lies in the file as
the extra file README.md: `files = {"README.md": ""}; torch.jit.load(path, _extra_files=files)`.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from azero.export.readme import readme
from azero.games.game import Game
from azero.network.folded import Dense, folded
from azero.network.model import Network
from azero.network.own import check_trace, traceable
from azero.run.disk import write_for_user

if TYPE_CHECKING:
    from torch.nn import Module


def write_torchscript(network: Network, game: Game, facts: Mapping[str, str], path: Path) -> None:
    """Write a network: planes [B, C, H, W] to policy logits [B, A] and value [B], for the player to move.

    Args:
        network: on the CPU.
        game: the network's.
        facts: lines of the README, such as run and cycle.
        path: the file.

    Raises:
        UserError: the file cannot be written, or a network of one's own cannot be traced.
    """
    import torch  # here, because a program's help needs no torch

    plain, buffer = traceable_network(network), io.BytesIO()
    with warnings.catch_warnings(), torch.inference_mode(False), traceable():
        warnings.simplefilter("ignore", DeprecationWarning)
        # the number of the value head's outputs, which is the same for all inputs
        warnings.filterwarnings("ignore", "Converting a tensor to a Python boolean")
        traced = torch.jit.trace(plain, torch.zeros(2, *game.planes_shape), check_trace=False)
        torch.jit.save(traced, buffer, _extra_files={"README.md": readme(game, facts)})
    write_for_user(path, buffer.getvalue())


def traceable_network(network: Network) -> Module:
    """Return a folded network that torch's tracers know; UserError: one of one's own cannot be traced."""
    plain = with_plain_dense(folded(network).eval())
    if network.config.file:
        check_trace(plain, network.planes_shape, network.config.file)
    return plain


def with_plain_dense(network: Module) -> Module:
    """Replace the layers that call oneDNN by name, which another machine or a GPU may lack."""
    from torch import nn

    for part in [*network.modules()]:
        for name, layer in [*part.named_children()]:
            if isinstance(layer, Dense):
                outputs, inputs = layer.weight.shape
                plain = nn.Linear(inputs, outputs, device="meta")
                plain.weight, plain.bias = layer.weight, layer.bias
                setattr(part, name, plain)
    return network
