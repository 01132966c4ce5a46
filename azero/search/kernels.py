"""The two decorators of compiled search code."""

from __future__ import annotations

from numba import njit

# Called from Python: compiled once, kept on disk, runs without the GIL. Division by zero gives inf as in NumPy instead of an
# exception, whose checks would cost a fifth of the time (measured: 706 to 571 ns a simulation).
kernel = njit(cache=True, nogil=True, error_model="numpy")

# Called from kernels only and written into them: passing rules and tree costs some forty machine words a call (measured: 581 to
# 353 ns a simulation).
part = njit(inline="always", error_model="numpy")
