"""The stage of self-play on a GPU: when it is chosen, and what it writes. A stand-in is the GPU."""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from typing import Any

import pytest
from searching import assert_same_records
from stand_in import StandIn

from azero.config.schema import ClusterConfig, Config, GameConfig, SearchConfig, SelfplayConfig, UserError
from azero.games import make_game
from azero.gpu import selfplay as on_gpu
from azero.gpu.selfplay import SelfPlayOnGpu, hindrance, obstacle, places_wanted
from azero.network.backends import make_inference
from azero.network.inference import InferenceChoice
from azero.network.model import build_network
from azero.process.signals import StopSignal
from azero.report.console import Progress
from azero.stages.executor import Executor
from azero.workers.selfplay import Plan, SelfPlayHere, Watch


def with_trees(where: str, **others: Any) -> Config:
    return replace(Config(), selfplay=SelfplayConfig(trees=where), **others)


@pytest.mark.parametrize(
    "config, reason",
    [
        (with_trees("auto", game=GameConfig(name="openspiel:nim")), "rules of OpenSpiel are not compiled"),
        (with_trees("auto", game=GameConfig(name="nim", engine="openspiel")), "rules of OpenSpiel"),
        (with_trees("auto", search=SearchConfig(kind="mine.py")), "a search of your own"),
        (with_trees("auto", cluster=ClusterConfig(address="auto")), "workers of a cluster"),
        (with_trees("auto", device="cpu"), "not computed on an NVIDIA GPU"),
        (with_trees("cpu"), "selfplay.trees=cpu"),
    ],
)
def test_the_cpu_plays_where_a_gpu_cannot(config: Config, reason: str) -> None:
    pytest.importorskip("numba_cuda", reason='numba-cuda is missing (pip install "azero[gpu13]").')
    found = obstacle(config)
    assert found is not None and reason in found


def test_what_is_missing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert 'pip install "azero[gpu12]" or "azero[gpu13]"' in str(hindrance(Config()))
    with pytest.raises(UserError, match=r"^selfplay.trees=gpu cannot be: numba-cuda is missing; "):
        obstacle(with_trees("gpu"))


@pytest.mark.parametrize("games, places", [(1, 16), (100, 16), (500, 64), (8192, 2048), (10**6, 8192)])
def test_a_place_has_four_games_a_cycle(games: int, places: int) -> None:
    assert places_wanted(replace(Config(), selfplay=SelfplayConfig(games=games))) == places


@pytest.fixture
def plan(monkeypatch: pytest.MonkeyPatch) -> Plan:
    """A plan of 24 games that a stand-in plays."""
    card = pytest.importorskip("azero.gpu.card", reason='numba-cuda is missing (pip install "azero[gpu13]").')

    def stand_in(game: Any, place: Any, settings: Any, network: Any, choice: InferenceChoice) -> StandIn:
        return StandIn(game, place, settings, make_inference(network, game, choice))

    monkeypatch.setattr(card, "Card", stand_in)
    monkeypatch.setattr("torch.cuda.mem_get_info", lambda: (2**30, 2**30))
    game, selfplay = make_game("tictactoe"), SelfplayConfig(games=24, opening_fraction=0.5, opening_plies=2)
    config = Config(search=SearchConfig(kind="gumbel", num_simulations=8), selfplay=selfplay)
    choice = InferenceChoice("torch", "fp32", 16, "cpu", 0.0)
    return Plan(config, 1, game, build_network(config.network, game, seed=1), choice, range(24))


def test_a_stage_on_a_gpu_has_the_games_of_the_cpu(plan: Plan) -> None:
    said = list[str]()
    watch = Watch(Progress(), StopSignal())
    found, expected = SelfPlayOnGpu(plan, said.append).play(watch), SelfPlayHere(plan).play(watch)
    assert_same_records(found.games, expected.games)
    assert said == ["Compiling self-play for the GPU takes a minute or two, at each start."]
    assert found.stats.games == 24 and found.stats.cache_found > 0


def test_a_gpu_with_little_memory_plays_fewer_games_at_once(
    plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = list[str]()
    stage = SelfPlayOnGpu(plan, said.append)
    monkeypatch.setattr("torch.cuda.mem_get_info", lambda: (10 * 2**20, 2**30))
    assert stage.places(2**20) == 7  # 70 % of 10 MiB
    assert said == ["The GPU has memory for 7 games at once, not 16."]
    with pytest.raises(UserError, match=r"a game of tictactoe needs 20 MiB of the GPU's memory"):
        stage.places(20 * 2**20)


def test_the_executor_chooses(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Executor(with_trees("auto"))
    assert not made.on_gpu()
    monkeypatch.setattr(on_gpu, "hindrance", lambda config: None)
    assert made.on_gpu() and not Executor(with_trees("cpu")).on_gpu()
