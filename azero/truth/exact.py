"""The exact value of a position: by a table of chess endings, by BitBully, or by azero's own search.

Letters: S state words.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from azero.classic.deepening import Found, Searcher
from azero.config.schema import UserError
from azero.games.game import Game
from azero.games.kit.piece_moves import OWN
from azero.games.kit.piece_play import CLOCK_END
from azero.players import never
from azero.truth.endgames import endings_of, material_of, solve_ending
from azero.truth.known import is_connect_four
from azero.truth.positions import ILLEGAL
from azero.truth.solvers import BitBullyOracle, solve_in

TABLE = 1_048_576  # positions in the transposition table


class ExactValues:
    """Finds exact values of a game's positions where that takes little time."""

    def __init__(self, game: Game, seconds: float) -> None:
        """`seconds` limits azero's own search of a position, in CPU time: another program may be busy."""
        self.game, self.seconds = game, seconds
        self.endings = endings_of(game)
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
        if self.endings and (material := material_of(state)) in self.endings:
            return self.ending_value(state, material)
        if self.bitbully is not None:
            scores = self.bitbully.score_moves(state)
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

    def ending_value(self, state: np.ndarray, material: str) -> float | None:
        """Return the value of an ending of chess: whoever has the third piece wins, or it is a draw.

        The table does not know the plies without a capture or a pawn's move, so None where they could end it.
        """
        plies = solve_ending(self.game, material).plies(state)
        if plies is None:
            return 0.0
        if int(self.game.text(state).split()[4]) + plies >= CLOCK_END:
            return None
        return 1.0 if int(state[OWN]).bit_count() == 2 else -1.0
