"""The sum of squares of a node's backed-up values, kept in trees of SPREAD_NODE only.

Kernels are compiled for the type of the nodes. In a tree of plain nodes both functions compile to nothing. A
field that is always there, or a test for it, costs every search a tenth (measured: 277 ns a simulation
without, 300 and 330 with).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba.extending import overload


def square_sum(nodes: Any, b: int, node: int) -> Any:
    """Return that sum at a node of row b; 0 if it is not kept."""
    return nodes[b, node]["square_sum"] if "square_sum" in nodes.dtype.names else 0.0


def set_square_sum(nodes: Any, b: int, node: int, value: float) -> None:
    """Set it to `value`, if it is kept."""
    if "square_sum" in nodes.dtype.names:
        nodes[b, node]["square_sum"] = value


def is_kept(nodes: Any) -> bool:
    """Return whether nodes of this compiled type have the field."""
    return "square_sum" in nodes.dtype.fields


@overload(square_sum, strict=False)
def _square_sum(nodes: Any, b: Any, node: Any) -> Callable[..., Any]:
    if is_kept(nodes):
        return lambda nodes, b, node: nodes[b, node].square_sum
    return lambda nodes, b, node: 0.0


@overload(set_square_sum, strict=False)
def _set_square_sum(nodes: Any, b: Any, node: Any, value: Any) -> Callable[..., Any]:
    if not is_kept(nodes):
        return lambda nodes, b, node, value: None

    def store(nodes: Any, b: Any, node: Any, value: Any) -> None:
        nodes[b, node].square_sum = value

    return store
