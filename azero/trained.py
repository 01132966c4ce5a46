"""What a run has trained, as players need it: its champion's network ready to infer, and the search that it was trained with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from azero.config import Config, SearchConfig, UserError
from azero.config_checks import CHOICES
from azero.games import make_game
from azero.games.game import Game
from azero.machine import cores
from azero.network.backends import make_inferences, obstacle
from azero.network.choosing import safe_choice
from azero.network.inference import Inference, InferenceChoice, resolve_device
from azero.network.model import Network, check_fits, unpack_network
from azero.network.side_by_side import SideBySide
from azero.run import Run, search_of

FEW_ROWS = 8  # of a network call in a search of one position; on more rows, more are of positions that the search does not want
MOST_ROWS = 64  # of all calls side by side


class Trained(NamedTuple):
    """A run's champion."""

    game: Game
    inference: Inference
    search: SearchConfig  # the run's own, without noise


class TrainedLanes(NamedTuple):
    """A run's champion for several threads."""

    game: Game
    inferences: Sequence[Inference]  # one for each
    search: SearchConfig  # the run's own, without noise
    choice: InferenceChoice  # how it is computed


def load_for_one_game(config: Config, name: str, game: Game | None = None) -> Trained:
    """The champion of a run, as it searches one position fast: a few rows on each core, or one small batch on a GPU.

    See `load_trained`.
    """
    if resolve_device(config.device) == "cuda":
        return load_trained(config, name, MOST_ROWS, game)
    return load_trained(config, name, FEW_ROWS, game, min(cores(), MOST_ROWS // FEW_ROWS))


def load_trained(config: Config, name: str, batch_size: int, game: Game | None = None, threads: int = 1) -> Trained:
    """The champion of a run, computed by torch in fp32.

    Args:
        config: where runs lie and which device computes; the rest is not read.
        name: the run's.
        batch_size: rows of a network call.
        game: what the champion must know how to play; by default the run's own game.
        threads: calls side by side, which together are one batch.

    Raises:
        UserError: no such run, no champion yet, a damaged file, or a champion of another game.
    """
    run, game, network = read_trained(config, name, game)
    choice = InferenceChoice("torch", "fp32", batch_size, resolve_device(config.device), 0.0)
    parts = make_inferences(network, game, choice, threads)
    return Trained(game, parts[0] if threads == 1 else SideBySide(parts), search_of(run))


def load_for_lanes(config: Config, name: str, lanes: int, file: Path | None = None, inference: str = "") -> TrainedLanes:
    """The champion of a run, computed as in the run's self-play where this machine can do that, once for each of so many threads.

    Args:
        config: where runs lie and which device computes; the rest is not read.
        name: the run's.
        lanes: how many threads.
        file: another network of the same game, instead of the champion.
        inference: "backend:precision", instead of the run's.

    Raises:
        UserError: no such run, no champion yet, a damaged file, a network of another game, or an inference that is not here.
    """
    run, game, network = read_trained(config, name, file=file)
    choice = choice_here(run, network, game, config)
    if inference:
        choice = choice_asked(choice, inference)
    return TrainedLanes(game, make_inferences(network, game, choice, lanes), search_of(run), choice)


def read_trained(config: Config, name: str, game: Game | None = None, file: Path | None = None) -> tuple[Run, Game, Network]:
    """A run, its game or the one given, and its champion or the network of a file, which knows how to play that game."""
    run = Run.read(config, name)
    loaded = unpack_network(read_network(file) if file else run.read_champion(), str(file or f"{name}'s champion"))
    settings = run.state.config
    game = game or make_game(settings["game.name"], **settings["game.options"])  # the name may be a file's path
    check_fits(loaded, game)
    return run, game, loaded.network


def read_network(file: Path) -> bytes:
    """A network's file that no run vouches for.

    Raises:
        UserError: it cannot be read.
    """
    try:
        return file.read_bytes()
    except OSError as failure:
        raise UserError(f"{file} cannot be read: {failure.strerror}.") from failure


def choice_here(run: Run, network: Network, game: Game, config: Config) -> InferenceChoice:
    """How the run computes a network, or torch in fp32 where the run has not chosen yet, or has chosen what is not here."""
    device = resolve_device(config.device)
    plain = InferenceChoice("torch", "fp32", MOST_ROWS, device, 0.0)
    choice = InferenceChoice(**run.state.inference) if run.state.inference else plain
    is_here = choice.device in ("cpu", device) and obstacle(choice.backend, choice.precision, choice.device) is None
    return safe_choice(choice if is_here else plain, network, game)


def choice_asked(choice: InferenceChoice, words: str) -> InferenceChoice:
    """The choice with another backend and precision, "backend:precision".

    Raises:
        UserError: they are none, or not here.
    """
    backend, _, precision = words.partition(":")
    if backend not in CHOICES["inference.backend"][1:] or precision not in CHOICES["inference.precision"][1:]:
        raise UserError(f"{words} is no inference; write backend:precision, such as torch:bf16.")
    device = "cpu" if backend == "openvino" else choice.device
    if reason := obstacle(backend, precision, device):
        raise UserError(reason)
    return replace(choice, backend=backend, precision=precision, device=device, batches=())
