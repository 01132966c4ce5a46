"""Compile in a second process what a run needs, while the run itself compiles self-play's longest kernel.

Numba's compiler holds a lock, so only another process can use another core for it. Both processes write into
the same folder of compiled code, each file under a temporary name first. What one needs before the other has
finished it is compiled twice.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import numpy as np

from azero.config.schema import Config, SearchConfig
from azero.process.machine import cores

if TYPE_CHECKING:
    from azero.games.game import Game

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
    """Start to compile for a search of this `search.kind`, once, and do not wait. With one core, do nothing.

    The process ends with this one, however this one ends: it reads from a pipe that only this process holds.
    """
    if cores() > 1 and not STARTED:
        command, pipe, nowhere = [sys.executable, "-m", __name__, kind], subprocess.PIPE, subprocess.DEVNULL
        STARTED.append(
            subprocess.Popen(command, stdin=pipe, stdout=nowhere, stderr=nowhere, start_new_session=True)
        )


def start_if_new(kind: str) -> None:
    """Start to compile unless self-play with such a search has run here before."""
    from azero.kernels.compiling import compiled_before  # here, because it imports Numba

    if not compiled_before(kind):
        start(kind)


def main(kind: str) -> None:
    """Use everything once, in the order of a run and as small as can be: that compiles it."""
    from azero.classic.solve import solve  # here, because a run begins by importing this module
    from azero.games import make_game
    from azero.match.lockstep import play_match
    from azero.players import make_player

    game, search = make_game("tictactoe"), SearchConfig(kind=kind, num_simulations=2, tree_reuse=False)
    begin_game(game, search)
    searching = make_player("pv_mcts", game, inference=Blank(game.num_actions), search=search)
    play_match(game, (searching, searching), np.zeros(2, np.uint64))
    solve(game)
    for player in (make_player("uct", game, num_simulations=2), make_player("alpha_beta", game, depth=1)):
        play_match(game, (player, player), np.zeros(2, np.uint64))


def begin_game(game: Game, search: SearchConfig) -> None:
    """Begin a game of self-play and evaluate its root, by the kernels that a worker needs after `wave`."""
    from azero.search.tree import ROOT
    from azero.workers.threads import GameQueue, make_workers

    worker = make_workers(game, [Blank(game.num_actions)], Config(search=search))[0]
    worker.start_next(np.arange(1), GameQueue(iter(range(1))), np.zeros(1, np.uint64))
    worker.tree.searches["leaf"][0] = ROOT
    worker.infer_leaves()


if __name__ == "__main__":

    def end_with_parent() -> None:
        """Wait until the standard input closes, and end this process then."""
        os.read(sys.stdin.fileno(), 1)  # unlike sys.stdin, it holds no lock that the interpreter's end needs
        os._exit(0)

    threading.Thread(target=end_with_parent, daemon=True).start()
    main(sys.argv[1])
