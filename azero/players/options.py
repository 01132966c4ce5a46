"""The bases of the players' options, and options that several players have."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from azero.classic.rollouts import NO_HEURISTIC, Judge
from azero.config.schema import Options, UserError, setting
from azero.games.game import Game
from azero.heuristics import AUTO, MODULES, choose_heuristic

MAY, MUST = "may", "must"


@dataclass(frozen=True)
class PlayerOptions(Options):
    """Options of a player. The docstring of a subclass says what the player does.

    Attributes:
        network: MUST if the player needs a trained network, MAY if it takes one for heuristic=network.
        searches: whether it takes the search of a run.
        shows_moves: whether its search knows what each move is worth (`growing.Analyst`).
        keeps_tree: whether its tree can last from move to move, so that it can think in the opponent's time.
        deepens: whether it is alpha-beta: depth=0 is to the end, and with seconds it searches depth 1, 2, ….
    """

    network: ClassVar[str] = ""
    searches: ClassVar[bool] = False
    shows_moves: ClassVar[bool] = False
    keeps_tree: ClassVar[bool] = False
    deepens: ClassVar[bool] = False


def simulations_setting(default: int) -> Any:
    """Return the setting of a fixed number of simulations."""
    return setting(default, "Simulations before each move.", between=(1, 1_000_000))


def seconds_setting(also: str = "") -> Any:
    """Return the setting of a time limit that may be off."""
    return setting(0.0, f"Time for each move; 0: no limit. {also}".rstrip(), between=(0.0, 86_400.0))


def exploration_setting() -> Any:
    """Return the setting of UCB1's constant."""
    return setting(math.sqrt(2.0), "Constant of UCB1 for rewards in [0, 1].", between=(0.0, 1000.0))


def heuristic_setting() -> Any:
    """Return the setting of what judges positions where a search stops."""
    return setting(
        AUTO,
        "Judges positions where the search stops. auto: the best of the game, if any; "
        '"": none, an unfinished game counts as a draw.',
        choices=(AUTO, "", *MODULES),
        own="make",
    )


def depth_setting() -> Any:
    """Return the setting of the length of a rollout."""
    return setting(
        0, "Most plies of a rollout, then heuristic judges; 0: to the end.", between=(0, 1_000_000)
    )


def cut_setting() -> Any:
    """Return the setting of what judges a rollout that was cut."""
    return setting(
        "",
        'Judges a rollout that was cut. "": an unfinished game counts as a draw; auto: the best of the game.',
        choices=(AUTO, "", *MODULES),
        own="make",
    )


def make_judge(game: Game, depth: int = 0, heuristic: str = "", prefix: str = "") -> Judge:
    """Return how rollouts end; by default at the end of the game.

    prefix: what a person types before rollout_depth and heuristic.

    Raises:
        UserError: the heuristic is unused or does not fit the game.
    """
    if heuristic and not depth:
        raise UserError(
            f"{prefix}heuristic={heuristic} needs {prefix}rollout_depth; full rollouts use no heuristic."
        )
    if heuristic == "network":
        raise UserError(
            f"{prefix}heuristic=network is not for rollouts; "
            "choose another one, or the player alpha_beta or alphago."
        )
    chosen = choose_heuristic(heuristic, game, prefix=prefix)
    return Judge(depth or game.max_plies, chosen.address if chosen else NO_HEURISTIC)
