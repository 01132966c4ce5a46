"""The player perfect: exact moves, and for each move whether it is exact.

A small game is solved by listing all its positions. In other games alpha-beta deepens for `seconds`. The move
is exact if the search reached the end of every line that matters, which happens near the end of a game.
Otherwise it is the move of an ordinary search. `found[row].exact` of the latest `choose`, or `exact` of
`analyse`, says which it was.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from azero.classic.deepening import Found, Searcher
from azero.classic.solve import solve
from azero.config.schema import UserError, setting
from azero.games.game import Game
from azero.heuristics import AUTO, choose_heuristic
from azero.players import Thought
from azero.players.alpha_beta import thought_of
from azero.players.base import Deterministic
from azero.players.options import PlayerOptions

LARGE = ("connect_four", "othello")  # not exact at first; their heuristic judges positions until then
MOST_PLIES = 25  # of other games; longer ones would be exact too late to matter
MOST_POSITIONS = 20_000  # solved by listing them in a moment; tic-tac-toe has 5,478


@dataclass(frozen=True)
class Options(PlayerOptions):
    """Play exact moves, and say for each move whether it is exact."""

    seconds: float = setting(
        1.0, "Time for each move. With more, moves are exact earlier.", between=(0.001, 1_000_000.0)
    )
    table: int = setting(4_194_304, "Size of the transposition table in positions.", between=(0, 50_000_000))


class PerfectPlayer(Deterministic):
    """Plays exact moves: the fastest win, the slowest loss, else the first of equal moves.

    In a game solved by listing its positions it plays the first of equal moves always.
    """

    name = "perfect"

    def __init__(self, game: Game, seconds: float, table: int) -> None:
        self.game, self.seconds = game, seconds
        self.solved = solved_moves(game)
        self.searcher = Searcher(game, heuristic=choose_heuristic(AUTO, game), table=table)
        self.searcher.deepen(game.initial_state(), 0.0)  # compile before the first move
        self.found: list[Found] = []  # results of the latest `choose`
        self.unproven = 0

    def choose(
        self, states: np.ndarray, games: np.ndarray, plies: np.ndarray, banned: np.ndarray | None = None
    ) -> np.ndarray:
        """Return a move for each of states [B, S]; `found` holds the results."""
        assert banned is None, "make() refuses games whose history forbids moves"
        self.found = []
        self.found = [self.analyse(state, value_wanted=False) for state in states]
        forced = [len(self.game.legal_actions(state)) == 1 for state in states]
        self.unproven = sum(not (found.exact or only) for found, only in zip(self.found, forced, strict=True))
        return np.array([found.action for found in self.found], np.int64)

    def analyse(self, state: np.ndarray, value_wanted: bool = True) -> Found:
        """Return the move for one state [S], its value, and whether both are exact.

        Without `value_wanted`, a forced move is returned at once.
        """
        if not self.solved:
            return self.searcher.deepen(state, self.seconds, None, self.pause, value_wanted)
        begin = time.perf_counter()
        action, value = self.solved[state.tobytes()]
        return Found(action, value, 0, self.game.max_plies, True, time.perf_counter() - begin)

    def read(self) -> Thought | None:
        """Return what the latest search has found; None before its end, or if it was stopped at once."""
        return thought_of(self.found)


def solved_moves(game: Game) -> dict[bytes, tuple[int, float]]:
    """Return the first best move and the value of every unfinished position, or {} if there are too many."""
    try:
        solution = solve(game, MOST_POSITIONS)
    except UserError:
        return {}
    best = solution.move_value == solution.value[solution.row]
    rows, first = np.unique(solution.row[best], return_index=True)
    actions = solution.action[best][first]
    known = zip(solution.states[rows], actions.tolist(), solution.value[rows].tolist(), strict=True)
    return {state.tobytes(): (action, value) for state, action, value in known}


def make(game: Game, options: Options) -> PerfectPlayer:
    """Return the player of Connect Four, Othello, or another game of at most MOST_PLIES plies.

    Raises:
        UserError: the player does not support the game.
    """
    if game.repetition_words:
        raise UserError(
            f"player perfect cannot play {game.name}: its legal moves depend on history; try superko=simple."
        )
    if game.name not in LARGE and game.max_plies > MOST_PLIES:
        raise UserError(
            f"player perfect cannot solve {game.name} of up to {game.max_plies} plies; "
            f"it plays {' and '.join(LARGE)} of any size and other games of at most {MOST_PLIES} plies."
        )
    return PerfectPlayer(game, float(options.seconds), options.table)
