"""Players on a command line: `first=uct first.num_simulations=1000`.

Every player has a label, such as `first`. `label=NAME` names a player of `azero/players`; without it, the
label is the name. `label.option=value` sets an option. A player with a network takes `label.run=RUN`, the run
of its champion; without it, `run_of` finds one. `label.cycle=3` is an earlier champion of the run.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from azero.cli.arguments import take_group
from azero.config.reading import read_options, read_value
from azero.config.schema import OPENSPIEL, Config, GameConfig, SearchConfig, UserError, settings
from azero.games import SHIPPED, game_of_settings
from azero.games.game import Game
from azero.games.own_files import check_allowed
from azero.games.titles import describe_game
from azero.players import ThinkingPlayer, make_player, options_of
from azero.players.options import MAY, MUST, PlayerOptions
from azero.run.folder import last_used, names_of_runs, names_of_shipped
from azero.run.run import Run

if TYPE_CHECKING:
    from azero.network.inference import Inference

UCT_SIMULATIONS = 1_000  # of uct where there is no champion
ALPHA_BETA = "iterative_deepening"
# Who plays there instead: with 0.1 s it won 10 of 10 games of chess and 20 of 20 of Breakthrough against uct.
RIVALS = {"chess": ALPHA_BETA, "breakthrough": ALPHA_BETA}
BATCH = 32  # rows of a network call: while 64 games are under way, half of them wait for either player


@dataclass(frozen=True)
class PlayerSpec:
    """A player as the command line describes it.

    Attributes:
        label: the word before its options.
        name: a player of `azero/players`.
        options: those that were asked for.
        defaults: the names of options that nobody asked for.
    """

    label: str
    name: str
    options: dict[str, Any]
    defaults: tuple[str, ...] = field(default=(), compare=False)

    def __str__(self) -> str:
        """Return such as "uct num_simulations=100", after the label if the user chose it."""
        text = " ".join([self.name, *(f"{option}={value}" for option, value in self.options.items())])
        is_plain = self.label in (self.name, "first", "second", "opponent", "player")
        return text if is_plain else f"{self.label}: {text}"


def take_player_spec(texts: dict[str, str], label: str, default: str | None = None) -> PlayerSpec:
    """Take the arguments about one player out of all arguments.

    Args:
        texts: arguments by key, see `arguments.split_words`.
        label: the player's.
        default: the name of the player when none is given; None: the label is the name.
    """
    options = take_group(texts, label)
    return PlayerSpec(label, texts.pop(label, default or label), options)


def schema_of(spec: PlayerSpec) -> type[PlayerOptions]:
    """Return the class of a player's options; UserError: there is no such player."""
    if spec.name == "champion":
        raise UserError(f"unknown player champion; did you mean {spec.label}=pv_mcts {spec.label}.run=RUN?")
    return options_of(spec.name)


def needs_network(spec: PlayerSpec) -> bool:
    """Return whether the player uses a trained network: it must, or it may and a run is named."""
    return must_have_network(spec) or (schema_of(spec).network == MAY and "run" in spec.options)


def must_have_network(spec: PlayerSpec) -> bool:
    """Return whether the player cannot play without a network."""
    return schema_of(spec).network == MUST


def seconds_a_move(spec: PlayerSpec) -> float:
    """Return the seconds that the player has for each move; 0: no such limit."""
    known = settings(schema_of(spec)).get("seconds")
    if known is None:
        return 0.0
    seconds: float = read_value(f"{spec.label}.seconds", spec.options.get("seconds", known.default), known)
    return seconds


def run_of(game: Game, config: Config) -> str | None:
    """Return the run whose champion plays a game when none is named; None if no run can.

    Of the runs on the same board that have trained, this is the one with the name of the game, else the one
    that ran last. A champion that has not trained counts only without any other. Without a run it is one
    that comes with azero.
    """
    title = GameConfig(name=game.name).stem
    runs = [name for name in names_of_runs(config) if has_learned(name, game, config)]
    trained = [name for name in runs if Run.read(config, name).state.cycle]
    if trained or runs:
        return max(trained or runs, key=lambda name: (name == title, last_used(config, name)))
    return next((name for name in names_of_shipped() if has_learned(name, game, config)), None)


def choose_player(asked: PlayerSpec, game: Game, config: Config, run: str = "") -> PlayerSpec:
    """Return a player's spec and its run, asked for or by `run_of`; for `auto` the champion, or else a rival.

    Options of uct that were asked for, such as simulations, rule another rival out.

    Raises:
        UserError: a player that needs a champion, and no run has one of this game.
    """
    is_auto = asked.name == "auto"
    if not is_auto and not must_have_network(asked):
        return asked
    run = run or asked.options.get("run") or run_of(game, config) or ""
    if not run and not is_auto:
        check_options(asked)
        who = asked.name if asked.label == asked.name else f"{asked.label}={asked.name}"
        raise UserError(f"{who} needs a champion, and no run has one of this game; azero loop trains one.")
    if not run:
        return without_champion(asked, game)
    name = "pv_mcts" if is_auto else asked.name
    return replace(asked, name=name, options={**asked.options, "run": run})


def rival_of(game: Game) -> str:
    """Return the name of the player of a game that has no champion."""
    return RIVALS.get(game.name, "uct")


def without_champion(asked: PlayerSpec, game: Game) -> PlayerSpec:
    """Return the rival of a game with the options asked for, or uct if these are not the rival's."""
    rival = replace(asked, name=rival_of(game))
    if rival.name == "uct" or not set(asked.options) <= set(settings(schema_of(rival))):
        return limited_uct(asked, UCT_SIMULATIONS)
    return rival


def limited_uct(asked: PlayerSpec, num_simulations: int) -> PlayerSpec:
    """Return uct with the options asked for, and this number of simulations if they have no limit."""
    is_limited = {"num_simulations", "seconds"} & set(asked.options)
    options = {} if is_limited else {"num_simulations": num_simulations}
    return replace(asked, name="uct", options={**options, **asked.options}, defaults=tuple(options))


def has_learned(run: str, game: Game, config: Config) -> bool:
    """Return whether a run has a champion of that game, with its options.

    A game's own Python file is not run to learn its name; the network holds it.
    """
    try:
        kept = Run.read(config, run)
        name = kept.state.config["game.name"]
        if kept.state.champion is None:
            return False
        if file := kept.state.config.get("network.file"):
            check_allowed(file)
        if name in SHIPPED or name.startswith(OPENSPIEL):
            return name == game.name and game_of_settings(kept.state.config).options == game.options
        if game.name in SHIPPED:
            return False
        from azero.network.model import unpack_network  # here, because it imports torch

        loaded = unpack_network(kept.read_champion(), "champion")
        return describe_game(loaded.game_name, loaded.game_options) == describe_game(game.name, game.options)
    except UserError:  # a damaged run, or options of another version
        return False


def check_options(spec: PlayerSpec) -> None:
    """Check what was asked of a player, before a network loads.

    Raises:
        UserError: no such player or option, or a value that is not allowed.
    """
    options, prefix, schema = dict(spec.options), f"{spec.label}.", schema_of(spec)
    champion = ("run", "cycle") if schema.network else ()
    own = {name: value for name, value in options.items() if name not in champion}
    read_options(schema, own, prefix, f"player {spec.name}", champion)
    if schema.network == MAY and "run" in options and options.get("heuristic") != "network":
        raise UserError(f"{prefix}run={options['run']} needs {prefix}heuristic=network.")


def make_from_spec(spec: PlayerSpec, game: Game, config: Config, one_game: bool = False) -> ThinkingPlayer:
    """Return the player. With a network it uses the champion and search of `run`, else of `run_of`.

    Args:
        spec: who it is.
        game: what it plays.
        config: where runs lie and which device computes.
        one_game: whether it will play one game at a time and may have all cores for that.

    Raises:
        UserError: no such player or option, no such run, or the player cannot play this game.
    """
    check_options(spec)
    options, prefix = dict(spec.options), f"{spec.label}."
    if not needs_network(spec):
        return make_player(spec.name, game, prefix=prefix, **options)
    from azero.champion.load import FEW_ROWS, champion_file, load_for_one_game, load_trained

    run = str(options.pop("run", None) or run_of(game, config) or GameConfig(name=game.name).stem)
    cycle = options.pop("cycle", None)
    file = None if cycle is None else champion_file(config, run, cycle)
    if one_game:
        trained = load_for_one_game(config, run, game, file, fast=True)
    else:
        rows = FEW_ROWS if seconds_a_move(spec) else BATCH
        trained = load_trained(config, run, rows, game, file=file, fast=True)
    inference, search = trained.inference, trained.search
    return make_player(spec.name, game, inference=inference, search=search, prefix=prefix, **options)


def watched_search(
    game: Game, config: Config, run: str | None, kind: str | None, solver: bool = False
) -> tuple[SearchConfig, Inference | None]:
    """Return the search of a run's champion and its network; without any run a plain search and None.

    Args:
        game: what is searched.
        config: where runs lie, and the device.
        run: its name; None: see `run_of`.
        kind: the search algorithm, None for that of the run.
        solver: whether proofs count, which end a short search early.

    Raises:
        UserError: the run has no champion for the game, or there is no such algorithm.
    """
    from azero.players.pv_mcts import chosen_kind

    run, search, inference = run or run_of(game, config), SearchConfig(), None
    if run:
        from azero.champion.load import load_trained

        trained = load_trained(config, run, 1, game)
        search, inference = trained.search, trained.inference
    return replace(chosen_kind(search, kind, False), solver=solver), inference
