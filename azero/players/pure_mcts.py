"""The player pure_mcts: AlphaZero's tree search with random priors and rollouts instead of a network."""

from __future__ import annotations

import numpy as np

from azero.classic.pure_mcts import Settings, search_position
from azero.classic.rollouts import new_room
from azero.games.game import Game
from azero.players import check_choice, check_number
from azero.players.base import MostVisited
from azero.players.rollout_options import make_judge
from azero.search.puct import Puct
from azero.search.tree import ROOT, make_tree


class PureMctsPlayer(MostVisited):
    """Searches every move from scratch by PUCT."""

    def __init__(
        self, game: Game, num_simulations: int, c_puct: float, uniform_priors: bool, update_root: bool
    ) -> None:
        super().__init__(f"pure_mcts {num_simulations}", game)
        puct = Puct(c_puct=c_puct, c_puct_base=0.0, extra_visits=1, fpu_from_parent=False, fpu=0.0)
        root_puct = puct if update_root else puct._replace(c_puct=0.0)
        judge = make_judge("pure_mcts", game, 0, "")
        self.settings = Settings(puct, root_puct, judge, uniform_priors, num_simulations)
        self.tree = make_tree(1, num_simulations + 1, game.num_actions, game.state_words)
        self.room = new_room(game.num_actions, game.state_words)

    def search(self, states: np.ndarray, banned: np.ndarray, streams: np.ndarray) -> np.ndarray:
        """Search each of states [B, S] in turn; return the visits of each action, [B, A] int64."""
        counts = np.zeros(banned.shape, np.int64)
        addresses, tree, settings = self.game.rule_addresses, self.tree, self.settings
        for row, state in enumerate(states):
            search_position(addresses, tree, settings, state, banned[row], self.room, streams[row])
            counts[row] = tree.edges["child_visits"][0, ROOT]
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
        num_simulations: simulations before each move.
        c_puct: exploration constant for values in [-1, 1].
        priors: "random": uniformly random numbers over their sum, drawn anew for each node; "uniform": every
            legal move alike.
        update_root: False does as published code that counts only the visits of nodes that have a parent: the
            root's stay 0, so the exploration term of its children vanishes, and the root takes the best mean
            so far, unvisited moves counting 0.
    """
    check_number("pure_mcts", "num_simulations", num_simulations, 1, 1_000_000)
    check_number("pure_mcts", "c_puct", c_puct, 0.0, 1000.0, whole=False)
    check_choice("pure_mcts", "priors", priors, ("random", "uniform"))
    check_choice("pure_mcts", "update_root", update_root, (True, False))
    return PureMctsPlayer(game, num_simulations, float(c_puct), priors == "uniform", update_root)
