"""Any game: the value that a trained network gives.

Compiled search calls back into Python for each position and the network computes a whole batch for one row of it, so this is for
searches of a few hundred positions; `pv_mcts` is the player that makes good use of a network.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import cfunc

from azero.evaluations import EVALUATE
from azero.games.game import Game

if TYPE_CHECKING:
    from azero.network.inference import Inference

READ = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_size_t)
LARGEST = 1.0 - 2.0**-20  # the network may be certain, an evaluation never is


def make(game: Game, inference: Inference) -> Any:
    """Return the network's value for the player to move."""
    planes = np.zeros((inference.batch_size, *game.planes_shape), np.float32)

    def ask(words_at: int) -> float:
        words = (ctypes.c_uint64 * game.state_words).from_address(words_at)
        game.rules.planes(np.ctypeslib.as_array(words), planes[0])
        _, values = inference.infer(planes, 1)
        return float(np.clip(values[0], -LARGEST, LARGEST))

    read = READ(ask)

    @cfunc(EVALUATE)
    def network(state):
        return read(state.ctypes.data)

    return network
