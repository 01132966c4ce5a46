"""The player uct: plain UCT with random rollouts, a reference to measure networks against."""

from __future__ import annotations

import math

import numpy as np

from azero.classic.uct import (
    ROOT,
    Uct,
    begin_search,
    continue_search,
    new_tree,
    read_visit_counts,
    search_positions,
)
from azero.games.game import Game
from azero.games.playing import ONLY_GAME
from azero.players import Advice, check_choice, check_number
from azero.players.base import MostVisited
from azero.players.clock import slices
from azero.players.rollout_options import make_judge

LONGEST_SEARCH = 100_000_000


class UctPlayer(MostVisited):
    """Searches every move from scratch by UCT."""

    def __init__(self, game: Game, uct: Uct, num_simulations: int, seconds: float) -> None:
        """`seconds` is the time for each move; 0 for no limit."""
        super().__init__(f"uct {seconds:g} s" if seconds else f"uct {num_simulations}", game)
        self.uct, self.num_simulations, self.seconds = uct, num_simulations, seconds
        self.tree = new_tree(
            num_simulations, uct.expansion_threshold, game.max_plies, game.num_actions, game.state_words
        )
        if seconds:  # compile before the first move
            self.seconds = min(seconds, 0.001)
            self.new_games(np.zeros(1, np.uint64))
            self.visit_counts(game.initial_state()[None], ONLY_GAME)
            self.seconds = seconds

    def search(self, states: np.ndarray, banned: np.ndarray, streams: np.ndarray) -> np.ndarray:
        """Search each of states [B, S] in turn; return the visits of each action, [B, A] int64."""
        counts = np.zeros(banned.shape, np.int64)
        if self.seconds:
            for row, state in enumerate(states):
                self.search_in_time(state, banned[row], streams[row], counts[row])
        else:
            addresses, simulations = self.game.rule_addresses, self.num_simulations
            search_positions(addresses, self.tree, self.uct, states, banned, simulations, streams, counts)
        return counts

    def advise(self, state: np.ndarray, banned: np.ndarray | None = None) -> Advice:
        """Search one state [S] with the random stream of game 0."""
        visits = self.visit_counts(state[None], ONLY_GAME, None if banned is None else banned[None])[0]
        values = np.full(self.game.num_actions, np.nan)
        first, tried = (int(self.tree.nodes[name][ROOT]) for name in ("first_child", "tried"))
        values[self.tree.nodes["action"][first : first + tried]] = 2 * self.tree.q[first : first + tried] - 1
        return Advice(visits, values, int(visits.argmax()))

    def search_in_time(
        self, state: np.ndarray, banned: np.ndarray, stream: np.ndarray, counts: np.ndarray
    ) -> None:
        """Search one state [S] until the time or the simulations are over; write counts [A]."""
        begin_search(self.game.rule_addresses, self.tree, state, banned)
        self.search_on(self.seconds, self.num_simulations, stream)
        read_visit_counts(self.tree, counts)

    def search_on(self, seconds: float, left: int, stream: np.ndarray) -> int:
        """Continue the search for about so many seconds; return how many of `left` simulations are left."""
        for units in slices(seconds):
            continue_search(self.game.rule_addresses, self.tree, self.uct, min(units, left), stream)
            left -= min(units, left)
            if left == 0:
                break
        return left


def make(
    game: Game,
    *,
    num_simulations: int | None = None,
    seconds: float = 0.0,
    exploration: float = math.sqrt(2.0),
    expansion_threshold: int = 1,
    rollouts: int = 1,
    rollout_depth: int = 0,
    heuristic: str = "",
    reward_for: str = "mover",
    log_of: str = "parent",
    expanded_score: str = "own",
) -> UctPlayer:
    """Return the player.

    Args:
        num_simulations: simulations before each move; None: 100, or unlimited with `seconds`.
        seconds: time for each move; 0 for no limit.
        exploration: constant of UCB1 for rewards in [0, 1]; see `azero.classic.uct`.
        expansion_threshold: visits before a leaf is expanded. One beyond `num_simulations` is never reached:
            only the legal moves themselves are then compared.
        rollouts: from a leaf each time it is visited, each counted as a simulation; several spare descents of
            the tree.
        rollout_depth: most plies of a rollout, then `heuristic` judges; 0 plays to the end.
        heuristic: a name of `azero.heuristics`; "" counts an unfinished game as a draw.
        reward_for: "mover": at each node the side to move chooses by its own rewards; "root": the side at the
            root is followed at the other's nodes too, as some published code has it.
        log_of: "parent": n in UCB1 counts the visits of all moves beside the one scored; "total": all
            simulations of the search.
        expanded_score: "own": a move is scored by its own visits; "children": once expanded, by its
            children's largest score.

    Raises:
        UserError: an option is out of range or does not fit the game.
    """
    check_number("uct", "seconds", seconds, 0.0, 86_400.0, whole=False)
    if num_simulations is None:
        num_simulations = LONGEST_SEARCH if seconds else 100
    check_number("uct", "num_simulations", num_simulations, 1, LONGEST_SEARCH)
    check_number("uct", "exploration", exploration, 0.0, 1000.0, whole=False)
    check_number("uct", "expansion_threshold", expansion_threshold, 1, LONGEST_SEARCH)
    check_number("uct", "rollouts", rollouts, 1, 1_000_000)
    check_choice("uct", "reward_for", reward_for, ("mover", "root"))
    check_choice("uct", "log_of", log_of, ("parent", "total"))
    check_choice("uct", "expanded_score", expanded_score, ("own", "children"))
    judge = make_judge("uct", game, rollout_depth, heuristic)
    variants = (reward_for == "root", log_of == "total", expanded_score == "children")
    uct = Uct(float(exploration), expansion_threshold, rollouts, judge, *variants)
    return UctPlayer(game, uct, num_simulations, float(seconds))
