"""Compile what a run needs later in a second process, while the run itself compiles self-play.

Numba's compiler holds a lock, so only another process can use another core for it. Both processes write into
the same folder of compiled code, each file under a temporary name first. What one needs before the other has
finished it is compiled twice.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import numpy as np

from azero.classic.solve import solve
from azero.config.schema import SearchConfig
from azero.games import make_game
from azero.match.lockstep import play_match
from azero.players import make_player
from azero.process.machine import cores

# The processes that were started, kept because Python warns of a running one that nobody holds.
STARTED: list[subprocess.Popen[bytes]] = []


class Blank:
    """A network that gives all moves the same logit and every position the value 0."""

    batch_size = 2

    def __init__(self, num_actions: int) -> None:
        self.num_actions = num_actions

    def infer(self, planes: np.ndarray, rows: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return equal logits and values of 0."""
        return np.zeros((len(planes), self.num_actions), np.float32), np.zeros(len(planes), np.float32)


def start(kind: str) -> None:
    """Start to compile for a search of this `search.kind`, and do not wait. With one core, do nothing.

    The process ends with this one, however this one ends: it reads from a pipe that only this process holds.
    """
    if cores() > 1:
        command, pipe, nowhere = [sys.executable, "-m", __name__, kind], subprocess.PIPE, subprocess.DEVNULL
        STARTED.append(
            subprocess.Popen(command, stdin=pipe, stdout=nowhere, stderr=nowhere, start_new_session=True)
        )


def main(kind: str) -> None:
    """Use everything once, in the order of a run and as small as can be: that compiles it."""
    game, search = make_game("tictactoe"), SearchConfig(kind=kind, num_simulations=2, tree_reuse=False)
    searching = make_player("pv_mcts", game, inference=Blank(game.num_actions), search=search)
    play_match(game, (searching, searching), np.zeros(2, np.uint64))
    solve(game)
    for player in (make_player("uct", game, num_simulations=2), make_player("alpha_beta", game, depth=1)):
        play_match(game, (player, player), np.zeros(2, np.uint64))


if __name__ == "__main__":

    def end_with_parent() -> None:
        """Wait until the standard input closes, and end this process then."""
        os.read(sys.stdin.fileno(), 1)  # unlike sys.stdin, it holds no lock that the interpreter's end needs
        os._exit(0)

    threading.Thread(target=end_with_parent, daemon=True).start()
    main(sys.argv[1])
