"""How bad a move is by its loss: the value that it gave away, 0 to 2."""

from __future__ import annotations

import math

SIZES = {"blunder": 0.5, "mistake": 0.2, "slip": 0.05}  # from that loss on


def size_of(loss: float | None) -> str | None:
    """Return how bad a move is by its loss: good, slip, mistake or blunder; None: unknown."""
    if loss is None:
        return None
    return next((size for size, least in SIZES.items() if loss >= least), "good")


def accuracy_of(loss: float) -> float:
    """Return the accuracy of a move in percent: 100 if it gave nothing away.

    It is the formula of https://lichess.org/page/accuracy, in which the winning chances are expected points:
    a loss of 2 is 100 points.
    """
    return min(100.0, max(0.0, 103.1668 * math.exp(-0.04354 * 50 * loss) - 3.1669))
