"""Who plays, as a person asks for it on a command line: `first=uct first.num_simulations=1000`.

Every player has a label, such as `first`. `label=NAME` says which player of `azero/players` it is; without that, the label is the
name. `label.option=value` sets one of its options. A player with a network takes `label.run=RUN`, the run whose champion it uses;
if none is named, `run_of` finds one.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any

from azero.command_line import game_title
from azero.config import OPENSPIEL, Config, GameConfig, UserError
from azero.files.folder import names_of_runs, paths_of
from azero.games import SHIPPED, make_game
from azero.games.game import Game
from azero.players import Player, make_player, maker_of
from azero.run import Run

BATCH = 32  # rows of a network call: while 64 games are under way, half of them wait for either player


@dataclass(frozen=True)
class Entrant:
    """One who enters a match.

    Attributes:
        label: what the person calls it.
        name: a player of `azero/players`.
        options: those that were asked for.
    """

    label: str
    name: str
    options: dict[str, Any]

    def __str__(self) -> str:
        """Such as "uct num_simulations=100", the label before it where that says more."""
        text = " ".join([self.name, *(f"{option}={value}" for option, value in self.options.items())])
        return text if self.label in (self.name, "first", "second", "opponent", "player") else f"{self.label}: {text}"


def take_entrant(settings: dict[str, Any], label: str, default: str | None = None) -> Entrant:
    """Take the words about one player out of the settings.

    Args:
        settings: what `words.parse_words` has read.
        label: the player's.
        default: the player it is if nobody says; None if the label itself is the name.
    """
    prefix = f"{label}."
    options = {key.removeprefix(prefix): settings.pop(key) for key in list(settings) if key.startswith(prefix)}
    return Entrant(label, str(settings.pop(label, default or label)), options)


def needs_network(entrant: Entrant) -> bool:
    """Whether the player plays with what a run has trained: because it must, or because a run was named for one that may.

    Raises:
        UserError: there is no such player.
    """
    may = "inference" in inspect.signature(maker_of(entrant.name)).parameters
    return must_have_network(entrant) or (may and "run" in entrant.options)


def must_have_network(entrant: Entrant) -> bool:
    """Whether the player cannot play without one.

    Raises:
        UserError: there is no such player.
    """
    parameter = inspect.signature(maker_of(entrant.name)).parameters.get("inference")
    return parameter is not None and parameter.default is inspect.Parameter.empty


def seconds_a_move(entrant: Entrant) -> float:
    """The time that the player is given for each move, 0 if it has no such limit.

    Raises:
        UserError: there is no such player.
    """
    parameter = inspect.signature(maker_of(entrant.name)).parameters.get("seconds")
    return 0.0 if parameter is None else entrant.options.get("seconds", parameter.default)


def run_of(game: Game, config: Config) -> str | None:
    """The run whose champion plays a game where no run is named; None if none can.

    Of the runs on the same board it is the one that is called as the rules are, or else the one that ran last.
    """
    title = game_title(GameConfig(name=game.name))
    runs = [name for name in names_of_runs(config) if has_learned(name, game, config)]
    return max(runs, key=lambda name: (name == title, paths_of(config, name).state.stat().st_mtime), default=None)


def has_learned(run: str, game: Game, config: Config) -> bool:
    """Whether a run has a champion of that game, with its options.

    A file of one's own is not run to learn what its game is called: the network knows, which takes longer to read.
    """
    try:
        kept = Run.read(config, run)
        name, options = kept.state.config["game.name"], kept.state.config["game.options"]
        if kept.state.champion is None:
            return False
        if name in SHIPPED or name.startswith(OPENSPIEL):
            return name == game.name and make_game(name, **options).options == game.options
        return game.name not in SHIPPED and network_plays(kept, game)
    except UserError:  # a damaged run, or options of another version
        return False


def network_plays(run: Run, game: Game) -> bool:
    """Whether the champion's network says that it is of that game, with its options. Raises UserError for a damaged file."""
    from azero.network.model import describe_game, unpack_network

    loaded = unpack_network(run.read_champion(), "champion")
    return describe_game(loaded.game_name, loaded.game_options) == describe_game(game.name, game.options)


def make_entrant(entrant: Entrant, game: Game, config: Config, one_game: bool = False) -> Player:
    """Make the player. One with a network uses the champion of `run`, by default that of `run_of`, and its search.

    Args:
        entrant: who it is.
        game: what it plays.
        config: where runs lie and which device computes.
        one_game: whether it will play one game at a time and may have all cores for that.

    Raises:
        UserError: no such player or option, no such run, or the player cannot play this game.
    """
    options = dict(entrant.options)
    if "search" in options:
        raise UserError(f"{entrant.label}.search: the search is the run's own; {entrant.label}.num_simulations can be set.")
    if "run" in options and not must_have_network(entrant) and options.get("evaluation") != "network":
        raise UserError(f"{entrant.label}.run: player {entrant.name} asks no network without evaluation=network.")
    if not needs_network(entrant):
        return make_player(entrant.name, game, **options)
    from azero.trained import FEW_ROWS, load_for_one_game, load_trained

    run = str(options.pop("run", None) or run_of(game, config) or game_title(GameConfig(name=game.name)))
    if one_game:
        trained = load_for_one_game(config, run, game)
    else:
        trained = load_trained(config, run, FEW_ROWS if seconds_a_move(entrant) else BATCH, game)
    if "search" in inspect.signature(maker_of(entrant.name)).parameters:
        options = {"search": trained.search, **options}
    return make_player(entrant.name, game, inference=trained.inference, **options)
