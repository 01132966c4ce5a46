"""Who knows the exact scores of a position: azero's own search, or for Connect Four the solver BitBully where it is installed.

BitBully (`pip install "azero[oracle]"`) is under the AGPL and no part of azero; nothing that plays or learns asks it.
"""

from __future__ import annotations

import math
from functools import lru_cache
from importlib import metadata
from typing import Any, Protocol

import numpy as np

from azero.config import UserError
from azero.games.game import Game
from azero.search.deepening import Searcher
from azero.truth.scores import ILLEGAL
from azero.truth.shipped import is_connect_four

TABLE = 4_194_304  # positions that our own search remembers


class Oracle(Protocol):
    """Who knows.

    Attributes:
        name: with its version where it is not azero's.
    """

    name: str

    def score_moves(self, state: np.ndarray) -> np.ndarray:
        """The exact scores of all moves of an unfinished state [S]: [A] int64, ILLEGAL where a move is.

        Raises:
            UserError: they could not be found in the time allowed.
        """


def make_oracle(game: Game, seconds: float = math.inf) -> Oracle:
    """The oracle for a game.

    Args:
        game: the rules.
        seconds: the most that our own search may take for one move.

    Raises:
        UserError: the game cannot be solved, or only by a solver that is not installed.
    """
    if game.repetition_words:
        raise UserError(f"oracle cannot solve {game.name}, because its history decides what is legal; try superko=simple.")
    if is_connect_four(game.name, game.options):
        return BitBullyOracle(game)
    return SearchOracle(game, seconds)


class SearchOracle:
    """Alpha-beta, deeper and deeper: the depth at which a result is proven first is how long the game lasts."""

    name = "azero"

    def __init__(self, game: Game, seconds: float = math.inf) -> None:
        self.game, self.seconds = game, seconds
        self.searcher = Searcher(game, table=TABLE)

    def score_moves(self, state: np.ndarray) -> np.ndarray:
        """See `Oracle.score_moves`."""
        scores = np.full(self.game.num_actions, ILLEGAL, np.int64)
        for action in self.game.legal_actions(state):
            scores[action] = self.score_move(state, action)
        return scores

    def score_move(self, state: np.ndarray, action: int) -> int:
        """The exact score of one legal move."""
        game, after = self.game, self.game.step(state, action)
        value, plies = (game.outcome(after), 0) if game.is_terminal(after) else self.solve(after)
        if game.to_play(after) != game.to_play(state):
            value = -value
        return int(math.copysign(plies + 1, value)) if value else 0

    def solve(self, state: np.ndarray) -> tuple[float, int]:
        """The value of an unfinished state for its player to move, and after how many plies it is reached if it is no draw."""
        found = self.searcher.deepen(state, self.seconds, value_wanted=True)
        if not found.exact:
            raise UserError(
                f"A position of {self.game.name} is not solved in {self.seconds:g} s; ask for later ones with plies=A-B, "
                "or allow more with seconds=."
            )
        return found.value, found.depth


class BitBullyOracle:
    """BitBully with its opening book of 12 plies: a millisecond for most positions, a quarter of a second for the hardest."""

    def __init__(self, game: Game) -> None:
        """Load the book.

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
    """The solver, and what makes a board of rows of 0, 1 (first player) and 2, the highest row first.

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
