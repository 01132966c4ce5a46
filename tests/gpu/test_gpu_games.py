"""Self-play on a GPU without one: its functions, on a stand-in, play the games of the CPU's workers."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from searching import FakeInference, assert_same_records
from stand_in import StandIn

from azero.config.schema import Config, SearchConfig, SelfplayConfig, UserError
from azero.games import make_game
from azero.games.game import UNBOUNDED, Game
from azero.gpu.places import make_place
from azero.gpu.selfplay import AT_ONCE
from azero.gpu.worker import GpuWorker
from azero.process.signals import StopSignal
from azero.replay.examples import GameRecord
from azero.report.console import Progress
from azero.search.counters import StageStats
from azero.workers.threads import GameQueue, play_games, play_settings, play_with

SEEDS = np.arange(20, dtype=np.uint64) * 7 + 1
PUCT = SearchConfig(
    kind="puct", num_simulations=8, solver=True, exact_plies=4, exact_nodes=60, tree_reuse=True
)
GUMBEL = SearchConfig(kind="gumbel", num_simulations=8, tree_reuse=False)
OPENINGS = SelfplayConfig(games=20, opening_fraction=0.5, opening_plies=3, temperature_plies=6)


def stand_in(game: Game, search: SearchConfig, inference: FakeInference, cached: int = 64) -> StandIn:
    """Return one that plays as many games at once as the inference has rows."""
    place = make_place(game, search, cached)
    settings = play_settings(game, search, OPENINGS)._replace(at_once=AT_ONCE)
    return StandIn(game, place, settings, inference)


def on_gpu(machine: StandIn, game: Game, search: SearchConfig, games: int = 20) -> Any:
    """Return the records of so many games, and the stats, as `play_games` does."""
    workers, queue = [GpuWorker(game, machine, search)], GameQueue(iter(range(games)))
    return play_with(workers, queue, SEEDS, Progress(), StopSignal(), list, compiled=True)


def on_cpu(game: Game, search: SearchConfig, games: int = 20) -> tuple[list[GameRecord], StageStats]:
    """Return them by the threads of the CPU."""
    queue, config = GameQueue(iter(range(games))), Config(search=search, selfplay=OPENINGS)
    return play_games(game, [FakeInference(game)], config, queue, SEEDS, Progress(), StopSignal())


def check(game: Game, search: SearchConfig, games: int) -> None:
    if game.rules.plies_left(game.initial_state()) == UNBOUNDED:
        search = replace(search, exact_plies=0)
    machine = stand_in(game, search, FakeInference(game, batch_size=6))
    (found, stats), (expected, other) = on_gpu(machine, game, search, games), on_cpu(game, search, games)
    assert_same_records(found, expected)
    assert (stats.games, stats.plies, stats.searches) == (other.games, other.plies, other.searches)
    assert stats.simulations == other.simulations
    assert 0 < stats.evaluations <= stats.rows


def test_a_gpu_plays_the_games_of_the_cpu() -> None:
    check(make_game("tictactoe"), GUMBEL, 20)
    check(make_game("connect_four"), GUMBEL, 12)


@pytest.mark.long
@pytest.mark.parametrize("search", [PUCT, GUMBEL], ids=["puct", "gumbel"])
@pytest.mark.parametrize(
    "name, options",
    [
        ("tictactoe", {}),
        ("connect_four", {}),
        ("othello", {"size": 6}),
        ("gomoku", {"rows": 6, "columns": 6, "connect": 4}),
        ("hex", {"size": 4}),
        ("go", {"size": 4}),  # superko: moves are banned at the root
        ("breakthrough", {"rows": 5, "columns": 4}),
        ("chess", {"variant": "gardner", "max_plies": 60}),
    ],
)
def test_a_gpu_plays_every_game(name: str, options: dict[str, Any], search: SearchConfig) -> None:
    check(make_game(name, **options), search, 8)


def test_targets_get_more_room() -> None:
    game = make_game("connect_four")
    machine = stand_in(game, GUMBEL, FakeInference(game, batch_size=4))
    worker = machine.places.worker
    few = worker.target_actions[:, :, :9], worker.target_weights[:, :, :9]
    machine.places = machine.places._replace(
        worker=worker._replace(target_actions=few[0].copy(), target_weights=few[1].copy())
    )
    assert_same_records(on_gpu(machine, game, GUMBEL, 6)[0], on_cpu(game, GUMBEL, 6)[0])
    assert machine.places.worker.target_actions.shape[2] > 9


@pytest.mark.parametrize("value, logit", [(np.nan, 0.0), (1.5, 0.0), (0.0, np.inf)])
def test_an_answer_that_is_none_ends_the_stage(value: float, logit: float) -> None:
    game = make_game("tictactoe")

    def answer(planes: np.ndarray) -> tuple[np.ndarray, np.float32]:
        return np.full(game.num_actions, logit, np.float32), np.float32(value)

    with pytest.raises(UserError, match="answered NaN, infinity or a value beyond 1"):
        on_gpu(stand_in(game, GUMBEL, FakeInference(game, answer)), game, GUMBEL)


def test_a_stop_drops_what_is_under_way() -> None:
    game, stop = make_game("connect_four"), StopSignal()
    machine = stand_in(game, GUMBEL, FakeInference(game, batch_size=2))
    worker, queue = GpuWorker(game, machine, GUMBEL), GameQueue(iter(range(20)))
    played = machine.waves

    def waves(count: int) -> None:
        played(count)
        stop.requested = len(queue.records) >= 3

    machine.waves = waves  # type: ignore[method-assign]
    found, _ = play_with([worker], queue, SEEDS, Progress(), stop, list, compiled=True)
    assert 3 <= len(found) < 20
    expected = on_cpu(game, GUMBEL)[0]
    assert_same_records(found, [expected[record.number] for record in found])


def test_what_has_ended_is_handed_over_while_the_gpu_plays_on() -> None:
    game, told = make_game("tictactoe"), list[str]()
    machine = stand_in(game, GUMBEL, FakeInference(game))
    queue, played = GameQueue(iter(range(20))), machine.waves

    def waves(count: int) -> None:
        told.append("plays")
        played(count)

    machine.waves = waves  # type: ignore[method-assign]
    machine.wait = lambda: told.append("waits")  # type: ignore[method-assign]
    queue.finish = lambda record: told.append("game")  # type: ignore[method-assign]
    GpuWorker(game, machine, GUMBEL).play(queue, SEEDS, StopSignal())
    *_, last = order = [kind for kind, _ in itertools.groupby(told)]
    assert told.count("game") == 20 and "plays game waits" in " ".join(order)
    assert last == "game" and "waits game plays" not in " ".join(order)


def test_games_under_way_are_shown() -> None:
    game = make_game("tictactoe")
    worker = GpuWorker(game, stand_in(game, GUMBEL, FakeInference(game)), GUMBEL)
    worker.begin_next(np.arange(8), GameQueue(iter(range(3))), SEEDS)
    worker.machine.waves(20)
    worker.look()
    shown = [worker.game_in_flight(place) for place in range(4)]
    assert [each and each["number"] for each in shown] == [0, 1, 2, None]
    assert all(each is None or each["moves"] for each in shown)
    assert worker.simulations_made() == worker.in_flight > 0
