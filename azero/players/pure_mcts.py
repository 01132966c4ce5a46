"""Pure MCTS: AlphaZero's tree search with random priors and a random rollout in the network's place."""

from __future__ import annotations

import numpy as np

from azero.games.game import Game
from azero.players import ban_table, check_choice, check_number
from azero.players.rollout_options import make_judge
from azero.players.streams import MostVisited
from azero.search.puct import Puct
from azero.search.pure_mcts import search_position
from azero.search.rollouts import new_board
from azero.search.tree import ROOT, make_tree


class PureMctsPlayer(MostVisited):
    """PUCT from scratch for every move; it plays the most visited move, the first of equals."""

    def __init__(self, game: Game, num_simulations: int, c_puct: float, uniform_priors: bool, update_root: bool) -> None:
        super().__init__()
        self.name = f"pure_mcts {num_simulations}"
        self.game, self.num_simulations, self.uniform_priors = game, num_simulations, uniform_priors
        self.puct = Puct(c_puct=c_puct, c_puct_base=0.0, extra_visits=1, fpu_from_parent=False, fpu=0.0)
        self.root_puct = self.puct if update_root else self.puct._replace(c_puct=0.0)
        self.judge = make_judge("pure_mcts", game, 0, "")
        self.tree = make_tree(1, num_simulations + 1, game.num_actions, game.state_words)
        self.board = new_board(game.num_actions, game.state_words)
        self.prior = np.zeros(game.num_actions, np.float32)

    def visit_counts(self, states: np.ndarray, games: np.ndarray, banned: np.ndarray | None = None) -> np.ndarray:
        """Search each of states [B, S], one after another, and return how often each action was visited, [B, A] int64."""
        counts = np.zeros((len(states), self.game.num_actions), np.int64)
        table = ban_table(self.game, states, banned)
        with self.streams.of(games) as streams:
            for row in range(len(states)):
                search_position(
                    *(self.game.rule_addresses, self.tree, states[row], table[row], self.puct, self.root_puct, self.judge),
                    *(self.uniform_priors, self.num_simulations, self.board, self.prior, streams[row]),
                )
                counts[row] = self.tree.edges["child_visits"][0, ROOT]
        return counts


def make(
    game: Game,
    *,
    num_simulations: int = 10_000,
    c_puct: float = 5.0,
    priors: str = "random",
    update_root: bool = True,
) -> PureMctsPlayer:
    """Return the player.

    Args:
        game: the game it plays.
        num_simulations: simulations before each move.
        c_puct: exploration constant for values in [-1, 1].
        priors: "random": uniformly random numbers over their sum, drawn anew for each node; "uniform": every legal move alike.
        update_root: False does as published code that counts only the visits of nodes that have a parent: the root's stay 0, so
            the exploration term of its children vanishes, and the root takes the best mean so far, unvisited moves counting 0.

    Raises:
        UserError: an option that is out of range.
    """
    check_number("pure_mcts", "num_simulations", num_simulations, 1, 1_000_000)
    check_number("pure_mcts", "c_puct", c_puct, 0.0, 1000.0, whole=False)
    check_choice("pure_mcts", "priors", priors, ("random", "uniform"))
    check_choice("pure_mcts", "update_root", update_root, (True, False))
    return PureMctsPlayer(game, num_simulations, float(c_puct), priors == "uniform", update_root)
