"""What scripts that measure a champion share: its arguments, how to load it, and counts of its games."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from azero.champion.load import TrainedWorkers, change_search, load_for_workers
from azero.cli.arguments import parse_value, split_words
from azero.config.schema import Config, UserError
from azero.match.rating import score_interval


def add_champion(parser: argparse.ArgumentParser, run: str) -> None:
    """Let a command line name a champion, by default that of `run`."""
    parser.add_argument("--run", default=run)
    parser.add_argument("--network", default="", help="file of a network instead of the run's champion")
    parser.add_argument("--checkpoints", default="checkpoints", help="folder of the runs")
    parser.add_argument(
        "--inference", default="", help="backend:precision, such as openvino:bf16; default: the run's"
    )
    parser.add_argument("--device", default="auto")


def add_search(parser: argparse.ArgumentParser) -> None:
    """Let a command line end with settings of the champion's search."""
    parser.add_argument(
        "search",
        nargs="*",
        metavar="key=value",
        help="settings of the search, such as kind=puct or c_puct=1.5",
    )


def load_champion(arguments: argparse.Namespace, workers: int, **settings: Any) -> TrainedWorkers:
    """Return the named champion for `workers` threads; see `load_for_workers`.

    settings: of its search, instead of the run's. Settings of the command line come before both.

    Raises:
        UserError: as there; or a setting of the search is unknown or cannot work.
    """
    config = Config(checkpoints=arguments.checkpoints, device=arguments.device)
    network = Path(arguments.network) if arguments.network else None
    trained = load_for_workers(config, arguments.run, workers, network, arguments.inference)
    texts = split_words(getattr(arguments, "search", []))
    asked = {key: parse_value(text) for key, text in texts.items()}
    if "num_simulations" in asked:
        raise UserError("set num_simulations by --simulations.")
    return trained._replace(search=change_search(trained.search, settings | asked))


def title(arguments: argparse.Namespace, trained: TrainedWorkers) -> str:
    """Which network answers, and how it is computed."""
    choice = trained.choice
    return f"{arguments.network or arguments.run}, {choice.backend} {choice.precision} on {choice.device}"


class Played(NamedTuple):
    """One game of a champion."""

    moves: tuple[int, ...]
    outcome: float  # for the champion


def count(games: Sequence[Played]) -> dict[str, int]:
    """How the games ended; equal ones count once in the distinct stats."""
    wins, draws, losses = (sum(each.outcome == outcome for each in games) for outcome in (1.0, 0.0, -1.0))
    distinct = set(games)
    stats = {"wins": wins, "draws": draws, "losses": losses, "games": len(games), "distinct": len(distinct)}
    ends = {
        f"distinct_{name}": sum(each.outcome == outcome for each in distinct)
        for name, outcome in (("wins", 1), ("losses", -1))
    }
    return stats | ends


def print_results(stats: dict[str, int], end: str) -> None:
    """Print the results and the share of one, "wins" or "losses", with an interval over distinct games."""
    print(
        "{wins} wins, {draws} draws, {losses} losses of {games} games, {distinct} of them distinct".format(
            **stats
        )
    )
    low, high = score_interval(stats[f"distinct_{end}"], 0, stats["distinct"] - stats[f"distinct_{end}"])
    share = stats[end] / stats["games"]
    print(
        f"{end} {100 * share:.1f} %; of the distinct games, 95 % interval {100 * low:.1f} to "
        f"{100 * high:.1f} %"
    )
