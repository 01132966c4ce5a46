"""What scripts that measure a champion share: its arguments, and how to load it."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from azero.champion.load import TrainedWorkers, change_search, load_for_workers
from azero.cli.arguments import parse_value, split_words
from azero.config.schema import Config, UserError


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
