"""The champions that come with azero: each is whole, plays, and stays as it is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from places import PROJECT
from running import RunProgram

import azero
from azero.champion.load import read_trained
from azero.cli.player_spec import run_of
from azero.config.schema import Config, UserError
from azero.games import make_game
from azero.network.model import pack_network, unpack_network
from azero.run.folder import SHIPPED_RUNS, names_of_shipped
from azero.run.run import Run

PAGE = (PROJECT / "docs" / "champions.md").read_text()


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return replace(Config(), checkpoints=str(tmp_path / "checkpoints"), data=str(tmp_path / "data"))


def test_all_fit_into_twenty_megabytes() -> None:
    assert names_of_shipped()
    assert sum(path.stat().st_size for path in SHIPPED_RUNS.rglob("*") if path.is_file()) < 20e6


@pytest.mark.parametrize("name", names_of_shipped())
def test_each_is_whole_small_and_told_in_the_docs(name: str, config: Config) -> None:
    run, game, network = read_trained(config, name)
    assert run.state.name == name and run.state.champion and run.state.cycle == run.state.champion.cycle > 0
    assert f"`{name}`" in PAGE and run.state.champion.sha256[:12] in PAGE
    files = {path.relative_to(run.paths.folder).as_posix() for path in run.paths.folder.rglob("*.*")}
    assert files == {"state.json", "metrics.csv", run.state.champion.file}
    weights = sum(tensor.numel() for tensor in network.state_dict().values())
    assert run.paths.of(run.state.champion.file).stat().st_size < 2.2 * weights + 40_000  # of 16 bits
    policy, value = network(__import__("torch").from_numpy(game.planes(game.initial_state())[None]))
    assert policy.isfinite().all() and -1 <= float(value.detach()) <= 1


def test_weights_of_16_bits_are_the_nearest_to_those_of_32() -> None:
    from azero.config.schema import NetworkConfig
    from azero.network.model import build_network

    game = make_game("tictactoe")
    network = build_network(NetworkConfig(blocks=1, channels=4), game, seed=1)
    half = unpack_network(pack_network(network, game=game, half=True), "file", game).network
    for one, two in zip(network.state_dict().values(), half.state_dict().values(), strict=True):
        assert one.dtype == two.dtype
        expected = (
            one.numpy().astype(np.float16).astype(np.float32) if one.is_floating_point() else one.numpy()
        )
        assert np.array_equal(two.numpy(), expected)


def test_it_plays_where_no_run_does(config: Config) -> None:
    game = make_game("breakthrough", rows=6, columns=6)
    assert run_of(game, config) == "shipped/breakthrough6"
    assert run_of(make_game("breakthrough", rows=5, columns=5), config) is None


def test_python_loads_it() -> None:
    champion = azero.load_champion("shipped/breakthrough6", device="cpu")
    position = champion.position("a2a3")
    assert -1 <= champion.value(position) <= 1


def test_it_cannot_be_trained_on_and_others_are_unknown(config: Config) -> None:
    with pytest.raises(UserError, match=r"^run=shipped/breakthrough6 stays as it is; init_from=shipped/"):
        Run.open(config, "shipped/breakthrough6", "test")
    with pytest.raises(UserError, match=r"^azero has no shipped/chess9; it has shipped/\w+"):
        Run.read(config, "shipped/chess9")
    for name in ("shipped/", "shipped/../champion", "shipped/.hidden", "other/hex5"):
        with pytest.raises(UserError, match="cannot name a folder"):
            Run.read(config, name)


def test_programs_take_it(tmp_path: Path, run_program: RunProgram) -> None:
    listed = run_program("runs", folder=tmp_path)
    assert "With azero come shipped/breakthrough6" in listed.stdout
    exported = run_program(
        "export", "run=shipped/breakthrough6", "format=torchscript", "out=b.pt", folder=tmp_path
    )
    assert exported.returncode == 0 and (tmp_path / "b.pt").exists()
    begun = run_program(
        *("initialize", "breakthrough6", "init_from=shipped/breakthrough6", "run=mine", "device=cpu"),
        folder=tmp_path,
    )
    assert begun.returncode == 0, begun.stderr
    mine = replace(Config(), checkpoints=str(tmp_path / "checkpoints"), data=str(tmp_path / "data"))
    for one, two in zip(
        read_trained(mine, "mine")[2].state_dict().values(),
        read_trained(mine, "shipped/breakthrough6")[2].state_dict().values(),
        strict=True,
    ):
        assert np.array_equal(one.numpy(), two.numpy())
    refused = run_program("loop", "breakthrough6", "run=shipped/breakthrough6", folder=tmp_path)
    assert refused.returncode == 2 and "run=shipped/breakthrough6 stays as it is" in refused.stderr
