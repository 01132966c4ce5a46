"""Searches of one position that grow: they go on, stop, and can be read at any time.

Letters: A actions, S state words.

A page or a protocol shows them while they grow. `PvMcts` and `UctPlayer` have such searches; a search knows
nothing of who watches it.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from azero.classic.uct import NOT_EXPANDED, begin_search
from azero.classic.uct import ROOT as UCT_ROOT
from azero.config.schema import UserError
from azero.games.playing import ONLY_GAME
from azero.players import Player, ban_table
from azero.players.pv_mcts import GREEDY, PvMcts
from azero.players.uct import UctPlayer
from azero.search.searches import Searches
from azero.search.tree import LOSS, ROOT, UNVISITED, WIN, Tree

LONGEST_LINE = 12  # moves of a principal variation


class Move(NamedTuple):
    """What a search knows of one move."""

    action: int
    visits: int
    value: float  # for the player to move, in [-1, 1]; nan before its first visit
    prior: float  # of the network; nan in a search without one
    line: tuple[int, ...]  # the principal variation, which begins with the move itself
    lower: float  # proven bounds of its value
    upper: float


class Insight(NamedTuple):
    """What a search knows of one node: of its root, or of another node of the tree."""

    visits: int  # simulations through the node's moves
    value: float  # for the player to move, in [-1, 1]; nan before the first simulation
    best: int  # the move that the search would play; -1 before there is one
    moves: list[Move]  # all legal ones, the most visited first

    def best_first(self) -> list[Move]:
        """Return the moves, the best one first and then by visits."""
        return sorted(self.moves, key=lambda move: move.action != self.best)


class GrowingSearch(Protocol):
    """A search of one position that goes on and stops as its owner likes."""

    def begin(self, state: np.ndarray, banned: np.ndarray | None = None) -> None:
        """Start anew at a state [S] that is not terminal, without the banned moves [A]."""

    def grow(self, seconds: float) -> bool:
        """Search on for about so many seconds; return whether simulations are left to do."""

    def read(self, path: Sequence[int] = ()) -> Insight | None:
        """Return what is known of the node that `path` leads to; None: it is not in the tree."""


class NetworkSearch:
    """PV-MCTS that grows."""

    def __init__(self, player: PvMcts) -> None:
        self.player = player

    def begin(self, state: np.ndarray, banned: np.ndarray | None = None) -> None:
        """Start anew; see `GrowingSearch`."""
        self.player.new_games(np.zeros(1, np.uint64))
        self.player.searches.begin(state[None], ONLY_GAME, None if banned is None else banned[None])

    def grow(self, seconds: float) -> bool:
        """Search on; see `GrowingSearch`. One batch of the network is the least."""
        end = time.perf_counter() + seconds
        while self.player.wave(0):
            if time.perf_counter() >= end:
                return True
        return False

    def read(self, path: Sequence[int] = ()) -> Insight | None:
        """Return what is known of a node; see `GrowingSearch`."""
        return read_search(self.player.searches, 0, path)


def read_search(searches: Searches, b: int, path: Sequence[int] = ()) -> Insight | None:
    """Return what game b's search knows of the node that `path` leads to; None: it is not in the tree."""
    nodes, edges, node = searches.tree.nodes[b], searches.tree.edges[b], ROOT
    for action in path:
        node = int(edges["child"][node, action])
        if node == UNVISITED:
            return None
    if not nodes["expanded"][node]:
        return None
    visits, priors = edges["child_visits"][node], edges["prior"][node]
    legal = np.flatnonzero(priors >= 0.0)
    ordered = legal[np.argsort(-visits[legal], kind="stable")]
    moves = [read_move(searches.tree, b, node, int(action)) for action in ordered]
    best = moves[0].action
    if node == ROOT and visits.any():
        best = int(searches.choose(np.array([b]), ONLY_GAME, GREEDY)[0])
    value = float(nodes["value_sum"][node] / max(1, nodes["node_visits"][node]))
    return Insight(int(visits.sum()), value, best, moves)


def read_move(tree: Tree, b: int, node: int, action: int) -> Move:
    """Return what game b's search knows of a legal move at an expanded node."""
    nodes, edge = tree.nodes[b], tree.edges[b, node, action]
    visits, child = int(edge["child_visits"]), int(edge["child"])
    value = float(edge["child_value_sum"] / visits) if visits else np.nan
    lower, upper = LOSS, WIN
    if child != UNVISITED:
        lower, upper = float(nodes["lower"][child]), float(nodes["upper"][child])
        if nodes["to_play"][child] != nodes["to_play"][node]:
            lower, upper = -upper, -lower
    return Move(action, visits, value, float(edge["prior"]), read_line(tree, b, node, action), lower, upper)


def read_line(tree: Tree, b: int, node: int, action: int) -> tuple[int, ...]:
    """Return the most visited moves that follow a move at a node of game b, from that move on."""
    edges, line = tree.edges[b], [action]
    while len(line) < LONGEST_LINE:
        node = int(edges["child"][node, line[-1]])
        if node == UNVISITED or not edges["child_visits"][node].any():
            break
        line.append(int(edges["child_visits"][node].argmax()))
    return tuple(line)


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
        self.left = self.player.search_on(seconds, self.left, self.stream)
        return self.left > 0

    def read(self, path: Sequence[int] = ()) -> Insight | None:
        """Return what is known of a node; see `GrowingSearch`."""
        node = int(UCT_ROOT)
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
        return Insight(visits, value, moves[0].action if moves else -1, moves)

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


def growing_search(player: Player) -> GrowingSearch:
    """Return the search of a player as one that grows. The player must not be used otherwise meanwhile.

    Raises:
        UserError: the player has no such search.
    """
    if isinstance(player, PvMcts):
        return NetworkSearch(player)
    if isinstance(player, UctPlayer):
        return RolloutSearch(player)
    raise UserError(f"{player.name} has no search to watch; choose pv_mcts or uct.")
