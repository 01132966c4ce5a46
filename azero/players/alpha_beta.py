"""The player alpha_beta: a search to a fixed depth. A search to the end of the game plays perfectly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from azero.classic.deepening import Found, Searcher
from azero.config.schema import setting
from azero.games.game import Game
from azero.heuristics import choose_heuristic
from azero.players import Thought, ban_table
from azero.players.base import Deterministic
from azero.players.options import MAY, PlayerOptions, heuristic_setting

if TYPE_CHECKING:
    from azero.network.inference import Inference

SMALL_PLIES = 10  # games up to this length are searched to their end
DEFAULT_DEPTH = 4


@dataclass(frozen=True)
class Options(PlayerOptions):
    """Search to a fixed depth by alpha-beta. A search to the end of the game plays perfectly."""

    network = MAY
    deepens = True
    depth: int | None = setting(
        None, "Plies; 0: to the end. auto: to the end of small games, 4 in others.", between=(0, 1_000_000)
    )
    heuristic: str = heuristic_setting()
    table: int = setting(
        262_144, "Positions of the table; 0: none. Moves stay the same.", between=(0, 50_000_000)
    )


class AlphaBetaPlayer(Deterministic):
    """Alpha-beta or plain negamax to one depth; of equal moves it plays the first.

    With seconds for a move, which only a client gives, it searches to depth 1, 2, … up to that depth.
    """

    takes_most = True

    def __init__(self, name: str, searcher: Searcher) -> None:
        self.name, self.searcher = name, searcher
        self.found: list[Found] = []  # results of the latest `choose`

    def choose(
        self, states: np.ndarray, games: np.ndarray, plies: np.ndarray, banned: np.ndarray | None = None
    ) -> np.ndarray:
        """Return the first of the best moves for each of states [B, S]."""
        bans = ban_table(self.searcher.game, states, banned)
        self.found = []
        self.found = [self.analyse(state, ban) for state, ban in zip(states, bans, strict=True)]
        return np.array([found.action for found in self.found], np.int64)

    def analyse(self, state: np.ndarray, banned: np.ndarray | None = None) -> Found:
        """Return move, value and effort for one state [S] without its banned moves [A]."""
        depth = self.at_most(self.searcher.depth)
        if self.seconds:
            return self.searcher.deepen(state, self.seconds, banned, self.pause, depth=depth)
        return self.searcher.search(state, banned, self.pause, depth)

    def read(self) -> Thought | None:
        """Return what the latest search has found; None before its end, or if it was stopped at once."""
        return thought_of(self.found)


def thought_of(found: list[Found]) -> Thought | None:
    """Return the first result of alpha-beta as a thought; None: there is none, or it finished no depth."""
    if not found or not found[0].depth:
        return None
    return Thought(found[0].action, value=found[0].value, nodes=found[0].nodes, depth=found[0].depth)


def default_depth(game: Game) -> int:
    """Return the default depth: 0, the end of the game, for small games, else DEFAULT_DEPTH."""
    return 0 if game.max_plies <= SMALL_PLIES else DEFAULT_DEPTH


def make(game: Game, options: Options, inference: Inference | None = None) -> AlphaBetaPlayer:
    """Return the player; `inference` is for heuristic=network."""
    depth = default_depth(game) if options.depth is None else options.depth
    chosen = choose_heuristic(options.heuristic, game, inference, options.prefix)
    return AlphaBetaPlayer("alpha_beta", Searcher(game, depth, heuristic=chosen, table=options.table))
