"""PV-MCTS, simulation by simulation: what each chose and why, by PUCT or Gumbel.

The compiled search of `azero/search` runs one simulation at a time. Its tree before and after shows the path
and the backup. The terms of the scores are computed here once more, for people to read; a test compares them
with the choices and with the plain search of the tests.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import numpy as np

from azero.config.schema import SearchConfig
from azero.games.game import Game
from azero.games.playing import ONLY_GAME
from azero.kernels.random_stream import new_stream
from azero.network.inference import Inference, check_answers
from azero.search.algorithm import find_kind, sound_for
from azero.search.bounds import cannot_improve
from azero.search.cache import cache_of
from azero.search.dead_end import check_dead_end
from azero.search.gumbel import (
    Gumbel,
    improved_policy,
    write_advantages,
    write_completed,
    write_noise,
    write_open,
)
from azero.search.mcts import receive_evaluations, search_wave
from azero.search.puct import Puct, explored_share
from azero.search.root import NO_WIN, Temperature
from azero.search.searches import Searches
from azero.search.tree import NO_LEAF, ROOT, SMALLEST_PRIOR, Tree, action_to, edges_of, soften
from azero.tracing.watching import Candidate, Choice, Evaluation, Simulation, Update, first_value, roll_out

RULED_OUT = "a proof rules it out"

# state -> policy logits [A] and the evaluation, for the player to move
Evaluate = Callable[[np.ndarray], tuple[np.ndarray, Evaluation]]


def by_network(game: Game, inference: Inference) -> Evaluate:
    """Return the evaluation by a network."""
    planes = np.zeros((inference.batch_size, *game.planes_shape), np.float32)

    def evaluate(state: np.ndarray) -> tuple[np.ndarray, Evaluation]:
        planes[0] = game.planes(state)
        logits, values = inference.infer(planes, 1)
        check_answers(inference, logits[:1], values[:1])
        return logits[0], Evaluation("network", float(values[0]), [], state)

    return evaluate


def by_rollouts(game: Game, seed: int) -> Evaluate:
    """Return the evaluation without a network: all moves are equally likely, one random game is the value."""
    stream, logits = new_stream(seed), np.zeros(game.num_actions, np.float32)

    def evaluate(state: np.ndarray) -> tuple[np.ndarray, Evaluation]:
        moves, end = roll_out(game, state, stream)
        value = first_value(game, end) * (1 if game.to_play(state) == 0 else -1)
        return logits, Evaluation("rollout", value, moves, end)

    return evaluate


class WatchedMcts:
    """One search from a position that is not over, without the noise of self-play."""

    def __init__(
        self,
        game: Game,
        state: np.ndarray,
        search: SearchConfig,
        evaluate: Evaluate,
        seed: int = 1,
        temperature: float = 0.0,
        banned: np.ndarray | None = None,
    ) -> None:
        """Begin; the first simulation only evaluates the root. See `PvMcts` for the arguments."""
        self.game, self.evaluate = game, evaluate
        self.search = replace(
            sound_for(search, game), **find_kind(search.kind).play_settings, tree_reuse=False
        )
        self.searches = Searches(game, self.search, np.array([seed], np.uint64))
        self.cache = cache_of(game, 0)
        self.schedule = Temperature(temperature, 1_000_000, 0, 0.0)
        self.searches.draw_noise(ONLY_GAME, ONLY_GAME, self.schedule)
        self.searches.begin(state[None], ONLY_GAME, None if banned is None else banned[None])

    @property
    def tree(self) -> Tree:
        """The tree; it has one game."""
        return self.searches.tree

    @property
    def over(self) -> bool:
        """Whether the search ends early, because the root's value is proven."""
        return bool(self.tree.nodes["proven"][0, ROOT])

    def move(self) -> int:
        """Return the move that the search chooses."""
        return int(self.searches.choose(ONLY_GAME, ONLY_GAME, self.schedule)[0])

    def simulate(self) -> Simulation:
        """Run one simulation."""
        tree, before = self.tree, self.copy()
        algorithm, scratch, exact = self.searches.algorithm, self.searches.scratch, self.searches.exact
        if not len(self.searches.prepare(ONLY_GAME)):  # else the win at once is the simulation
            tree.searches["simulations_left"] = 1
            search_wave(self.game.rule_addresses, tree, self.cache, ONLY_GAME, algorithm, scratch.key, exact)
        leaf = int(tree.searches["leaf"][0])
        evaluation = None
        if leaf != NO_LEAF:
            logits, evaluation = self.evaluate(tree.states[0, leaf].copy())
            answer = logits[None].astype(np.float32), np.array([evaluation.value], np.float32)
            addresses = self.game.rule_addresses
            stuck = receive_evaluations(addresses, tree, self.cache, ONLY_GAME, 1, *answer, scratch)
            check_dead_end(self.game, tree, stuck)
            if (coming := self.searches.coming.get(0)) and coming.win == NO_WIN:
                self.searches.prepare(ONLY_GAME)
        path = self.path_since(before)
        leaf = path[-1]
        state = tree.states[0, leaf].copy()
        if evaluation is None:
            evaluation = Evaluation("end", float(tree.nodes["raw_value"][0, leaf]), [], state)
        listed = len(path) - 1 if evaluation.kind != "end" else -1
        steps = pairwise(path)
        return Simulation(
            [self.choice(before, node, action_to(tree, 0, child)) for node, child in steps],
            leaf == before.searches["num_nodes"][0],
            listed,
            evaluation,
            [self.update(before, node) for node in path],
            state,
        )

    def copy(self) -> Tree:
        """Return a copy of the tree as far as it is in use, and one node more."""
        search = self.tree.searches[0]
        rows = int(search["num_nodes"]) + 1
        states, nodes = self.tree.states[:, :rows].copy(), self.tree.nodes[:, :rows].copy()
        edges = self.tree.edges[:, : search["num_edges"]].copy()
        return Tree(states, nodes, edges, self.tree.searches.copy())

    def path_since(self, before: Tree) -> list[int]:
        """Return the nodes that have one visit more than before, from the root down."""
        path = [ROOT]
        while True:
            edges, old = edges_of(self.tree, 0, path[-1]), edges_of(before, 0, path[-1])
            grown = np.flatnonzero(edges["child_visits"][: len(old)] > old["child_visits"])
            if not len(grown):
                return path
            path.append(int(edges["child"][grown[0]]))

    def update(self, before: Tree, node: int) -> Update:
        """Return how a node has changed: the root by itself, others by the edge above."""
        if node == ROOT:
            old, new = before.nodes[0, ROOT], self.tree.nodes[0, ROOT]
            names, move = ("node_visits", "value_sum"), -1
        else:
            move, edge = action_to(self.tree, 0, node), int(self.tree.nodes["parent_edge"][0, node])
            old, new = before.edges[0, edge], self.tree.edges[0, edge]
            names = ("child_visits", "child_value_sum")
        visits, value_sum = names
        was, now = ((each[visits].item(), each[value_sum].item()) for each in (old, new))
        return Update(move, was, now)

    def choice(self, tree: Tree, node: int, chosen: int) -> Choice:
        """Return the choice at a node of the tree as it was."""
        to_play, algorithm = int(tree.nodes["to_play"][0, node]), self.searches.algorithm
        soften(tree, 0, node)
        if isinstance(algorithm, Puct):
            return Choice(to_play, "puct", *puct_candidates(tree, node, algorithm), chosen)
        if node == ROOT:
            return Choice(to_play, "gumbel_root", *root_candidates(tree, algorithm), chosen)
        return Choice(to_play, "gumbel", *inner_candidates(tree, node, algorithm), chosen)


def legal_edges(tree: Tree, node: int) -> list[tuple[int, int, float, float]]:
    """Return move, visits, sum of values and prior of each edge of an expanded node."""
    edges, names = edges_of(tree, 0, node), ("action", "child_visits", "child_value_sum", "prior")
    return list(zip(*(edges[name].tolist() for name in names), strict=True))


def puct_candidates(tree: Tree, node: int, puct: Puct) -> tuple[dict[str, float], list[Candidate]]:
    """Return the terms of `search.puct.best_edge`."""
    visits = int(tree.nodes["node_visits"][0, node])
    mean = float(tree.nodes["value_sum"][0, node]) / visits
    total, c = visits - 1 + puct.extra_visits, puct.c_puct
    if puct.c_puct_base > 0.0:
        c += math.log((1.0 + total + puct.c_puct_base) / puct.c_puct_base)
    unvisited = puct.fpu
    if puct.fpu_from_parent:
        unvisited = mean - puct.fpu
    elif puct.fpu_by_prior:
        unvisited = mean - puct.fpu * explored_share(tree, 0, node, puct)
    candidates, first = [], int(tree.nodes["first_edge"][0, node])
    for edge, (move, count, value_sum, prior) in enumerate(legal_edges(tree, node), first):
        q = value_sum / count if count else unvisited
        u = c * math.sqrt(total) * prior / (1.0 + count)
        note = RULED_OUT if puct.solver and cannot_improve(tree, 0, node, edge) else ""
        candidates.append(Candidate(move, count, value_sum, q + u, {"q": q, "prior": prior, "u": u}, note))
    return {"N": total, "c": c}, candidates


def gumbel_terms(tree: Tree, node: int, gumbel: Gumbel) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return completed q, advantage and whether it can be the best, of each edge."""
    write_completed(tree, 0, node, gumbel)
    q = gumbel.advantage.copy()
    write_advantages(tree, 0, node, gumbel)
    write_open(tree, 0, node, gumbel)
    return q, gumbel.advantage.copy(), gumbel.open.copy()


def root_candidates(tree: Tree, gumbel: Gumbel) -> tuple[dict[str, float], list[Candidate]]:
    """Return the terms of `search.gumbel.select_root`."""
    edges = legal_edges(tree, ROOT)
    write_noise(tree, 0, gumbel)
    q, advantage, is_open = gumbel_terms(tree, ROOT, gumbel)
    row = min(len(edges), gumbel.considered_visits.shape[0] - 1)
    wanted = int(gumbel.considered_visits[row, sum(count for _, count, _, _ in edges)])
    if not any(is_open[place] and edge[1] == wanted for place, edge in enumerate(edges)):
        wanted = -1  # any number of visits
    candidates = []
    for place, (move, count, value_sum, prior) in enumerate(edges):
        terms = {
            "noise": float(gumbel.noise[0, place]),
            "log_prior": math.log(max(prior, SMALLEST_PRIOR)),
            "prior": prior,
            "q": float(q[place]),
            "advantage": float(advantage[place]),
        }
        score = terms["noise"] + terms["log_prior"] + terms["advantage"]
        note = "" if is_open[place] else RULED_OUT
        if not note and wanted not in (-1, count):
            note = f"not in this round, which takes moves with n = {wanted}"
        candidates.append(Candidate(move, count, value_sum, score, terms, note))
    return ({} if wanted < 0 else {"wanted": wanted}), candidates


def inner_candidates(tree: Tree, node: int, gumbel: Gumbel) -> tuple[dict[str, float], list[Candidate]]:
    """Return the terms of `search.gumbel.select_inner`."""
    q, advantage, is_open = gumbel_terms(tree, node, gumbel)
    improved, visits = np.zeros(len(q)), int(tree.nodes["node_visits"][0, node])
    improved_policy(tree, 0, node, gumbel, improved)
    candidates = []
    for place, (move, count, value_sum, prior) in enumerate(legal_edges(tree, node)):
        terms = {"q": float(q[place]), "prior": prior, "advantage": float(advantage[place])}
        terms["improved"] = float(improved[place])
        score, note = terms["improved"] - count / visits, "" if is_open[place] else RULED_OUT
        candidates.append(Candidate(move, count, value_sum, score, terms, note))
    return {"N": visits}, candidates
