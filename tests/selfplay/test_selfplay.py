"""The self-play stage: from a champion to a committed shard, the same after interruptions."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from places import DOUBLE_MOVE
from toy import NAME, StopInside, Told, advance, toy_config

from azero import loop
from azero.config.schema import Config, EvaluateConfig, GameConfig, SelfplayConfig, UserError
from azero.games.game import Game
from azero.match.text import game_text
from azero.network.backends import make_inferences
from azero.network.inference import InferenceChoice
from azero.process.signals import Stopped, StopSignal
from azero.replay.examples import GameRecord, pairs_of
from azero.replay.shards import load_games
from azero.run.run import Run
from azero.run.state import ShardEntry, State
from azero.search.counters import StageStats, WorkerStats
from azero.stages import selfplay
from azero.workers.report import report_games
from azero.workers.selfplay import PlayedGames, SelfPlayHere, Watch, WorkAccount, worker_count

CHOICE = InferenceChoice("torch", "fp32", 16, "cpu", 0.0)


@pytest.fixture
def undisturbed(undisturbed_run: State) -> list[ShardEntry]:
    """The shards of the first stage."""
    return [shard for shard in undisturbed_run.shards if shard.cycle == 1]


def stop_in_the_middle(config: Config, looks: int) -> int:
    """Play a while; returns how many games are committed."""
    with Run.open(config, NAME, "test") as run:
        with pytest.raises(Stopped):
            loop.run_cycles(config, run, Told(), StopInside(run, 1, "selfplay", looks))
        assert run.state.stage == "selfplay" and run.state.shards == []
        return sum(part.games for part in run.state.partial)


def test_games_that_ended_before_a_worker_failed_are_kept(
    tmp_path: Path, undisturbed: list[ShardEntry], monkeypatch: pytest.MonkeyPatch
) -> None:
    config, make = toy_config(tmp_path), make_inferences

    def make_failing(*of: Any) -> Any:
        (inference,) = make(*of)
        infer, calls = inference.infer, itertools.count()

        def fail_later(planes: np.ndarray, rows: int | None = None) -> Any:
            if next(calls) == 40:
                raise MemoryError("no memory for the batch")
            return infer(planes, rows)

        monkeypatch.setattr(inference, "infer", fail_later)
        return [inference]

    monkeypatch.setattr("azero.workers.selfplay.make_inferences", make_failing)
    with pytest.raises(MemoryError, match="no memory for the batch"):
        advance(config, until="train")
    assert 0 < sum(part.games for part in Run.read(config, NAME).state.partial) < 40
    monkeypatch.setattr("azero.workers.selfplay.make_inferences", make)
    assert advance(config, until="train").shards == undisturbed


class Backwards(SelfPlayHere):
    """Another way to play: the last game first, with an account of it."""

    def play(self, watch: Watch) -> PlayedGames:
        plan = replace(self.plan, numbers=self.plan.numbers[::-1])
        account = WorkAccount({"cluster/workers": 7.0}, "seven workers played", mixed=True)
        return replace(SelfPlayHere(plan).play(watch), account=account)


def test_the_stage_takes_another_way_to_play_and_reports_its_account(
    tmp_path: Path, undisturbed: list[ShardEntry], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("azero.stages.executor.SelfPlayHere", Backwards)
    report = Told()
    state = advance(toy_config(tmp_path), until="train", report=report)
    assert state.shards == undisturbed and state.mixed
    assert report.scalars[1]["cluster/workers"] == 7.0 and "seven workers played" in report.messages


def test_a_report_that_fails_loses_no_games(
    tmp_path: Path, undisturbed: list[ShardEntry], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*of: Any) -> None:
        raise OSError("no room for the report")

    config = toy_config(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(selfplay, "report_games", fail)
        with pytest.raises(OSError, match="no room for the report"):
            advance(config, until="train")
    assert sum(part.games for part in Run.read(config, NAME).state.partial) == 40
    assert advance(config, until="train").shards == undisturbed


def test_a_text_that_the_rules_cannot_make_ends_no_stage(game: Game) -> None:
    broken = replace(game, format_state=lambda state: "abc"[int(state[0])])
    text = game_text(broken, [1, 0, 2, 3, 4, 6], -1.0, 0)
    assert "format_state of tictactoe raised IndexError: string index out of range; try azero check" in text


def test_workers_are_as_set_but_no_more_than_batches_of_games(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("azero.process.machine.os.sched_getaffinity", lambda process: {0, 1, 2, 3, 4, 5})
    assert worker_count(Config(workers=4), 1000, CHOICE) == 4
    assert worker_count(Config(workers=4), 40, CHOICE) == 3  # 16 + 16 + 8
    assert worker_count(Config(workers=4), 0, CHOICE) == 1
    assert worker_count(Config(workers=0), 1000, CHOICE) == 6  # one a core
    assert worker_count(Config(workers=0), 1000, replace(CHOICE, device="cuda")) == 3


@pytest.mark.parametrize(
    ("cycles", "minutes", "elapsed", "cycle", "final"),
    [
        (8, 0.0, 9000.0, 3, 0),  # while the games of cycle 4 end, 4 of 8 cycles are not yet 0.55
        (8, 0.0, 9000.0, 4, 6),  # 5 of 8 are: cycle 6 is the first
        (1000, 60.0, 1979.0, 40, 0),  # 32.98 of 60 minutes
        (1000, 60.0, 1980.0, 40, 42),  # 33 of them
        (50, 60.0, 60.0, 30, 32),  # few cycles end before many minutes
    ],
)
def test_final_openings_begin_by_the_share_of_cycles_or_minutes(
    cycles: int, minutes: float, elapsed: float, cycle: int, final: int
) -> None:
    falling = SelfplayConfig(opening_plies=6, opening_plies_share=0.55, opening_plies_final=3)
    config = Config(cycles=cycles, minutes=minutes, selfplay=falling)
    state = State("name", seed=1, cycle=cycle, elapsed_seconds=elapsed)
    assert selfplay.final_openings(config, state) == final
    assert selfplay.final_openings(config, replace(state, final_openings=2)) == 2
    most = [selfplay.settings_in(config, at, 6).selfplay.opening_plies for at in (1, 5, 6, 7)]
    assert most == [6, 6, 3, 3]


def test_the_length_of_random_openings_changes_in_a_run(tmp_path: Path) -> None:
    """From 1 to at most 3 after half of four cycles, and it stays so when the run is made longer."""
    config = toy_config(tmp_path)
    rising = replace(
        config.selfplay, opening_fraction=1.0, opening_plies=1, opening_plies_share=0.5, opening_plies_final=3
    )
    train = replace(config.train, window=4000, epochs=0.1)
    config = replace(config, selfplay=rising, cycles=4, train=train, evaluate=EvaluateConfig(games=0))
    assert advance(config).final_openings == 3
    advance(replace(config, cycles=5))
    run = Run.read(config, NAME)
    games = {shard.cycle: load_games(run.read_file(shard), shard.file).games() for shard in run.state.shards}
    lengths = {cycle: {game.opening_plies for game in played} for cycle, played in games.items()}
    assert lengths == {1: {1}, 2: {1}, 3: {1, 2, 3}, 4: {1, 2, 3}, 5: {1, 2, 3}}


def test_the_stage_commits_all_games_in_order_and_train_comes_next(tmp_path: Path, game: Game) -> None:
    config = toy_config(tmp_path)
    report = Told()
    state = advance(config, until="train", report=report)
    assert (state.cycle, state.stage, state.partial) == (0, "train", [])
    run = Run.read(config, NAME)
    records = load_games(run.read_file(state.shards[0]), "shard").games()
    assert [record.number for record in records] == list(range(40))
    assert state.shards[0].examples == sum(int(record.searched.sum()) for record in records)
    told = report.scalars[1]
    assert told["selfplay/first_wins"] + told["selfplay/draws"] + told[
        "selfplay/second_wins"
    ] == pytest.approx(1.0)
    assert told["selfplay/game_length"] == pytest.approx(np.mean([len(record.actions) for record in records]))


@pytest.mark.parametrize("workers", [1, 2])
def test_an_interrupted_stage_keeps_finished_games_and_ends_with_the_same_shard(
    tmp_path: Path, undisturbed: list[ShardEntry], workers: int
) -> None:
    config = toy_config(tmp_path, workers=workers)
    # A whole stage takes 78 looks in one worker, some 110 in two, however they share them; the games left
    # take 20 and more.
    kept = [stop_in_the_middle(config, looks) for looks in (20 + 20 * workers, 4)]
    assert 0 < kept[0] <= kept[1] < 40
    assert advance(config, until="train").shards == undisturbed


def test_a_stop_before_any_game_has_ended_keeps_nothing(
    tmp_path: Path, undisturbed: list[ShardEntry]
) -> None:
    config = toy_config(tmp_path)
    assert stop_in_the_middle(config, 0) == 0
    assert advance(config, until="train").shards == undisturbed


def test_a_damaged_partial_shard_is_played_again(tmp_path: Path, undisturbed: list[ShardEntry]) -> None:
    config = toy_config(tmp_path)
    assert stop_in_the_middle(config, 40) > 0
    run = Run.read(config, NAME)
    run.paths.of(run.state.partial[0].file).write_bytes(b"something else")
    report = Told()
    state = advance(config, until="train", report=report)
    assert state.shards == undisturbed
    assert len(state.quarantine) == 1 and any("kept aside" in text for text in report.messages)


def test_fewer_games_after_an_interruption_leave_out_the_others(tmp_path: Path) -> None:
    config = toy_config(tmp_path)
    kept = stop_in_the_middle(config, 40)
    fewer = replace(config, selfplay=SelfplayConfig(games=4, concurrent_games=16))
    state = advance(fewer, until="train")
    assert kept > 0 and [shard.games for shard in state.shards] == [4]
    records = load_games(Run.read(fewer, NAME).read_file(state.shards[0]), "shard").games()
    assert [record.number for record in records] == [0, 1, 2, 3]


def record(
    number: int, actions: list[int], outcome: float, searched: list[bool], targets: list[list[float]]
) -> GameRecord:
    """A game as far as the report reads it."""
    plies = len(actions)
    target = np.zeros((plies, 9), np.float32)
    for ply, row in enumerate(targets):
        target[ply, : len(row)] = row
    return GameRecord(
        number=number,
        states=np.zeros((plies, 2), np.uint64),
        to_play=(np.arange(plies) % 2).astype(np.int8),
        actions=np.array(actions, np.int32),
        **pairs_of(target),
        root_value=np.zeros(plies, np.float32),
        searched=np.array(searched),
        first_outcome=outcome,
    )


def test_the_report_is_worked_by_hand(game: Game) -> None:
    # X wins 0 1 2 in 5 plies, twice the same game; O wins 0 3 6 in 6, its first ply a random opening; entropy
    # of 1/2 1/2: ln 2
    first = [0, 3, 1, 4, 2]
    second = [1, 0, 2, 3, 4, 6]
    sure, even = [1.0], [0.5, 0.5]
    records = [
        record(0, first, 1.0, [True] * 5, [even, sure, sure, sure, sure]),
        record(1, first, 1.0, [True] * 5, [even, even, sure, sure, sure]),
        record(2, second, -1.0, [False] + [True] * 5, [[], even, sure, sure, sure, sure]),
        record(3, second[::-1], 0.0, [True] * 6, [even, sure, sure, sure, sure, sure]),
    ]
    one = WorkerStats(2, 11, 200, evaluations=200, rows=300, cache_asked=30, cache_found=5, seconds=2.0)
    other = WorkerStats(
        2, 11, 200, evaluations=100, rows=300, cache_asked=20, cache_found=15, seconds=1.0, idle_seconds=1.0
    )
    stats = StageStats([one, other])
    stats.game_seconds = 1.25
    report = Told()
    report_games(report, game, 7, records, stats, seconds=2.0)
    told = report.scalars[7]
    assert told.pop("selfplay/target_entropy") == pytest.approx(5 / 21 * np.log(2), rel=1e-6)
    assert told == {
        "selfplay/games": 4.0,
        "selfplay/evaluations": 300.0,
        "selfplay/game_seconds": 1.25,
        "selfplay/games_per_second": 2.0,
        "selfplay/simulations_per_second": 200.0,
        "selfplay/batch_fill": 0.5,
        "selfplay/batch_fill_1": pytest.approx(2 / 3),
        "selfplay/batch_fill_2": pytest.approx(1 / 3),
        "selfplay/idle_share": 0.25,
        "selfplay/idle_share_1": 0.0,
        "selfplay/idle_share_2": 0.5,
        "selfplay/cache_hits": 0.4,
        "selfplay/game_length": 5.5,
        "selfplay/first_wins": 0.5,
        "selfplay/draws": 0.25,
        "selfplay/second_wins": 0.25,
        "selfplay/distinct_games": 3.0,
    }
    assert (
        report.texts["selfplay/game"]
        == "moves: 0 3 1 4 2\n\n X X X    0 1 2\n O O .    3 4 5\n . . .    6 7 8\n\n"
        "the first player wins"
    )


def test_a_game_s_text_tells_its_opening_its_players_and_its_end(game: Game) -> None:
    text = game_text(game, [1, 0, 2, 3, 4, 6], -1.0, 2, ("candidate", "champion"))
    assert text == (
        "candidate moves first, champion second\nopening: 1 0\nmoves: 2 3 4 6\n\n"
        " O X X    0 1 2\n O X .    3 4 5\n O . .    6 7 8\n\nthe "
        "champion wins"
    )
    assert game_text(game, [0, 4, 8, 1, 7, 6, 2, 5, 3], 0.0, 0).endswith("\n\ndraw")


def test_games_finished_by_the_deadline_are_the_cycle_s(tmp_path: Path) -> None:
    config = toy_config(tmp_path)
    advance(config, until="selfplay")
    report = Told()
    with Run.open(config, NAME, "test") as run:
        selfplay.run_stage(config, run, report, StopSignal(), deadline=0.0)
        assert (run.state.stage, run.state.partial) == ("train", []) and [
            shard.games for shard in run.state.shards
        ] == [1]
    assert report.messages[-1].startswith("self-play: 1 of 40 games")
    assert advance(replace(config, cycles=1)).cycle == 1


def test_a_champion_of_other_rules_is_one_sentence(tmp_path: Path) -> None:
    config = toy_config(tmp_path)
    advance(config, until="selfplay")
    other = replace(config, game=GameConfig(DOUBLE_MOVE))
    with (
        Run.open(config, NAME, "test") as run,
        pytest.raises(UserError, match="The network plays tictactoe, but the game is"),
    ):
        selfplay.run_stage(other, run, Told(), StopSignal())
