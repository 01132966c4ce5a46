"""A folded network as an ONNX file, layer by layer, for onnxruntime and whatever else reads ONNX.

torch's own exporter needs another package, and its way through TorchScript, which networks of one's own take,
is deprecated. The file is of an old version of the format, so that old readers take it.

Letters: B the batch, A actions, C H W planes.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from azero.config.schema import UserError
from azero.export.readme import readme
from azero.games.game import Game
from azero.network.folded import (
    SMALLEST_OUTPUT,
    FoldedHead,
    FoldedNetwork,
    FoldedPyramid,
    FoldedResidual,
    PlainNetwork,
)
from azero.network.model import Network, OwnNetwork
from azero.network.own import check_trace, traceable
from azero.run.disk import write_for_user

OPERATIONS, FORMAT = 17, 8  # versions of ONNX's operations and of its files, of 2022


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
    text = readme(game, facts)
    if isinstance(network, OwnNetwork):
        model = onnx.load_from_string(traced(network))
        model.doc_string = text
    else:
        model = model_of(FoldedNetwork(network), game, text, onnx)
    onnx.helper.set_model_props(model, {"README": text, **facts})
    write_for_user(path, model.SerializeToString(deterministic=True))


def traced(network: OwnNetwork) -> bytes:
    """Return a network of one's own as an ONNX file, by torch; UserError: it cannot be traced."""
    import torch

    buffer, planes = io.BytesIO(), torch.zeros(2, *network.planes_shape)
    plain = PlainNetwork(network).eval()
    check_trace(plain, network.planes_shape, network.config.file)
    with warnings.catch_warnings(), traceable():
        warnings.simplefilter("ignore")  # that this way of torch's is deprecated; the other needs a package
        torch.onnx.export(
            plain,
            (planes,),
            buffer,  # type: ignore[arg-type]
            input_names=["planes"],
            output_names=["policy", "value"],
            dynamic_axes={name: {0: "batch"} for name in ("planes", "policy", "value")},
            opset_version=OPERATIONS,
            dynamo=False,
        )
    return buffer.getvalue()


def model_of(folded: FoldedNetwork, game: Game, text: str, onnx: Any) -> Any:
    """Return an `onnx.ModelProto` of a network of azero's own layers."""
    graph = OnnxGraph(onnx.helper, onnx.numpy_helper)
    graph.network(folded)
    planes, height, width = game.planes_shape
    shapes: dict[str, list[str | int]] = {
        "planes": ["batch", planes, height, width],
        "policy": ["batch", game.num_actions],
        "value": ["batch"],
    }
    ends = [onnx.helper.make_tensor_value_info(key, 1, shape) for key, shape in shapes.items()]  # 1: float32
    return onnx.helper.make_model(
        onnx.helper.make_graph(graph.nodes, "azero", ends[:1], ends[1:], graph.constants),
        opset_imports=[onnx.helper.make_opsetid("", OPERATIONS)],
        ir_version=FORMAT,
        producer_name="azero",
        doc_string=text,
    )


class OnnxGraph:
    """Builds one graph: every method takes the names of numbers and returns the name of what it adds."""

    def __init__(self, helper: Any, numpy_helper: Any) -> None:
        self.helper, self.numpy_helper = helper, numpy_helper
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def network(self, folded: FoldedNetwork) -> None:
        """Add the whole network from "planes" to "policy" and "value"; see `FoldedNetwork.forward`."""
        x = self.convolution("planes", folded.stem)
        x = self.add("Relu", x) if folded.stem_relu else x
        for block in folded.blocks:
            x = self.block(x, block)
        policy, value = self.head(x, folded.policy_head), self.head(x, folded.value_head)
        if folded.linear_policy:
            policy = self.add("Log", self.add("Max", policy, self.constant(np.float32(SMALLEST_OUTPUT))))
        self.add("Identity", policy, name="policy")
        if folded.value_head.others == 1:
            self.add("Squeeze", self.add("Tanh", value), self.constant(np.array([1])), name="value")
            return
        chances = self.add("Softmax", value, axis=1)
        win, loss = (self.add("Gather", chances, self.constant(np.int64(place)), axis=1) for place in (0, 2))
        self.add("Sub", win, loss, name="value")

    def block(self, x: str, block: Any) -> str:
        """See `FoldedResidual.forward` and `FoldedPyramid.forward`."""
        assert isinstance(block, FoldedResidual | FoldedPyramid)
        inner = x
        if isinstance(block, FoldedPyramid):
            scale, shift = self.constant(block.affine.scale), self.constant(block.affine.shift)
            inner = self.add("Add", self.add("Mul", x, scale), shift)
        inner = self.add("Relu", self.convolution(inner, block.conv1))
        inner = self.convolution(inner, block.conv2)
        x = self.add("Add", inner, x)
        return self.add("Relu", x) if isinstance(block, FoldedResidual) else x

    def head(self, x: str, head: FoldedHead) -> str:
        """See `FoldedHead.forward`."""
        x = x if head.conv is None else self.add("Relu", self.convolution(x, head.conv))
        outputs = [] if head.cells is None else [self.cell_by_cell(x, head.cells)]
        if head.output is not None:
            if head.spatial:
                x = self.pools(x)
            elif head.conv is None:
                x = self.add("ReduceMean", x, axes=[2, 3], keepdims=0)
            else:
                x = self.add("Flatten", x, axis=1)
            x = x if head.hidden is None else self.add("Relu", self.dense(x, head.hidden))
            outputs.append(self.dense(x, head.output))
        return self.add("Concat", *outputs, axis=1)

    def cell_by_cell(self, x: str, layer: Any) -> str:
        """Return the outputs of a spatial head's last convolution as `blocks.cell_by_cell` does."""
        x = self.convolution(x, layer)
        if layer.out_channels > 1:
            x = self.add("Transpose", x, perm=[0, 2, 3, 1])
        return self.add("Flatten", x, axis=1)

    def pools(self, x: str) -> str:
        """Return each channel's mean and then each one's maximum over the cells, [B, 2 * channels]."""
        both = [self.add(reduce, x, axes=[2, 3], keepdims=0) for reduce in ("ReduceMean", "ReduceMax")]
        return self.add("Concat", *both, axis=1)

    def convolution(self, x: str, layer: Any) -> str:
        """Add a convolution with its bias; it keeps the board's size."""
        padding = [layer.weight.shape[-1] // 2] * 4
        return self.add("Conv", x, self.constant(layer.weight), self.constant(layer.bias), pads=padding)

    def dense(self, x: str, layer: Any) -> str:
        """Add a dense layer with its bias."""
        return self.add("Gemm", x, self.constant(layer.weight), self.constant(layer.bias), transB=1)

    def add(self, operation: str, *inputs: str, name: str = "", **attributes: Any) -> str:
        """Add an operation; return its output's name."""
        output = name or f"{operation.lower()}_{len(self.nodes)}"
        self.nodes.append(self.helper.make_node(operation, inputs, [output], **attributes))
        return output

    def constant(self, numbers: Any) -> str:
        """Add a tensor of torch or an array."""
        values = numbers if isinstance(numbers, np.ndarray | np.generic) else numbers.detach().numpy()
        name = f"constant_{len(self.constants)}"
        self.constants.append(self.numpy_helper.from_array(np.asarray(values), name))
        return name
