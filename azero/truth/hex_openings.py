"""Know which first moves of Hex win, without swap.

A map has a digit for each cell, row by row: 1 if the first player wins. The maps of 6 x 6, 7 x 7 and 8 x 8
(Henderson, Arneson and Hayward 2009) are published. That of 5 x 5 is by `scripts/experiments/solve_hex.py`,
and azero's own search finds those of smaller boards. So the exact value is known after each first move, and
the sign of the network's value shows whether the network knows it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from azero.games.game import Game

OPENINGS = {
    2: "01 10",
    3: "001 111 100",
    4: "0001 0010 0100 1000",
    5: "00001 01111 01110 11110 10000",
    6: "000001 011111 111111 111111 111110 100000",
    7: "0000001 0010111 0111110 1111111 0111110 1110100 1000000",
    8: "00000001 00000011 01111110 01111111 11111110 01111110 11000000 10000000",
}


def has_openings(game_name: str, options: dict[str, Any]) -> bool:
    """Check whether the map of a game is known; options that are not named have their defaults."""
    return game_name == "hex" and options.get("size", 7) in OPENINGS and not options.get("swap", False)


def opening_states(game: Game) -> np.ndarray:
    """Return the states after each first move, [A, S] uint64."""
    return np.stack([game.step(game.initial_state(), action) for action in range(game.num_actions)])


def opening_values(game: Game) -> np.ndarray:
    """Return the exact values of `opening_states` for the second player, 1 or -1: [A] float64."""
    cells = OPENINGS[game.options["size"]].replace(" ", "")
    return np.array([-1.0 if cell == "1" else 1.0 for cell in cells])
