"""What a position is worth at a glance, by name: for searches that stop before the end of the game.

Letters: S state words.

An evaluation is a compiled function of a state that is not terminal. Its value is meant for the player to move and lies strictly
between -1 and 1, so that no guess ever outweighs a known win or loss. A new one is a file with `make(game)`, and a line below.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, NamedTuple

from numba import cfunc, types

from azero.config import UserError
from azero.games.game import WORDS, Game, function_at

EVALUATE = types.float64(WORDS)  # (state that is not terminal): estimate for to_play(state), strictly between -1 and 1
evaluate_at = function_at(EVALUATE)  # in a kernel: the evaluation whose address it was given

# name: (game it is for, module whose `make(game)` returns the compiled function)
MODULES = {
    "discs": ("othello", "azero.evaluations.discs"),
}


class Evaluation(NamedTuple):
    """An evaluation that kernels can call."""

    name: str
    function: Any  # the cfunc; its __wrapped__ is the plain Python twin

    @property
    def address(self) -> int:
        """Where the compiled function stands, for `evaluate_at`."""
        return self.function.address


def evaluation(function: Callable[..., float]) -> Any:
    """Decorate an evaluation: compiled, kept on disk, allocating nothing, as a rule is."""
    return cfunc(EVALUATE, cache=True, _nrt=False)(function)  # type: ignore[call-arg]  # missing in Numba's stubs


def make_evaluation(name: str, game: Game) -> Evaluation:
    """Return the evaluation of that name for a game.

    Raises:
        UserError: there is none of that name, or it is made for another game.
    """
    if name not in MODULES:
        raise UserError(f"evaluation={name} is unknown; there are {', '.join(MODULES)}.")
    made_for, module = MODULES[name]
    if made_for != game.name:
        fitting = [other for other, (kind, _) in MODULES.items() if kind == game.name]
        raise UserError(f"evaluation={name} is made for {made_for}; for {game.name} there is {', '.join(fitting) or 'none'}.")
    return Evaluation(name, importlib.import_module(module).make(game))
