"""A network as LLVM code: one function that evaluates one position, for WebAssembly and for this machine.

The code computes the folded network in float32 on one thread; see `azero.export.network_kernels` for how
numbers lie. Cell (row, column) of a board H x W is pixel (row + 1) * pitch + column + 1, where the pitch is
W + 2, and `row * pitch + column` is the pixel of the first tap of its 3x3 convolution.

Letters: A actions, C H W planes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir

from azero.export.network_kernels import GROUP, PIXELS, POINTER, Builder, Kernels, Value, as_value, float_of
from azero.network.folded import FoldedHead, FoldedNetwork, FoldedPyramid, FoldedResidual
from azero.network.model import Network

ENTRY = "evaluate_network"
NO_FLOOR, RELU = float("-inf"), 0.0  # the lowest number that a layer puts out


class NetworkCode(NamedTuple):
    """A network as code and numbers.

    Attributes:
        ir: LLVM IR without a target, which defines `void @evaluate_network(ptr planes, ptr weights, ptr
            scratch, ptr logits, ptr value)`. It calls no other function than exp, log and tanh of doubles.
            The pointers are to float32: planes [C, H, W]; weights; scratch, of any content; logits [A], as
            `FoldedNetwork` gives them; value [1], in [-1, 1] for the player to move.
        weights: [n] float32, as the code reads them.
        scratch_floats: the length of scratch.
        layers: (rows, columns) of each matrix in `weights`, in their order; together they fill it. A matrix
            lies as [columns / GROUP, rows, GROUP]. Biases are matrices of one row.
        planes_shape: [C, H, W].
        num_actions: A.
    """

    ir: str
    weights: np.ndarray
    scratch_floats: int
    layers: tuple[tuple[int, int], ...]
    planes_shape: tuple[int, int, int]
    num_actions: int


def network_code(network: Network) -> NetworkCode:
    """Return a network as code. Equal networks give equal code."""
    return Writer(FoldedNetwork(network).cpu(), network.planes_shape, network.num_actions).code()


class PaddedBoard(NamedTuple):
    """Activations of a whole board: where they begin in scratch, and the floats of each pixel."""

    start: int
    channels: int


class Writer:
    """Writes the entry point: a call of a kernel for each layer, with places in weights and scratch."""

    def __init__(self, folded: FoldedNetwork, planes_shape: tuple[int, int, int], num_actions: int) -> None:
        self.folded, self.planes_shape, self.num_actions = folded, planes_shape, num_actions
        self.planes, self.height, self.width = planes_shape
        self.pitch = self.width + 2
        self.module = ir.Module("network")
        self.kernels = Kernels(self.module)
        self.parts: list[np.ndarray] = []
        self.layers: list[tuple[int, int]] = []
        self.weight_floats = self.scratch_floats = 0
        entry = ir.Function(self.module, ir.FunctionType(ir.VoidType(), [POINTER] * 5), ENTRY)
        self.input, self.weights, self.scratch, self.logits, self.value = entry.args
        self.b = Builder(entry.append_basic_block("entry"))

    def code(self) -> NetworkCode:
        """Write the whole network; see `FoldedNetwork.forward`."""
        folded, cells = self.folded, self.height * self.width
        table_length = -(-cells // PIXELS) * PIXELS
        self.table = self.reserve(table_length)
        self.call("list_cells", self.table, self.height, self.width, self.pitch, table_length)
        channels = padded(folded.stem.out_channels)
        heads = (folded.policy_head, folded.value_head)
        longest = max(channels, *(padded(size) for head in heads for size in widths(head)))
        self.zeros = self.filled(longest, 0.0)
        x, inner, spare = (self.board(channels) for _ in range(3))
        planes = self.board(self.planes)
        self.call("spread", self.input, self.table, cells, self.planes, self.inside(planes))
        self.convolution(planes, folded.stem, x, RELU if folded.stem_relu else NO_FLOOR)
        for block in folded.blocks:
            self.block(block, x, inner, spare)
        policy, value = (self.head(x, head) for head in heads)
        self.call("log_of" if folded.linear_policy else "copy", policy, self.logits, self.num_actions)
        self.call("tanh_of" if folded.value_head.others == 1 else "win_minus_loss", value, self.value)
        self.b.ret_void()
        lines = str(self.module).splitlines()
        return NetworkCode(
            "\n".join(line for line in lines if not line.startswith("target ")),
            np.concatenate(self.parts),
            self.scratch_floats,
            tuple(self.layers),
            self.planes_shape,
            self.num_actions,
        )

    def block(self, block: Any, x: PaddedBoard, inner: PaddedBoard, spare: PaddedBoard) -> None:
        """Replace x by a block's output; see `FoldedResidual.forward` and `FoldedPyramid.forward`."""
        assert isinstance(block, FoldedResidual | FoldedPyramid)
        source, floor = x, RELU
        if isinstance(block, FoldedPyramid):
            source, floor = spare, NO_FLOOR
            scale, shift = self.vector(array(block.affine.scale)), self.vector(array(block.affine.shift))
            self.affine(x, scale, shift, spare)
        self.convolution(source, block.conv1, inner, RELU)
        self.convolution(inner, block.conv2, x, floor, skip=x)

    def over_pools(self, pools: Sequence[Value], layer: Any) -> Value:
        """Return what a dense layer and a ReLU make of channels' means and maxima."""
        weight = array(layer.weight)
        half = weight.shape[1] // 2
        first = self.dense(pools[0], weight[:, :half], layer.bias)
        return self.dense(pools[1], weight[:, half:], first, RELU)

    def head(self, x: PaddedBoard, head: FoldedHead) -> Value:
        """Return a head's outputs; see `FoldedHead.forward`."""
        layers = [layer for layer in (head.hidden, head.output) if layer is not None]
        if head.conv is None:
            found, _ = self.pool(x)
        elif head.spatial:
            y = self.board(padded(head.conv.out_channels))
            self.convolution(x, head.conv, y, RELU)
            return self.spatial_head(y, head)
        else:
            y = self.board(padded(head.conv.out_channels))
            self.convolution(x, head.conv, y, RELU)
            # torch flattens [planes, H, W]: this dense layer is a convolution whose taps are all cells
            first = layers.pop(0)
            weight = array(first.weight).reshape(-1, head.conv.out_channels, self.height, self.width)
            floor = RELU if layers else NO_FLOOR
            found = self.filled(padded(len(weight)), 0.0)
            self.convolve(
                "dense", self.inside(y), y.channels, weight, first.bias, found, self.zeros, 0, 1, floor
            )
        for layer in layers:
            found = self.dense(found, array(layer.weight), layer.bias)
        return found

    def spatial_head(self, x: PaddedBoard, head: FoldedHead) -> Value:
        """Return a spatial head's outputs from its convolution's; see `FoldedHead.forward`."""
        cells, per_cell = self.height * self.width, head.cells.out_channels if head.cells is not None else 0
        found = self.filled(padded(cells * per_cell + head.others), 0.0)
        if head.cells is not None:
            y = self.board(padded(per_cell))
            self.convolution(x, head.cells, y, NO_FLOOR)
            self.call("gather", self.inside(y), self.table, cells, y.channels, per_cell, found)
        if head.hidden is not None and head.output is not None:
            hidden = self.over_pools(self.pool(x), head.hidden)
            others = self.dense(hidden, array(head.output.weight), head.output.bias)
            self.call("copy", others, self.b.at(found, cells * per_cell), head.others)
        return found

    def convolution(
        self, x: PaddedBoard, layer: Any, y: PaddedBoard, floor: float, skip: PaddedBoard | None = None
    ) -> None:
        """Compute a layer of torch for every cell; `skip` is added before the floor."""
        weight = array(layer.weight)
        first = self.b.at(self.scratch, x.start) if weight.shape[-1] == 3 else self.inside(x)
        added, step = (self.zeros, 0) if skip is None else (self.inside(skip), skip.channels)
        cells = -(-self.height * self.width // PIXELS) * PIXELS
        self.convolve(
            "convolution", first, x.channels, weight, layer.bias, self.inside(y), added, step, cells, floor
        )

    def dense(self, x: Value, weight: np.ndarray, bias: Any, floor: float = NO_FLOOR) -> Value:
        """Return the outputs of a dense layer, weight [outputs, inputs], whose bias may be computed."""
        y = self.filled(padded(len(weight)), 0.0)
        self.convolve("dense", x, 0, weight[:, :, None, None], bias, y, self.zeros, 0, 1, floor)
        return y

    def convolve(
        self, kernel: str, x: Value, x_step: int, weight: np.ndarray, bias: Any, y: Value, skip: Value,
        skip_step: int, cells: int, floor: float,
    ) -> None:  # fmt: skip
        """Call a kernel with weight [outputs, inputs, rows, columns]; see `network_kernels.convolve`."""
        outputs, inputs, rows, columns = weight.shape
        ours = self.matrix(weight.transpose(2, 3, 1, 0).reshape(-1, outputs))
        start = bias if isinstance(bias, ir.NamedValue) else self.vector(array(bias))
        self.call(kernel, x, x_step, x_step * self.pitch, ours, start, y, skip, skip_step, self.table, cells,
                  inputs, padded(outputs), rows, columns, floor)  # fmt: skip

    def affine(self, x: PaddedBoard, scale: Value, shift: Value, y: PaddedBoard) -> None:
        """Compute x * scale + shift for every cell, with scale and shift [channels]."""
        cells = self.height * self.width
        self.call("affine", self.inside(x), scale, shift, self.table, cells, x.channels, self.inside(y))

    def pool(self, x: PaddedBoard) -> tuple[Value, Value]:
        """Return each channel's mean and maximum over the cells."""
        means, maxima = self.reserve(x.channels), self.reserve(x.channels)
        self.call("pool", self.inside(x), self.table, self.height * self.width, x.channels, means, maxima)
        return means, maxima

    def board(self, channels: int) -> PaddedBoard:
        """Take room for a board of zeros."""
        start = self.scratch_floats
        self.filled((self.height + 2) * self.pitch * channels, 0.0)
        return PaddedBoard(start, channels)

    def inside(self, board: PaddedBoard) -> Value:
        """Return where a board's first cell lies."""
        return self.b.at(self.scratch, board.start + (self.pitch + 1) * board.channels)

    def filled(self, floats: int, value: float) -> Value:
        """Take room in scratch that holds one number everywhere."""
        place = self.reserve(floats)
        self.call("fill", place, floats, value)
        return place

    def reserve(self, floats: int) -> Value:
        """Take room in scratch, whole groups."""
        place = self.b.at(self.scratch, self.scratch_floats)
        self.scratch_floats += padded(floats)
        return place

    def vector(self, numbers: np.ndarray) -> Value:
        """Append a bias, or another number of each channel, to the weights."""
        return self.matrix(numbers.reshape(1, -1))

    def matrix(self, numbers: np.ndarray) -> Value:
        """Append a matrix [rows, columns] to the weights; return where it lies."""
        place = self.b.at(self.weights, self.weight_floats)
        rows, columns = numbers.shape
        wide = np.zeros((rows, padded(columns)), np.float32)
        wide[:, :columns] = numbers
        self.parts.append(wide.reshape(rows, -1, GROUP).transpose(1, 0, 2).ravel())
        self.layers.append((rows, padded(columns)))
        self.weight_floats += wide.size
        return place

    def call(self, kernel: str, *arguments: Value | int | float) -> None:
        """Call a kernel; numbers become constants."""
        values = [float_of(each) if isinstance(each, float) else as_value(each) for each in arguments]
        self.b.call(self.kernels[kernel], values)


def padded(channels: int) -> int:
    """Return the number of channels of whole groups."""
    return -(-channels // GROUP) * GROUP


def widths(head: FoldedHead) -> list[int]:
    """Return the lengths of the vectors that a head puts out."""
    layers = (head.conv, head.cells, head.hidden, head.output)
    return [len(layer.bias) for layer in layers if layer is not None]  # type: ignore[arg-type]


def array(tensor: Any) -> np.ndarray:
    """Return a tensor's numbers."""
    return tensor.detach().numpy()
