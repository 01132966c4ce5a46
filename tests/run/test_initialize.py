"""The first network: random from the seed, or another run's champion."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from places import DOUBLE_MOVE, SUPPORT
from toy import NAME, Told, advance, toy_config

from azero.config.schema import Config, GameConfig, NetworkConfig, UserError
from azero.games import make_game
from azero.network.model import LoadedNetwork, unpack_network
from azero.process.signals import StopSignal
from azero.run.run import Run
from azero.stages import initialize


def begun(config: Config, name: str = NAME) -> Run:
    """A run whose first network is made, for reading."""
    with Run.open(config, name, "test") as run:
        initialize.run_stage(config, run, Told(), StopSignal())
    return Run.read(config, name)


def network_of(run: Run) -> LoadedNetwork:
    return unpack_network(run.read_champion(), "champion")


def test_the_first_network_is_champion_and_candidate_and_self_play_comes_next(tmp_path: Path) -> None:
    run = begun(toy_config(tmp_path))
    state = run.state
    assert (state.cycle, state.stage, state.train_steps) == (0, "selfplay", 0)
    assert state.champion and state.candidate
    assert (state.champion.file, state.candidate.file) == ("champion/000000.pt", "candidate/000000.pt")
    assert state.champion.sha256 == state.candidate.sha256
    loaded = network_of(run)
    assert (loaded.game_name, loaded.cycle, loaded.train_steps, loaded.optimizer_state) == (
        "tictactoe",
        0,
        0,
        None,
    )
    assert loaded.network.config == NetworkConfig(blocks=1, channels=8)


def test_a_gpu_that_is_not_there_is_refused_before_any_network_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    config = toy_config(tmp_path, device="cuda")
    with Run.open(config, NAME, "test") as run:
        before = sorted(tmp_path.rglob("*")), run.paths.state.read_bytes()
        with pytest.raises(UserError, match="device=cuda"):
            initialize.run_stage(config, run, Told(), StopSignal())
        assert (sorted(tmp_path.rglob("*")), run.paths.state.read_bytes()) == before
        assert run.state.stage == "initialize" and not list(tmp_path.rglob("*.pt"))
    assert begun(replace(config, device="cpu")).state.stage == "selfplay"


def test_the_seed_decides_the_weights(tmp_path: Path) -> None:
    runs = [begun(toy_config(tmp_path / str(number), seed=seed)) for number, seed in enumerate((3, 3, 4))]
    digests = [run.state.champion.sha256 for run in runs if run.state.champion]
    assert digests[0] == digests[1] != digests[2]


def test_init_from_begins_with_another_run_s_champion(tmp_path: Path) -> None:
    config = toy_config(tmp_path, cycles=1)
    advance(replace(config, evaluate=replace(config.evaluate, games=0)))
    source = Run.read(config, NAME)
    run = begun(replace(config, init_from=NAME, seed=99), "second")
    theirs, ours = network_of(source), network_of(run)
    assert (theirs.cycle, ours.cycle, ours.train_steps, ours.optimizer_state) == (1, 0, 0, None)
    weights, copied = theirs.network.state_dict(), ours.network.state_dict()
    assert weights.keys() == copied.keys() and all(torch.equal(weights[key], copied[key]) for key in weights)
    assert Run.read(config, NAME).state == source.state


def test_init_from_takes_a_spatial_network_to_a_larger_board(tmp_path: Path) -> None:
    network = NetworkConfig(blocks=1, channels=8, head="spatial")
    config = toy_config(tmp_path, network=network, game=GameConfig(name="hex", options={"size": 3}))
    begun(config)
    larger = replace(config, init_from=NAME, game=GameConfig(name="hex", options={"size": 5}))
    theirs, ours = network_of(Run.read(config, NAME)), network_of(begun(larger, "second"))
    assert (theirs.network.num_actions, ours.network.num_actions) == (9, 25)
    weights, copied = theirs.network.state_dict(), ours.network.state_dict()
    assert weights.keys() == copied.keys() and all(torch.equal(weights[key], copied[key]) for key in weights)


def test_a_run_begun_from_another_goes_on_by_itself(tmp_path: Path) -> None:
    config = toy_config(tmp_path, cycles=1)
    advance(config, until="selfplay")
    second = replace(config, init_from=NAME, run="second")
    begun(second, "second")
    with Run.open(replace(second, init_from=None), "second", "test") as run:
        assert run.state.stage == "selfplay"


def assert_refused(config: Config, *parts: str) -> None:
    """One sentence that holds these parts, and nothing is made."""
    with Run.open(config, "second", "test") as run:
        with pytest.raises(UserError) as refused:
            initialize.run_stage(config, run, Told(), StopSignal())
        assert run.state.champion is None and run.state.stage == "initialize"
    text = str(refused.value)
    assert text.endswith(".") and "\n" not in text
    assert all(part in text for part in parts), text


def test_a_run_that_does_not_exist_is_refused_and_those_that_do_are_named(tmp_path: Path) -> None:
    config = toy_config(tmp_path)
    begun(config)
    assert_refused(replace(config, init_from="nowhere"), "no run nowhere", NAME)


def test_a_run_without_a_champion_is_refused(tmp_path: Path) -> None:
    config = toy_config(tmp_path)
    with Run.open(config, NAME, "test"):
        pass
    assert_refused(replace(config, init_from=NAME), f"Run {NAME} has no champion yet")


def test_a_champion_of_another_game_is_refused(tmp_path: Path) -> None:
    config = toy_config(tmp_path)
    begun(config)
    other = replace(config, init_from=NAME, game=GameConfig(name=DOUBLE_MOVE))
    larger = NetworkConfig(blocks=2, channels=8)  # which is not what matters
    for wrong in (other, replace(other, network=larger)):
        assert_refused(wrong, "tictactoe", "double_move")


def test_a_champion_of_another_shape_is_refused(tmp_path: Path) -> None:
    config = toy_config(tmp_path)
    begun(config)
    assert_refused(
        replace(config, init_from=NAME, network=NetworkConfig(blocks=2, channels=8)),
        f"init_from={NAME} has network.blocks=1, not 2; set network.blocks=1.",
    )


def test_only_what_decides_the_layers_of_a_person_s_network_is_compared(tmp_path: Path) -> None:
    own = NetworkConfig(file=str(SUPPORT / "tower.py"), options={"channels": 4})
    config = toy_config(tmp_path, network=own)
    begun(config)

    def with_network(**changes: Any) -> Config:
        return replace(config, run="next", init_from=NAME, network=replace(own, **changes))

    begun(with_network(blocks=7, channels=3), "next")  # azero's own blocks
    width = "network.options.channels=4"
    assert_refused(with_network(options={"channels": 5}), f"has {width}, not 5; set {width}.")
    assert_refused(with_network(options={}), f"has {width}; set {width}.")
    assert_refused(with_network(options=own.options | {"x": 1}), "has no network.options.x; leave that out.")
    assert_refused(
        with_network(file="", options={}), f"has network.file={own.file}, {width}; set network.file="
    )


def test_the_game_of_a_file_is_played_as_well(tmp_path: Path) -> None:
    run = begun(toy_config(tmp_path, game=GameConfig(name=DOUBLE_MOVE)))
    assert network_of(run).game_name == make_game(DOUBLE_MOVE).name
