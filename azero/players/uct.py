"""The player uct: plain UCT with random rollouts, a reference to measure networks against."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from azero.classic.uct import (
    NOT_EXPANDED,
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
from azero.games.playing import ONLY_GAME, GameInProgress
from azero.players import Move, Report, Thought, ban_table, never
from azero.players.base import MostVisited
from azero.players.clock import slices
from azero.players.growing import LONGEST_LINE
from azero.players.options import (
    PlayerOptions,
    cut_setting,
    depth_setting,
    exploration_setting,
    make_judge,
    seconds_setting,
)
from azero.search.tree import LOSS, WIN

LONGEST_SEARCH = 100_000_000


@dataclass(frozen=True)
class Options(PlayerOptions):
    """Plain UCT with random rollouts, a reference to measure networks against."""

    shows_moves = True
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

    takes_most = True

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
        counts, simulations = np.zeros(banned.shape, np.int64), self.at_most(self.num_simulations)
        if self.seconds or self.pause:
            for row, state in enumerate(states):
                begin_search(self.game.rule_addresses, self.tree, state, banned[row])
                self.search_on(simulations, self.seconds or math.inf, streams[row])
                read_visit_counts(self.tree, counts[row])
        else:
            addresses = self.game.rule_addresses
            search_positions(addresses, self.tree, self.uct, states, banned, simulations, streams, counts)
        return counts

    def search_on(self, left: int, seconds: float, stream: np.ndarray) -> int:
        """Continue the search for about so many seconds; return how many of `left` simulations are left."""
        for units in slices(left, seconds, self.pause):
            left = continue_search(self.game.rule_addresses, self.tree, self.uct, left, units, stream)
            if not left:
                break
        return left

    def think(
        self,
        at: GameInProgress,
        seconds: float = 0.0,
        stopping: Callable[[], bool] = never,
        report: Report | None = None,
        most: int = 0,
    ) -> Thought:
        """Return the move in a game, which depends on its seed and the position, not on searches before."""
        self.words[:1, 1] = len(at.actions) << 32
        return super().think(at, seconds, stopping, report, most)

    def read(self) -> Thought | None:
        """Return what the latest search has found."""
        return self.growing().read()

    def growing(self) -> RolloutSearch:
        """Return the search as one that grows; see `Analyst`."""
        return RolloutSearch(self)


class RolloutSearch:
    """UCT that grows."""

    def __init__(self, player: UctPlayer) -> None:
        self.player, self.left = player, 0
        self.stream = np.zeros(2, np.uint64)

    def begin(self, state: np.ndarray, banned: np.ndarray | None = None) -> None:
        """Start anew; see `GrowingSearch`."""
        game, self.left = self.player.game, self.player.num_simulations
        table = ban_table(game, state[None], None if banned is None else banned[None])
        self.stream[:] = 0
        begin_search(game.rule_addresses, self.player.tree, np.ascontiguousarray(state), table[0])

    def grow(self, seconds: float) -> bool:
        """Search on; see `GrowingSearch`."""
        self.left = self.player.search_on(self.left, seconds, self.stream)
        return self.left > 0

    def read(self, path: Sequence[int] = ()) -> Thought | None:
        """Return what is known of a node; see `GrowingSearch`."""
        node = int(ROOT)
        for action in path:
            found = [child for child in self.children(node) if self.action(child) == action]
            if not found:
                return None
            node = found[0]
        nodes = self.player.tree.nodes
        if nodes["first_child"][node] == NOT_EXPANDED:
            return None
        tried = sorted(self.children(node), key=lambda child: (-nodes["visits"][child], self.action(child)))
        moves = [self.move(child) for child in tried]
        first, legal = int(nodes["first_child"][node]), int(nodes["num_children"][node])
        for child in range(first + len(tried), first + legal):
            moves.append(Move(self.action(child), 0, np.nan, np.nan, (self.action(child),), LOSS, WIN))
        visits = sum(move.visits for move in moves)
        value = sum(move.visits * move.value for move in moves if move.visits) / visits if visits else np.nan
        return Thought(moves[0].action if moves else -1, visits, value, moves, nodes=visits)

    def children(self, node: int) -> range:
        """Return the tried children of a node."""
        of = self.player.tree.nodes[node]
        expanded = of["first_child"] != NOT_EXPANDED
        return range(of["first_child"], of["first_child"] + of["tried"]) if expanded else range(0)

    def action(self, child: int) -> int:
        """Return the move that leads to a node."""
        return int(self.player.tree.nodes["action"][child])

    def move(self, child: int) -> Move:
        """Return what is known of a tried move."""
        value, visits = 2 * float(self.player.tree.q[child]) - 1, int(self.player.tree.nodes["visits"][child])
        return Move(self.action(child), visits, value, np.nan, self.line(child), LOSS, WIN)

    def line(self, child: int) -> tuple[int, ...]:
        """Return the most visited moves that follow, from the move to `child` on."""
        line, visits = [self.action(child)], self.player.tree.nodes["visits"]
        while len(line) < LONGEST_LINE and (children := self.children(child)):
            child = max(children, key=lambda each: int(visits[each]))
            line.append(self.action(child))
        return tuple(line)


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
