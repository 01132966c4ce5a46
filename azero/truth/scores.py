"""The arithmetic of scores; what a score says stands in `azero/truth/__init__.py`."""

from __future__ import annotations

import numpy as np

ILLEGAL = int(np.iinfo(np.int64).min)  # in place of an illegal move's score


def worth(scores: np.ndarray) -> np.ndarray:
    """[..., A] float64 that rises with how good a move is: 1/score, so that 1, 3, 0, -6, -2 stand in this order; illegal -inf."""
    ranks = np.divide(1.0, scores, out=np.zeros(scores.shape), where=scores != 0)
    return np.where(scores == ILLEGAL, -np.inf, ranks)


def best_scores(scores: np.ndarray) -> np.ndarray:
    """[P] int64: the score of the best move of each position of scores [P, A]."""
    return np.take_along_axis(scores, worth(scores).argmax(axis=1)[:, None], axis=1)[:, 0]


def plies_left(best: int, ply: int, max_plies: int) -> int:
    """Plies until the game ends under perfect play; a draw is counted as lasting as long as any game can."""
    return abs(best) if best else max_plies - ply
