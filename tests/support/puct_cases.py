"""Positions with a forced end in few plies, and settings of the search."""

from __future__ import annotations

import numpy as np
from searching import FakeInference

from azero.config.schema import SearchConfig
from azero.games.game import Game

CONFIGS = {
    "default": SearchConfig(),
    "constant c": SearchConfig(c_puct=2.0, c_puct_base=0.0),
    "fast growing c": SearchConfig(c_puct=0.5, c_puct_base=5.0),
    "children only under the root sign": SearchConfig(puct_visits="children", c_puct_base=0.0),
    "fpu below the parent": SearchConfig(fpu_mode="parent", fpu=0.3),
    "pessimistic fpu": SearchConfig(fpu=-1.0),
    "fpu by what is explored": SearchConfig(fpu_mode="explored", fpu=0.4, dirichlet_fraction=0.0),
    "fpu by what is explored, none at the root": SearchConfig(fpu_mode="explored", fpu=0.4),
    "solver": SearchConfig(solver=True),
    "exact play": SearchConfig(solver=True, exact_plies=4),
    "solver with fpu": SearchConfig(solver=True, fpu_mode="explored", fpu=0.2),
}


def uniform(game: Game) -> FakeInference:
    """A network that knows nothing."""
    return FakeInference(game, lambda planes: (np.zeros(game.num_actions, np.float32), np.float32(0)))


def mistaken(game: Game, favourite: int) -> FakeInference:
    """A network that wants one action above all and thinks that whoever moves is losing."""
    logits = np.zeros(game.num_actions, np.float32)
    logits[favourite] = 3.0
    return FakeInference(game, lambda planes: (logits, np.float32(-0.5)))


# The mover wins at once, though the network advises another move and calls the position lost.
WIN_AT_DEPTH_1 = {
    "X": ((0, 3, 1, 4), 2, 8),  #     X X 2     2 completes 0 1 2
    #                                 O O 5
    #                                 6 7 8
    "O": ((0, 3, 1, 4, 8), 5, 7),  #  X X 2     5 completes 3 4 5
    #                                 O O 5
    #                                 6 7 X
}


# The mover has no win, and the other side has two: whatever it does, it loses at depth 2.
LOSS_AT_DEPTH_2 = {
    "O": (0, 4, 1, 8, 3),  #          X X 2     X threatens 2 (0 1 2) and 6 (0 3 6)
    #                                 X O 5
    #                                 6 7 O
    "X": (4, 0, 5, 1, 7, 3),  #       O O 2     O threatens 2 (0 1 2) and 6 (0 3 6)
    #                                 O X X
    #                                 6 X 8
}


# One move makes two threats; the other side stops one, the mover completes the other: a win at depth 3.
WIN_AT_DEPTH_3 = {
    "X": ((0, 4, 8, 2), 6, 1),  #     X 1 O     6 stops 2 4 6 and threatens 3 (0 3 6) and 7 (6 7 8)
    #                                 3 O 5
    #                                 6 7 X
    "O": ((4, 1, 5, 3, 7), 0, 8),  #  0 O 2     0 threatens 2 (0 1 2) and 6 (0 3 6)
    #                                 O X X
    #                                 6 X 8
}
