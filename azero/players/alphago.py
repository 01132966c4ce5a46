"""The player alphago: the search of AlphaGo (2016), with a network's policy and value and with rollouts."""

from __future__ import annotations

import numpy as np

from azero.classic.alphago import AlphaGo, ask, begin_searches, make_questions, receive_evaluations
from azero.classic.rollouts import new_room
from azero.games.game import Game
from azero.network.inference import Inference, check_answers
from azero.players import check_choice, check_number
from azero.players.base import MostVisited
from azero.players.rollout_options import make_judge
from azero.search.tree import ROOT, make_tree


class AlphaGoPlayer(MostVisited):
    """Searches every move from scratch."""

    def __init__(self, game: Game, inference: Inference, alphago: AlphaGo, num_simulations: int) -> None:
        super().__init__(f"alphago {num_simulations}", game)
        self.inference, self.alphago, self.num_simulations = inference, alphago, num_simulations
        # A simulation adds a leaf and, before it, up to two replies
        nodes = num_simulations * (3 if alphago.sampled else 1) + 2
        self.tree = make_tree(inference.batch_size, nodes, game.num_actions, game.state_words)
        self.questions = make_questions(game, inference.batch_size)
        self.planes = np.zeros((inference.batch_size, *game.planes_shape), np.float32)
        self.row_games = np.zeros(inference.batch_size, np.int64)
        self.room = new_room(game.num_actions, game.state_words)

    def search(self, states: np.ndarray, banned: np.ndarray, streams: np.ndarray) -> np.ndarray:
        """Search states [B, S], a batch at a time; return the visits of each action, [B, A] int64."""
        counts = np.zeros(banned.shape, np.int64)
        for start in range(0, len(states), self.inference.batch_size):
            rows = slice(start, start + self.inference.batch_size)
            self.think(states[rows], banned[rows], streams[rows])
            counts[rows] = self.tree.edges["child_visits"][: len(states[rows]), ROOT]
        return counts

    def think(self, states: np.ndarray, banned: np.ndarray, streams: np.ndarray) -> None:
        """Search at most one batch of states in the first rows of `self.tree`."""
        addresses, tree, games = self.game.rule_addresses, self.tree, self.row_games
        alphago, questions = self.alphago, self.questions
        begin_searches(addresses, tree, questions, states, self.num_simulations)
        while rows := ask(addresses, tree, alphago, questions, streams, self.planes, games):
            logits, values = self.inference.infer(self.planes, rows)
            logits, values = logits[:rows], values[:rows]
            check_answers(self.inference, logits, values)
            receive_evaluations(
                addresses, tree, alphago, questions, streams, banned, games, logits, values, self.room
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
        num_simulations: simulations before each move.
        eta: weight of prior / (1 + visits), added to the mean value in [-1, 1]. Unlike PUCT's c sqrt(visits)
            it is constant; 20 equals that at 256 visits and c = 1.25.
        lambda_: the rollout's share of a leaf's value; 0 uses only the network and plays no rollout.
        rollout_policy: "policy" plays rollouts by the network's policy, one evaluation a ply; "random" at
            random, without evaluations.
        tree: "sampled" draws the opponent's replies from the policy; "two_sided" lets each side take its best
            score.
    """
    check_number("alphago", "num_simulations", num_simulations, 1, 1_000_000)
    check_number("alphago", "eta", eta, 0.0, 1000.0, whole=False)
    check_number("alphago", "lambda_", lambda_, 0.0, 1.0, whole=False)
    check_choice("alphago", "rollout_policy", rollout_policy, ("policy", "random"))
    check_choice("alphago", "tree", tree, ("sampled", "two_sided"))
    judge = make_judge("alphago", game, 0, "")
    settings = AlphaGo(float(eta), float(lambda_), tree == "sampled", rollout_policy == "policy", judge)
    return AlphaGoPlayer(game, inference, settings, num_simulations)
