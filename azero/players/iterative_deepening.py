"""The player iterative_deepening: alpha-beta to depth 1, 2, 3, …, for some seconds a move."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from azero.classic.deepening import Searcher
from azero.config.schema import setting
from azero.games.game import Game
from azero.heuristics import choose_heuristic
from azero.players.alpha_beta import AlphaBetaPlayer
from azero.players.options import MAY, PlayerOptions, heuristic_setting

if TYPE_CHECKING:
    from azero.network.inference import Inference


@dataclass(frozen=True)
class Options(PlayerOptions):
    """Search by alpha-beta to depth 1, 2, 3, …, for some seconds a move."""

    network = MAY
    deepens = True
    seconds: float = setting(
        0.1, "Time for each move. The clock is read every millisecond.", between=(0.001, 1_000_000.0)
    )
    depth: int = setting(0, "Most plies to search; 0: the end of the game.", between=(0, 1_000_000))
    heuristic: str = heuristic_setting()
    table: int = setting(
        1_048_576, "Size of the transposition table in positions; 0: none.", between=(0, 50_000_000)
    )


class IterativeDeepening(AlphaBetaPlayer):
    """Plays the best move of the last finished depth; it stops early if that is exact or forced.

    Nothing is random, but the depth of a search depends on the machine and its load.
    """

    def __init__(self, searcher: Searcher, seconds: float) -> None:
        super().__init__("iterative_deepening", searcher)
        self.seconds = seconds
        searcher.deepen(searcher.game.initial_state(), 0.0)  # compile before the first move


def make(game: Game, options: Options, inference: Inference | None = None) -> IterativeDeepening:
    """Return the player; `inference` is for heuristic=network."""
    chosen = choose_heuristic(options.heuristic, game, inference, options.prefix)
    searcher = Searcher(game, options.depth, heuristic=chosen, table=options.table)
    return IterativeDeepening(searcher, float(options.seconds))
