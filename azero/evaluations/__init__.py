"""What a position is worth at a glance, by name: for searches that stop before the end of the game.

Letters: S state words.

An evaluation is a compiled function of a state that is not terminal. Its value is meant for the player to move and lies strictly
between -1 and 1, so that no guess ever outweighs a known win or loss. A new one is a file with `make(game)`, and a line below.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from numba import cfunc, njit, types

from azero.config import UserError
from azero.games.game import WORDS, Game, function_at

if TYPE_CHECKING:
    from azero.network.inference import Inference

EVALUATE = types.float64(WORDS)  # (state that is not terminal): estimate for to_play(state), strictly between -1 and 1
evaluate_at = function_at(EVALUATE)  # in a kernel: the evaluation whose address it was given

# name: (games it is for, none named: for all of them; module whose `make(game)` or `make(game, inference)` returns the function)
MODULES: dict[str, tuple[tuple[str, ...], str]] = {
    "discs": (("othello",), "azero.evaluations.discs"),
    "mobility": (("othello",), "azero.evaluations.mobility"),
    "squares": (("othello",), "azero.evaluations.squares"),
    "lines": (("connect_four", "gomoku"), "azero.evaluations.lines"),
    "shortest_path": (("hex",), "azero.evaluations.shortest_path"),
    "rollouts": ((), "azero.evaluations.rollouts"),
    "network": ((), "azero.evaluations.network"),
}

AUTO = "auto"
OWN = {"othello": "squares", "connect_four": "lines", "gomoku": "lines", "hex": "shortest_path"}  # the best of each game
# by name and game: kernels hold addresses alone, so what stands there must never go
KEPT: dict[tuple[str, int], tuple[Game, Evaluation]] = {}


class Evaluation(NamedTuple):
    """An evaluation that kernels can call. One with a network lives as long as this object, others as long as the process."""

    name: str
    function: Any  # the cfunc; its __wrapped__ is the plain Python twin

    @property
    def address(self) -> int:
        """Where the compiled function stands, for `evaluate_at`."""
        return self.function.address


def evaluation(function: Callable[..., float]) -> Any:
    """Decorate an evaluation: compiled, kept on disk, allocating nothing, as a rule is."""
    return cfunc(EVALUATE, cache=True, _nrt=False)(function)  # type: ignore[call-arg]  # missing in Numba's stubs


@njit(cache=True)
def squashed(lead, scale):
    """A lead of any size as a value strictly between -1 and 1; a lead of `scale` is worth a half."""
    return lead / (scale + abs(lead))


def make_evaluation(name: str, game: Game, inference: Inference | None = None) -> Evaluation:
    """Return the evaluation of that name for a game; `inference` is the network that one of them asks.

    Raises:
        UserError: there is none of that name, it is made for another game, or its network is missing.
    """
    if not isinstance(name, str) or name not in MODULES:
        raise UserError(f"evaluation={name} is unknown; there are {', '.join(MODULES)}.")
    games, module = MODULES[name]
    if games and game.name not in games:
        fitting = [other for other, (others, _) in MODULES.items() if not others or game.name in others]
        raise UserError(f"evaluation={name} is made for {' and '.join(games)}; for {game.name} there is {', '.join(fitting)}.")
    make = importlib.import_module(module).make
    if "inference" not in inspect.signature(make).parameters:
        if (name, id(game)) not in KEPT:
            KEPT[name, id(game)] = (game, Evaluation(name, make(game)))
        return KEPT[name, id(game)][1]
    if inference is None:
        raise UserError(f"evaluation={name} needs a trained network; name a run whose champion it shall ask.")
    return Evaluation(name, make(game, inference))


def choose_evaluation(name: str, game: Game, inference: Inference | None = None) -> Evaluation | None:
    """Return what a player's option `evaluation` names: AUTO is the game's own where it has one, "" is none."""
    if name == AUTO:
        name = OWN.get(game.name, "")
    return make_evaluation(name, game, inference) if name else None
