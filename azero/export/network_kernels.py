"""The kernels of a network's code, as LLVM IR: convolution, pooling and what lies between them.

Activations lie channels last on a board with a border of zeros, and channels are padded to whole groups of
GROUP. A kernel that visits cells gets the pixels of their upper left neighbours from a table; x, y and skip
then point to the pixel of the first tap, or of the first cell. Numbers are rounded after each operation, so
native code and WebAssembly agree except for the last bits of exp, log and tanh.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from llvmlite import ir

from azero.network.folded import SMALLEST_OUTPUT

LANES = 4  # floats of a vector
GROUP = 8  # channels computed at once
PIXELS = 4  # cells computed at once

INTEGER, POINTER = ir.IntType(32), ir.PointerType()
FLOAT, DOUBLE, VECTOR = ir.FloatType(), ir.DoubleType(), ir.VectorType(ir.FloatType(), LANES)
ALIGNMENT = 4  # bytes; what any float has

Value = Any  # llvmlite has no types for a checker


class Builder(ir.IRBuilder):
    """LLVM's builder with loops over counts, and floats and vectors in memory."""

    @contextmanager
    def loop(self, count: Value, step: int = 1) -> Iterator[Value]:
        """Run the block for 0, step, 2 step … below `count`."""
        before = self.block
        head, body, done = (self.append_basic_block(name) for name in ("head", "body", "done"))
        self.branch(head)
        self.position_at_end(head)
        index = self.phi(INTEGER)
        index.add_incoming(integer(0), before)
        self.cbranch(self.icmp_signed("<", index, count), body, done)
        self.position_at_end(body)
        yield index
        index.add_incoming(self.add(index, integer(step)), self.block)
        self.branch(head)
        self.position_at_end(done)

    def at(self, pointer: Value, *indices: Value | int) -> Value:
        """Return the address of the float so many floats behind the pointer."""
        for index in indices:
            pointer = self.gep(pointer, [as_value(index)], source_etype=FLOAT)
        return pointer

    def read(self, pointer: Value, index: Value | int = 0, kind: Value = FLOAT) -> Value:
        """Return the float, vector or integer at a place counted in floats."""
        return self.load(self.at(pointer, index), align=ALIGNMENT, typ=kind)

    def write(self, value: Value, pointer: Value, index: Value | int = 0) -> None:
        """Store a float, vector or integer at a place counted in floats."""
        self.store(value, self.at(pointer, index), align=ALIGNMENT)

    def splat(self, number: Value) -> Value:
        """Return a vector that holds a float in every lane."""
        one = self.insert_element(ir.Constant(VECTOR, ir.Undefined), number, integer(0))
        lanes = ir.Constant(ir.VectorType(INTEGER, LANES), [0] * LANES)
        return self.shuffle_vector(one, ir.Constant(VECTOR, ir.Undefined), lanes)

    def larger(self, one: Value, other: Value) -> Value:
        """Return the larger of two floats or, lane by lane, of two vectors."""
        return self.select(self.fcmp_ordered(">", one, other), one, other)

    def product(self, *factors: Value) -> Value:
        """Return the product of integers."""
        result = factors[0]
        for factor in factors[1:]:
            result = self.mul(result, factor)
        return result


def integer(number: int) -> Value:
    """Return an integer constant."""
    return ir.Constant(INTEGER, number)


def float_of(value: float) -> Value:
    """Return a float constant."""
    return ir.Constant(FLOAT, value)


def as_value(index: Value | int) -> Value:
    """Return a constant for an int, anything else as it is."""
    return integer(index) if isinstance(index, int) else index


class Kernels:
    """The kernels of one module, each written when it is first asked for."""

    def __init__(self, module: ir.Module) -> None:
        self.module = module
        self.written: dict[str, ir.Function] = {}

    def __getitem__(self, name: str) -> ir.Function:
        """Return the kernel whose body the method of that name writes."""
        if name not in self.written:
            signature, write = KERNELS[name]
            kernel = ir.Function(self.module, ir.FunctionType(ir.VoidType(), signature), f"network_{name}")
            kernel.linkage = "internal"
            self.written[name] = kernel
            b = Builder(kernel.append_basic_block("entry"))
            write(b, *kernel.args)
            b.ret_void()
        return self.written[name]


def convolve(
    b: Builder, pixels: int, x: Value, x_step: Value, x_row: Value, weights: Value, bias: Value, y: Value,
    skip: Value, skip_step: Value, table: Value, cells: Value, inputs: Value, outputs: Value, rows: Value,
    columns: Value, floor: Value,
) -> None:  # fmt: skip
    """Write y = max(floor, bias + weights * x + skip), `pixels` cells at once.

    Args:
        b, pixels: the builder, and how many cells.
        x, x_step, x_row: the inputs, the floats from a pixel to the next one and from a row to the next one.
        weights: [outputs / GROUP, rows, columns, inputs, GROUP].
        bias: [outputs].
        y: the outputs; a pixel has `outputs` floats.
        skip, skip_step: what is added, and the floats from a pixel to the next one; 0: the same for each.
        table, cells: the cells' pixels, and their number.
        inputs, outputs: channels.
        rows, columns: the taps.
        floor: the lowest output.
    """
    halves = range(GROUP // LANES)
    places = [(pixel, half) for pixel in range(pixels) for half in halves]
    sums = {place: b.alloca(VECTOR) for place in places}
    weight = b.alloca(POINTER)
    with b.loop(outputs, GROUP) as first:
        own_weights = b.at(weights, b.product(rows, columns, inputs, first))
        starts = [b.read(b.at(bias, first), LANES * half, VECTOR) for half in halves]
        with b.loop(cells, pixels) as cell:
            own = [b.read(b.at(table, cell), pixel, INTEGER) for pixel in range(pixels)]
            for pixel, half in places:
                b.store(starts[half], sums[pixel, half])
            b.store(own_weights, weight)
            with b.loop(rows) as row, b.loop(columns) as column:
                tap = b.at(x, b.mul(row, x_row), b.mul(column, x_step))
                sources = [b.at(tap, b.mul(pixel, x_step)) for pixel in own]
                with b.loop(inputs) as channel:
                    here = b.load(weight, typ=POINTER)
                    factors = [b.read(here, LANES * half, VECTOR) for half in halves]
                    b.store(b.at(here, GROUP), weight)
                    spread = [b.splat(b.read(source, channel)) for source in sources]
                    for pixel, half in places:
                        more = b.fmul(spread[pixel], factors[half])
                        b.store(b.fadd(b.load(sums[pixel, half], typ=VECTOR), more), sums[pixel, half])
            # All reads of skip come before the writes: y may be skip, and the last pixel may come twice.
            results = []
            for pixel, half in places:
                added = b.read(b.at(skip, b.mul(own[pixel], skip_step), first), LANES * half, VECTOR)
                total = b.fadd(b.load(sums[pixel, half], typ=VECTOR), added)
                results.append(b.larger(total, b.splat(floor)))
            for (pixel, half), result in zip(places, results, strict=True):
                b.write(result, b.at(y, b.mul(own[pixel], outputs), first), LANES * half)


def convolution(b: Builder, *args: Value) -> None:
    """Write `convolve` for a board, whose table is filled up to whole PIXELS."""
    convolve(b, PIXELS, *args)


def dense(b: Builder, *args: Value) -> None:
    """Write `convolve` for one cell: a dense layer over a vector, or over a board whose cells are taps."""
    convolve(b, 1, *args)


def affine(
    b: Builder, x: Value, scale: Value, shift: Value, table: Value, cells: Value, channels: Value, y: Value
) -> None:
    """Write y = x * scale + shift, with scale and shift [channels]."""
    with b.loop(cells) as cell:
        pixel = b.read(table, cell, INTEGER)
        with b.loop(channels, LANES) as channel:
            place = b.add(b.mul(pixel, channels), channel)
            scaled = b.fmul(b.read(x, place, VECTOR), b.read(scale, channel, VECTOR))
            b.write(b.fadd(scaled, b.read(shift, channel, VECTOR)), y, place)


def pool(
    b: Builder, x: Value, table: Value, cells: Value, channels: Value, means: Value, maxima: Value
) -> None:
    """Write the means and the maxima of x over the cells, each [channels]."""
    total, largest = b.alloca(VECTOR), b.alloca(VECTOR)
    with b.loop(channels, LANES) as channel:
        b.store(ir.Constant(VECTOR, [float_of(0.0)] * LANES), total)
        b.store(ir.Constant(VECTOR, [float_of(float("-inf"))] * LANES), largest)
        with b.loop(cells) as cell:
            pixel = b.read(table, cell, INTEGER)
            found = b.read(b.at(x, b.mul(pixel, channels)), channel, VECTOR)
            b.store(b.fadd(b.load(total, typ=VECTOR), found), total)
            b.store(b.larger(found, b.load(largest, typ=VECTOR)), largest)
        count = b.splat(b.sitofp(cells, FLOAT))
        b.write(b.fdiv(b.load(total, typ=VECTOR), count), means, channel)
        b.write(b.load(largest, typ=VECTOR), maxima, channel)


def fill(b: Builder, x: Value, count: Value, value: Value) -> None:
    """Write a number into so many floats, whole vectors."""
    with b.loop(count, LANES) as index:
        b.write(b.splat(value), x, index)


def list_cells(b: Builder, table: Value, height: Value, width: Value, pitch: Value, length: Value) -> None:
    """Write the table: each cell's pixel, row * pitch + column, and the last one again up to `length`."""
    with b.loop(height) as row, b.loop(width) as column:
        b.write(b.add(b.mul(row, pitch), column), table, b.add(b.mul(row, width), column))
    cells = b.mul(height, width)
    last = b.read(table, b.sub(cells, integer(1)), INTEGER)
    with b.loop(b.sub(length, cells)) as index:
        b.write(last, table, b.add(cells, index))


def spread(b: Builder, planes: Value, table: Value, cells: Value, channels: Value, y: Value) -> None:
    """Write planes [channels, cells] channels last."""
    with b.loop(cells) as cell:
        pixel = b.read(table, cell, INTEGER)
        with b.loop(channels) as channel:
            found = b.read(planes, b.add(b.mul(channel, cells), cell))
            b.write(found, y, b.add(b.mul(pixel, channels), channel))


def gather(b: Builder, x: Value, table: Value, cells: Value, channels: Value, kept: Value, y: Value) -> None:
    """Write the first `kept` channels of each cell, cell by cell."""
    with b.loop(cells) as cell:
        pixel = b.read(table, cell, INTEGER)
        with b.loop(kept) as channel:
            found = b.read(x, b.add(b.mul(pixel, channels), channel))
            b.write(found, y, b.add(b.mul(cell, kept), channel))


def copy(b: Builder, x: Value, y: Value, count: Value) -> None:
    """Write so many floats to another place."""
    with b.loop(count) as index:
        b.write(b.read(x, index), y, index)


def log_of(b: Builder, x: Value, y: Value, count: Value) -> None:
    """Write the logarithms of a linear policy head's outputs; see `policy_logits`."""
    with b.loop(count) as index:
        found = b.larger(b.read(x, index), float_of(SMALLEST_OUTPUT))
        b.write(in_double(b, "log", found), y, index)


def tanh_of(b: Builder, x: Value, y: Value) -> None:
    """Write the value of a value head with one output."""
    b.write(in_double(b, "tanh", b.read(x)), y)


def win_minus_loss(b: Builder, x: Value, y: Value) -> None:
    """Write P(win) - P(loss) from the logits of win, draw and loss."""
    logits = [b.read(x, index) for index in range(3)]
    largest = b.larger(b.larger(*logits[:2]), logits[2])
    win, draw, loss = (in_double(b, "exp", b.fsub(logit, largest)) for logit in logits)
    b.write(b.fdiv(b.fsub(win, loss), b.fadd(b.fadd(win, draw), loss)), y)


def in_double(b: Builder, name: str, x: Value) -> Value:
    """Return a function of a double, for a float."""
    function = b.module.globals.get(name) or ir.Function(b.module, ir.FunctionType(DOUBLE, [DOUBLE]), name)
    return b.fptrunc(b.call(function, [b.fpext(x, DOUBLE)]), FLOAT)


def signature(text: str) -> Sequence[Value]:
    """Return argument types: p a pointer, i an integer, f a float."""
    return [{"p": POINTER, "i": INTEGER, "f": FLOAT}[letter] for letter in text]


# The arguments of each kernel, and the function that writes it.
KERNELS = {
    "convolution": (signature("piippppipiiiiif"), convolution),
    "dense": (signature("piippppipiiiiif"), dense),
    "affine": (signature("ppppiip"), affine),
    "pool": (signature("ppiipp"), pool),
    "fill": (signature("pif"), fill),
    "list_cells": (signature("piiii"), list_cells),
    "spread": (signature("ppiip"), spread),
    "gather": (signature("ppiiip"), gather),
    "copy": (signature("ppi"), copy),
    "log_of": (signature("ppi"), log_of),
    "tanh_of": (signature("pp"), tanh_of),
    "win_minus_loss": (signature("pp"), win_minus_loss),
}
