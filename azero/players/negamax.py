"""The player negamax: a search to a fixed depth without pruning, to compare alpha-beta with."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from azero.classic.deepening import Searcher
from azero.config.schema import setting
from azero.games.game import Game
from azero.heuristics import choose_heuristic
from azero.players.alpha_beta import AlphaBetaPlayer, default_depth
from azero.players.options import MAY, PlayerOptions, heuristic_setting

if TYPE_CHECKING:
    from azero.network.inference import Inference

MOST_LINES = 2_000_000  # of play searched for one move at the default depth: a second or two


@dataclass(frozen=True)
class Options(PlayerOptions):
    """Search to a fixed depth without pruning, to compare alpha-beta with."""

    network = MAY
    deepens = True
    depth: int | None = setting(
        None,
        "Plies; 0: to the end, in the smallest games. auto: as alpha_beta, or less in games of many moves.",
        between=(0, 1_000_000),
    )
    heuristic: str = heuristic_setting()


def lines_of_play(legal: int, plies: int) -> int:
    """Return about how many lines of play there are from a position whose legal moves lose one each ply."""
    return math.prod(max(1, legal - ply) for ply in range(plies))


def make(game: Game, options: Options, inference: Inference | None = None) -> AlphaBetaPlayer:
    """Return the player; it plays the moves of alpha_beta and takes much longer."""
    depth = options.depth
    if depth is None:
        depth, legal = default_depth(game), len(game.legal_actions(game.initial_state()))
        while (plies := depth or game.max_plies) > 1 and lines_of_play(legal, plies) > MOST_LINES:
            depth = plies - 1
    chosen = choose_heuristic(options.heuristic, game, inference, options.prefix)
    searcher = Searcher(game, depth, heuristic=chosen, table=0, prune=False, ordered=False)
    return AlphaBetaPlayer("negamax", searcher)
