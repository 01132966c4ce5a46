"""The player alpha_beta: a search to a fixed depth. A search to the end of the game plays perfectly."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from azero.classic.deepening import Found, Searcher
from azero.games.game import Game
from azero.heuristics import AUTO, choose_heuristic
from azero.players import ban_table, check_number
from azero.players.base import Deterministic

if TYPE_CHECKING:
    from azero.network.inference import Inference

SMALL_PLIES = 10  # games up to this length are searched to their end
DEFAULT_DEPTH = 4


class AlphaBetaPlayer(Deterministic):
    """Alpha-beta or plain negamax to one depth; of equal moves it plays the first."""

    def __init__(self, name: str, searcher: Searcher) -> None:
        self.name, self.searcher = name, searcher
        self.found: list[Found] = []  # results of the latest `choose`

    def choose(
        self, states: np.ndarray, games: np.ndarray, plies: np.ndarray, banned: np.ndarray | None = None
    ) -> np.ndarray:
        """Return the first of the best moves for each of states [B, S]."""
        bans = ban_table(self.searcher.game, states, banned)
        self.found = [self.analyse(state, ban) for state, ban in zip(states, bans, strict=True)]
        return np.array([found.action for found in self.found], np.int64)

    def analyse(self, state: np.ndarray, banned: np.ndarray | None = None) -> Found:
        """Return move, value and effort for one state [S] without its banned moves [A]."""
        return self.searcher.search(state, banned)


def default_depth(game: Game) -> int:
    """Return the default depth: 0, the end of the game, for small games, else DEFAULT_DEPTH."""
    return 0 if game.max_plies <= SMALL_PLIES else DEFAULT_DEPTH


def make(
    game: Game,
    *,
    depth: int | None = None,
    heuristic: str = AUTO,
    table: int = 262_144,
    inference: Inference | None = None,
) -> AlphaBetaPlayer:
    """Return the player.

    Args:
        depth: plies to search; 0 for the end of the game; None for the default depth.
        heuristic: judges positions at that depth, a name of `azero.heuristics`; "auto" is the best of the
            game, if any, and "" is none: an unfinished game counts as a draw.
        table: size of the transposition table in positions, 0 for none; the moves stay the same.
        inference: the network for heuristic=network.
    """
    depth = default_depth(game) if depth is None else depth
    check_number("alpha_beta", "depth", depth, 0, 1_000_000)
    check_number("alpha_beta", "table", table, 0, 50_000_000)
    chosen = choose_heuristic(heuristic, game, inference)
    return AlphaBetaPlayer("alpha_beta", Searcher(game, depth, heuristic=chosen, table=table))
