"""A folded network as OpenVINO's graph, layer by layer.

This takes milliseconds. `openvino.convert_model` would trace the network through torch, which takes seconds;
see docs/lab/performance.md.

Letters: B the batch, A actions, C H W planes.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable
from types import ModuleType
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from azero.network.folded import (
    SMALLEST_OUTPUT,
    Affine,
    Dense,
    FoldedHead,
    FoldedNetwork,
    FoldedPyramid,
    FoldedResidual,
    PlainNetwork,
)
from azero.network.own import traceable

Node = Any  # OpenVINO has no types for a checker
CELLS = np.array([2, 3])  # the dimensions H and W
# The lowest and highest input of each convolution, in their order; 0 lies between them
Ranges = list[tuple[float, float]]


def openvino() -> ModuleType:
    """Import and return the package, without its telemetry, which writes files and sends at import.

    Raises:
        ImportError: it is not installed.
    """
    sys.modules.setdefault("openvino_telemetry", None)  # type: ignore[arg-type]
    import openvino

    module: ModuleType = openvino
    return module


def graph_of(
    folded: FoldedNetwork | PlainNetwork, shape: tuple[int, ...], ranges: Iterable[tuple[float, float]] = ()
) -> Any:
    """Return the `openvino.Model` of a folded network, which is on the CPU in fp32.

    Its input is planes of `shape`, [B, C, H, W]; its outputs are logits [B, A] and value [B]. Convolutions
    that have a range compute in int8. A network of one's own is traced.
    """
    if isinstance(folded, PlainNetwork):
        return with_levels(traced(folded, shape), ranges)
    known = dict(zip(folded.convolutions(), ranges, strict=False))
    return Graph(openvino(), shape, known).model(folded)


def traced(network: PlainNetwork, shape: tuple[int, ...]) -> Any:
    """Return the graph of a network of one's own, for planes of `shape`."""
    with traceable(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about sizes that become constants, as they should
        return openvino().convert_model(network, example_input=torch.zeros(shape), input=list(shape))


def convolution_nodes(graph: Any) -> list[Node]:
    """Return the convolutions of a traced graph whose weights are constants, in its order."""
    return [
        node
        for node in graph.get_ordered_ops()
        if node.get_type_name() == "Convolution"
        and node.input_value(1).get_node().get_type_name() == "Constant"
    ]


def traced_ranges(network: PlainNetwork, planes: np.ndarray) -> Ranges:
    """Return the ranges of all convolutions of a network of one's own; planes: [P, B, C, H, W] float32."""
    library = openvino()
    op, graph, results = library.opset13, traced(network, planes.shape[1:]), list[Node]()
    for node in convolution_nodes(graph):
        for reduce in (op.reduce_min, op.reduce_max):
            results.append(op.result(reduce(node.input_value(0), op.constant(np.arange(4)), False)))
    if not results:
        return []
    looked_at = library.Model(results, graph.get_parameters())
    settings = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": 1}
    compiled = library.Core().compile_model(looked_at, "CPU", settings)
    met = np.array([[float(each) for each in compiled(batch).values()] for batch in planes])
    lows, highs = met[:, 0::2].min(0).clip(max=0.0), met[:, 1::2].max(0).clip(min=0.0)
    return list(zip(lows.tolist(), highs.tolist(), strict=True))


def with_levels(graph: Any, ranges: Iterable[tuple[float, float]]) -> Any:
    """Let the convolutions of a traced graph compute in int8, with `ranges` in their order; return it."""
    op = openvino().opset13
    for node, (low, high) in zip(convolution_nodes(graph), ranges, strict=False):
        weight = node.input_value(1)
        node.input(0).replace_source_output(levels(op, node.input_value(0), low, high).output(0))
        rounded = weight_levels(op, weight, weight.get_node().get_data())
        node.input(1).replace_source_output(rounded.output(0))
    return graph


def levels(op: Any, x: Node, low: float, high: float) -> Node:
    """Round to 256 levels from `low` to `high`, moved so that 0 is one: padding must stay exact."""
    step = max(high - low, 1e-6) / 255
    lowest = -round(-low / step) * step
    ends = [op.constant(np.array([end], np.float32)) for end in (lowest, lowest + 255 * step)]
    return op.fake_quantize(x, *ends, *ends, levels=256)


def weight_levels(op: Any, weight: Node, values: np.ndarray) -> Node:
    """Round to 255 levels for each output channel, as many above 0 as below."""
    largest = np.abs(values).max((1, 2, 3), keepdims=True).clip(min=np.float32(1e-6))
    ends = [op.constant(-largest), op.constant(largest)]
    return op.fake_quantize(weight, *ends, *ends, levels=255)


class Graph:
    """Builds one graph: every method takes the node before and returns the one it adds."""

    def __init__(
        self, library: ModuleType, shape: tuple[int, ...], ranges: dict[nn.Conv2d, tuple[float, float]]
    ) -> None:
        self.library, self.ranges = library, ranges
        self.op = library.opset13
        self.planes = self.op.parameter(list(shape), np.float32, name="planes")

    def model(self, folded: FoldedNetwork) -> Any:
        """Return the whole network; see `FoldedNetwork.forward`."""
        op = self.op
        x = self.convolution(self.planes, folded.stem)
        x = op.relu(x) if folded.stem_relu else x
        for block in folded.blocks:
            x = self.residual(x, block) if isinstance(block, FoldedResidual) else self.pyramid(x, block)  # type: ignore[arg-type]
        logits = self.head(x, folded.policy_head)
        if folded.linear_policy:
            logits = op.log(op.maximum(logits, op.constant(np.float32(SMALLEST_OUTPUT))))
        value = self.value(self.head(x, folded.value_head), folded.value_head.others)
        return self.library.Model([op.result(logits), op.result(value)], [self.planes], "azero")

    def value(self, x: Node, outputs: int) -> Node:
        """See `azero.network.model.value_of`; the value head has 1 or 3 `outputs`."""
        op = self.op
        if outputs == 1:
            return op.squeeze(op.tanh(x), op.constant(np.array([1])))
        chances = op.softmax(x, axis=1)
        win, loss = (
            op.gather(chances, op.constant(np.int64(place)), op.constant(np.int64(1))) for place in (0, 2)
        )
        return op.subtract(win, loss)

    def residual(self, x: Node, block: FoldedResidual) -> Node:
        """See `FoldedResidual.forward`."""
        inner = self.op.relu(self.convolution(x, block.conv1))
        return self.op.relu(self.op.add(self.convolution(inner, block.conv2), x))

    def pyramid(self, x: Node, block: FoldedPyramid) -> Node:
        """See `FoldedPyramid.forward`."""
        inner = self.op.relu(self.convolution(self.affine(x, block.affine), block.conv1))
        return self.op.add(self.convolution(inner, block.conv2), x)

    def head(self, x: Node, head: FoldedHead) -> Node:
        """See `FoldedHead.forward`."""
        op = self.op
        x = x if head.conv is None else op.relu(self.convolution(x, head.conv))
        outputs = [] if head.cells is None else [self.cell_by_cell(x, head.cells)]
        if head.output is not None:
            if head.spatial:
                x = self.pools(x)
            else:
                x = (
                    op.reduce_mean(x, op.constant(CELLS), keep_dims=False)
                    if head.conv is None
                    else self.flat(x)
                )
            x = x if head.hidden is None else op.relu(self.dense(x, head.hidden))
            outputs.append(self.dense(x, head.output))
        return op.concat(outputs, 1) if len(outputs) > 1 else outputs[0]

    def flat(self, x: Node) -> Node:
        """Flatten [B, channels, H, W] to [B, channels * H * W]."""
        return self.op.reshape(x, self.op.constant(np.array([0, -1])), special_zero=True)

    def cell_by_cell(self, x: Node, layer: nn.Conv2d) -> Node:
        """Return the outputs of a spatial head's last convolution as `blocks.cell_by_cell` does."""
        x = self.convolution(x, layer)
        if layer.out_channels > 1:
            x = self.op.transpose(x, self.op.constant(np.array([0, 2, 3, 1])))
        return self.flat(x)

    def pools(self, x: Node) -> Node:
        """Return each channel's mean and then each one's maximum over the cells, [B, 2 * channels]."""
        op = self.op
        both = [reduce(x, op.constant(CELLS), keep_dims=False) for reduce in (op.reduce_mean, op.reduce_max)]
        return op.concat(both, 1)

    def convolution(self, x: Node, layer: nn.Conv2d) -> Node:
        """Add a convolution with its bias; it keeps the board's size."""
        assert layer.bias is not None
        weight, padding = self.constant(layer.weight), [layer.weight.shape[-1] // 2] * 2
        if layer in self.ranges:
            x = levels(self.op, x, *self.ranges[layer])
            weight = weight_levels(self.op, weight, layer.weight.detach().numpy())
        x = self.op.convolution(x, weight, [1, 1], padding, padding, [1, 1])
        return self.op.add(x, self.constant(layer.bias[None, :, None, None]))

    def dense(self, x: Node, layer: Dense | nn.Linear) -> Node:
        """Add a dense layer with its bias."""
        x = self.op.matmul(x, self.constant(layer.weight), transpose_a=False, transpose_b=True)
        return self.op.add(x, self.constant(layer.bias[None]))

    def affine(self, x: Node, layer: Affine) -> Node:
        """Add a batch norm that could not be folded."""
        return self.op.add(
            self.op.multiply(x, self.constant(layer.scale[None])), self.constant(layer.shift[None])
        )

    def constant(self, tensor: Tensor) -> Node:
        """Copy a layer's numbers into the graph."""
        return self.op.constant(tensor.detach().numpy())
