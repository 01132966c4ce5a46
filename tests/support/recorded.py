"""A stand-in for a CUDA graph: it records torch's operations and does them again, on the same memory.

Like a graph it knows nothing of Python: a number that Python computed is the same each time, and an
operation that hands a number to Python cannot be recorded. Unlike a graph it does what it records.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

TO_PYTHON = {torch.ops.aten._local_scalar_dense.default, torch.ops.aten.is_nonzero.default}


class Recorder(TorchDispatchMode):
    """Notes each operation below autograd with its arguments and results."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[tuple[Any, Any, Any, Any]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in TO_PYTHON:
            raise RuntimeError(f"{func} hands a number to Python while a graph is recorded")
        result = func(*args, **(kwargs or {}))
        self.calls.append((func, args, kwargs or {}, result))
        return result


def again(calls: list[tuple[Any, Any, Any, Any]]) -> None:
    """Do what was recorded, and put results where they were."""
    with torch.no_grad():
        for func, args, kwargs, before in calls:
            had = {
                leaf.untyped_storage().data_ptr() for leaf in tree_leaves((args, kwargs)) if is_tensor(leaf)
            }
            for old, new in zip(tree_leaves(before), tree_leaves(func(*args, **kwargs)), strict=True):
                if is_tensor(old) and old.untyped_storage().data_ptr() not in had:  # else a view, or in place
                    old.copy_(new)


def is_tensor(leaf: Any) -> bool:
    """Return whether a leaf of arguments or results is a tensor."""
    return isinstance(leaf, torch.Tensor)


def recorded(step: Callable[[], None]) -> Callable[[], None]:
    """Do as `training.steps.recorded`; the first call of the returned function does nothing."""
    with Recorder() as recorder:
        step()
    done = iter([True])

    def replay() -> None:
        if not next(done, False):
            again(recorder.calls)

    return replay
