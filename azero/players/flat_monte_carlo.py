"""The player flat_monte_carlo: random rollouts of every legal move, without a tree."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from azero.classic.flat_monte_carlo import best_mean, share_rollouts
from azero.classic.rollouts import Judge, new_room
from azero.config.schema import UserError, setting
from azero.games.game import Game
from azero.players.base import Drawing
from azero.players.clock import slices
from azero.players.options import PlayerOptions, cut_setting, depth_setting, make_judge, seconds_setting

UNLIMITED = 2**60


@dataclass(frozen=True)
class Options(PlayerOptions):
    """Random rollouts of every legal move, without a tree. Without any limit, ten rollouts of each."""

    rollouts: int = setting(0, "Rollouts of each legal move.", between=(0, 100_000_000))
    num_simulations: int = setting(
        0, "Rollouts in total, shared equally among the legal moves.", between=(0, 1_000_000_000)
    )
    seconds: float = seconds_setting("The first limit that is reached ends the search.")
    rollout_depth: int = depth_setting()
    heuristic: str = cut_setting()


class FlatMonteCarloPlayer(Drawing):
    """Shares rollouts equally among legal moves and plays the best mean; of equal moves the first."""

    takes_most = True

    def __init__(self, game: Game, judge: Judge, rollouts: int, num_simulations: int, seconds: float) -> None:
        """Limits: `rollouts` of each legal move, `num_simulations` of all, `seconds`; 0 for none."""
        limit = f"{rollouts} a move" if rollouts else num_simulations or f"{seconds:g} s"
        super().__init__(f"flat_monte_carlo {limit}", game)
        self.judge = judge
        self.rollouts, self.num_simulations, self.seconds = rollouts, num_simulations, seconds
        self.room = new_room(game.num_actions, game.state_words)
        self.actions = np.zeros(game.num_actions, np.int32)  # scratch
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
        where, done = (self.game.rule_addresses, self.room, self.judge, state, banned, self.actions), 0
        for units in slices(self.limit(state, banned), self.seconds or math.inf, self.pause):
            share_rollouts(*where, done, units, stream, sums, counts)
            done += units
        return int(best_mean(sums, counts))

    def limit(self, state: np.ndarray, banned: np.ndarray) -> int:
        """Return the most rollouts of a state [S]."""
        if self.rollouts:
            return self.rollouts * int((self.game.legal_mask(state) & ~banned).sum())
        return self.at_most(self.num_simulations or UNLIMITED)


def make(game: Game, options: Options) -> FlatMonteCarloPlayer:
    """Return the player.

    Raises:
        UserError: an option does not fit the game or another option.
    """
    rollouts, simulations = options.rollouts, options.num_simulations
    if rollouts and simulations:
        raise UserError(
            f"{options.typed('rollouts')} is for each move, {options.typed('num_simulations')} for all "
            "moves; set one of them."
        )
    if not (rollouts or simulations or options.seconds):
        rollouts = 10
    judge = make_judge(game, options.rollout_depth, options.heuristic, options.prefix)
    return FlatMonteCarloPlayer(game, judge, rollouts, simulations, float(options.seconds))
