"""The player flat_monte_carlo: random rollouts of every legal move, without a tree."""

from __future__ import annotations

import numpy as np

from azero.classic.flat_monte_carlo import best_mean, share_rollouts
from azero.classic.rollouts import Judge, new_room
from azero.config.schema import UserError
from azero.games.game import Game
from azero.players import check_number
from azero.players.base import Drawing
from azero.players.clock import slices
from azero.players.rollout_options import make_judge

UNLIMITED = 2**60


class FlatMonteCarloPlayer(Drawing):
    """Shares rollouts equally among legal moves and plays the best mean; of equal moves the first."""

    def __init__(self, game: Game, judge: Judge, rollouts: int, num_simulations: int, seconds: float) -> None:
        """Limits: `rollouts` of each legal move, `num_simulations` of all, `seconds`; 0 for none."""
        limit = f"{rollouts} a move" if rollouts else num_simulations or f"{seconds:g} s"
        super().__init__(f"flat_monte_carlo {limit}", game)
        self.judge = judge
        self.rollouts, self.num_simulations, self.seconds = rollouts, num_simulations, seconds
        self.room = new_room(game.num_actions, game.state_words)
        if seconds:  # compile before the first move
            self.seconds = min(seconds, 0.001)
            self.new_games(np.zeros(1, np.uint64))
            self.choose(game.initial_state()[None], np.zeros(1, np.int64), np.zeros(1, np.int64))
            self.seconds = seconds

    def moves(self, states: np.ndarray, banned: np.ndarray, streams: np.ndarray) -> np.ndarray:
        """Return the move with the best mean for each of states [B, S]."""
        return np.array(list(map(self.move, states, banned, streams)), np.int64)

    def move(self, state: np.ndarray, banned: np.ndarray, stream: np.ndarray) -> int:
        """Return the move for one state [S]; stream [2] advances."""
        sums, counts = np.zeros(self.game.num_actions), np.zeros(self.game.num_actions, np.int64)
        limit = self.limit(state, banned)
        total = 0
        for units in slices(self.seconds) if self.seconds else (limit,):
            total = min(total + units, limit)
            share_rollouts(
                self.game.rule_addresses, self.room, self.judge, state, banned, total, stream, sums, counts
            )
            if total == limit:
                break
        return best_mean(sums, counts)

    def limit(self, state: np.ndarray, banned: np.ndarray) -> int:
        """Return the most rollouts of a state [S]."""
        if self.rollouts:
            return self.rollouts * int((self.game.legal_mask(state) & ~banned).sum())
        return self.num_simulations or UNLIMITED


def make(
    game: Game,
    *,
    rollouts: int = 0,
    num_simulations: int = 0,
    seconds: float = 0.0,
    rollout_depth: int = 0,
    heuristic: str = "",
) -> FlatMonteCarloPlayer:
    """Return the player; without any limit it makes ten rollouts of each legal move.

    Args:
        rollouts: rollouts of each legal move.
        num_simulations: rollouts in total, shared equally among the legal moves.
        seconds: time for each move; the first limit that is reached ends the search.
        rollout_depth: most plies of a rollout, then `heuristic` judges; 0 plays to the end.
        heuristic: a name of `azero.heuristics`; "" counts an unfinished game as a draw.

    Raises:
        UserError: an option is out of range, or does not fit the game or another option.
    """
    check_number("flat_monte_carlo", "rollouts", rollouts, 0, 100_000_000)
    check_number("flat_monte_carlo", "num_simulations", num_simulations, 0, 1_000_000_000)
    check_number("flat_monte_carlo", "seconds", seconds, 0.0, 86_400.0, whole=False)
    if rollouts and num_simulations:
        raise UserError(
            f"player flat_monte_carlo: rollouts={rollouts} is for each move, "
            f"num_simulations={num_simulations} for all moves; set one of them."
        )
    if not (rollouts or num_simulations or seconds):
        rollouts = 10
    judge = make_judge("flat_monte_carlo", game, rollout_depth, heuristic)
    return FlatMonteCarloPlayer(game, judge, rollouts, num_simulations, float(seconds))
