"""Policy targets as rows of all actions, for tests."""

from __future__ import annotations

import numpy as np

from azero.replay.examples import Examples, GameRecord, padded


def rows_of_targets(of: Examples | GameRecord, num_actions: int) -> np.ndarray:
    """Return the policy targets of examples, or of a game's plies, [N, A] float32."""
    actions, weights = of.target_actions, of.target_weights
    if isinstance(of, GameRecord):
        actions, weights = padded(of.target_counts, actions, weights)
    rows = np.zeros((len(actions), num_actions), np.float32)
    np.add.at(rows, (np.arange(len(rows))[:, None], actions), weights)
    return rows
