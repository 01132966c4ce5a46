"""The player uct: plain UCT with random rollouts, a reference to measure networks against."""

from __future__ import annotations

from dataclasses import dataclass

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
from azero.config.schema import setting
from azero.games.game import Game
from azero.games.playing import ONLY_GAME
from azero.players import Advice
from azero.players.base import MostVisited
from azero.players.clock import slices
from azero.players.options import (
    PlayerOptions,
    cut_setting,
    depth_setting,
    exploration_setting,
    make_judge,
    seconds_setting,
)

LONGEST_SEARCH = 100_000_000


@dataclass(frozen=True)
class Options(PlayerOptions):
    """Plain UCT with random rollouts, a reference to measure networks against."""

    num_simulations: int | None = setting(
        None, "Simulations of a move. auto: 100, or no limit with seconds.", between=(1, LONGEST_SEARCH)
    )
    seconds: float = seconds_setting()
    exploration: float = exploration_setting()
    expansion_threshold: int = setting(
        1,
        "Visits before a leaf is expanded. Above num_simulations, only the legal moves are compared.",
        between=(1, LONGEST_SEARCH),
    )
    rollouts: int = setting(
        1, "Rollouts of a leaf on each visit. Each counts as a simulation.", between=(1, 1_000_000)
    )
    rollout_depth: int = depth_setting()
    heuristic: str = cut_setting()
    reward_for: str = setting(
        "mover",
        "Whose rewards count at a node. mover: the side to move; root: the side at the root, as some do.",
        choices=("mover", "root"),
    )
    log_of: str = setting(
        "parent",
        "What n in UCB1 counts. parent: visits of the node's moves; total: all simulations of the search.",
        choices=("parent", "total"),
    )
    expanded_score: str = setting(
        "own",
        "Score of a move. own: by its own visits; children: once expanded, its children's largest score.",
        choices=("own", "children"),
    )


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


def make(game: Game, options: Options) -> UctPlayer:
    """Return the player.

    Raises:
        UserError: an option does not fit the game or another option.
    """
    simulations = options.num_simulations or (LONGEST_SEARCH if options.seconds else 100)
    variants = (
        options.reward_for == "root",
        options.log_of == "total",
        options.expanded_score == "children",
    )
    judge = make_judge(game, options.rollout_depth, options.heuristic, options.prefix)
    uct = Uct(float(options.exploration), options.expansion_threshold, options.rollouts, judge, *variants)
    return UctPlayer(game, uct, simulations, float(options.seconds))
