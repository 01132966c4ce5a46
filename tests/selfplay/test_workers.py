"""Workers: only a game's number decides what is played, not workers, neighbours or the cache."""

from __future__ import annotations

import gc
import threading
import time
import weakref
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from places import DOUBLE_MOVE
from searching import FakeInference, assert_same_records
from targets import rows_of_targets
from waiting import wait_for

from azero.config.schema import Config, InferenceConfig, SearchConfig, SelfplayConfig, UserError
from azero.games import make_game
from azero.games.game import Game
from azero.process.seeds import SELFPLAY, game_seeds
from azero.process.signals import StopSignal
from azero.replay.examples import GameRecord
from azero.report.console import Progress
from azero.search.counters import StageStats
from azero.search.mcts import ALL
from azero.search.root import Temperature
from azero.workers.games import start_games
from azero.workers.memory import worker_bytes
from azero.workers.threads import GameQueue, make_workers, play_games, play_settings

SEARCH = SearchConfig(num_simulations=12)
CONFIG = Config(search=SEARCH, inference=InferenceConfig(cache=0))
SEEDS = game_seeds(1, 1, SELFPLAY, 200)


@pytest.fixture(scope="module", params=["tictactoe", DOUBLE_MOVE], ids=["tictactoe", "double_move"])
def either_game(request: pytest.FixtureRequest) -> Game:
    return make_game(request.param)


def played(
    game: Game,
    numbers: Sequence[int] = range(30),
    workers: int = 1,
    rows: int = 8,
    config: Config = CONFIG,
    seeds: np.ndarray = SEEDS,
) -> tuple[list[GameRecord], StageStats]:
    inferences = [FakeInference(game, batch_size=rows) for _ in range(workers)]
    return play_games(game, inferences, config, GameQueue(iter(numbers)), seeds, Progress(), StopSignal())


def assert_valid(game: Game, record: GameRecord) -> None:
    """Assert that a record agrees with its actions, played by the rules."""
    plies = len(record.actions)
    assert record.states.shape == (plies, game.state_words) and record.target_counts.shape == (plies,)
    targets = rows_of_targets(record, game.num_actions)
    state = game.initial_state()
    for ply, action in enumerate(record.actions.tolist()):
        assert not game.is_terminal(state)
        assert (record.states[ply] == state).all()
        assert record.to_play[ply] == game.to_play(state)
        legal = game.legal_mask(state)
        assert legal[action]
        target = targets[ply]
        if ply >= record.opening_plies:
            assert target.sum() == pytest.approx(1.0, abs=1e-6)
            assert (target[~legal] == 0).all() and target[action] > 0
            assert -1.0 <= record.root_value[ply] <= 1.0
        else:
            assert not (target.any() or record.searched[ply]) and record.root_value[ply] == 0.0
        state = game.step(state, action)
    assert game.is_terminal(state)
    assert record.first_outcome == game.outcome(state) * (1 if game.to_play(state) == 0 else -1)
    assert record.opening_plies < plies  # an opening never ends a game


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"search": replace(SEARCH, tree_reuse=False)},
        {"search": replace(SEARCH, fpu_mode="explored", fpu=0.2)},
        {"search": replace(SEARCH, solver=True)},
        {"search": replace(SEARCH, solver=True, kind="gumbel", tree_reuse=False)},
        {"selfplay": SelfplayConfig(opening_fraction=0.5, opening_plies=4)},
        {"inference": InferenceConfig(cache=64)},
        {"selfplay": SelfplayConfig(temperature_plies=2), "search": replace(SEARCH, dirichlet_fraction=0.0)},
    ],
    ids=[
        "default",
        "tree anew",
        "fpu",
        "solver",
        "solver in Gumbel",
        "openings",
        "small cache",
        "greedy",
    ],
)
def test_records_are_what_the_rules_say(either_game: Game, changes: dict[str, Any]) -> None:
    game = either_game
    records, stats = played(game, config=replace(CONFIG, **changes))
    assert [record.number for record in records] == list(range(30))
    for record in records:
        assert_valid(game, record)
    assert stats.games == 30
    assert stats.plies == sum(len(record.actions) for record in records)
    asked = 12 * sum(int(record.searched.sum()) for record in records)
    assert stats.simulations == asked or (
        stats.simulations < asked and "search" in changes and changes["search"].solver
    )
    assert 0 < stats.evaluations <= stats.rows


def test_a_worker_counts_its_full_waves_apart_and_where_its_time_went(game: Game) -> None:
    stats = played(game, rows=8)[1]
    assert (
        0 < stats.full_evaluations < stats.evaluations
    )  # 30 games, 8 in flight: the last waves are not full
    assert stats.full_evaluations % 8 == 0
    assert 0 < stats.inference_seconds < stats.seconds
    assert 0 < stats.full_seconds < stats.seconds
    assert played(game, numbers=range(3), rows=8)[1].full_evaluations == 0


def test_a_worker_that_has_nothing_left_is_idle_while_the_others_play(game: Game) -> None:
    """Eight games for the first that asks, one for the other, which comes before these are over."""

    def slow(_planes: np.ndarray) -> tuple[np.ndarray, np.float32]:
        time.sleep(1e-3)
        return np.zeros(game.num_actions, np.float32), np.float32(0.0)

    inferences = [FakeInference(game, slow) for _ in range(2)]
    queue = GameQueue(iter(range(9)))
    stats = play_games(game, inferences, CONFIG, queue, SEEDS, Progress(), StopSignal())[1]
    assert sum(worker.games for worker in stats.workers) == stats.games == 9
    assert sum(worker.evaluations for worker in stats.workers) == stats.evaluations
    assert all(0 <= worker.idle_share < 1 and 0 < worker.batch_fill <= 1 for worker in stats.workers)
    told = stats.shares("selfplay")
    assert told["selfplay/batch_fill"] == stats.evaluations / stats.rows
    assert told["selfplay/idle_share_2"] == stats.workers[1].idle_share


@pytest.mark.parametrize("workers", [2, 3])
def test_the_number_of_workers_changes_nothing(game: Game, workers: int) -> None:
    assert_same_records(played(game, workers=workers)[0], played(game, workers=1)[0])


def test_the_number_of_games_in_flight_changes_nothing(game: Game) -> None:
    assert_same_records(played(game, rows=3)[0], played(game, rows=50)[0])


def test_workers_that_do_not_fit_into_memory_are_refused_with_what_to_lower(game: Game) -> None:
    """A node: 44 bytes, 2 words of state, 9 edges of 20 bytes: 240. A tree keeps 3 times its simulations.

    A game's record: 9 plies of 2 words, and targets of 9 * 9 pairs of 8 bytes, twice.
    """
    assert worker_bytes(game, 1, CONFIG) == (3 * 12 + 2) * 240 + 9 * 16 + 2 * 81 * 8
    huge = replace(CONFIG, search=replace(SEARCH, num_simulations=10**9))
    with pytest.raises(UserError, match=r"this machine has [\d.]+; lower selfplay.concurrent_games"):
        played(game, config=huge)


def test_other_seeds_play_other_games(game: Game) -> None:
    one, other = played(game)[0], played(game, seeds=game_seeds(2, 1, SELFPLAY, 200))[0]
    assert [record.actions.tolist() for record in one] != [record.actions.tolist() for record in other]
    assert len({tuple(record.actions.tolist()) for record in one}) > 20


def test_some_numbers_alone_replay_the_same_games(game: Game) -> None:
    some = [3, 7, 8, 21, 29]
    everything = played(game)[0]
    assert_same_records(played(game, numbers=some, workers=2)[0], [everything[number] for number in some])


def test_a_cache_changes_no_game_and_saves_evaluations(game: Game) -> None:
    plain, without = played(game)
    for entries in (8, 4096):
        cached, stats = played(game, config=replace(CONFIG, inference=InferenceConfig(cache=entries)))
        assert_same_records(cached, plain)
        assert stats.evaluations < without.evaluations
        assert stats.evaluations == stats.cache_asked - stats.cache_found
    assert without.cache_asked == 0


def test_openings_are_not_searched_and_stay_within_bounds(game: Game) -> None:
    config = replace(CONFIG, selfplay=SelfplayConfig(opening_fraction=0.5, opening_plies=3))
    records = played(game, numbers=range(100), rows=64, config=config)[0]
    lengths = [int((~record.searched).sum()) for record in records]
    assert set(lengths) == {0, 1, 2, 3}
    assert 0.3 < np.mean([length > 0 for length in lengths]) < 0.7
    for record, length in zip(records, lengths, strict=True):
        assert not record.searched[:length].any() and record.searched[length:].all()


def test_games_begin_with_the_lines_of_a_file(game: Game, tmp_path: Path) -> None:
    lines = [(0, 4), (4, 0, 8)]
    (tmp_path / "book").write_text("\n".join(" ".join(game.move_names(line)) for line in lines))
    config = replace(CONFIG, selfplay=SelfplayConfig(book=str(tmp_path / "book"), book_fraction=1.0))
    records = played(game, numbers=range(20), config=config)[0]
    assert {tuple(record.actions[: record.opening_plies].tolist()) for record in records} == set(lines)
    for record in records:
        assert_valid(game, record)


def test_proofs_are_on_record_but_not_where_history_decides_what_is_legal(game: Game) -> None:
    """A proof ignores the history, so with superko nothing is proven."""
    proving = replace(CONFIG, search=replace(SEARCH, solver=True))
    assert all(record.proven is None for record in played(game, range(3))[0])
    assert any(
        record.proven is not None and record.proven.any()
        for record in played(game, range(3), config=proving)[0]
    )
    for superko, proves in (("simple", True), ("positional", False)):
        go = make_game("go", size=3, superko=superko, max_plies=20)
        assert all(
            (record.proven is not None) == proves for record in played(go, range(2), config=proving)[0]
        )


@pytest.mark.parametrize("kind", ["puct", "gumbel"])
def test_behind_the_plies_with_a_temperature_a_position_has_one_move(game: Game, kind: str) -> None:
    search = replace(SEARCH, kind=kind, tree_reuse=False, dirichlet_fraction=0.0)
    records = played(
        game,
        range(100),
        rows=64,
        config=replace(CONFIG, search=search, selfplay=SelfplayConfig(temperature_plies=2)),
    )[0]
    seen: dict[bytes, int] = {}
    repeated = 0
    for record in records:
        for state, action in zip(record.states[2:], record.actions[2:].tolist(), strict=True):
            repeated += state.tobytes() in seen
            assert seen.setdefault(state.tobytes(), action) == action
    assert repeated > 20 and len({int(record.actions[0]) for record in records}) > 1


def test_a_tree_anew_each_ply_has_whole_simulations_in_its_targets(game: Game) -> None:
    """12 visits a search: every target is a multiple of a twelfth. A kept tree has more visits than that."""
    anew = played(game, config=replace(CONFIG, search=replace(SEARCH, tree_reuse=False)))[0]
    kept = played(game)[0]

    def twelfths(records: Sequence[GameRecord]) -> bool:
        targets = np.concatenate([rows_of_targets(record, game.num_actions) for record in records]) * 12
        return bool((np.abs(targets - targets.round()) < 1e-5).all())

    assert twelfths(anew)
    assert not twelfths(kept)


class StopAfter(FakeInference):
    """Requests a stop in its k-th batch."""

    def __init__(self, game: Game, stop: StopSignal, batches: int) -> None:
        super().__init__(game, batch_size=8)
        self.stop, self.batches = stop, batches

    def infer(self, planes: np.ndarray, rows: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        self.stop.requested = self.calls >= self.batches
        return super().infer(planes, rows)


def test_a_stop_keeps_finished_games_and_drops_the_others(game: Game) -> None:
    everything = {record.number: record for record in played(game)[0]}
    stop = StopSignal()
    records, stats = play_games(
        game, [StopAfter(game, stop, 150)], CONFIG, GameQueue(iter(range(30))), SEEDS, Progress(), stop
    )
    assert 0 < len(records) < 30
    assert stats.games == len(records)
    assert_same_records(records, [everything[record.number] for record in records])


def test_a_stop_ends_a_worker_whose_cache_holds_every_position(game: Game) -> None:
    """Such a worker needs the network no more, so its wave would last to the end of the queue."""
    stop = StopSignal()

    class StopSoon(Progress):
        def update(self, done: float, **stats: float | str) -> None:
            stop.requested = done > 5000

    many = 1_000_000  # games: minutes
    search = replace(SEARCH, num_simulations=2)
    config = Config(search=search, inference=InferenceConfig(cache=1 << 16))
    queue = GameQueue(iter(range(many)))
    seeds = np.zeros(many, np.uint64)  # all games are one
    records, _ = play_games(game, [FakeInference(game, batch_size=8)], config, queue, seeds, StopSoon(), stop)
    assert 5000 < len(records) < many


def test_a_stop_before_the_first_wave_plays_nothing(game: Game) -> None:
    stop = StopSignal()
    stop.requested = True
    assert (
        play_games(game, [FakeInference(game)], CONFIG, GameQueue(iter(range(30))), SEEDS, Progress(), stop)[
            0
        ]
        == []
    )


class Failing(FakeInference):
    def infer(self, planes: np.ndarray, rows: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        if self.calls == 3:
            raise MemoryError("no memory for the batch")
        return super().infer(planes, rows)


def test_a_failing_inference_raises_in_the_main_thread_and_no_worker_is_left(game: Game) -> None:
    before = set(threading.enumerate())
    with pytest.raises(MemoryError, match="no memory for the batch"):
        play_games(
            game,
            [FakeInference(game), Failing(game)],
            CONFIG,
            GameQueue(iter(range(200))),
            SEEDS,
            Progress(),
            StopSignal(),
        )
    assert set(threading.enumerate()) <= before


def test_a_failing_worker_ends_the_others_after_the_wave_in_hand(game: Game) -> None:
    queue = GameQueue(iter(range(200)))

    class FailingAtOnce(FakeInference):
        def infer(self, planes: np.ndarray, rows: int | None = None) -> tuple[np.ndarray, np.ndarray]:
            raise MemoryError

    class UntilThen(FakeInference):
        def infer(self, planes: np.ndarray, rows: int | None = None) -> tuple[np.ndarray, np.ndarray]:
            wait_for(lambda: queue.abandoned)
            return super().infer(planes, rows)

    other = UntilThen(game)
    with pytest.raises(MemoryError):
        play_games(
            game,
            [other, FailingAtOnce(game)],
            CONFIG,
            queue,
            SEEDS,
            Progress(),
            StopSignal(),
        )
    assert other.calls <= 1


def test_what_goes_wrong_beside_the_workers_ends_them_and_the_finished_games_are_kept(game: Game) -> None:
    class Interrupted(Progress):
        def update(self, done: float, **stats: float | str) -> None:
            if done:
                raise KeyboardInterrupt

    class Slow(FakeInference):
        def infer(self, planes: np.ndarray, rows: int | None = None) -> tuple[np.ndarray, np.ndarray]:
            time.sleep(0.001)
            return super().infer(planes, rows)

    before, kept = set(threading.enumerate()), list[GameRecord]()
    numbers = np.arange(100_000) % 200  # half an hour of games
    with pytest.raises(KeyboardInterrupt):
        play_games(
            game,
            [Slow(game)],
            CONFIG,
            GameQueue(iter(numbers.tolist())),
            SEEDS,
            Interrupted(),
            StopSignal(),
            keep=kept.extend,
        )
    assert set(threading.enumerate()) <= before
    assert 0 < len(kept) < 1000 and [record.number for record in kept] == sorted(
        record.number for record in kept
    )


def test_a_deadline_lets_games_in_flight_end_and_begins_no_others(game: Game) -> None:
    class Late(FakeInference):
        def infer(self, planes: np.ndarray, rows: int | None = None) -> tuple[np.ndarray, np.ndarray]:
            if self.calls == 20:
                time.sleep(max(0.0, deadline - time.perf_counter()))
            return super().infer(planes, rows)

    deadline = time.perf_counter() + 0.5
    late = Late(game, batch_size=8)
    records, stats = play_games(
        game, [late], CONFIG, GameQueue(iter(range(60)), deadline), SEEDS, Progress(), StopSignal()
    )
    assert 0 < len(records) < 60 and stats.games == len(records)
    everything = played(game, numbers=range(60))[0]
    assert_same_records(records, [everything[record.number] for record in records])


def test_one_game_is_played_however_late_it_is(game: Game) -> None:
    records, _ = play_games(
        game,
        [FakeInference(game)] * 2,
        CONFIG,
        GameQueue(iter(range(9)), 0.0),
        SEEDS,
        Progress(),
        StopSignal(),
    )
    assert [record.number for record in records] == [0]


def test_more_workers_than_games_are_no_harm(game: Game) -> None:
    assert_same_records(played(game, numbers=[0, 1], workers=3)[0], played(game, numbers=[0, 1])[0])
    assert played(game, numbers=[])[0] == []


class Noted(Progress):
    """Remembers every update."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[float] = []

    def update(self, done: float, **stats: float | str) -> None:
        super().update(done, **stats)
        self.told.append(done)


def test_progress_ends_at_the_number_of_games(game: Game) -> None:
    progress = Noted()
    play_games(game, [FakeInference(game)], CONFIG, GameQueue(iter(range(30))), SEEDS, progress, StopSignal())
    assert progress.told == sorted(progress.told) and progress.told[-1] == 30
    assert progress.stats.keys() == {"simulations_per_second"}


@pytest.mark.long
def test_the_boards_that_are_shown_are_beginnings_of_the_games(
    game: Game, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker's thread ends games and begins others while the boards are read."""
    monkeypatch.setattr(
        "azero.workers.threads.WorkerThreads.play_on", lambda self, _: self.threads[0].is_alive()
    )
    progress, shown = Progress(), list[dict[str, Any]]()
    progress.observe = lambda: shown.extend(progress.boards())
    inferences, queue = [FakeInference(game, batch_size=20), FakeInference(game, batch_size=2)], range(200)
    records, _ = play_games(game, inferences, CONFIG, GameQueue(iter(queue)), SEEDS, progress, StopSignal())
    assert shown
    for board in shown:
        assert board["moves"] == records[board["number"]].actions[: len(board["moves"])].tolist()


def test_a_place_shows_no_board_while_its_game_begins(game: Game, monkeypatch: pytest.MonkeyPatch) -> None:
    """The moves of the game that ended there are still written, and would go under the next one's number."""
    worker, shown = make_workers(game, [FakeInference(game, batch_size=3)], CONFIG)[0], list[Any]()

    def start_and_look(rules: Any, tree: Any, games: Any, places: Any, *others: Any) -> None:
        shown.extend(map(worker.game_in_flight, places))
        start_games(rules, tree, games, places, *others)
        shown.extend(map(worker.game_in_flight, places))

    monkeypatch.setattr("azero.workers.threads.start_games", start_and_look)
    worker.play(GameQueue(iter(range(9))), SEEDS, StopSignal())
    assert worker.stats.games == 9
    assert shown == 18 * [None]


def test_a_queue_hands_each_number_out_once() -> None:
    queue, taken = GameQueue(iter(range(500))), list[int]()

    def take_all() -> None:
        while len(numbers := queue.take(3)):
            taken.extend(numbers.tolist())

    threads = [threading.Thread(target=take_all) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(taken) == list(range(500))
    assert len(queue.take(3)) == 0


def test_a_queue_whose_time_is_up_hands_out_a_first_game_alone() -> None:
    queue = GameQueue(iter(range(5)), deadline=0.0)
    assert queue.take(3).tolist() == [0] and queue.take(3).tolist() == []


def test_a_queue_begins_no_game_that_would_end_too_late(game: Game, monkeypatch: pytest.MonkeyPatch) -> None:
    records, now = played(game, range(2))[0], [0.0]
    monkeypatch.setattr("azero.workers.threads.time.perf_counter", lambda: now[0])
    queue = GameQueue(iter(range(9)), deadline=10.0)
    assert queue.take(2).tolist() == [0, 1]
    now[0] = 4.0
    queue.finish(records[0])  # took 4 s: another one would end at 8 s
    assert queue.take(1).tolist() == [2]
    now[0] = 6.0
    queue.finish(records[1])  # took 6 s, the mean is 5 s: another one would end at 11 s
    assert queue.take(1).tolist() == [] and queue.records == records


def test_what_a_game_takes_may_be_known_before_one_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("azero.workers.threads.time.perf_counter", lambda: 4.0)
    enough, short = (
        GameQueue(iter(range(9)), deadline=10.0, expected_seconds=seconds) for seconds in (5.0, 7.0)
    )
    assert enough.take(3).tolist() == [0, 1, 2] and enough.take(3).tolist() == [3, 4, 5]
    assert short.take(3).tolist() == [0] and short.take(3).tolist() == []


def test_the_play_settings_of_a_worker_are_the_config_s(game: Game) -> None:
    search = SearchConfig(
        num_simulations=7,
        tree_reuse=False,
    )
    selfplay = SelfplayConfig(
        temperature=0.9,
        temperature_plies=5,
        temperature_decay_plies=3,
        temperature_final=0.1,
        opening_fraction=0.2,
        opening_plies=6,
        book_fraction=0.3,
    )
    move = Temperature(0.9, 5, 3, 0.1)
    *settings, book, book_fraction, at_once = play_settings(game, search, selfplay)
    assert settings == [7, False, move, 0.2, 6] and book.shape == (0, 0) and book_fraction == 0.3
    assert at_once == ALL


def test_workers_leave_memory_when_their_games_are_over(game: Game) -> None:
    inference, progress = FakeInference(game, batch_size=8), Progress()
    alive = weakref.ref(inference)
    gc.collect()
    gc.disable()  # only what nothing holds any more is freed
    try:
        play_games(game, [inference], CONFIG, GameQueue(iter(range(8))), SEEDS, progress, StopSignal())
        del inference
        assert alive() is None
    finally:
        gc.enable()
