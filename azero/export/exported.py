"""What is exported of a run: its champion, and what the file says of it."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import NamedTuple

import azero
from azero.champion.load import read_trained
from azero.config.schema import OPENSPIEL, Config, GameConfig, SearchConfig, UserError
from azero.export.module import make_module
from azero.export.network_code import NetworkCode, network_code
from azero.export.page import page
from azero.export.weights import checked_weights
from azero.games.game import Game
from azero.games.titles import game_heading, game_title
from azero.network.model import Network
from azero.page.board import board_json
from azero.report.metrics_csv import read_stats
from azero.run.disk import write_for_user
from azero.run.folder import is_shipped
from azero.run.run import Run, search_of
from azero.truth.summary import strength_text

WIDTHS = {"fp16": 2, "int8": 1, "fp32": 4}  # bytes of a weight
MEASURED = ("oracle/", "correctness/", "uct/", "rating/")  # groups of stats that say how strong a champion is


class Exported(NamedTuple):
    """A run's champion."""

    run: Run
    game: Game
    network: Network
    search: SearchConfig


def read_exported(config: Config, run: Run) -> Exported:
    """Return the champion of a run; UserError: it has none, or it cannot be read."""
    _, game, network = read_trained(config, run.name)
    return Exported(run, game, network, search_of(run))


def write_page(exported: Exported, weights: str, path: Path) -> str:
    """Write a page; return how far its network is from the trained one.

    Args:
        exported: the champion.
        weights: of its network: fp16, int8 or fp32.
        path: the file.

    Raises:
        UserError: the game cannot be exported, the weights are too far from the network's own, or the file
            cannot be written.
    """
    run, game, network, search = exported
    name, options = run.state.config["game.name"], run.state.config["game.options"]
    code = code_of(exported, "page")
    packed = checked_weights(network, code, game, weights)
    print("Compiling the rules, the search and the network for the page …", flush=True)
    module = make_module(name, options, search, code)
    about = {
        "title": game_title(name, options),
        "heading": game_heading(game),
        "board": board_json(game),
        "chess": game.name == "chess"
        and {"first": game.text(game.initial_state()), "maxPlies": game.max_plies},
        "layout": module.layout,
        "packing": packed.description,
        "width": WIDTHS[weights],
        "facts": [*facts(exported).items(), ("Weights", f"{weights}, off by at most {packed.distance}")],
    }
    write_for_user(path, page(about, module.wasm, packed.data).encode())
    return f"In {packed.positions} positions its network differs from torch's by at most {packed.distance}."


def code_of(exported: Exported, file: str) -> NetworkCode:
    """Return the network's code for a file of code, a page or a library.

    Raises:
        UserError: the rules or the network have no code.
    """
    name, game, network = exported.run.state.config["game.name"], exported.game, exported.network
    if name.startswith(OPENSPIEL):
        raise UserError(f"{name} cannot be a {file}: rules of OpenSpiel are not compiled code.")
    if game.board is None:
        raise UserError(
            f"{game.name} cannot be a {file}: its file describes no board (docs/your_own_game.md)."
        )
    if network.config.file:
        own = Path(network.config.file).name
        raise UserError(f"A network of {own} cannot be a {file}; format=onnx writes it for other programs.")
    return network_code(network)


def facts(exported: Exported) -> dict[str, str]:
    """Return what a file says of its champion, by name."""
    run, game, _, search = exported
    champion, known = run.state.champion, run.state.config
    assert champion is not None
    made = date.fromtimestamp(run.paths.of(champion.file).stat().st_mtime)
    trained = {"Trained": f"{made.day} {made:%B %Y}"} if not is_shipped(run.name) else {}
    board = game.board and {"Board": f"{len(game.board.rows)} × {len(game.board.columns)}"}
    return {
        **(board or {}),
        "Run": f"{run.name}, cycle {champion.cycle}",
        "Strength": strength(run, champion.cycle) or "not measured",
        "Network": Path(known.get("network.file", "")).name
        or f"{known['network.blocks']} blocks of {known['network.channels']} channels",
        "Search": f"{search.kind}, {search.num_simulations} simulations in training",
        **trained,
        "Made by": f"azero {azero.__version__}",
    }


def strength(run: Run, cycle: int) -> str:
    """Return what the run measured last of its champions up to a cycle, "" if it measured nothing."""
    known = run.state.config
    config = Config(game=GameConfig(name=known["game.name"], options=known["game.options"]))
    for measured, stats in reversed(read_stats(run.paths.metrics_csv, cycle).items()):
        known_stats = {tag: value for tag, value in stats.items() if tag.startswith(MEASURED)}
        if text := strength_text(config, known_stats):
            return text if measured == cycle else f"{text}, in cycle {measured}"
    return ""
