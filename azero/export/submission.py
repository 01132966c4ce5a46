"""Write a champion of Connect Four as one file for Kaggle's competition ConnectX."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from azero.config.schema import UserError
from azero.export import connectx
from azero.export.exported import WIDTHS, Exported, facts
from azero.export.network_code import network_code
from azero.export.page import squeeze
from azero.export.weights import checked_weights
from azero.games.titles import game_heading
from azero.network.folded import FoldedHead, FoldedNetwork, FoldedPyramid
from azero.report.console import format_size
from azero.run.disk import write_for_user

GAME = {"rows": connectx.ROWS, "columns": connectx.COLUMNS, "connect": connectx.CONNECT}
LARGEST = 100_000_000  # bytes that Kaggle takes


def write_submission(exported: Exported, weights: str, path: Path) -> str:
    """Write the file; return how far its network is from the trained one.

    Args:
        exported: the champion.
        weights: of its network: fp16, int8 or fp32.
        path: the file.

    Raises:
        UserError: it plays another game, its network cannot be exported, or the file cannot be written.
    """
    game, network = exported.game, exported.network
    if game.name != "connect_four" or dict(game.options) != GAME:
        raise UserError(
            "A file for Kaggle's ConnectX needs a champion of Connect Four with 6 rows, 7 columns and 4 in a "
            f"row; run={exported.run.name} plays {game_heading(game)}."
        )
    if network.config.file:
        file = Path(network.config.file).name
        raise UserError(
            f"A network of {file} cannot be a file for Kaggle; format=onnx writes it for other programs."
        )
    shape = shape_of(FoldedNetwork(network))
    packed = checked_weights(
        network,
        network_code(network),
        game,
        weights,
        lambda data, packing: connectx.PortableNetwork(data, packing, shape).infer,
    )
    width = WIDTHS[weights]
    about = {
        "facts": facts(exported),
        "network": shape,
        "packing": packed.description,
        "width": width,
    }
    text = filled(json.dumps(about), squeeze(packed.data, width))
    if len(text) > LARGEST:
        raise UserError(f"The file has {format_size(len(text))}, and Kaggle takes {format_size(LARGEST)}.")
    write_for_user(path, text.encode())
    return f"In {packed.positions} positions its network differs from torch's by at most {packed.distance}."


def filled(about: str, weights: str) -> str:
    """Return the agent's own text with what belongs to a champion."""
    text = Path(connectx.__file__).read_text(encoding="utf-8")
    for name, value in (("ABOUT", about), ("WEIGHTS", weights)):
        before, after = re.split(rf'^{name} = ".*?"(?=  #)', text, flags=re.MULTILINE)
        text = f"{before}{name} = {value!r}{after}"
    return text


def shape_of(folded: FoldedNetwork) -> dict[str, Any]:
    """Return what `connectx.PortableNetwork` must know beside its matrices."""
    return {
        "stem_relu": folded.stem_relu,
        "blocks": ["pyramid" if isinstance(block, FoldedPyramid) else "residual" for block in folded.blocks],
        "heads": [head_of(folded.policy_head), head_of(folded.value_head)],
        "linear_policy": folded.linear_policy,
        "value_outputs": folded.value_head.others,
    }


def head_of(head: FoldedHead) -> dict[str, Any]:
    """Return a head's kind. Connect Four has no spatial ones: its moves are columns."""
    return {"pooled": head.conv is None, "dense": 1 if head.hidden is None else 2}
