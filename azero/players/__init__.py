"""Players by name: a batch of states in, a batch of actions out.

For others: `make_player`, the protocols `Player` and `ThinkingPlayer`, `options_of`.
Imports: config, games.kit, games, kernels, network, heuristics, search, classic.

Letters: B positions, G games, A actions, S state words.

Players read no files: a program loads a network and passes its inference to `make_player`.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from azero.config.reading import read_options
from azero.config.schema import SearchConfig, UserError
from azero.config.suggest import did_you_mean
from azero.games.game import Game
from azero.games.own_files import own_part
from azero.games.playing import ONLY_GAME, GameInProgress
from azero.games.repetition import check_moves

if TYPE_CHECKING:
    from azero.network.inference import Inference
    from azero.players.options import PlayerOptions
    from azero.search.counters import WorkerStats


class Player(Protocol):
    """Chooses moves in many games at once.

    Attributes:
        name: its name.
        deterministic: whether it draws no random numbers. Then a position always gets the same move, except
            that the depth of a search with a time limit varies.
    """

    name: str
    deterministic: bool

    def new_games(self, seeds: np.ndarray) -> None:
        """Begin games 0 .. G - 1; game g draws random numbers only from ``seeds[g]``, [G] uint64."""

    def choose(
        self, states: np.ndarray, games: np.ndarray, plies: np.ndarray, banned: np.ndarray | None = None
    ) -> np.ndarray:
        """Return one legal action for each position.

        Args:
            states: [B, S] uint64, none terminal; the player moves for the side to play.
            games: [B] int64, the game of each row; no game twice.
            plies: [B] int64, plies played so far in each game, for players whose temperature depends on them.
            banned: [B, A] bool, legal moves that the game's history forbids (superko); None if there are
                none.

        Returns:
            [B] int64.
        """


class Move(NamedTuple):
    """What a search knows of one move."""

    action: int
    visits: int
    value: float  # for the player to move, in [-1, 1]; nan before its first visit
    prior: float  # of the network; nan in a search without one
    line: tuple[int, ...]  # the principal variation, which begins with the move itself
    lower: float  # proven bounds of its value
    upper: float


class Thought(NamedTuple):
    """What a player thinks of one position, or a search of one node of its tree."""

    # The move that it plays; not always the most visited one, as a proof counts more. -1: the node has none
    best: int
    visits: int = 0  # simulations through the node's moves; 0 for a player without such a search
    value: float = math.nan  # for the player to move, in [-1, 1]; nan if it is not known
    moves: Sequence[Move] = ()  # all legal ones, the most visited first; none if nothing is known of them
    nodes: int = 0  # simulations of this search, as a tree may keep earlier ones; of alpha-beta: positions
    depth: int = 0  # plies searched by alpha-beta; 0 for other players

    def best_move(self) -> Move | None:
        """Return what is known of the best move; None: nothing."""
        return next((move for move in self.moves if move.action == self.best), None)

    def best_first(self) -> list[Move]:
        """Return the moves, the best one first and then by visits."""
        return sorted(self.moves, key=lambda move: move.action != self.best)


Report = Callable[[Thought], None]  # receives what a search has found so far


def never() -> bool:
    """Return False: nothing stops the search."""
    return False


class ThinkingPlayer(Player, Protocol):
    """A player that thinks about one game until it is told to stop. All players of `MODULES` are such.

    Attributes:
        takes_most: whether a thought can be limited by `most`.
    """

    takes_most: bool

    def think(
        self,
        at: GameInProgress,
        seconds: float = 0.0,
        stopping: Callable[[], bool] = never,
        report: Report | None = None,
        most: int = 0,
    ) -> Thought:
        """Return its move in a game that is not over, and what it thinks of the others if it searches them.

        Args:
            at: the game; `new_games` was called for it alone.
            seconds: time for the move, instead of the player's own; 0: its own. Some players keep no time.
            stopping: asked many times a second whether to move at once, with what was found so far.
            report: receives what a search has found, some ten times a second and at its end. Searches that
                can be shown do (`growing.Analyst`).
            most: simulations, or plies of alpha-beta, that it may take; 0: its own number. It counts where
                `takes_most`.
        """

    def ponder(self, at: GameInProgress, stopping: Callable[[], bool]) -> None:
        """Think in the opponent's time until `stopping` or all is done; most players have no use for it."""
        return

    def keep_trees(self) -> None:
        """From the next `new_games` on, let a search begin with what the ones before it know, if possible."""
        return


@runtime_checkable
class Ponderer(Protocol):
    """A player that searches many games at once and moves in each as soon as its search is done.

    Attributes:
        stats: counts and times of its network since `new_games`.
    """

    stats: WorkerStats

    def begin(
        self, states: np.ndarray, games: np.ndarray, plies: np.ndarray, banned: np.ndarray | None = None
    ) -> None:
        """Add positions of games that are not being searched; arguments as in `Player.choose`."""

    def think_on(self) -> tuple[np.ndarray, np.ndarray]:
        """Search for one batch of the network; return (games decided [any], their actions)."""


@runtime_checkable
class Prover(Protocol):
    """A player that knows which of its moves are exact.

    Attributes:
        unproven: the number of moves of the latest `choose` that may not be exact.
    """

    unproven: int


def move_of(player: Player, at: GameInProgress) -> int:
    """Return a player's move in one game; the player's `new_games` was called for it."""
    banned = at.banned()
    plies = np.array([len(at.actions)])
    return int(player.choose(at.state[None], ONLY_GAME, plies, None if banned is None else banned[None])[0])


def ban_table(game: Game, states: np.ndarray, banned: np.ndarray | None) -> np.ndarray:
    """Return `banned` as an array [B, A] bool, all False for None.

    Raises:
        BrokenGame: one of states [B, S] has no legal move that is not banned.
    """
    table = np.zeros((len(states), game.num_actions), np.bool_) if banned is None else banned
    check_moves(game, np.ascontiguousarray(states), table)
    return table


# Name: module with `Options`, and with `make(game, options)` that returns the player; see `make_player`
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


def make_player(
    name: str,
    game: Game,
    *,
    inference: Inference | None = None,
    search: SearchConfig | None = None,
    prefix: str = "",
    **options: Any,
) -> ThinkingPlayer:
    """Return the player of that name.

    Args:
        name: one of `MODULES`, or the path of a Python file that has what such a module has.
        game: the game it plays.
        inference: its network; players without a network ignore it.
        search: of a run, for pv_mcts; others ignore it.
        prefix: what a person types before the name of an option, such as "first.", for messages.
        options: fields of the player's `Options`, such as ``num_simulations``.

    Raises:
        UserError: the player or an option is unknown, a value is refused, or the network is missing.
    """
    schema = options_of(name)
    asked = read_options(schema, options, prefix, f"player {name}")
    make = part_of(name, "make")
    if schema.network == "must" and inference is None:
        raise UserError(f"player {name} needs a trained network; name the run whose champion to use.")
    more = [*([inference] if schema.network else []), *([search] if schema.searches else [])]
    if name.endswith(".py"):
        from azero.players.own import make_own  # here, because it imports this module

        return make_own(name, game, lambda: make(game, asked, *more))
    player: ThinkingPlayer = make(game, asked, *more)
    return player


def options_of(name: str) -> type[PlayerOptions]:
    """Return the class of the options of the player of that name.

    Raises:
        UserError: the player is unknown, or a person's file has other options.
    """
    from azero.players.options import PlayerOptions  # here, because it loads all heuristics

    schema: type[PlayerOptions] = part_of(name, "Options")
    if not (isinstance(schema, type) and issubclass(schema, PlayerOptions)):
        raise UserError(
            f"Options of {name} must be a dataclass derived from PlayerOptions (docs/lab/own_parts.md)."
        )
    return schema


def part_of(name: str, part: str) -> Any:
    """Return `make` or `Options` of the player of that name, azero's own or a person's file.

    Raises:
        UserError: the player is unknown, or the file fails or lacks it.
    """
    if name.endswith(".py"):
        return own_part("player", name, part)
    if name not in MODULES:
        known = f"; choose one of: {', '.join(MODULES)}, or your own Python file."
        raise UserError(f"unknown player {name}{did_you_mean(name, MODULES, known)}")
    return getattr(importlib.import_module(MODULES[name]), part)
