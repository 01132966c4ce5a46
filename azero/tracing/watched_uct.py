"""UCT in plain Python, which remembers what every simulation chose and why.

It draws the same random numbers as the player `uct` and visits the same nodes; a test checks that. Rewards
lie in [0, 1]: 1 for a win of the player who moves first in the game, 0 for a win of the other.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from azero.games.game import Game
from azero.games.repetition import dead_end
from azero.kernels.random_stream import new_stream, next_below
from azero.tracing.watching import Candidate, Choice, Evaluation, Simulation, Update, first_value, roll_out

EQUAL = 1e-12  # scores this close are equal; the move tried first is chosen


@dataclass
class WatchedNode:
    """A position of the tree."""

    state: np.ndarray  # [S] uint64
    move: int  # that led to it, -1 at the root
    visits: int = 0
    own_visits: int = 0  # before its moves were listed
    wins: float = 0.0  # sum of the rewards
    untried: list[int] | None = None  # None before its moves are listed
    children: list[WatchedNode] = field(default_factory=list)  # in the order in which they were tried


class WatchedUct:
    """One search from a position that is not over."""

    over = False

    def __init__(
        self,
        game: Game,
        state: np.ndarray,
        seed: int,
        exploration: float,
        expansion_threshold: int,
        banned: np.ndarray | None = None,
    ) -> None:
        """`banned` [A] bool are moves that the history forbids at the root; None for none."""
        self.game, self.exploration, self.expansion_threshold = game, exploration, expansion_threshold
        self.banned = np.zeros(game.num_actions, np.bool_) if banned is None else banned
        self.stream = new_stream(seed)
        self.root = WatchedNode(state, -1)

    def simulate(self) -> Simulation:
        """Run one simulation."""
        node, path, choices, listed = self.root, [self.root], list[Choice](), -1
        while not self.game.is_terminal(node.state) and (
            node is self.root or node.visits >= self.expansion_threshold
        ):
            listed = len(choices) if node.untried is None else listed
            if not self.game.legal_actions(node.state):
                raise dead_end(self.game, [each.move for each in path[1:]])
            choice, node = self.choose(node)
            choices.append(choice)
            path.append(node)
        moves, end = roll_out(self.game, node.state, self.stream)
        reward = 0.5 + 0.5 * first_value(self.game, end)
        added, updates = node.visits == 0, list[Update]()
        for each in path:
            before = (each.visits, each.wins)
            each.visits += 1
            each.wins += reward
            updates.append(Update(each.move, before, (each.visits, each.wins)))
        evaluation = Evaluation("rollout" if moves else "end", reward, moves, end)
        return Simulation(choices, added, listed, evaluation, updates, node.state)

    def choose(self, node: WatchedNode) -> tuple[Choice, WatchedNode]:
        """Choose a random untried move, or the move of the highest UCB1 if there is none."""
        if node.untried is None:
            legal = self.game.legal_mask(node.state) & ~(self.banned & (node is self.root))
            node.untried, node.own_visits = np.flatnonzero(legal).tolist(), node.visits
        total, to_play = node.visits - node.own_visits, self.game.to_play(node.state)
        scored = [(self.candidate(child, total, to_play), child) for child in node.children]
        candidates = [candidate for candidate, _ in scored]
        candidates += [Candidate(move, 0, 0.0, math.inf, {}) for move in node.untried]
        if node.untried:
            drawn = next_below(self.stream, len(node.untried))
            move, node.untried[drawn] = node.untried[drawn], node.untried[0]
            del node.untried[0]
            child = WatchedNode(self.game.step(node.state, move), move)
            node.children.append(child)
        else:
            highest = max(candidate.score for candidate in candidates)
            child = next(child for candidate, child in scored if candidate.score > highest - EQUAL)
        candidates.sort(key=lambda each: each.move)
        return Choice(to_play, "ucb1", {"t": total, "c": self.exploration}, candidates, child.move), child

    def candidate(self, child: WatchedNode, total: int, to_play: int) -> Candidate:
        """Return UCB1 for the side to move; -w / n in place of 1 - w / n lowers all scores of a node by 1."""
        mean = child.wins / child.visits * (1 if to_play == 0 else -1)
        bonus = self.exploration * math.sqrt(math.log(total) / child.visits)
        terms = {"mean": mean, "bonus": bonus}
        return Candidate(child.move, child.visits, child.wins, mean + bonus, terms)

    def move(self) -> int:
        """Return the most visited move, the first of equals."""
        return min(self.root.children, key=lambda child: (-child.visits, child.move)).move
