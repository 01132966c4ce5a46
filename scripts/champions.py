"""What the scripts that question a champion share: the words that name it, how it is loaded and called, and its games counted."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

from omegaconf import OmegaConf, ValidationError

from azero.config import Config, SearchConfig, UserError
from azero.config_checks import check
from azero.rating import score_interval
from azero.trained import TrainedLanes, load_for_lanes
from azero.words import parse_words


def add_champion(parser: argparse.ArgumentParser, run: str) -> None:
    """Let a command line name a champion, by default that of `run`."""
    parser.add_argument("--run", default=run)
    parser.add_argument("--network", default="", help="file of a network, instead of the run's champion")
    parser.add_argument("--checkpoints", default="checkpoints", help="where runs lie")
    parser.add_argument("--inference", default="", help="backend:precision, such as openvino:bf16; by default the run's")
    parser.add_argument("--device", default="auto")


def add_search(parser: argparse.ArgumentParser) -> None:
    """Let a command line end with settings of the champion's search."""
    parser.add_argument("search", nargs="*", metavar="key=value", help="settings of the search, such as kind=puct or c_puct=1.5")


def load_champion(arguments: argparse.Namespace, lanes: int, **settings: Any) -> TrainedLanes:
    """The champion that was named, for so many threads; see `load_for_lanes`.

    settings: of its search, instead of the run's; those of the command line instead of either.

    Raises:
        UserError: as there; or a setting of the search is none, or cannot work.
    """
    config = Config(checkpoints=arguments.checkpoints, device=arguments.device)
    network = Path(arguments.network) if arguments.network else None
    trained = load_for_lanes(config, arguments.run, lanes, network, arguments.inference)
    asked = parse_words(getattr(arguments, "search", []), "c_puct=1.5")
    if "num_simulations" in asked:
        raise UserError("num_simulations is told by --simulations.")
    search = change(trained.search, settings | asked)
    check(Config(search=search))
    return trained._replace(search=search)


def change(search: SearchConfig, settings: dict[str, Any]) -> SearchConfig:
    """A search with other settings.

    Raises:
        UserError: there is no such setting, or the value is not of its type.
    """
    for key, value in settings.items():
        if not hasattr(search, key):
            raise UserError(f"search.{key} is no setting; python -m azero.loop --cfg job prints those there are.")
        try:
            search = cast(SearchConfig, OmegaConf.to_object(OmegaConf.merge(OmegaConf.structured(search), {key: value})))
        except ValidationError as mistake:
            raise UserError(f"{key}={value} is no value of search.{key}: {str(mistake).splitlines()[0]}.") from mistake
    return search


def title(arguments: argparse.Namespace, trained: TrainedLanes) -> str:
    """Which network answers, and how it is computed."""
    choice = trained.choice
    return f"{arguments.network or arguments.run}, {choice.backend} {choice.precision} on {choice.device}"


class Played(NamedTuple):
    """One game of a champion."""

    moves: tuple[int, ...]
    outcome: float  # for the champion


def count(games: Sequence[Played]) -> dict[str, int]:
    """How the games ended; equal ones count once in the distinct figures."""
    wins, draws, losses = (sum(each.outcome == outcome for each in games) for outcome in (1.0, 0.0, -1.0))
    distinct = set(games)
    figures = {"wins": wins, "draws": draws, "losses": losses, "games": len(games), "distinct": len(distinct)}
    ends = {
        f"distinct_{name}": sum(each.outcome == outcome for each in distinct) for name, outcome in (("wins", 1), ("losses", -1))
    }
    return figures | ends


def tell(figures: dict[str, int], end: str) -> None:
    """Print how the games ended, and the share of one end, "wins" or "losses", with an interval by the distinct games alone."""
    print("{wins} wins, {draws} draws, {losses} losses of {games} games, {distinct} of them distinct".format(**figures))
    low, high = score_interval(figures[f"distinct_{end}"], 0, figures["distinct"] - figures[f"distinct_{end}"])
    share = figures[end] / figures["games"]
    print(f"{end} {100 * share:.1f} %; of the distinct games, 95 % interval {100 * low:.1f} to {100 * high:.1f} %")
