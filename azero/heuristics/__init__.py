"""Heuristics by name: the worth of an unfinished position, for searches that stop before the game ends.

For others: `make_heuristic`, `choose_heuristic`, `heuristic_at`.
Imports: config, games.kit, games, kernels, network.

Letters: S state words.

A heuristic is a compiled function that judges an unfinished position without search. Its value is for the
player to move and lies strictly between -1 and 1, so a known win or loss always outweighs a guess. To add
one, write a file with `make(game)` and add a line to `MODULES`. (An "evaluation" is something else: the
network applied to one position.)
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numba import cfunc, njit, types

from azero.config.schema import UserError
from azero.games.game import WORDS, Game, function_at
from azero.games.own_files import FAILS, explaining, own_part
from azero.games.playing import random_game

if TYPE_CHECKING:
    from azero.network.inference import Inference

# (state that is not terminal): estimate for to_play(state), strictly between -1 and 1
HEURISTIC = types.float64(WORDS)
heuristic_at = function_at(HEURISTIC)  # in a kernel: the heuristic at an address

# name: (its games, empty for all; module whose `make(game)` or `make(game, inference)` returns the function)
MODULES: dict[str, tuple[tuple[str, ...], str]] = {
    "discs": (("othello",), "azero.heuristics.discs"),
    "mobility": (("othello", "chess"), "azero.heuristics.mobility"),
    "squares": (("othello",), "azero.heuristics.squares"),
    "lines": (("connect_four", "gomoku"), "azero.heuristics.lines"),
    "shortest_path": (("hex",), "azero.heuristics.shortest_path"),
    "material": (("chess", "breakthrough"), "azero.heuristics.material"),
    "rollouts": ((), "azero.heuristics.rollouts"),
    "network": ((), "azero.heuristics.network"),
}

AUTO = "auto"
# The best heuristic of each game
OWN = {
    "othello": "squares",
    "connect_four": "lines",
    "gomoku": "lines",
    "hex": "shortest_path",
    "chess": "mobility",
    "breakthrough": "material",
}
# By the module's `make` and the game's id. Kernels hold addresses only, so these functions must stay alive.
KEPT: dict[tuple[Callable[..., Any], int], tuple[Game, Heuristic]] = {}


class Heuristic(NamedTuple):
    """A heuristic that kernels can call. One with a network lives as long as this object."""

    name: str
    function: Any  # the cfunc; its __wrapped__ is the plain Python twin
    failures: list[BaseException]  # of calls into Python; compiled code cannot raise them, so its caller does

    @property
    def address(self) -> int:
        """Return the address of the compiled function, for `heuristic_at`."""
        return int(self.function.address)


def heuristic(function: Callable[..., float]) -> Any:
    """Decorate a heuristic: compile it, cache it on disk, and allow it no allocation, as for rules."""
    return cfunc(HEURISTIC, cache=True, _nrt=False)(function)  # type: ignore[call-arg]  # missing in Numba's stubs


@njit(cache=True)
def squashed(lead: float, scale: float) -> float:
    """Map a lead of any size to (-1, 1); a lead of `scale` becomes one half."""
    return lead / (scale + abs(lead))


def make_heuristic(name: str, game: Game, inference: Inference | None = None, prefix: str = "") -> Heuristic:
    """Return the heuristic of that name for a game; only "network" uses `inference`.

    prefix: what a person types before "heuristic=", for messages.

    Raises:
        UserError: the name is unknown, the heuristic is for another game, or it needs a network and there is
        none.
    """
    if isinstance(name, str) and name.endswith(".py"):
        own = own_part("heuristic", name, "make", f"{prefix}heuristic=")
        return kept_heuristic(name, game, own, lambda game: own_function(name, game, own))
    if not isinstance(name, str) or name not in MODULES:
        raise UserError(f"{prefix}heuristic={name} must be one of: {', '.join(MODULES)}.")
    games, module = MODULES[name]
    if games and game.name not in games:
        fitting = [other for other, (others, _) in MODULES.items() if not others or game.name in others]
        raise UserError(
            f"{prefix}heuristic={name} is for {' and '.join(games)} only; "
            f"for {game.name} choose one of: {', '.join(fitting)}."
        )
    make = importlib.import_module(module).make
    if name != "network":
        return kept_heuristic(name, game, make, make)
    if inference is None:
        raise UserError(
            f"{prefix}heuristic={name} needs a trained network; name the run whose champion to use."
        )
    failures: list[BaseException] = []
    return Heuristic(name, make(game, inference, failures), failures)


def kept_heuristic(
    name: str, game: Game, make: Callable[..., Any], build: Callable[[Game], Any]
) -> Heuristic:
    """Return the heuristic of a module's `make` for a game, always the same; `build` makes its function."""
    key = (make, id(game))
    if key not in KEPT:
        KEPT[key] = (game, Heuristic(name, build(game), []))
    return KEPT[key][1]


def own_function(file: str, game: Game, make: Callable[..., Any]) -> Any:
    """Return the function that a person's file makes, after a look at its values in a random game.

    Raises:
        UserError: the file fails, or its values are not allowed.
    """
    with explaining(file, FAILS):
        function = make(game)
    if not hasattr(function, "address"):
        raise UserError(f"make of {file} must return a function decorated with azero.heuristics.heuristic.")
    for state in random_game(game, np.random.default_rng(1)):
        with explaining(file, FAILS):
            value = 0.0 if game.is_terminal(state) else float(function.__wrapped__(state))
        if not -1.0 < value < 1.0:
            raise UserError(f"{file} gives {value:g} in {game.text(state)}; it must lie between -1 and 1.")
    return function


def choose_heuristic(
    name: str, game: Game, inference: Inference | None = None, prefix: str = ""
) -> Heuristic | None:
    """Return the heuristic that a player's option names; AUTO is the best of the game, "" is none."""
    if name == AUTO:
        name = OWN.get(game.name, "")
    return make_heuristic(name, game, inference, prefix) if name else None
