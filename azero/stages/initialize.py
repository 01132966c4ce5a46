"""The first stage: network 000000, random or by `init_from` another run's champion."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

from azero.config.schema import Config, NetworkConfig, UserError
from azero.games import make_game
from azero.games.game import Game
from azero.network.inference import resolve_device
from azero.network.model import Network, build_network, check_fits, pack_network, resized, unpack_network
from azero.process.seeds import INITIALIZE, torch_seed
from azero.process.signals import StopSignal
from azero.report.reporter import Reporter
from azero.run.run import Run
from azero.run.state import StageName


def source_network(config: Config, game: Game) -> Network | None:
    """Return the network that the run begins with, by `init_from`; None where that is not set.

    Layers that the other run's game lacks begin with the run's first weights.

    Raises:
        UserError: the run named by `init_from` does not exist, or its champion plays another game, has
            another shape, or does not fit the board.
    """
    if config.init_from is None:
        return None
    source = Run.read(config, config.init_from)
    loaded = unpack_network(source.read_champion(), f"champion of {config.init_from}")
    if loaded.game_name != game.name:  # its settings may differ too, and would be named first
        check_fits(loaded, game)
    theirs, ours = deciding(loaded.network.config), deciding(config.network)
    if differing := [key for key in theirs if theirs[key] != ours.get(key)]:
        wanted = [f"{key}={theirs[key]}" for key in differing]
        instead = [f", not {ours[key]}" if ours.get(key, "") != "" else "" for key in differing]
        had = ", ".join(map("".join, zip(wanted, instead, strict=True)))
        raise UserError(f"init_from={config.init_from} has {had}; set {' '.join(wanted)}.")
    if more := [key for key in ours if key not in theirs and key.startswith("network.options.")]:
        raise UserError(f"init_from={config.init_from} has no {', '.join(more)}; leave that out.")
    return resized(loaded, game, first_seed(config))


def deciding(config: NetworkConfig) -> dict[str, Any]:
    """Return the settings that decide a network's layers, by the names that a person types.

    Those of azero's own layers have no effect on a network of a person's file.
    """
    known = {key: value for key, value in asdict(config).items() if key != "options"}
    if config.file:
        known = {key: known[key] for key in ("file", "value_output", "policy_output")}
    known |= {f"options.{key}": value for key, value in config.options.items()}
    return {f"network.{key}": value for key, value in known.items()}


def first_seed(config: Config) -> int:
    """Return the seed of the first weights."""
    return torch_seed(config.seed, 0, INITIALIZE)


def run_stage(config: Config, run: Run, report: Reporter, stop: StopSignal) -> None:
    """Write the first network as champion and candidate, and commit.

    Raises:
        UserError: the device that the run is to use is not there, or `source_network` refused.
    """
    resolve_device(config.device)  # a run that cannot go on must not begin
    game = make_game(config.game.name, **config.game.options)
    network = source_network(config, game) or build_network(config.network, game, first_seed(config))
    data = pack_network(network, game=game)
    champion = run.write_network("champion", 0, data)
    candidate = run.write_network("candidate", 0, data)
    run.commit(replace(run.state, stage=StageName.SELFPLAY, champion=champion, candidate=candidate))
