"""AlphaGo's player of 2016: a network's policy and value together with rollouts, the opponent's replies drawn from the policy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from azero.games.game import Game
from azero.players import ban_table, check_choice, check_number
from azero.players.rollout_options import make_judge
from azero.players.streams import MostVisited
from azero.search.alphago import AlphaGo, absorb, ask, begin_searches, make_questions
from azero.search.rollouts import new_board
from azero.search.tree import ROOT, make_tree

if TYPE_CHECKING:
    from azero.network.inference import Inference


class AlphaGoPlayer(MostVisited):
    """A fresh tree for every move; it plays the most visited move, the first of equals."""

    def __init__(self, game: Game, inference: Inference, alphago: AlphaGo, num_simulations: int) -> None:
        super().__init__()
        self.name = f"alphago {num_simulations}"
        self.game, self.inference, self.alphago, self.num_simulations = game, inference, alphago, num_simulations
        nodes = num_simulations * (3 if alphago.sampled else 1) + 2  # a simulation adds a leaf and, before it, up to two replies
        self.tree = make_tree(inference.batch_size, nodes, game.num_actions, game.state_words)
        self.questions = make_questions(game, inference.batch_size)
        self.planes = np.zeros((inference.batch_size, *game.planes_shape), np.float32)
        self.row_games = np.zeros(inference.batch_size, np.int64)
        self.judge = make_judge(self.name, game, 0, "")
        self.board = new_board(game.num_actions, game.state_words)
        self.prior = np.zeros(game.num_actions, np.float32)

    def visit_counts(self, states: np.ndarray, games: np.ndarray, banned: np.ndarray | None = None) -> np.ndarray:
        """Search states [B, S], a batch of the network at once, and return how often each action was visited, [B, A] int64."""
        counts = np.zeros((len(states), self.game.num_actions), np.int64)
        states, table = np.ascontiguousarray(states), ban_table(self.game, states, banned)
        with self.streams.of(games) as streams:
            for start in range(0, len(states), self.inference.batch_size):
                rows = slice(start, start + self.inference.batch_size)
                self.think(states[rows], table[rows], streams[rows])
                counts[rows] = self.tree.edges["child_visits"][: len(states[rows]), ROOT]
        return counts

    def think(self, states: np.ndarray, banned: np.ndarray, streams: np.ndarray) -> None:
        """Search at most one batch of states; the answers stand at the roots of the first rows of `self.tree`."""
        addresses, tree, alphago, questions = self.game.rule_addresses, self.tree, self.alphago, self.questions
        begin_searches(addresses, tree, questions, states, self.num_simulations)
        while rows := ask(addresses, tree, alphago, questions, streams, self.planes, self.row_games):
            logits, values = self.inference.infer(self.planes, rows)
            absorb(
                *(addresses, tree, alphago, questions, streams, banned, self.row_games, rows, logits, values),
                *(self.judge, self.board, self.prior),
            )


def make(
    game: Game,
    *,
    inference: Inference,
    num_simulations: int = 100,
    eta: float = 20.0,
    lambda_: float = 0.5,
    rollout_policy: str = "policy",
    tree: str = "sampled",
) -> AlphaGoPlayer:
    """Return the player.

    Args:
        game: the game it plays.
        inference: its network.
        num_simulations: simulations before each move.
        eta: weight of prior / (1 + visits) beside the mean value, which lies in [-1, 1]. It does not grow with the search as
            PUCT's c sqrt(visits) does; 20 is that at 256 visits and c = 1.25.
        lambda_: the rollout's share of a leaf's value; 0 asks the network alone and plays no rollout, 1 the rollout alone.
        rollout_policy: "policy": rollouts are played by the network's policy, an evaluation a ply; "random": at random, free.
        tree: "sampled": the opponent's replies are drawn from the policy; "two_sided": each side takes its own best score.

    Raises:
        UserError: an option that is out of range.
    """
    check_number("alphago", "num_simulations", num_simulations, 1, 1_000_000)
    check_number("alphago", "eta", eta, 0.0, 1000.0, whole=False)
    check_number("alphago", "lambda_", lambda_, 0.0, 1.0, whole=False)
    check_choice("alphago", "rollout_policy", rollout_policy, ("policy", "random"))
    check_choice("alphago", "tree", tree, ("sampled", "two_sided"))
    settings = AlphaGo(float(eta), float(lambda_), tree == "sampled", rollout_policy == "policy")
    return AlphaGoPlayer(game, inference, settings, num_simulations)
