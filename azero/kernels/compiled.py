"""How search code is compiled: four decorators, and borrowed arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic, register_jitable

from azero.process import kernel_cache

# Called from Python: compiled once for its arguments' types, kept on disk, runs without the GIL. Division by
# zero gives inf as in NumPy. Checks for an exception would cost a fifth of the time (measured: 706 to 571 ns
# a simulation).
_kernel: Any = njit(cache=True, nogil=True, error_model="numpy", no_cfunc_wrapper=True)  # type: ignore[call-overload]

# Called from kernels only and compiled once for them. Where Python calls it, it is plain Python, so no code
# is compiled that unpacks its arguments, which takes longer than a short function.
inner = register_jitable(error_model="numpy", no_cfunc_wrapper=True)

# Called from kernels only and inlined there: passing rules and tree takes some forty machine words a call
# (measured: 581 to 353 ns a simulation). Inlining takes Numba a time that grows with the square of what is
# inlined into one function: what is long and called twice is better an `inner`.
part = njit(inline="always", error_model="numpy")

# Called from kernels only, compiled once and inlined by LLVM; games use it too.
shared = kernel_cache.shared


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a function for Python and for other kernels."""
    return kernel_cache.for_plain_numbers(_kernel(function))


def _borrowed(_typing_context: Any, argument: Any) -> Any:
    """Return the same array, or tuple of arrays, without its reference count.

    Every row that is handed to a rule would count itself with two atomic additions: a third of a simulation's
    time (measured: 345 to 231 ns). A kernel's arguments live as long as the call, so it can do without. Never
    return or keep what is borrowed.
    """

    def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return without_count(context, builder, argument, arguments[0])

    return argument(argument), generate


borrowed: Any = intrinsic(_borrowed)


def without_count(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    """Generate code that clears the owner of an array, or of each array in a tuple."""
    if isinstance(kind, types.Array):
        array = context.make_array(kind)(context, builder, value)
        array.meminfo = cgutils.get_null_value(array.meminfo.type)
        return array._getvalue()
    if isinstance(kind, types.BaseTuple):
        parts: Any = kind
        for place, part_kind in enumerate(parts):
            piece = without_count(context, builder, part_kind, builder.extract_value(value, place))
            value = builder.insert_value(value, piece, place)
    return value
