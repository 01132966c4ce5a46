"""The stage of self-play on a GPU: when it is chosen, and what it writes. A stand-in is the GPU."""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from typing import Any

import pytest
from searching import assert_same_records
from stand_in import StandIn, pretend_a_gpu

from azero.config.schema import (
    ClusterConfig,
    Config,
    GameConfig,
    InferenceConfig,
    SearchConfig,
    SelfplayConfig,
    UserError,
)
from azero.games import make_game
from azero.gpu import selfplay as on_gpu
from azero.gpu.places import bytes_of, make_place
from azero.gpu.selfplay import SelfPlayOnGpu, hindrance, obstacle, places_wanted, said_by
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
        (with_trees("auto", device="cpu"), "not compute the network on an NVIDIA GPU"),
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


@pytest.mark.parametrize(
    "games, cards, places",
    [
        (1, 1, 1),
        (100, 1, 64),
        (8191, 1, 4096),
        (10**6, 1, 8192),
        (8192, 4, 1024),
        (65536, 4, 4096),
        (3, 4, 1),
    ],
)
def test_places_of_several_gpus_have_up_to_four_games_a_cycle(games: int, cards: int, places: int) -> None:
    assert places_wanted(replace(Config(), selfplay=SelfplayConfig(games=games)), cards) == places


@pytest.fixture
def plan(monkeypatch: pytest.MonkeyPatch) -> Plan:
    """A plan of 24 games that a stand-in plays."""
    pretend_a_gpu(monkeypatch)
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
    assert found.stats.games >= 24 and found.stats.cache_found > 0
    assert {record.number for record in found.ahead} <= set(range(24))


def test_two_gpus_share_a_cycle(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each plays eight games at once, in a thread of its own, and then takes what is left of the 24."""
    monkeypatch.setattr(on_gpu, "equal_cards", lambda: [0, 1])
    workers = list[Any]()
    ready = SelfPlayOnGpu.ready_workers

    def noted(self: SelfPlayOnGpu) -> list[Any]:
        workers.extend(ready(self))
        return workers

    monkeypatch.setattr(SelfPlayOnGpu, "ready_workers", noted)
    watch = Watch(Progress(), StopSignal())
    found, expected = SelfPlayOnGpu(plan, print).play(watch), SelfPlayHere(plan).play(watch)
    assert_same_records(found.games, expected.games)
    machines = [worker.machine for worker in workers]
    assert [(machine.number, machine.size) for machine in machines] == [(0, 8), (1, 8)]
    assert all(worker.stats.games >= 8 for worker in workers) and found.stats.games == 24
    assert len({machine.users[-1] for machine in machines}) == 2


def test_gpus_of_another_kind_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ["A", "A", "B"]
    monkeypatch.setattr("torch.cuda.device_count", lambda: len(names))
    monkeypatch.setattr("torch.cuda.get_device_name", names.__getitem__)
    assert on_gpu.equal_cards() == [0, 1]


def test_a_gpu_with_little_memory_plays_fewer_games_at_once(
    plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = list[str]()
    stage = SelfPlayOnGpu(plan, said.append)
    place = make_place(plan.game, plan.config.search, 1000)
    size = bytes_of(place) + 9 * 9 * 8  # pairs of targets of a whole game
    monkeypatch.setattr("torch.cuda.mem_get_info", lambda number: (10 * size, 2**30))
    assert stage.places(place, [0]) == 4  # of the 7 that 70 % have room for
    assert said == ["The GPU has memory for 4 games at once, not 16."]
    monkeypatch.setattr("torch.cuda.mem_get_info", lambda number: (size, 2**30))
    with pytest.raises(UserError, match=r"a game of tictactoe needs 0\.1 MiB of the GPU's memory"):
        stage.places(place, [0])


def test_the_cpu_plays_what_the_gpu_refuses(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    said = list[str]()

    def refuse(*_: Any) -> StandIn:
        raise TypeError("no such rule\non a GPU")

    monkeypatch.setattr("azero.gpu.card.Card", refuse)
    for _ in range(2):
        found = SelfPlayOnGpu(plan, said.append).play(Watch(Progress(), StopSignal()))
        assert len(found.games) == 24
    assert len(said) == 2  # that it compiles, and this
    refused = said[1]
    assert refused.startswith(
        "Self-play is on the CPU: the GPU refuses these rules or this search: TypeError"
    )
    config = replace(plan.config, selfplay=replace(plan.config.selfplay, trees="gpu"))
    monkeypatch.setattr(on_gpu, "_REFUSED", set())
    with pytest.raises(UserError, match=r"refuses these rules or this search: TypeError: no such rule\. Set"):
        SelfPlayOnGpu(replace(plan, config=config), said.append).play(Watch(Progress(), StopSignal()))


@pytest.mark.parametrize(
    "text, line",
    [
        ("", "no reason is given"),
        ("out of memory.", "out of memory"),
        (
            "Failed in cuda mode\n\x1b[1mNo cfunc\x1b[0m\n\x1b[1mDuring: lowering x at mine.py (9)",
            "During: lowering x at mine.py (9)",
        ),
    ],
)
def test_what_a_compiler_says_is_one_line(text: str, line: str) -> None:
    assert said_by(ValueError(text)) == f"ValueError: {line}"


def test_rules_that_are_made_anew_are_compiled_once(plan: Plan) -> None:
    other = replace(plan, game=replace(plan.game))
    first, second = SelfPlayOnGpu(plan, print), SelfPlayOnGpu(other, print)
    assert first.game is second.game is plan.game is not other.game


@pytest.mark.parametrize("wish", [InferenceConfig(precision="int8"), InferenceConfig(backend="openvino")])
def test_a_network_on_the_cpu_has_its_search_there(
    wish: InferenceConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("numba_cuda", reason='numba-cuda is missing (pip install "azero[gpu13]").')
    monkeypatch.setattr("azero.network.inference.resolve_device", lambda device: "cuda")
    assert "not compute the network on an NVIDIA GPU" in str(hindrance(Config(inference=wish)))


def test_the_executor_chooses(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Executor(with_trees("auto"))
    assert not made.on_gpu()
    monkeypatch.setattr(on_gpu, "hindrance", lambda config: None)
    assert made.on_gpu() and not Executor(with_trees("cpu")).on_gpu()
