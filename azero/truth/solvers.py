"""Solve positions: by azero's own search, or for Connect Four by the solver BitBully.

BitBully (`pip install "azero[oracle]"`) is under the AGPL and not a part of azero. Nothing that plays or
learns uses it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from functools import lru_cache
from importlib import metadata
from typing import Any, Protocol

import numpy as np

from azero.classic.deepening import Found, Searcher
from azero.config.schema import UserError
from azero.games.game import Game
from azero.players import never
from azero.truth.endgames import table_scores
from azero.truth.known import is_connect_four
from azero.truth.positions import ILLEGAL

TABLE = 4_194_304  # positions in the transposition table of azero's own search


class Oracle(Protocol):
    """Knows exact scores."""

    name: str  # with its version, unless it is azero's own

    def score_moves(self, state: np.ndarray) -> np.ndarray:
        """Return the exact score of each move of an unfinished state [S]: [A] int64, or ILLEGAL.

        Raises:
            UserError: the time limit was too short.
        """


def make_oracle(game: Game, seconds: float = math.inf) -> Oracle:
    """Return the oracle for a game; `seconds` limits azero's own search for one move.

    Raises:
        UserError: the game cannot be solved, or only by a solver that is not installed.
    """
    if game.repetition_words:
        raise UserError(
            f"oracle cannot solve {game.name}, because its history decides what is legal; try superko=simple."
        )
    if is_connect_four(game.name, game.options):
        return BitBullyOracle(game)
    return SearchOracle(game, seconds)


def solve_in(
    seconds: float, searcher: Searcher, state: np.ndarray, stopping: Callable[[], bool] = never
) -> Found | None:
    """Return what alpha-beta finds of an unfinished state [S]; None: it does not solve it.

    seconds: of this thread's CPU time, because another program may be busy.
    """
    end = time.thread_time() + seconds

    def pause() -> bool:
        return stopping() or time.thread_time() >= end

    found = searcher.deepen(state, math.inf, pause=pause, value_wanted=True)
    return found if found.exact else None


class SearchOracle:
    """Iterative deepening of alpha-beta: the first depth that proves a result is the length of the game.

    It knows chess's endings of three pieces by their tables.
    """

    name = "azero"

    def __init__(self, game: Game, seconds: float = math.inf) -> None:
        self.game, self.seconds = game, seconds
        self.searcher = Searcher(game, table=TABLE)
        self.searcher.deepen(game.initial_state(), 0.0)  # compile before the time of a position

    def score_moves(self, state: np.ndarray) -> np.ndarray:
        """See `Oracle.score_moves`."""
        game = self.game
        if (known := table_scores(game, state)) is not None:
            return known
        scores = np.full(game.num_actions, ILLEGAL, np.int64)
        for action in game.legal_actions(state):
            after = game.step(state, action)
            value, plies = (game.outcome(after), 0) if game.is_terminal(after) else self.solve(after)
            if game.to_play(after) != game.to_play(state):
                value = -value
            scores[action] = math.copysign(plies + 1, value) if value else 0
        return scores

    def solve(self, state: np.ndarray) -> tuple[float, int]:
        """Return the value of an unfinished state for the player to move, and the plies until then."""
        found = solve_in(self.seconds, self.searcher, state)
        if found is None:
            raise UserError(
                f"A position of {self.game.name} is not solved in {self.seconds:g} s; ask for later ones "
                "with plies=A-B, or allow more with seconds=."
            )
        return found.value, found.depth


class BitBullyOracle:
    """BitBully with its opening book of 12 plies: 1 ms for most positions, 250 ms for the hardest."""

    def __init__(self, game: Game) -> None:
        """Load the opening book.

        Raises:
            UserError: it is not installed.
        """
        assert game.board is not None
        self.marks, self.columns = game.board.marks, game.num_actions
        self.solver, self.board_of = load_bitbully()
        self.name = f"bitbully {metadata.version('bitbully')}"

    def score_moves(self, state: np.ndarray) -> np.ndarray:
        """See `Oracle.score_moves`."""
        board = self.board_of(self.marks(state).tolist())
        scores = np.full(self.columns, ILLEGAL, np.int64)
        for column, score in self.solver.score_all_moves(board).items():
            plies = self.solver.score_to_moves_left(score, board)
            scores[column] = math.copysign(plies, score) if score else 0
        return scores


@lru_cache(maxsize=1)
def load_bitbully() -> tuple[Any, Any]:
    """Return the solver and its maker of boards, from rows of 0, 1 (first player) and 2, top first.

    Raises:
        UserError: it is not installed.
    """
    try:
        from bitbully import BitBully, Board
    except ImportError as missing:
        raise UserError(
            'Exact scores of Connect Four on 6 x 7 need the solver BitBully; pip install "azero[oracle]".'
        ) from missing
    return BitBully(), Board.from_array
