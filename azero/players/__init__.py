"""Agents by name: a batch of states to a batch of actions.

Letters: B positions, G games, A actions, S state words.

Players know no files and no paths: a program loads a network and hands its inference to `make_player`.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from azero.config import UserError
from azero.games.game import Game

if TYPE_CHECKING:
    from azero.network.inference import Inference
    from azero.search.figures import LaneFigures


class Player(Protocol):
    """Whoever chooses moves, for many games at once.

    Attributes:
        name: what it is called.
        deterministic: whether it draws nothing at random, so that a position gets the same move always, as far as a clock allows.
    """

    name: str
    deterministic: bool

    def new_games(self, seeds: np.ndarray) -> None:
        """Begin games 0 .. G - 1; game g draws its randomness from ``seeds[g]``, [G] uint64, and from nothing else."""

    def choose(self, states: np.ndarray, games: np.ndarray, plies: np.ndarray, banned: np.ndarray | None = None) -> np.ndarray:
        """Return one legal action for each position.

        Args:
            states: [B, S] uint64, none of them terminal; the player moves for whichever side is to play.
            games: [B] int64, the game of each row; no game twice.
            plies: [B] int64, plies played so far in each game; only players whose temperature falls with the ply read it.
            banned: [B, A] bool, legal moves that the game's history forbids (superko); None where there are none.

        Returns:
            [B] int64.
        """


class Advice(NamedTuple):
    """What a search thinks of the moves of one position."""

    visits: np.ndarray  # [A] int64, simulations that went through each move
    values: np.ndarray  # [A] float64 in [-1, 1], mean result for the player to move; nan where there were none
    best: int  # the move that it thinks best, which need not be the most visited: a proof may count for more than visits


@runtime_checkable
class Adviser(Protocol):
    """A player that can say what it thinks."""

    def advise(self, state: np.ndarray, banned: np.ndarray | None = None) -> Advice:
        """Search one state [S], without the banned moves [A], as for a move."""


@runtime_checkable
class Ponderer(Protocol):
    """A player that thinks about many games at once and moves in each when it is ready.

    Attributes:
        figures: what it asked of its network since `new_games`.
    """

    figures: LaneFigures

    def begin(self, states: np.ndarray, games: np.ndarray, plies: np.ndarray, banned: np.ndarray | None = None) -> None:
        """Take in more positions, of games that it does not think about already; see `Player.choose` for the arguments."""

    def think_on(self) -> tuple[np.ndarray, np.ndarray]:
        """Think for one batch of the network. Returns the games that are decided [any] and a legal action for each."""


@runtime_checkable
class Watched(Protocol):
    """A player whose thinking can be seen.

    Attributes:
        watch: is shown what a search of one position thinks, ten times a second and at its end; the search ends when it returns
            True. None shows nobody.
    """

    watch: Callable[[Advice], bool] | None


@runtime_checkable
class Prover(Protocol):
    """A player that claims exact moves.

    Attributes:
        unproven: how many moves of the latest `choose` it does not know to be exact.
    """

    unproven: int


def ban_table(game: Game, states: np.ndarray, banned: np.ndarray | None) -> np.ndarray:
    """Return `banned` as compiled code takes it, [B, A] bool, all False for None."""
    return np.zeros((len(states), game.num_actions), np.bool_) if banned is None else banned


# name: module whose `make(game, *, [inference], **options)` returns the player
MODULES = {
    "random": "azero.players.random_player",
    "alpha_beta": "azero.players.alpha_beta",
    "negamax": "azero.players.negamax",
    "iterative_deepening": "azero.players.iterative_deepening",
    "perfect": "azero.players.perfect",
    "flat_monte_carlo": "azero.players.flat_monte_carlo",
    "uct": "azero.players.uct",
    "grouped_uct": "azero.players.grouped_uct",
    "pure_mcts": "azero.players.pure_mcts",
    "policy": "azero.players.policy",
    "value": "azero.players.value",
    "alphago": "azero.players.alphago",
    "pv_mcts": "azero.players.pv_mcts",
}


def make_player(name: str, game: Game, *, inference: Inference | None = None, **options: Any) -> Player:
    """Return the player of that name.

    Args:
        name: one of `MODULES`.
        game: the game it plays.
        inference: its network; players without one ignore it, and for some it is an option.
        options: what the player's `make` takes, such as ``num_simulations``.

    Raises:
        UserError: no such player, no such option, a value it refuses, or a network is missing.
    """
    make = maker_of(name)
    parameters = inspect.signature(make).parameters
    check_options(name, parameters, options)
    if "inference" not in parameters:
        return make(game, **options)
    if inference is None and parameters["inference"].default is inspect.Parameter.empty:
        raise UserError(f"player {name} needs a trained network; name a run whose champion it shall use.")
    return make(game, inference=inference, **options)


def maker_of(name: str) -> Callable[..., Player]:
    """The function that makes the player of that name.

    Raises:
        UserError: no such player.
    """
    if name not in MODULES:
        raise UserError(f"player {name} is unknown; there are {', '.join(MODULES)}.")
    return importlib.import_module(MODULES[name]).make


def check_options(name: str, parameters: Any, options: dict[str, Any]) -> None:
    """Refuse an option that the player's `make` does not take."""
    if any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters.values()):
        return  # it checks them itself
    known = [option for option in parameters if option not in ("game", "inference")]
    for option in options:
        if option not in known:
            raise UserError(f"player {name} has no option {option}; it has {', '.join(known) or 'none'}.")


def check_number(player: str, option: str, value: Any, lowest: float, highest: float, whole: bool = True) -> None:
    """Refuse a number that is none, not whole where it must be, or out of range."""
    kinds = (int,) if whole else (int, float)
    if isinstance(value, bool) or not isinstance(value, kinds) or not lowest <= value <= highest:
        kind = "a whole number" if whole else "a number"
        raise UserError(f"player {player}: {option}={value} must be {kind} between {lowest:,.10g} and {highest:,.10g}.")


def check_choice(player: str, option: str, value: Any, choices: tuple[Any, ...]) -> None:
    """Refuse a value that is none of the choices."""
    if value not in choices:
        raise UserError(f"player {player}: {option}={value} must be {' or '.join(map(str, choices))}.")
