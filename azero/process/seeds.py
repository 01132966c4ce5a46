"""Random seeds for every purpose, counted by (seed, cycle, stage, game), never by time or worker."""

from __future__ import annotations

import numpy as np

INITIALIZE, SELFPLAY, TRAIN, EVALUATE, OPENINGS, CORRECTNESS, ARENA, ANCHORS = range(8)


def sequence(seed: int, cycle: int, stage: int, *more: int) -> np.random.SeedSequence:
    """Return the source of all random numbers of a cycle's stage."""
    return np.random.SeedSequence([seed, cycle, stage, *more])


def game_seeds(seed: int, cycle: int, stage: int, games: int) -> np.ndarray:
    """Return seeds [games] uint64; that of game g does not depend on `games`."""
    return sequence(seed, cycle, stage).generate_state(games, np.uint64)


def torch_seed(seed: int, cycle: int, stage: int) -> int:
    """Return a seed for torch's generators, below 2**63."""
    return int(sequence(seed, cycle, stage).generate_state(1, np.uint64)[0] >> np.uint64(1))
