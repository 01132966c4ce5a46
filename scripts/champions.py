"""What the scripts that question a champion share: the words that name it, and how it is loaded and called."""

from __future__ import annotations

import argparse
from pathlib import Path

from azero.config import Config
from azero.trained import TrainedLanes, load_for_lanes


def add_champion(parser: argparse.ArgumentParser, run: str) -> None:
    """Let a command line name a champion, by default that of `run`."""
    parser.add_argument("--run", default=run)
    parser.add_argument("--network", default="", help="file of a network, instead of the run's champion")
    parser.add_argument("--checkpoints", default="checkpoints", help="where runs lie")
    parser.add_argument("--inference", default="", help="backend:precision, such as openvino:bf16; by default the run's")
    parser.add_argument("--device", default="auto")


def load_champion(arguments: argparse.Namespace, lanes: int) -> TrainedLanes:
    """The champion that was named, for so many threads; see `load_for_lanes`."""
    config = Config(checkpoints=arguments.checkpoints, device=arguments.device)
    network = Path(arguments.network) if arguments.network else None
    return load_for_lanes(config, arguments.run, lanes, network, arguments.inference)


def title(arguments: argparse.Namespace, trained: TrainedLanes) -> str:
    """Which network answers, and how it is computed."""
    choice = trained.choice
    return f"{arguments.network or arguments.run}, {choice.backend} {choice.precision} on {choice.device}"
