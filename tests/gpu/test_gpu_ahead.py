"""Games of the next cycle begin on a GPU while the last ones of a cycle are played. A stand-in is the GPU."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from searching import FakeInference, assert_same_records
from stand_in import StandIn, pretend_a_gpu
from toy import NAME, StopInside, advance, digest_of, toy_config

from azero import loop
from azero.config.schema import Config, SearchConfig, SelfplayConfig
from azero.games import make_game
from azero.games.game import Game
from azero.gpu import selfplay as on_gpu
from azero.gpu.places import make_place
from azero.gpu.selfplay import AT_ONCE
from azero.gpu.worker import GpuWorker
from azero.process.signals import Stopped, StopSignal
from azero.replay.examples import GameRecord, plies_of
from azero.replay.shards import dump_games, load_games, load_partial
from azero.replay.under_rules import fault_under
from azero.report.console import Progress
from azero.report.reporter import NullReporter
from azero.run.run import Run
from azero.workers.games import FINISHED
from azero.workers.threads import GameQueue, play_games, play_settings, play_with, worker_of

GAMES = 12  # of a cycle
SEEDS = np.arange(2 * GAMES, dtype=np.uint64) * 7 + 1
SEARCH = SearchConfig(kind="gumbel", num_simulations=8, solver=True, tree_reuse=False)
SELFPLAY = SelfplayConfig(games=GAMES, opening_fraction=0.5, opening_plies=3, temperature_plies=6)


def worker_for(game: Game, under_way: Sequence[GameRecord] = (), search: SearchConfig = SEARCH) -> GpuWorker:
    """Return one that plays up to five games at once; from number GAMES on they are of the next cycle."""
    place, settings = make_place(game, search, 64), play_settings(game, search, SELFPLAY)
    machine = StandIn(game, place, settings._replace(at_once=AT_ONCE), FakeInference(game, batch_size=5))
    worker = GpuWorker(game, machine, search)
    worker.own, worker.waiting = GAMES, under_way
    return worker


def play(worker: GpuWorker, numbers: Sequence[int], seeds: np.ndarray) -> list[GameRecord]:
    queue = GameQueue(iter(numbers))
    return play_with([worker], queue, seeds, Progress(), StopSignal(), list, compiled=True)[0]


def begins(game: GameRecord, other: GameRecord) -> bool:
    """Return whether the moves and targets of a game are those with which another one begins."""
    plies, pairs = len(game.actions), len(game.target_actions)
    return (
        np.array_equal(game.actions, other.actions[:plies])
        and np.array_equal(game.states, other.states[:plies])
        and np.array_equal(game.target_counts, other.target_counts[:plies])
        and np.array_equal(game.target_weights, other.target_weights[:pairs])
        and np.array_equal(game.root_value, other.root_value[:plies])
    )


@pytest.fixture(scope="module")
def game() -> Game:
    return make_game("connect_four")


@pytest.fixture(scope="module")
def on_cpu(game: Game) -> list[GameRecord]:
    """The games of all seeds."""
    config, queue = Config(search=SEARCH, selfplay=SELFPLAY), GameQueue(iter(range(len(SEEDS))))
    inference = FakeInference(game)
    return play_games(game, [inference], config, queue, SEEDS, Progress(), StopSignal())[0]


@pytest.fixture(scope="module")
def first(game: Game) -> tuple[GpuWorker, list[GameRecord]]:
    """The worker of a cycle's games, and those."""
    worker = worker_for(game)
    return worker, play(worker, range(2 * GAMES), SEEDS)


First = tuple[GpuWorker, list[GameRecord]]


def waiting(first: First) -> list[GameRecord]:
    """Return the games of the next cycle that go on, with their numbers in it."""
    records = [record for record in first[0].ahead if record.stream is not None]
    return [record._replace(number=record.number - GAMES) for record in records]


def test_the_games_of_a_cycle_are_those_of_the_cpu(first: First, on_cpu: list[GameRecord]) -> None:
    assert_same_records(first[1], on_cpu[:GAMES])


def test_what_has_begun_ahead_is_the_next_cycle_s(first: First, on_cpu: list[GameRecord]) -> None:
    """Until it is cut it is what the CPU plays from the same seeds."""
    ahead = first[0].ahead
    assert len({record.number for record in ahead}) == len(ahead) > 2
    assert all(GAMES <= record.number < 2 * GAMES for record in ahead)
    assert all(begins(record, on_cpu[record.number]) for record in ahead)
    under_way = waiting(first)
    assert 2 < len(under_way) <= 5
    assert all(len(record.actions) < len(on_cpu[GAMES + record.number].actions) for record in under_way)
    assert all(record.searched.any() for record in under_way)


def test_games_go_on_where_they_were(game: Game, first: First, on_cpu: list[GameRecord]) -> None:
    under_way = waiting(first)
    done = {record.number - GAMES for record in first[0].ahead if record.stream is None}
    order = [record.number for record in under_way]
    left = [number for number in range(GAMES) if number not in done and number not in order]
    found = play(worker_for(game, under_way), [*order, *left], SEEDS[GAMES:])
    assert [record.number for record in found] == sorted([*order, *left])
    assert fault_under(game, game.name, plies_of(found)) == ""
    assert all(record.stream is None for record in found)
    by_number = {record.number: record for record in found}
    assert all(begins(record, by_number[record.number]) for record in under_way)
    assert all(begins(by_number[number], on_cpu[GAMES + number]) for number in left)


def test_simulations_are_counted_where_they_are_made(first: First) -> None:
    """A search may end before its simulations, where the solver has proven the root."""
    worker, found = first
    searched = sum(int(record.searched.sum()) for record in [*found, *worker.ahead])
    assert worker.stats.searches == searched
    assert 0.5 * 8 * searched < worker.stats.simulations <= 8 * searched


def test_a_file_keeps_them(game: Game, first: First) -> None:
    under_way = waiting(first)
    read = load_games(dump_games(plies_of(under_way), game.name), "file", game).games()
    assert_same_records(read, under_way)
    worker = worker_of(game, read)
    for place, record in enumerate(under_way):
        plies, pairs = worker.ply[place], worker.targets[place]
        np.testing.assert_array_equal(worker.states[place, :plies], record.states)
        np.testing.assert_array_equal(worker.target_weights[place, :pairs], record.target_weights)
        np.testing.assert_array_equal(worker.stream[place], record.stream)


def test_long_targets_find_room(game: Game, first: First) -> None:
    under_way = [record._replace(number=place) for place, record in enumerate(waiting(first))]
    worker = worker_for(game, under_way)
    places = worker.machine.places
    few = places.worker.target_actions[:, :, :28].copy(), places.worker.target_weights[:, :, :28].copy()
    narrow = places.worker._replace(target_actions=few[0], target_weights=few[1])
    worker.machine.places = places._replace(worker=narrow)
    assert len(play(worker, range(len(under_way)), SEEDS)) == len(under_way)


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Config:
    """A run of three cycles whose GPU is a stand-in with 16 places."""
    pretend_a_gpu(monkeypatch)
    monkeypatch.setattr(on_gpu, "hindrance", lambda config: None)
    monkeypatch.setattr(on_gpu, "places_wanted", lambda config, cards: 16)
    return toy_config(tmp_path, cycles=3, search=SEARCH)


def test_an_interrupted_run_has_the_same_games(config: Config, tmp_path: Path) -> None:
    advance(config)
    whole = digest_of(config)
    other = replace(config, checkpoints=str(tmp_path / "other"), data=str(tmp_path / "data_of_other"))
    with Run.open(other, NAME, "test") as run, pytest.raises(Stopped):
        loop.run_cycles(other, run, NullReporter(), StopInside(run, 2, "selfplay", 3))
    with Run.open(other, NAME, "test") as run:
        assert (run.state.cycle, run.state.stage) == (1, "selfplay")
        begun = load_partial(run, make_game(config.game.name))
        assert any(record.stream is not None for record in begun)
    advance(other)
    assert digest_of(other) == whole


def test_the_cpu_begins_them_anew(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    with Run.open(config, NAME, "test") as run, pytest.raises(Stopped):
        loop.run_cycles(config, run, NullReporter(), StopInside(run, 2, "selfplay", 1))
    monkeypatch.setattr(on_gpu, "hindrance", lambda config: "there is none.")
    state = advance(config)
    assert state.cycle == 3 and [shard.games for shard in state.shards] == [40, 40]  # of the window


def test_a_stop_at_the_last_look_changes_nothing(game: Game, first: First) -> None:
    """A game of the next cycle that has just ended is not one that waits, too."""
    worker, stop = worker_for(game), StopSignal()
    read = worker.machine.read

    def stopping(array: np.ndarray) -> np.ndarray:
        status = read(array)
        if array is worker.machine.places.worker.status:
            own = worker.plays_own()
            stop.requested |= bool(own.any() and (status[own, 0] == FINISHED).all())
        return status

    worker.machine.read = stopping  # type: ignore[method-assign]
    queue = GameQueue(iter(range(2 * GAMES)))
    found, _ = play_with([worker], queue, SEEDS, Progress(), stop, list, compiled=True)
    assert stop.requested
    assert_same_records(found, first[1])
    assert_same_records(worker.ahead, first[0].ahead)


def test_little_time_at_the_beginning_is_no_fault(game: Game, on_cpu: list[GameRecord]) -> None:
    worker, queue = worker_for(game), GameQueue(iter(range(2 * GAMES)), deadline=0.0)
    found, _ = play_with([worker], queue, SEEDS, Progress(), StopSignal(), list, compiled=True)
    assert_same_records(found, on_cpu[:1])
    assert not worker.ahead


def test_two_gpus_begin_no_games_ahead(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    with Run.open(config, NAME, "test") as run, pytest.raises(Stopped):
        loop.run_cycles(config, run, NullReporter(), StopInside(run, 2, "selfplay", 1))
    monkeypatch.setattr(on_gpu, "equal_cards", lambda: [0, 1])
    state = advance(config)
    assert state.cycle == 3 and [shard.games for shard in state.shards] == [40, 40]  # of the window


@pytest.mark.parametrize(
    "name, options, search",
    [
        ("tictactoe", {}, SearchConfig(kind="puct", num_simulations=8, solver=True, tree_reuse=True)),
        ("go", {"size": 4}, SEARCH),  # superko: moves are banned
    ],
)
@pytest.mark.long
def test_other_searches_and_games_go_on_too(name: str, options: dict[str, int], search: SearchConfig) -> None:
    game = make_game(name, **options)
    before = worker_for(game, search=search)
    played = play(before, range(2 * GAMES), SEEDS)
    under_way = waiting((before, played))
    found = play(worker_for(game, under_way, search), [record.number for record in under_way], SEEDS)
    by_number = {record.number: record for record in found}
    assert under_way and all(begins(record, by_number[record.number]) for record in under_way)
    assert fault_under(game, game.name, plies_of(found)) == ""


def test_what_cannot_go_on_is_refused(game: Game, first: First) -> None:
    ended = first[1][0]._replace(stream=np.ones(2, np.uint64), first_outcome=0.0)
    assert "the game is over before" in fault_under(game, game.name, plies_of([ended]))
    longest = replace(game, max_plies=len(waiting(first)[0].actions))
    assert "waits to go on" in fault_under(longest, game.name, plies_of(waiting(first)[:1]))
