"""Load what a run has trained: the network of its champion, ready to infer, and the run's search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from azero.config.checks import check
from azero.config.reading import read_value, unknown_setting
from azero.config.schema import Config, SearchConfig, UserError, explaining_failure, settings
from azero.games import game_of_settings
from azero.games.game import Game
from azero.network.backends import candidates, make_inferences, obstacle
from azero.network.choosing import safe_choice
from azero.network.inference import Inference, InferenceChoice, resolve_device
from azero.network.model import Network, check_fits, unpack_network
from azero.network.side_by_side import SideBySideInference
from azero.players import Player, make_player
from azero.players.policy import PolicyPlayer
from azero.process.machine import cores
from azero.run.run import Run, search_of

FEW_ROWS = 8  # of a network call in a search of one position; more rows would hold unwanted positions
MOST_ROWS = 64  # of all calls side by side
SMALLER = 8, 16  # rows of calls for fewer positions, where a backend has them
POSITIONS_AT_ONCE = 512  # rows of a network call for many positions


class Trained(NamedTuple):
    """A run's champion."""

    game: Game
    inference: Inference
    search: SearchConfig  # the run's own, without noise


class TrainedWorkers(NamedTuple):
    """A run's champion for several threads."""

    game: Game
    inferences: Sequence[Inference]  # one for each thread
    search: SearchConfig  # the run's own, without noise
    choice: InferenceChoice  # how the network is computed


def champion_file(config: Config, name: str, cycle: object) -> Path:
    """Return the file of a run's champion of a cycle.

    Raises:
        UserError: the run does not keep it.
    """
    run = Run.read(config, name)
    for entry in run.state.champions:
        if entry.cycle == cycle:
            return run.paths.of(entry.file)
    known = ", ".join(str(entry.cycle) for entry in run.state.champions) or "none"
    raise UserError(
        f"Run {name} does not keep the champion of cycle {str(cycle)[:20]}; it keeps those of: {known}."
    )


def load_for_one_game(
    config: Config, name: str, game: Game | None = None, file: Path | None = None, fast: bool = False
) -> Trained:
    """Return a run's champion, or its network in a file, for a fast search of one position.

    It infers a few rows on each core, or one small batch on a GPU. See `load_trained`.
    """
    if resolve_device(config.device) == "cuda":
        return load_trained(config, name, MOST_ROWS, game, file=file)
    return load_trained(config, name, FEW_ROWS, game, min(cores(), MOST_ROWS // FEW_ROWS), file, fast)


def load_trained(
    config: Config,
    name: str,
    batch_size: int,
    game: Game | None = None,
    threads: int = 1,
    file: Path | None = None,
    fast: bool = False,
) -> Trained:
    """Return the champion of a run, computed by torch in fp32.

    Args:
        config: `checkpoints`, `data` and `device` are read.
        name: the run's.
        batch_size: rows of a network call.
        game: what the champion must be able to play; by default the run's own game.
        threads: calls side by side, which together are one batch.
        file: another network of the run, instead of the champion.
        fast: compute it on the CPU by OpenVINO if that is here, see `fast_choice`. A lone search of the
            champion of chess is three times as fast so.

    Raises:
        UserError: no such run, no champion yet, a damaged file, or a champion of another game.
    """
    run, game, network = read_trained(config, name, game, file)
    choice = InferenceChoice("torch", "fp32", batch_size, resolve_device(config.device), 0.0)
    if fast and choice.device == "cpu":
        choice = fast_choice(run, choice)
    parts = make_inferences(network, game, choice, threads)
    return Trained(game, parts[0] if threads == 1 else SideBySideInference(parts), search_of(run))


def load_for_workers(
    config: Config, name: str, workers: int, file: Path | None = None, inference: str = ""
) -> TrainedWorkers:
    """Return the champion of a run, computed as in the run's self-play if this machine can.

    Args:
        config: `checkpoints`, `data` and `device` are read.
        name: the run's.
        workers: threads, each with an inference of its own.
        file: another network of the same game, instead of the champion.
        inference: "backend:precision", instead of the run's.

    Raises:
        UserError: no such run, no champion yet, a damaged file, a network of another game, or an inference
            that this machine lacks.
    """
    run, game, network = read_trained(config, name, file=file)
    choice = choice_here(run, network, game, config)
    if inference:
        choice = choice_asked(choice, inference)
    return TrainedWorkers(game, make_inferences(network, game, choice, workers), search_of(run), choice)


def read_trained(
    config: Config, name: str, game: Game | None = None, file: Path | None = None
) -> tuple[Run, Game, Network]:
    """Return a run, its game or the one given, and its champion or the network of a file.

    Raises:
        UserError: the network does not fit the game, or something cannot be read.
    """
    run = Run.read(config, name)
    with explaining_failure(f"{file or run.paths.folder} cannot be read"):
        data = file.read_bytes() if file else run.read_champion()
    loaded = unpack_network(data, str(file or f"{name}'s champion"))
    game = game or game_of_settings(run.state.config)
    check_fits(loaded, game)
    return run, game, loaded.network


def choice_here(run: Run, network: Network, game: Game, config: Config) -> InferenceChoice:
    """Return how the run computes a network; torch in fp32 if it has no choice that works here."""
    device = resolve_device(config.device)
    plain = InferenceChoice("torch", "fp32", MOST_ROWS, device, 0.0)
    choice = InferenceChoice(**run.state.inference) if run.state.inference else plain
    if choice.device not in ("cpu", device) or obstacle(choice.backend, choice.precision, choice.device):
        choice = plain
    return safe_choice(choice, network, game)


def fast_choice(run: Run, choice: InferenceChoice) -> InferenceChoice:
    """Return a choice on the CPU with OpenVINO if it is here and the run has not asked for another way.

    It is in bf16 if the CPU has that. int8, whose levels take seconds at each start, must be asked for.
    """
    asked = run.config.inference
    with suppress(UserError):  # this machine lacks what the run has asked for
        backend, precision = candidates(asked.backend, asked.precision, "cpu")[-1]
        if backend == "openvino":
            return replace(choice, backend=backend, precision=precision, batches=SMALLER)
    return choice


def choice_asked(choice: InferenceChoice, words: str) -> InferenceChoice:
    """Return the choice with another backend and precision, "backend:precision".

    Raises:
        UserError: they are unknown, or this machine lacks them.
    """
    backend, _, precision = words.partition(":")
    known = ({*settings()[f"inference.{key}"].choices} - {"auto"} for key in ("backend", "precision"))
    if not all(word in words for word, words in zip((backend, precision), known, strict=True)):
        raise UserError(f"unknown inference {words!r}; write backend:precision, such as torch:bf16.")
    device = "cpu" if backend == "openvino" else choice.device
    if reason := obstacle(backend, precision, device):
        raise UserError(reason)
    return replace(choice, backend=backend, precision=precision, device=device, batches=())


def change_search(search: SearchConfig, asked: Mapping[str, Any]) -> SearchConfig:
    """Return a search with other settings; a key may begin with "search.".

    Raises:
        UserError: an unknown setting, or a value that is not allowed.
    """
    known, changed = settings(SearchConfig), dict[str, Any]()
    for key, value in asked.items():
        name = key.removeprefix("search.")
        if name not in known:
            raise unknown_setting(name, known, key.removesuffix(name))
        changed[name] = read_value(key, value, known[name])
    search = replace(search, **changed)
    check(Config(search=search))
    return search


def load_players(
    config: Config, name: str, game: Game, asked: Sequence[str] = ()
) -> tuple[Player, PolicyPlayer]:
    """Return the champion of a run as two players: with its search at temperature 0, and its raw policy.

    The search is the run's own, except for the settings `asked`, such as "num_simulations", which
    `config.search` gives.

    Raises:
        UserError: no such run, no champion yet, a damaged file, or a champion of another game.
    """
    _, inference, settings = load_trained(config, name, POSITIONS_AT_ONCE, game)
    settings = replace(settings, **{key: getattr(config.search, key) for key in asked})
    search = make_player("pv_mcts", game, inference=inference, search=settings, temperature=0.0)
    return search, PolicyPlayer(game, inference)
