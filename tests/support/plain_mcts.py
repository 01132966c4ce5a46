"""The searches once more in plain Python: nodes are objects, rules are the plain twins, the arithmetic is
that of the papers.

`test_mcts.py` and `test_gumbel.py` hold the compiled ones to them, visit for visit. Numbers that the tree
stores as float32 are rounded here too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from azero.config.schema import SearchConfig
from azero.games.game import Game
from azero.search.gumbel import SMALLEST_RANGE
from azero.search.tree import SMALLEST_PRIOR, UNVISITED, Tree, edges_of

Network = Callable[
    [np.ndarray], tuple[np.ndarray, np.float32]
]  # state -> logits [A], value for the player to move


class Node:
    """One position."""

    def __init__(self, game: Game, state: np.ndarray) -> None:
        rules = game.rules.plain()
        self.state = state
        self.to_play = int(rules.to_play(state))
        self.terminal = bool(rules.is_terminal(state))
        self.value = float(rules.outcome(state)) if self.terminal else 0.0
        self.proven = self.terminal
        self.lower, self.upper = (self.value, self.value) if self.terminal else (-1.0, 1.0)
        self.priors: dict[int, float] = {}
        self.children: dict[int, Node] = {}
        self.visits = 0
        self.value_sum = np.float32(0)
        self.edge_visits: dict[int, int] = {}
        self.edge_value_sum: dict[int, np.float32] = {}


class PlainSearch:
    """One tree."""

    def __init__(self, game: Game, network: Network, config: SearchConfig) -> None:
        self.game, self.network, self.config = game, network, config
        self.evaluations = 0
        self.room, self.used = math.inf, 0  # actions of expanded nodes
        self.solved: dict[bytes, float] = {}  # value for the player to move, by state

    def run(self, state: np.ndarray, num_simulations: int) -> Node:
        """Search from a state; returns the root."""
        root = Node(self.game, state)
        self.evaluate(root)
        self.back_up([root], [], root.value)
        self.simulate(root, num_simulations)
        return root

    def simulate(self, root: Node, num_simulations: int) -> None:
        self.root = root
        self.take_win(root)
        for _ in range(num_simulations):
            if root.proven:
                return
            path, actions, node = [root], [], root
            while node.priors and not node.proven:
                action = self.choose(node)
                actions.append(action)
                if action not in node.children:
                    node.children[action] = Node(self.game, self.step(node.state, action))
                    self.solve(node.children[action])
                node = node.children[action]
                path.append(node)
            if not node.proven:
                self.evaluate(node)
            self.back_up(path, actions, node.value)
            if self.config.solver and node.proven:
                self.prove(path, actions)

    def take_win(self, root: Node) -> None:
        """With the solver, visit the first move that wins at once: players look for it among all moves."""
        for action in sorted(root.priors) if self.config.solver else ():
            child = root.children.get(action) or Node(self.game, self.step(root.state, action))
            if child.terminal and child.value == (1.0 if child.to_play == root.to_play else -1.0):
                if action not in root.children:
                    root.children[action] = child
                    self.back_up([root, child], [action], child.value)
                self.prove([root, child], [action])
                return

    def solve(self, leaf: Node) -> None:
        """Prove a leaf from which the game must end soon, however many positions that takes.

        The search for forced wins is that, too, in games of few plies and with a budget that is enough.
        """
        is_late = self.game.rules.plain().plies_left(leaf.state) <= self.config.exact_plies
        if is_late or self.config.forced_nodes:
            leaf.proven, leaf.value = True, self.negamax(leaf)
            leaf.lower = leaf.upper = leaf.value

    def negamax(self, node: Node) -> float:
        """The value of a position for its player to move."""
        if node.terminal:
            return node.value
        known = node.state.tobytes()
        if known not in self.solved:
            after = [Node(self.game, self.step(node.state, action)) for action in self.legal(node.state)]
            values = [self.negamax(each) * (1 if each.to_play == node.to_play else -1) for each in after]
            self.solved[known] = max(values)
        return self.solved[known]

    def choose(self, node: Node) -> int:
        """The action with the greatest score, of those that may be worth more than the node's least."""
        idle = {
            action
            for action in node.priors
            if self.config.solver and self.bounds(node, action)[1] <= node.lower
        }
        tried = [action for action in sorted(node.priors) if action not in idle] or [min(node.priors)]
        return max(tried, key=lambda a: (self.puct(node, a), -a))

    def bounds(self, node: Node, action: int) -> tuple[float, float]:
        """What an action is worth at least and at most for the player to move at `node`."""
        child = node.children.get(action)
        if child is None:
            return -1.0, 1.0
        return (child.lower, child.upper) if child.to_play == node.to_play else (-child.upper, -child.lower)

    def prove(self, path: list[Node], actions: list[int]) -> None:
        """From the end of the path upwards, while the best action's bounds tell more. What was backed up is
        put right.
        """
        for depth in range(len(path) - 2, -1, -1):
            node = path[depth]
            all_bounds = [self.bounds(node, action) for action in node.priors]
            found = max(lower for lower, _ in all_bounds), max(upper for _, upper in all_bounds)
            if found == (node.lower, node.upper):
                return
            before = bounded_sum(node)
            node.lower, node.upper = found
            change = bounded_sum(node) - before
            if node.lower == node.upper:
                node.proven, node.value = True, node.lower
                node.value_sum = np.float32(node.value * node.visits)
            if change and depth:
                self.back_up_edges(path[: depth + 1], actions[:depth], change, visits=0)

    def puct(self, node: Node, action: int) -> float:
        """q + c * P * sqrt(N) / (1 + n)."""
        n = node.edge_visits.get(action, 0)
        total = node.visits - 1 + (self.config.puct_visits == "node")
        c = self.config.c_puct
        if self.config.c_puct_base:
            c += math.log((1 + total + self.config.c_puct_base) / self.config.c_puct_base)
        if n:
            q = float(node.edge_value_sum[action]) / n
        elif self.config.fpu_mode == "parent":
            q = float(node.value_sum) / node.visits - self.config.fpu
        elif self.config.fpu_mode == "explored":
            explored = sum(node.priors[action] for action in sorted(node.edge_visits))
            share = 0.0 if node is self.root and self.config.dirichlet_fraction > 0 else math.sqrt(explored)
            q = float(node.value_sum) / node.visits - self.config.fpu * share
        else:
            q = self.config.fpu
        return q + c * math.sqrt(total) * node.priors[action] / (1 + n)

    def evaluate(self, node: Node) -> None:
        """Priors are the softmax over legal actions; without room for its actions a node stays a leaf."""
        self.evaluations += 1
        logits, value = self.network(node.state)
        legal = self.legal(node.state)
        highest = max(float(logits[action]) for action in legal)
        weights = {action: np.float32(math.exp(float(logits[action]) - highest)) for action in legal}
        total = sum(math.exp(float(logits[action]) - highest) for action in legal)
        node.priors = {action: float(np.float32(float(weight) / total)) for action, weight in weights.items()}
        node.value = float(np.float32(value))
        if self.used + len(legal) > self.room:
            node.priors = {}
        self.used += len(node.priors)

    def legal(self, state: np.ndarray) -> list[int]:
        """The legal actions in rising order."""
        rules, actions = self.game.rules.plain(), np.zeros(self.game.num_actions, np.int32)
        if self.game.lists_moves:
            return actions[: rules.legal_actions(state, actions)].tolist()
        mask = np.zeros(self.game.num_actions, np.bool_)
        rules.legal_mask(state, mask)
        return np.flatnonzero(mask).tolist()

    def back_up(self, path: list[Node], actions: list[int], value: float, visits: int = 1) -> None:
        """Give the path's end the value; what that changes in what it counts goes on to the edge above."""
        node = path[-1]
        before = bounded_sum(node)
        node.visits += visits
        node.value_sum = np.float32(node.value_sum + np.float32(value))
        if (node.lower, node.upper) != (-1.0, 1.0):
            value = bounded_sum(node) - before
        if actions:
            self.back_up_edges(path, actions, value, visits)

    def back_up_edges(self, path: list[Node], actions: list[int], value: float, visits: int) -> None:
        """From the edge to the end of the path upwards. The sign turns where the mover differs."""
        parent, child, action = path[-2], path[-1], actions[-1]
        if parent.to_play != child.to_play:
            value = -value
        parent.edge_visits[action] = parent.edge_visits.get(action, 0) + visits
        parent.edge_value_sum[action] = np.float32(
            parent.edge_value_sum.get(action, np.float32(0)) + np.float32(value)
        )
        self.back_up(path[:-1], actions[:-1], value, visits)

    def step(self, state: np.ndarray, action: int) -> np.ndarray:
        successor = np.zeros_like(state)
        self.game.rules.plain().step(state, action, successor)
        return successor


class PlainGumbel(PlainSearch):
    """Gumbel AlphaZero (Danihelka et al. 2022) as mctx has it: sequential halving at the root, improved
    policies below.
    """

    def __init__(self, game: Game, network: Network, config: SearchConfig, noise: Sequence[float]) -> None:
        super().__init__(game, network, config)
        self.noise = noise  # [A], of the root

    def choose(self, node: Node) -> int:
        visits = {action: node.edge_visits.get(action, 0) for action in self.open_actions(node)}
        if node is self.root:
            wanted = self.wanted_visits(node)
            return self.best([action for action in visits if visits[action] == wanted] or list(visits))
        improved = self.improved_policy(node)
        return max(visits, key=lambda action: (improved[action] - visits[action] / node.visits, -action))

    def wanted_visits(self, root: Node) -> int:
        """Round by round: all that are left get the same number of visits, then the better half goes on."""
        considered = min(len(root.priors), self.config.max_considered_actions)
        phases, visits, alive, sequence = max(1, math.ceil(math.log2(considered))), 0, considered, list[int]()
        while len(sequence) < self.config.num_simulations:
            for _ in range(max(1, self.config.num_simulations // (phases * alive))):
                sequence += [visits] * alive
                visits += 1
            alive = max(min(2, considered), alive // 2)
        return sequence[sum(root.edge_visits.values())]

    def move(self) -> int:
        """The move after the search."""
        visits = {action: self.root.edge_visits.get(action, 0) for action in self.open_actions(self.root)}
        return self.best([action for action in visits if visits[action] == max(visits.values())])

    def best(self, actions: Sequence[int]) -> int:
        """The root action with the greatest noise + ln prior + advantage; of equal ones the first."""
        logits = self.logits(self.root)
        return max(actions, key=lambda action: (self.noise[action] + logits[action], -action))

    def open_actions(self, node: Node) -> list[int]:
        """Legal actions that are not known to be worse than others; all where none is left."""
        legal = sorted(node.priors)
        if not self.config.solver:
            return legal
        lower, upper = ({action: self.bounds(node, action)[which] for action in legal} for which in (0, 1))
        sure = max(lower.values())
        if sure == -1.0 and not node.proven:  # a loss is chosen only where all is lost
            return [action for action in legal if upper[action] > -1.0] or legal
        return [action for action in legal if upper[action] > sure or lower[action] == sure]

    def improved_policy(self, node: Node) -> dict[int, float]:
        """softmax(ln prior + advantage) over the open actions."""
        logits = self.logits(node)
        actions = self.open_actions(node)
        highest = max(logits[action] for action in actions)
        weights = {action: math.exp(logits[action] - highest) for action in actions}
        total = sum(weights.values())
        return {action: weight / total for action, weight in weights.items()}

    def logits(self, node: Node) -> dict[int, float]:
        """ln prior + (maxvisit_init + most visits) * value_scale * completed q, stretched to [0, 1]."""
        tried = sorted(action for action, count in node.edge_visits.items() if count)
        q = {action: float(node.edge_value_sum[action]) / node.edge_visits[action] for action in tried}
        mixed, visits = node.value, sum(node.edge_visits.values())
        if tried:
            prior = {action: max(node.priors[action], SMALLEST_PRIOR) for action in tried}
            mixed = (
                mixed + visits * sum(prior[action] * q[action] for action in tried) / sum(prior.values())
            ) / (1 + visits)
        completed = [
            q.get(action, mixed) for action in range(self.game.num_actions)
        ]  # illegal ones are untried ones
        low, high = min(completed), max(completed)
        upper = max(node.edge_visits.values(), default=0)
        scale = (
            (self.config.maxvisit_init + upper) * self.config.value_scale / max(high - low, SMALLEST_RANGE)
        )
        return {
            action: math.log(max(prior, SMALLEST_PRIOR)) + scale * (completed[action] - low)
            for action, prior in node.priors.items()
        }


def bounded_sum(node: Node) -> float:
    """What the node's visits count: their sum, or as much of it as its bounds allow."""
    return min(max(float(node.value_sum), node.lower * node.visits), node.upper * node.visits)


def assert_same_tree(tree: Tree, b: int, index: int, node: Node) -> None:
    """Game b's tree from a node on is the plain one, visit for visit."""
    assert tree.nodes["node_visits"][b, index] == node.visits
    assert tree.nodes["value_sum"][b, index] == node.value_sum
    edges = edges_of(tree, b, index)
    assert edges["action"].tolist() == sorted(node.priors)
    for edge in edges:
        action = int(edge["action"])
        assert edge["child_visits"] == node.edge_visits.get(action, 0)
        assert edge["child_value_sum"] == node.edge_value_sum.get(action, np.float32(0))
        assert (edge["child"] != UNVISITED) == (action in node.children)
        if action in node.children:
            assert_same_tree(tree, b, edge["child"], node.children[action])
