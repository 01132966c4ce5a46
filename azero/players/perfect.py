"""A player that plays by exact values, and says of every move whether it was one.

A game of few positions is solved whole, by listing them all. In others alpha-beta looks deeper and deeper for `seconds`, and the
move is exact if it came to the end of every line that matters. Near the end of a game that is soon; before, the player only has
the move of an ordinary search, and says so: `found[row].exact` of the latest `choose`, or `exact` of `analyse`.
"""

from __future__ import annotations

import time

import numpy as np

from azero.config import UserError
from azero.evaluations import AUTO, choose_evaluation
from azero.games.game import Game
from azero.players import check_number
from azero.search.deepening import Found, Searcher
from azero.search.solvers import solve

LARGE = ("connect_four", "othello")  # too large to be solved at first; their own evaluation judges until then
MOST_PLIES = 25  # of other games; larger ones would never be exact while it matters
MOST_POSITIONS = 20_000  # listed and solved whole in a moment; tic-tac-toe has 5,478


class PerfectPlayer:
    """Exact moves: the fastest win, the slowest loss, else the first of equal moves; in a game solved whole always the first."""

    name = "perfect"
    deterministic = True

    def __init__(self, game: Game, seconds: float, table: int) -> None:
        self.game, self.seconds = game, seconds
        self.solved = solved_moves(game)
        evaluation = choose_evaluation(AUTO, game)
        self.searcher = Searcher(game, evaluation=evaluation, table=table)
        self.searcher.deepen(game.initial_state(), 0.0)  # compiles what must not take the first move's time
        self.found: list[Found] = []  # of each position that was asked for last
        self.unproven = 0

    def new_games(self, seeds: np.ndarray) -> None:
        """Begin games; nothing here is random."""

    def choose(self, states: np.ndarray, games: np.ndarray, plies: np.ndarray, banned: np.ndarray | None = None) -> np.ndarray:
        """Return a move for each of states [B, S]; `found` tells what is known of it."""
        assert banned is None, "games whose history forbids moves are refused"
        self.found = [self.analyse(state, value_wanted=False) for state in states]
        forced = [len(self.game.legal_actions(state)) == 1 for state in states]
        self.unproven = sum(not (found.exact or only) for found, only in zip(self.found, forced, strict=True))
        return np.array([found.action for found in self.found], np.int64)

    def analyse(self, state: np.ndarray, value_wanted: bool = True) -> Found:
        """Return the move for one state [S], its value, and whether both are exact.

        Unless the value is wanted, a forced move is returned at once.
        """
        if not self.solved:
            return self.searcher.deepen(state, self.seconds, value_wanted=value_wanted)
        begin = time.perf_counter()
        action, value = self.solved[state.tobytes()]
        return Found(action, value, 0, self.game.max_plies, True, time.perf_counter() - begin)


def solved_moves(game: Game) -> dict[bytes, tuple[int, float]]:
    """The first of the best moves and the value of every unfinished position; of none where there are too many to list."""
    try:
        solution = solve(game, MOST_POSITIONS)
    except UserError:
        return {}
    rows = np.flatnonzero(solution.unfinished)
    actions = (solution.action_value[rows] == solution.value[rows][:, None]).argmax(axis=1)
    known = zip(solution.states[rows], actions.tolist(), solution.value[rows].tolist(), strict=True)
    return {state.tobytes(): (action, value) for state, action, value in known}


def make(game: Game, *, seconds: float = 1.0, table: int = 4_194_304) -> PerfectPlayer:
    """Return the player.

    Args:
        game: the game it plays: Connect Four, Othello, or any other of at most MOST_PLIES plies.
        seconds: for each move; more of them make it exact sooner in the game.
        table: positions that the transposition table remembers.

    Raises:
        UserError: a number out of range, or a game that would not be exact.
    """
    check_number("perfect", "seconds", seconds, 0.001, 1_000_000, whole=False)
    check_number("perfect", "table", table, 0, 50_000_000)
    if game.repetition_words:
        raise UserError(f"player perfect cannot play {game.name}, because its history decides what is legal; try superko=simple.")
    if game.name not in LARGE and game.max_plies > MOST_PLIES:
        raise UserError(
            f"player perfect has nothing to offer for {game.name} of up to {game.max_plies} plies; "
            f"it plays {' and '.join(LARGE)} of any size, and other games of at most {MOST_PLIES} plies."
        )
    return PerfectPlayer(game, float(seconds), table)
