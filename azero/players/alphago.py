"""The player alphago: the search of AlphaGo (2016), with a network's policy and value and with rollouts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from azero.classic.alphago import AlphaGo, ask, begin_searches, make_questions, receive_evaluations
from azero.classic.rollouts import new_room
from azero.config.schema import setting
from azero.games.game import Game
from azero.network.inference import Inference, check_answers
from azero.players.base import MostVisited
from azero.players.options import MUST, PlayerOptions, make_judge, simulations_setting
from azero.search.scratch import make_scratch
from azero.search.tree import ROOT, edges_of, trees_of


@dataclass(frozen=True)
class Options(PlayerOptions):
    """The search of AlphaGo (2016), with a network's policy and value and with rollouts."""

    network = MUST
    num_simulations: int = simulations_setting(100)
    eta: float = setting(
        20.0,
        "Weight of prior / (1 + visits). PUCT's is c sqrt(visits), which is 20 at 256 visits and c = 1.25.",
        between=(0.0, 1000.0),
    )
    rollout_share: float = setting(
        0.5, "The rollout's share of a leaf's value; 0: no rollouts.", between=(0.0, 1.0)
    )
    rollout_policy: str = setting(
        "policy",
        "How rollouts are played. policy: by the network, one evaluation a ply; random: without evaluations.",
        choices=("policy", "random"),
    )
    tree: str = setting(
        "sampled",
        "Replies of the opponent. sampled: drawn from the policy; two_sided: each side takes its best score.",
        choices=("sampled", "two_sided"),
    )


class AlphaGoPlayer(MostVisited):
    """Searches every move from scratch."""

    def __init__(self, game: Game, inference: Inference, alphago: AlphaGo, num_simulations: int) -> None:
        super().__init__(f"alphago {num_simulations}", game)
        self.inference, self.alphago, self.num_simulations = inference, alphago, num_simulations
        # A simulation adds a leaf and, before it, up to two replies
        nodes = num_simulations * (3 if alphago.sampled else 1) + 2
        self.tree = trees_of(game, inference.batch_size, nodes)
        self.questions = make_questions(game, inference.batch_size)
        self.planes = np.zeros((inference.batch_size, *game.planes_shape), np.float32)
        self.row_games = np.zeros(inference.batch_size, np.int64)
        self.room = new_room(game.num_actions, game.state_words)
        self.scratch = make_scratch(game, 0)

    def search(self, states: np.ndarray, banned: np.ndarray, streams: np.ndarray) -> np.ndarray:
        """Search states [B, S], a batch at a time; return the visits of each action, [B, A] int64."""
        counts = np.zeros(banned.shape, np.int64)
        for start in range(0, len(states), self.inference.batch_size):
            rows = slice(start, start + self.inference.batch_size)
            self.search_batch(states[rows], banned[rows], streams[rows])
            for place in range(len(states[rows])):
                edges, row = edges_of(self.tree, place, ROOT), start + place
                counts[row, edges["action"]] = edges["child_visits"]
                if not counts[row].any():  # stopped before the first simulation ended
                    counts[row, edges["action"][edges["prior"].argmax()]] = 1
        return counts

    def search_batch(self, states: np.ndarray, banned: np.ndarray, streams: np.ndarray) -> None:
        """Search at most one batch of states in the first rows of `self.tree`."""
        addresses, tree, games = self.game.rule_addresses, self.tree, self.row_games
        alphago, questions = self.alphago, self.questions
        begin_searches(addresses, tree, questions, states, self.num_simulations)
        while tree.searches["simulations_left"].any():
            if rows := ask(addresses, tree, alphago, questions, streams, self.planes, games):
                logits, values = self.inference.infer(self.planes, rows)
                logits, values = logits[:rows], values[:rows]
                check_answers(self.inference, logits, values)
                receive_evaluations(
                    *(addresses, tree, alphago, questions, streams, banned, games, logits, values),
                    *(self.room, self.scratch),
                )
            if self.pause is not None and self.pause():
                break


def make(game: Game, options: Options, inference: Inference) -> AlphaGoPlayer:
    """Return the player."""
    is_sampled, by_policy = options.tree == "sampled", options.rollout_policy == "policy"
    alphago = AlphaGo(
        float(options.eta), float(options.rollout_share), is_sampled, by_policy, make_judge(game)
    )
    return AlphaGoPlayer(game, inference, alphago, options.num_simulations)
