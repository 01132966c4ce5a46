"""The exact value of a position: by a table of chess endings, by BitBully, or by azero's own search.

Letters: S state words.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from azero.classic.deepening import Found, Searcher
from azero.config.schema import UserError
from azero.games.game import Game
from azero.players import never
from azero.truth.endgames import table_scores
from azero.truth.known import is_connect_four
from azero.truth.positions import ILLEGAL
from azero.truth.solvers import BitBullyOracle, solve_in

TABLE = 1_048_576  # positions in the transposition table


class ExactValues:
    """Finds exact values of a game's positions where that takes little time."""

    def __init__(self, game: Game, seconds: float) -> None:
        """`seconds` limits azero's own search of a position, in CPU time: another program may be busy."""
        self.game, self.seconds = game, seconds
        self.bitbully: BitBullyOracle | None = None
        self.searcher: Searcher | None = None
        if is_connect_four(game.name, game.options):
            try:
                self.bitbully = BitBullyOracle(game)
                return
            except UserError:  # it is not installed
                pass
        if not game.repetition_words:  # else the moves before a position decide what is legal there
            self.searcher = Searcher(game, table=TABLE)
            self.searcher.deepen(game.initial_state(), 0.0)  # compile before the time of a position

    def value(self, state: np.ndarray, stopping: Callable[[], bool] = never) -> float | None:
        """Return the value of an unfinished state [S] for the player to move; None: it is not found."""
        scores = table_scores(self.game, state) if self.bitbully is None else self.bitbully.score_moves(state)
        if scores is not None:
            return float(np.sign(scores[scores != ILLEGAL]).max())
        found = self.solve(state, stopping)
        return None if found is None else found.value

    def best_move(self, state: np.ndarray, stopping: Callable[[], bool] = never) -> int | None:
        """Return a best move of an unfinished state [S]; None: it is not found, or the state is an ending."""
        if self.bitbully is not None:
            return int(self.bitbully.score_moves(state).argmax())  # an illegal move has the least score
        found = self.solve(state, stopping)
        return None if found is None else found.action

    def solve(self, state: np.ndarray, stopping: Callable[[], bool]) -> Found | None:
        """Return what azero's own search finds of a state; None: it does not solve it."""
        if self.searcher is None:
            return None
        return solve_in(self.seconds, self.searcher, state, stopping)
