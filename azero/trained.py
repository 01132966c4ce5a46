"""What a run has trained, as players need it: its champion's network ready to infer, and the search that it was trained with."""

from __future__ import annotations

from typing import NamedTuple

from azero.config import Config, SearchConfig
from azero.games import make_game
from azero.games.game import Game
from azero.machine import cores
from azero.network.backends import make_inferences
from azero.network.inference import Inference, InferenceChoice, resolve_device
from azero.network.model import check_fits, unpack_network
from azero.network.side_by_side import SideBySide
from azero.run import Run, search_of

FEW_ROWS = 8  # of a network call in a search of one position; on more rows, more are of positions that the search does not want
MOST_ROWS = 64  # of all calls side by side


class Trained(NamedTuple):
    """A run's champion."""

    game: Game
    inference: Inference
    search: SearchConfig  # the run's own, without noise


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
    run = Run.read(config, name)
    loaded = unpack_network(run.read_champion(), f"{name}'s champion")
    settings = run.state.config
    game = game or make_game(settings["game.name"], **settings["game.options"])  # the name may be a file's path
    check_fits(loaded, game)
    choice = InferenceChoice("torch", "fp32", batch_size, resolve_device(config.device), 0.0)
    parts = make_inferences(loaded.network, game, choice, threads)
    return Trained(game, parts[0] if threads == 1 else SideBySide(parts), search_of(run))
