"""Compile what a run needs later in a second process, while the run itself compiles self-play.

Numba's compiler holds a lock, so another process is the only way to use another core for it. Both write into the same folder of
compiled code, file by file and each under a temporary name first. What the other needs before it is finished is compiled twice.
"""

from __future__ import annotations

import subprocess
import sys

import numpy as np

from azero.config import SearchConfig
from azero.games import make_game
from azero.machine import cores
from azero.match import play_match
from azero.players import make_player
from azero.search.solvers import solve

STARTED: list[subprocess.Popen[bytes]] = []  # kept, because Python warns of a running process that nobody holds


class Blank:
    """A network that knows nothing and costs nothing."""

    batch_size = 2

    def __init__(self, num_actions: int) -> None:
        self.num_actions = num_actions

    def infer(self, planes: np.ndarray, rows: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        """All moves alike, value 0."""
        return np.zeros((len(planes), self.num_actions), np.float32), np.zeros(len(planes), np.float32)


def start(kind: str) -> None:
    """Begin with the search of that `search.kind`, and wait for nothing. On one core it would only be in the way."""
    if cores() > 1:
        nowhere = subprocess.DEVNULL
        command = [sys.executable, "-m", "azero.compile_ahead", kind]
        STARTED.append(subprocess.Popen(command, stdin=nowhere, stdout=nowhere, stderr=nowhere, start_new_session=True))


def main(kind: str) -> None:
    """Use everything once, in the order in which a run does, on the smallest of scales: that compiles it and keeps it on disk."""
    game, search = make_game("tictactoe"), SearchConfig(kind=kind, num_simulations=2, tree_reuse=kind == "puct")
    searching = make_player("pv_mcts", game, inference=Blank(game.num_actions), search=search)
    play_match(game, (searching, searching), np.zeros(2, np.uint64))
    solve(game)
    for player in (make_player("uct", game, num_simulations=2), make_player("alpha_beta", game, depth=1)):
        play_match(game, (player, player), np.zeros(2, np.uint64))


if __name__ == "__main__":
    main(sys.argv[1])
