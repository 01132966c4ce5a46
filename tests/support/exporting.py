"""A network for tests of exported modules: a hash of the planes, as LLVM's code and in Python.

It has nothing that could be rounded, so both give the same bits.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from azero.export.network_code import NetworkCode
from azero.games.game import Game


def hashed_code(game: Game) -> NetworkCode:
    """Return code that does what `hashed` does."""
    return NetworkCode(
        f"""
define i64 @mix(i64 %a, i64 %b) {{
  %x = xor i64 %a, %b
  %y = mul i64 %x, -7046029254386353131
  %s = lshr i64 %y, 29
  %z = xor i64 %y, %s
  ret i64 %z
}}
define float @number(i64 %h) {{
  %top = lshr i64 %h, 44
  %float = uitofp i64 %top to float
  %part = fmul float %float, 0x3EB0000000000000
  ret float %part
}}
define void @evaluate_network(ptr %planes, ptr %weights, ptr %scratch, ptr %logits, ptr %value) {{
start:
  br label %read
read:
  %i = phi i32 [ 0, %start ], [ %i2, %read ]
  %h = phi i64 [ 1, %start ], [ %h2, %read ]
  %p = getelementptr float, ptr %planes, i32 %i
  %bits = load i32, ptr %p
  %wide = zext i32 %bits to i64
  %h2 = call i64 @mix(i64 %h, i64 %wide)
  %i2 = add i32 %i, 1
  %more = icmp slt i32 %i2, {int(np.prod(game.planes_shape))}
  br i1 %more, label %read, label %write
write:
  %a = phi i32 [ 0, %read ], [ %a2, %write ]
  %long = zext i32 %a to i64
  %ha = call i64 @mix(i64 %h2, i64 %long)
  %l = call float @number(i64 %ha)
  %weight = load float, ptr %weights
  %scaled = fmul float %l, %weight
  %q = getelementptr float, ptr %logits, i32 %a
  store float %scaled, ptr %q
  %a2 = add i32 %a, 1
  %again = icmp slt i32 %a2, {game.num_actions}
  br i1 %again, label %write, label %end
end:
  %v = call float @number(i64 %h2)
  %half = fsub float %v, 0.5
  store float %half, ptr %value
  ret void
}}
""",
        weights=np.array([4.0], np.float32),
        scratch_floats=0,
        layers=(),
        planes_shape=game.planes_shape,
        num_actions=game.num_actions,
    )


@njit
def mix(a, b):  # type: ignore[no-untyped-def]
    mixed = (a ^ b) * np.uint64(-7046029254386353131 & 0xFFFFFFFFFFFFFFFF)
    return mixed ^ (mixed >> np.uint64(29))


@njit
def number(h):  # type: ignore[no-untyped-def]
    return np.float32(h >> np.uint64(44)) * np.float32(2.0**-20)


@njit
def answer(bits, logits):  # type: ignore[no-untyped-def]
    h = np.uint64(1)
    for each in bits:
        h = mix(h, np.uint64(each))
    for action in range(logits.shape[0]):
        logits[action] = number(mix(h, np.uint64(action))) * np.float32(4.0)
    return number(h) - np.float32(0.5)


class HashedInference:
    """The same network for azero's own search."""

    def __init__(self, game: Game, batch_size: int = 8) -> None:
        self.game, self.batch_size = game, batch_size

    def infer(self, planes: np.ndarray, rows: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        logits = np.zeros((len(planes), self.game.num_actions), np.float32)
        values = [
            answer(row.ravel().view(np.uint32), place) for row, place in zip(planes, logits, strict=True)
        ]
        return logits, np.array(values, np.float32)
