"""The player pure_mcts: AlphaZero's tree search with random priors and rollouts instead of a network."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from azero.classic.pure_mcts import PureSettings, search_on
from azero.classic.rollouts import new_room
from azero.config.schema import setting
from azero.games.game import Game
from azero.games.playing import ONLY_GAME
from azero.players.base import MostVisited
from azero.players.clock import slices
from azero.players.options import PlayerOptions, make_judge, simulations_setting
from azero.search.puct import Puct
from azero.search.scratch import make_scratch
from azero.search.tree import trees_of, visits_of


@dataclass(frozen=True)
class Options(PlayerOptions):
    """AlphaZero's tree search with random priors and rollouts instead of a network."""

    num_simulations: int = simulations_setting(10_000)
    c_puct: float = setting(5.0, "Exploration constant for values in [-1, 1].", between=(0.0, 1000.0))
    priors: str = setting(
        "random",
        "Priors. random: random numbers over their sum, for each node; uniform: every legal move alike.",
        choices=("random", "uniform"),
    )
    update_root: bool = setting(
        True,
        "Count the root's visits. false does as published code: the root has no exploration term, and takes "
        "the best mean so far, unvisited moves counting 0.",
    )


class PureMctsPlayer(MostVisited):
    """Searches every move from scratch by PUCT."""

    def __init__(
        self, game: Game, num_simulations: int, c_puct: float, uniform_priors: bool, update_root: bool
    ) -> None:
        super().__init__(f"pure_mcts {num_simulations}", game)
        puct = Puct(c_puct=c_puct, c_puct_base=0.0, extra_visits=1, fpu_from_parent=False, fpu=0.0)
        root_puct = puct if update_root else puct._replace(c_puct=0.0)
        self.settings = PureSettings(puct, root_puct, make_judge(game), uniform_priors)
        self.num_simulations = num_simulations
        self.tree = trees_of(game, 1, num_simulations + 1)
        self.scratch = make_scratch(game, 0)
        self.room = new_room(game.num_actions, game.state_words)

    def search(self, states: np.ndarray, banned: np.ndarray, streams: np.ndarray) -> np.ndarray:
        """Search each of states [B, S] in turn; return the visits of each action, [B, A] int64."""
        counts = np.zeros(banned.shape, np.int64)
        for row, state in enumerate(states):
            where = self.game.rule_addresses, self.tree, self.settings
            what = *where, state, banned[row], self.room, self.scratch, streams[row]
            search_on(*what, 0, 1)
            done = 1
            for units in slices(self.num_simulations, pause=self.pause):
                search_on(*what, done, done + units)
                done += units
            counts[row] = visits_of(self.tree, ONLY_GAME, self.game.num_actions)[0]
        return counts


def make(game: Game, options: Options) -> PureMctsPlayer:
    """Return the player."""
    c_puct, is_uniform = float(options.c_puct), options.priors == "uniform"
    return PureMctsPlayer(game, options.num_simulations, c_puct, is_uniform, options.update_root)
