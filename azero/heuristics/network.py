"""Any game: the value of a trained network.

Each position costs a call back into Python and a whole batch of the network for one row. Use it for searches
of a few hundred positions. The player `pv_mcts` uses a network efficiently.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from numba import cfunc

from azero.games.game import Game
from azero.heuristics import HEURISTIC
from azero.network.inference import Inference, check_answers

READ = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_size_t)
LARGEST = 1.0 - 2.0**-20  # a network may answer 1; a heuristic may not


def make(game: Game, inference: Inference, failures: list[BaseException]) -> Any:
    """Return the network's value for the player to move.

    A callback cannot raise: ctypes would print the error and go on. So errors are put into `failures`, and
    from then on every value is 0.
    """
    planes = np.zeros((inference.batch_size, *game.planes_shape), np.float32)

    def ask(words_at: int) -> float:
        if failures:
            return 0.0
        try:
            words = (ctypes.c_uint64 * game.state_words).from_address(words_at)
            game.rules.planes(np.ctypeslib.as_array(words), planes[0])
            logits, values = inference.infer(planes, 1)
            check_answers(inference, logits[:1], values[:1])
            return float(np.clip(values[0], -LARGEST, LARGEST))
        except BaseException as error:  # Ctrl-C may come here, too
            failures.append(error)
            return 0.0

    read = READ(ask)

    @cfunc(HEURISTIC)
    def network(state: np.ndarray) -> float:
        return read(state.ctypes.data)

    return network
