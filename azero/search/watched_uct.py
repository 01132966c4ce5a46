"""UCT written to be watched: plain Python that remembers of every simulation what it chose, and why.

It draws the same random numbers in the same order as the player `uct` and visits the same nodes; a test holds it to that.
Rewards lie in [0, 1], 1 for a win of the player who moves first in the game; he wants them high, the other wants them low.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from azero.games.game import Game
from azero.search.random_stream import new_stream, next_below

EQUAL = 1e-12  # scores so near are equal, and the move tried first is taken


@dataclass
class Node:
    """A position of the tree."""

    state: np.ndarray  # [S] uint64
    move: int  # that led to it, -1 at the root
    visits: int = 0
    own_visits: int = 0  # those from before its moves were listed
    wins: float = 0.0  # sum of the rewards
    untried: list[int] | None = None  # None before its moves are listed
    children: list[Node] = field(default_factory=list)  # in the order in which they were tried


class Candidate(NamedTuple):
    """A move at a node of the path, before the simulation's update."""

    move: int
    visits: int
    wins: float
    score: float  # UCB1: wins / visits, with a minus sign where the second player chooses, plus the bonus; inf before any visit


class Choice(NamedTuple):
    """What was chosen at one node of the path."""

    to_play: int
    total: int  # visits that went on to one of the candidates
    listed: bool  # this simulation was the first to list the node's moves: the expansion
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

    def __init__(self, game: Game, state: np.ndarray, seed: int, exploration: float, expansion_threshold: int) -> None:
        self.game, self.exploration, self.expansion_threshold = game, exploration, expansion_threshold
        self.stream = new_stream(seed)
        self.root = Node(state, -1)

    def simulate(self) -> Simulation:
        """Run one simulation."""
        node, path, choices = self.root, [self.root], list[Choice]()
        while not self.game.is_terminal(node.state) and (node is self.root or node.visits >= self.expansion_threshold):
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
        """Take a move that was not tried, at random, or else the one of the highest UCB1; listing the moves comes first."""
        listed = node.untried is None
        if node.untried is None:
            node.untried = self.game.legal_actions(node.state)
            node.own_visits = node.visits
        total, to_play = node.visits - node.own_visits, self.game.to_play(node.state)
        scores = [self.score(child, total, to_play) for child in node.children]
        candidates = [
            Candidate(child.move, child.visits, child.wins, score) for child, score in zip(node.children, scores, strict=True)
        ]
        candidates += [Candidate(move, 0, 0.0, math.inf) for move in node.untried]
        if node.untried:
            child = self.try_move(node, node.untried)
        else:
            child = next(child for child, score in zip(node.children, scores, strict=True) if score > max(scores) - EQUAL)
        return Choice(to_play, total, listed, sorted(candidates), child.move), child

    def try_move(self, node: Node, untried: list[int]) -> Node:
        """Add the child of a random one of the moves that were not tried; the first of them takes the place of the one drawn."""
        drawn = next_below(self.stream, len(untried))
        move, untried[drawn] = untried[drawn], untried[0]
        del untried[0]
        node.children.append(Node(self.game.step(node.state, move), move))
        return node.children[-1]

    def score(self, child: Node, total: int, to_play: int) -> float:
        """UCB1 for the side to move above the child. -w / n instead of 1 - w / n lowers all scores of a node by one."""
        mean = child.wins / child.visits
        return (mean if to_play == 0 else -mean) + self.exploration * math.sqrt(math.log(total) / child.visits)

    def rollout(self, state: np.ndarray) -> tuple[list[int], np.ndarray]:
        """Play random moves to the end: the moves and the last state."""
        moves = list[int]()
        while not self.game.is_terminal(state):
            legal = self.game.legal_actions(state)
            moves.append(legal[next_below(self.stream, len(legal))])
            state = self.game.step(state, moves[-1])
        return moves, state

    def reward(self, state: np.ndarray) -> float:
        """What the end of a game is worth to the player who moves first."""
        value = self.game.outcome(state)
        return 0.5 + 0.5 * value if self.game.to_play(state) == 0 else 0.5 - 0.5 * value

    def root_visits(self) -> np.ndarray:
        """[A] int64: how often each move of the root was visited."""
        counts = np.zeros(self.game.num_actions, np.int64)
        for child in self.root.children:
            counts[child.move] = child.visits
        return counts
