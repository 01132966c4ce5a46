"""A player that rolls out every legal move and takes the one of the best mean: Monte Carlo without a tree."""

from __future__ import annotations

import numpy as np

from azero.config import UserError
from azero.games.game import Game
from azero.players import ban_table, check_number
from azero.players.clock import slices
from azero.players.rollout_options import make_judge
from azero.players.streams import Drawing
from azero.search.flat_monte_carlo import best_mean, share_rollouts
from azero.search.rollouts import Judge, new_board

UNLIMITED = 2**60


class FlatMonteCarloPlayer(Drawing):
    """Rollouts shared equally by the legal moves; the best mean reward is played, the first of equals."""

    def __init__(self, game: Game, judge: Judge, rollouts: int, num_simulations: int, seconds: float) -> None:
        """`rollouts` for each legal move, `num_simulations` for all together, `seconds` for each move; 0 for no limit."""
        super().__init__()
        limit = f"{rollouts} a move" if rollouts else f"{num_simulations}" if num_simulations else f"{seconds:g} s"
        self.name = f"flat_monte_carlo {limit}"
        self.game, self.judge = game, judge
        self.rollouts, self.num_simulations, self.seconds = rollouts, num_simulations, seconds
        self.board = new_board(game.num_actions, game.state_words)
        self.successor = np.zeros(game.state_words, np.uint64)
        if seconds:  # compiles before the first move's clock runs
            self.new_games(np.zeros(1, np.uint64))
            self.choose(game.initial_state()[None], np.zeros(1, np.int64), np.zeros(1, np.int64))

    def choose(self, states: np.ndarray, games: np.ndarray, plies: np.ndarray, banned: np.ndarray | None = None) -> np.ndarray:
        """Return the move of the best mean for each of states [B, S]."""
        table = ban_table(self.game, states, banned)
        with self.streams.of(games) as streams:
            moves = [self.move(states[row], table[row], streams[row]) for row in range(len(states))]
        return np.array(moves, np.int64)

    def move(self, state: np.ndarray, banned: np.ndarray, stream: np.ndarray) -> int:
        """Return the move for one state [S]; stream [2] advances."""
        sums, counts = np.zeros(self.game.num_actions), np.zeros(self.game.num_actions, np.int64)
        limit = self.limit(state, banned)
        total = 0
        for units in slices(self.seconds) if self.seconds else (limit,):
            total = min(total + units, limit)
            share_rollouts(
                *(self.game.rule_addresses, self.board, self.judge, state, banned, total, stream, self.successor, sums, counts)
            )
            if total == limit:
                break
        return best_mean(sums, counts)

    def limit(self, state: np.ndarray, banned: np.ndarray) -> int:
        """Return how many rollouts a state [S] may have at most."""
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
    evaluation: str = "",
) -> FlatMonteCarloPlayer:
    """Return the player. Without any limit it makes ten rollouts for each legal move.

    Args:
        game: the game it plays.
        rollouts: for each legal move.
        num_simulations: rollouts in all, shared equally by the legal moves.
        seconds: time for each move; the first limit reached ends the search.
        rollout_depth: plies after which a rollout is judged by the `evaluation`; 0 plays to the end.
        evaluation: name in `azero.evaluations` of what judges it; "" calls an unfinished game a draw.

    Raises:
        UserError: an option that is out of range or does not fit the game or another option.
    """
    check_number("flat_monte_carlo", "rollouts", rollouts, 0, 100_000_000)
    check_number("flat_monte_carlo", "num_simulations", num_simulations, 0, 1_000_000_000)
    check_number("flat_monte_carlo", "seconds", seconds, 0.0, 86_400.0, whole=False)
    if rollouts and num_simulations:
        raise UserError(
            f"player flat_monte_carlo: rollouts={rollouts} is for each move, num_simulations={num_simulations} for all; give one."
        )
    if not (rollouts or num_simulations or seconds):
        rollouts = 10
    judge = make_judge("flat_monte_carlo", game, rollout_depth, evaluation)
    return FlatMonteCarloPlayer(game, judge, rollouts, num_simulations, float(seconds))
