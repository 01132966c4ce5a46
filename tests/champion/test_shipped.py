"""The champions that come with azero: each is whole, plays, and stays as it is."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import train_champions
from places import PROJECT

import azero
from azero.champion.load import read_trained
from azero.cli.hydra_program import compose
from azero.cli.player_spec import PlayerSpec, choose_player, make_from_spec, run_of
from azero.config.schema import Config, UserError
from azero.export.__main__ import main as export
from azero.games import make_game
from azero.loop import main as loop
from azero.network.model import pack_network, unpack_network
from azero.process.signals import StopSignal
from azero.report.reporter import NullReporter
from azero.run.folder import names_of_shipped
from azero.run.run import Run
from azero.runs import shipped_text
from azero.stages import initialize

NAMES = names_of_shipped()  # before the fixtures hide them
PAGE, README = (PROJECT / "docs" / "champions.md").read_text(), (PROJECT / "README.md").read_text()
PAGES = PROJECT / "docs" / "pages"
SIX = make_game("breakthrough", rows=6, columns=6)
pytestmark = pytest.mark.usefixtures("box")


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return replace(Config(), checkpoints=str(tmp_path / "checkpoints"), data=str(tmp_path / "data"))


def test_all_fit_into_twenty_megabytes_and_their_pages_too(box: Path) -> None:
    assert sum(path.stat().st_size for path in box.rglob("*") if path.is_file()) < 20e6
    assert sum(page.stat().st_size for page in PAGES.iterdir()) < 20e6


def test_the_docs_say_how_each_was_trained_and_how_strong_it_is() -> None:
    assert train_champions.table() in PAGE
    assert "MIT" in PAGE and "azero arena game=hex5" in PAGE


@pytest.mark.parametrize("name", NAMES)
def test_each_is_whole_and_small_and_has_a_page(name: str, config: Config) -> None:
    run, game, network = read_trained(config, name)
    assert run.state.name == name and run.state.champion and run.state.cycle == run.state.champion.cycle > 0
    file = PAGES / f"{run.paths.folder.name}.html"
    assert f'["Run", "{name}, cycle {run.state.cycle}"]' in file.read_text()
    assert train_champions.link_of(file) in README
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
    assert run_of(SIX, config) == "shipped/breakthrough6"
    assert run_of(make_game("breakthrough", rows=5, columns=5), config) is None
    opponent = choose_player(PlayerSpec("opponent", "auto", {}), SIX, config)
    assert (opponent.name, opponent.options["run"]) == ("pv_mcts", "shipped/breakthrough6")
    assert make_from_spec(PlayerSpec("player", "pv_mcts", {}), SIX, config, one_game=True).name == "pv_mcts"


def test_the_studio_offers_it_with_levels(tmp_path: Path) -> None:
    pytest.importorskip("starlette")
    from studio import client_of, make_studio

    with client_of(make_studio(tmp_path)) as client:
        found = client.get("/api/players", params={"game": "breakthrough6"}).json()
        asked = {"game": "hex", "options": '{"size": 4}'}
        smaller = client.get("/api/players", params=asked).json()
    assert [each["run"] for each in found["champions"]] == ["shipped/breakthrough6"] and found["levels"]
    assert smaller["champions"] == [] and "shipped/hex5 (size 5)" in smaller["others"]


def test_the_list_of_runs_ends_with_all(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    assert max(map(len, shipped_text().splitlines())) <= 60
    assert all(name in shipped_text() for name in NAMES)
    monkeypatch.setattr("azero.run.folder.SHIPPED_RUNS", tmp_path)
    assert shipped_text() == ""


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


def test_a_run_begins_with_it(config: Config) -> None:
    words = ("breakthrough6", "init_from=shipped/breakthrough6", "run=mine", "device=cpu")
    begin(config, *words)
    for one, two in zip(
        read_trained(config, "mine")[2].state_dict().values(),
        read_trained(config, "shipped/breakthrough6")[2].state_dict().values(),
        strict=True,
    ):
        assert np.array_equal(one.numpy(), two.numpy())


def test_programs_take_it_as_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command = [sys.executable, "-m", "azero.runs"]
    listed = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=120).stdout
    assert "With azero come shipped/" in listed and "shipped/breakthrough6" in listed
    monkeypatch.chdir(tmp_path)
    assert export(["run=shipped/breakthrough6", "format=torchscript", "out=b.pt"]) == 0
    assert (tmp_path / "b.pt").exists()
    assert loop(["breakthrough6", "run=shipped/breakthrough6"]) == 2
    assert "run=shipped/breakthrough6 stays as it is" in capsys.readouterr().err


def begin(config: Config, *words: str) -> None:
    """Make the first network of a run."""
    places = (f"checkpoints={config.checkpoints}", f"data={config.data}")
    begun = compose(*words, *places)
    assert begun.run
    with Run.open(begun, begun.run, "test") as run:
        initialize.run_stage(begun, run, NullReporter(), StopSignal())


@pytest.mark.parametrize("name", [name for name, how in train_champions.RECIPES.items() if how.first])
def test_the_network_of_a_smaller_board_fits(name: str, config: Config) -> None:
    for words in train_champions.loops(name):
        begin(config, *words)
    assert Run.read(config, name).state.champion
