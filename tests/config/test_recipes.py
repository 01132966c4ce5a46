"""Every recipe of conf/experiment is a valid config, and the whole loop runs one toy cycle of each game's."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from omegaconf import OmegaConf
from toy import Told, advance

from azero.cli.hydra_program import compose
from azero.cli.overrides import conf_folder, game_of
from azero.config.schema import Config
from azero.games import SHIPPED

RECIPES = sorted(path.stem for path in (conf_folder() / "experiment").glob("*.yaml"))
GAME_FILES = sorted(path.stem for path in (conf_folder() / "game").glob("*.yaml") if path.stem != "openspiel")


def toy_sized(config: Config, folder: Path) -> Config:
    """The recipe with as little as possible of everything, but all its own choices."""
    return replace(
        config,
        network=replace(config.network, blocks=1, channels=8),
        search=replace(config.search, num_simulations=4),
        selfplay=replace(config.selfplay, games=2, concurrent_games=2),
        train=replace(config.train, epochs=0.2, batch_size=32, precision="fp32"),
        evaluate=replace(config.evaluate, games=2, num_simulations=2),
        inference=replace(config.inference, backend="torch", precision="fp32"),
        oracle=replace(config.oracle, positions=2, num_simulations=2),
        run="toy",
        cycles=1,
        device="cpu",
        workers=1,
        checkpoints=str(folder / "checkpoints"),
        data=str(folder / "data"),
    )


# Connect Four's and Othello have most to compile; of the others there is another board with such settings
HEAVY = {name for name in RECIPES if "connect_four" in name} | {"othello", "breakthrough", "gomoku"}
HEAVY |= {"go5", "go9", "go9_gpu", "hex6", "hex11"}


def other_recipes() -> list[Any]:
    """All recipes that no other test runs."""
    names = [name for name in RECIPES if "tictactoe" not in name and name != "smoke"]
    return [pytest.param(name, marks=pytest.mark.long) if name in HEAVY else name for name in names]


@pytest.mark.parametrize("name", other_recipes())
def test_the_whole_loop_runs_a_toy_cycle_of_the_recipe(name: str, tmp_path: Path) -> None:
    told = Told()
    state = advance(toy_sized(compose(f"experiment={name}"), tmp_path), report=told)
    assert state.cycle == 1
    assert told.stats(1)["selfplay/game_length"] > 4
    assert told.stats(1)["replay/trained_examples"] > 4
    assert told.stats(1)["evaluate/promoted"] in (0.0, 1.0)


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_names_its_own_command(name: str) -> None:
    text = (conf_folder() / "experiment" / f"{name}.yaml").read_text()
    package, what, command = text.splitlines()[:3]
    assert (package, command) == ("# @package _global_", f"# azero loop {name}")
    assert what.startswith("# ") and what.endswith(".") and len(what) <= 59  # one line of --help


def test_every_game_has_a_recipe() -> None:
    files = {game_of(name) for name in RECIPES} - {""}
    assert {OmegaConf.load(conf_folder() / "game" / f"{name}.yaml").name for name in files} >= set(SHIPPED)


def test_the_alphago_zero_recipe_searches_and_plays_as_asked() -> None:
    config = compose("experiment=go9_alphago_zero")
    assert (config.game.name, config.game.options["size"]) == ("go", 9)
    assert (config.search.num_simulations, config.search.c_puct, config.search.tree_reuse) == (
        1600,
        5.0,
        True,
    )
    assert (
        config.selfplay.temperature,
        config.selfplay.temperature_plies,
        config.selfplay.temperature_final,
    ) == (1.0, 30, 0.0)
    assert config.selfplay.temperature_decay_plies > 0
    assert config.evaluate.temperature == 0.0
    assert config.evaluate.threshold == 0.55


@pytest.mark.parametrize("name", GAME_FILES)
def test_a_game_s_file_names_every_option_of_the_game(name: str) -> None:
    from azero.games import make_game

    config = compose(f"game={name}")
    assert make_game(config.game.name, **config.game.options).options == config.game.options
