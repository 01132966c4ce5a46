"""UCT in plain Python, which remembers what every simulation chose and why.

It draws the same random numbers as the player `uct` and visits the same nodes; a test checks that. Rewards
lie in [0, 1]: 1 for a win of the player who moves first in the game, 0 for a win of the other.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from azero.games.game import Game
from azero.kernels.random_stream import new_stream, next_below

EQUAL = 1e-12  # scores this close are equal; the move tried first is chosen


@dataclass
class Node:
    """A position of the tree."""

    state: np.ndarray  # [S] uint64
    move: int  # that led to it, -1 at the root
    visits: int = 0
    own_visits: int = 0  # before its moves were listed
    wins: float = 0.0  # sum of the rewards
    untried: list[int] | None = None  # None before its moves are listed
    children: list[Node] = field(default_factory=list)  # in the order in which they were tried


class Candidate(NamedTuple):
    """A move at a node of the path, before the simulation's update."""

    move: int
    visits: int
    wins: float
    score: float  # UCB1: ±wins / visits + bonus, with - where the second player chooses; inf if unvisited


class Choice(NamedTuple):
    """What was chosen at one node of the path."""

    to_play: int
    total: int  # visits that went on to one of the candidates
    listed: bool  # whether this simulation expanded the node, that is, listed its moves
    candidates: list[Candidate]  # by move
    chosen: int


class Update(NamedTuple):
    """A node of the path after the simulation."""

    move: int  # -1 at the root
    visits: int
    wins: float


class Simulation(NamedTuple):
    """One simulation."""

    choices: list[Choice]
    rollout: list[int]  # random moves from the last node of the path to the end of the game
    reward: float
    updates: list[Update]  # from the root down
    leaf: np.ndarray  # [S] uint64: the last node of the path
    end: np.ndarray  # [S] uint64: where the rollout ended
    root_visits: np.ndarray  # [A] int64: of the root's moves, after the update


class WatchedUct:
    """One search from a position that is not over."""

    def __init__(
        self, game: Game, state: np.ndarray, seed: int, exploration: float, expansion_threshold: int
    ) -> None:
        self.game, self.exploration, self.expansion_threshold = game, exploration, expansion_threshold
        self.stream = new_stream(seed)
        self.root = Node(state, -1)

    def simulate(self) -> Simulation:
        """Run one simulation."""
        node, path, choices = self.root, [self.root], list[Choice]()
        while not self.game.is_terminal(node.state) and (
            node is self.root or node.visits >= self.expansion_threshold
        ):
            choice, node = self.choose(node)
            choices.append(choice)
            path.append(node)
        rollout, end = self.rollout(node.state)
        reward = self.reward(end)
        for each in path:
            each.visits += 1
            each.wins += reward
        updates = [Update(each.move, each.visits, each.wins) for each in path]
        return Simulation(choices, rollout, reward, updates, node.state, end, self.root_visits())

    def choose(self, node: Node) -> tuple[Choice, Node]:
        """Choose a random untried move, or the move of the highest UCB1 if there is none."""
        listed = node.untried is None
        if node.untried is None:
            node.untried = self.game.legal_actions(node.state)
            node.own_visits = node.visits
        total, to_play = node.visits - node.own_visits, self.game.to_play(node.state)
        scored = [(self.score(child, total, to_play), child) for child in node.children]
        candidates = [Candidate(child.move, child.visits, child.wins, score) for score, child in scored]
        candidates += [Candidate(move, 0, 0.0, math.inf) for move in node.untried]
        if node.untried:
            drawn = next_below(self.stream, len(node.untried))
            move, node.untried[drawn] = node.untried[drawn], node.untried[0]
            del node.untried[0]
            child = Node(self.game.step(node.state, move), move)
            node.children.append(child)
        else:
            highest = max(score for score, _ in scored)
            child = next(child for score, child in scored if score > highest - EQUAL)
        return Choice(to_play, total, listed, sorted(candidates), child.move), child

    def score(self, child: Node, total: int, to_play: int) -> float:
        """Return UCB1 for the side to move; -w / n in place of 1 - w / n lowers all scores of a node by 1."""
        mean = child.wins / child.visits
        bonus = self.exploration * math.sqrt(math.log(total) / child.visits)
        return bonus + (mean if to_play == 0 else -mean)

    def rollout(self, state: np.ndarray) -> tuple[list[int], np.ndarray]:
        """Play random moves to the end, at most `max_plies`; return the moves and the last state."""
        moves = list[int]()
        while not self.game.is_terminal(state) and len(moves) < self.game.max_plies:
            legal = self.game.legal_actions(state)
            moves.append(legal[next_below(self.stream, len(legal))])
            state = self.game.step(state, moves[-1])
        return moves, state

    def reward(self, state: np.ndarray) -> float:
        """Return the value of a rollout's last state for the player who moves first, in [0, 1]."""
        if not self.game.is_terminal(state):
            return 0.5
        value = self.game.outcome(state)
        return 0.5 + 0.5 * value if self.game.to_play(state) == 0 else 0.5 - 0.5 * value

    def root_visits(self) -> np.ndarray:
        """Return the visits of the root's moves: [A] int64."""
        visits = {child.move: child.visits for child in self.root.children}
        return np.array([visits.get(move, 0) for move in range(self.game.num_actions)])
