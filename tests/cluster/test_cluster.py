"""Self-play on a cluster: the same files as one machine's, whatever happens to the workers.

The workers run in this process. `test_cluster_ray.py` does the same with Ray's processes.
"""

from __future__ import annotations

import math
import os
import re
import resource
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from crews import FarCrew, NearCrew
from forks import forked
from play_game import play_again
from toy import NAME, StopInside, Told, advance, digest_of, toy_config
from waiting import wait_for

from azero import loop
from azero.cluster import head
from azero.cluster.kinds import SELFPLAY
from azero.cluster.worker import Greeting, Report, room_for
from azero.config.schema import ClusterConfig, Config, UserError
from azero.process.signals import Stopped
from azero.run.run import Run
from azero.run.state import AsideEntry, ShardEntry, State, run_digest
from azero.stages import executor
from azero.stages.diagnosis import case_of, examine, newest_games
from azero.workers.threads import make_workers

NEAR = ClusterConfig(address="near", tokens=False)


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return replace(toy_config(tmp_path), cluster=NEAR)


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Let self-play use a crew; it is closed after the test."""
    used: list[NearCrew | FarCrew] = []

    def use_crew(crew: NearCrew | FarCrew) -> NearCrew | FarCrew:
        used.append(crew)
        monkeypatch.setattr(executor, "crew_of", lambda config, device: crew)
        return crew

    yield use_crew
    for crew in used:
        crew.close()


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The digest of the toy run after its first self-play, without a cluster."""
    return run_digest(advance(toy_config(tmp_path_factory.mktemp("alone")), until="train"))


@pytest.mark.parametrize("workers, threads", [(1, 1), (1, 3), (2, 1), (4, 1)])
def test_the_number_of_workers_changes_no_byte(
    config: Config, alone: str, use: Any, workers: int, threads: int
) -> None:
    use(NearCrew(workers, threads))
    report = Told()
    advance(config, until="train", report=report)
    assert digest_of(config) == alone
    assert report.scalars[1]["cluster/workers"] == workers and report.scalars[1]["selfplay/games"] == 40
    assert not Run.read(config, NAME).state.mixed
    assert any("cluster: " in line for line in report.messages)


def test_a_worker_killed_in_each_cycle_changes_no_byte(config: Config, undisturbed: str, use: Any) -> None:
    crew, killed = use(NearCrew(2)), list[str]()

    def kill_once_a_stage(name: str, report: Report) -> None:
        if report.answers and crew.terms.stage not in killed:
            killed.append(crew.terms.stage)
            crew.kill(name)
            crew.start(f"{name}+")

    crew.on_report = kill_once_a_stage
    report = Told()
    advance(config, report=report)
    assert len(killed) == 2 and digest_of(config) == undisturbed
    assert report.scalars[1]["cluster/lost"] == 1 and report.scalars[1]["cluster/retries"] > 0
    assert any("was lost: killed" in line for line in report.messages)


def test_a_worker_that_raises_is_replaced_and_its_games_are_played_again(
    config: Config, alone: str, use: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    crew, left = use(NearCrew(2)), [1]

    def make_failing(*of: Any) -> Any:
        players = make_workers(*of)
        infer_leaves = players[0].infer_leaves

        def fail_once() -> int:
            if left and players[0].stats.games:
                left.clear()
                raise MemoryError("no memory for the batch")
            return int(infer_leaves())

        monkeypatch.setattr(players[0], "infer_leaves", fail_once)
        return players

    monkeypatch.setattr("azero.cluster.worker.make_workers", make_failing)
    report = Told()
    advance(config, until="train", report=report)
    assert digest_of(config) == alone and not left
    assert any("MemoryError: no memory for the batch" in line for line in report.messages)
    assert crew.processes


def kill(crew: FarCrew, name: str) -> None:
    os.kill(crew.processes[name].pid, signal.SIGKILL)


def stop_for_ever(crew: FarCrew, name: str) -> None:
    os.kill(crew.processes[name].pid, signal.SIGSTOP)


def leak(crew: FarCrew, name: str) -> None:
    """Return when its memory is used up, or it could finish its games before."""
    pid = crew.processes[name].pid
    crew.connections[name].send(("leak", 1))
    wait_for(lambda: memory_left(pid) < 2**18)  # less than what the heap grows by


def memory_left(pid: int) -> float:
    """Return the bytes that a process may still take; none if it is gone."""
    try:
        used = int(Path(f"/proc/{pid}/statm").read_text().split()[0]) * resource.getpagesize()
        most, _ = resource.prlimit(pid, resource.RLIMIT_AS)
    except (OSError, IndexError):
        return 0
    return math.inf if most == resource.RLIM_INFINITY else most - used


@pytest.mark.parametrize("fault", [kill, stop_for_ever, leak])
def test_a_worker_process_that_is_killed_hangs_or_has_no_memory_changes_no_byte(
    config: Config, alone: str, use: Any, monkeypatch: pytest.MonkeyPatch, fault: Any
) -> None:
    """The fault comes when the first games are finished and others are under way; there is one worker.

    Patience is short for a worker that may hang only: on a busy machine others would be lost again and again.
    """
    crew, faults = use(FarCrew(1)), list[str]()
    begin_another, patience = crew.replace, head.SILENT_SECONDS

    def cause(name: str, report: Report) -> None:
        if report.answers and not faults:  # the head has not seen them yet
            faults.append(name)
            fault(crew, name)
            monkeypatch.setattr(head, "SILENT_SECONDS", patience if fault is kill else 1.0)

    def replace_worker(name: str) -> None:
        begin_another(name)
        monkeypatch.setattr(head, "SILENT_SECONDS", patience)

    crew.on_report, crew.replace = cause, replace_worker
    report = Told()
    advance(config, until="train", report=report)
    assert digest_of(config) == alone
    (lost,) = [line for line in report.messages if line.startswith(f"Worker {faults[0]} was lost: ")]
    assert fault is not stop_for_ever or "it has not answered for 1 s" in lost


def test_a_worker_whose_game_never_ends_is_replaced(
    config: Config, alone: str, use: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its process answers, but its thread is stuck."""
    monkeypatch.setattr(head, "STUCK_SECONDS", 1.0)
    released, stuck = threading.Event(), list[int]()

    def make_stuck(*of: Any) -> Any:
        players = make_workers(*of)
        infer_leaves = players[0].infer_leaves

        def hang_once() -> int:
            if not stuck and players[0].stats.games:
                stuck.append(1)
                released.wait(60)
            return int(infer_leaves())

        monkeypatch.setattr(players[0], "infer_leaves", hang_once)
        return players

    monkeypatch.setattr("azero.cluster.worker.make_workers", make_stuck)
    use(NearCrew(1))
    report = Told()
    advance(config, until="train", report=report)
    released.set()
    assert digest_of(config) == alone and stuck
    assert any("near-1 was lost: it has searched nothing for 1 s" in line for line in report.messages)


@pytest.fixture(scope="module")
def without_13(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The digest of a run after its first self-play, whose one worker dies of game 13."""
    config = replace(toy_config(tmp_path_factory.mktemp("without")), cluster=NEAR)
    with pytest.MonkeyPatch.context() as patch:
        crew = NearCrew(1)
        crew.deadly = {13}
        patch.setattr(executor, "crew_of", lambda config, device: crew)
        advance(config, until="train")
        crew.close()
    return digest_of(config)


def test_a_game_of_which_workers_die_is_left_out_whatever_their_number(
    config: Config, alone: str, without_13: str, use: Any
) -> None:
    crew = use(NearCrew(4))
    crew.deadly = {13}
    report = Told()
    state = advance(config, until="train", report=report)
    assert digest_of(config) == without_13 != alone
    assert [(entry.cycle, entry.game, entry.reason) for entry in state.aside] == [(1, 13, "killed")]
    assert [shard.games for shard in state.shards] == [39]
    left_out = "Game 13 of cycle 1 is left out: 3 workers were lost that played nothing else."
    assert left_out in report.messages and report.scalars[1]["cluster/set_aside"] == 1
    assert not any("leaves time for" in line for line in report.messages)
    found = examine(case_of(Run.read(config, NAME), None))["left out"]
    assert "game 13 of cycle 1" in found and "(killed)" in found


def test_a_game_that_was_left_out_can_be_played_again_here(config: Config, undisturbed: str) -> None:
    """The script plays the very game that the run has, were it not left out."""
    config = replace(config, cluster=ClusterConfig())
    advance(config)
    assert digest_of(config) == undisturbed
    run = Run.read(config, NAME)
    (recorded,) = [game for game in newest_games(run) if game.number == 13]
    again = play_again(run, cycle=2, number=13)
    assert SELFPLAY.dump([again], "tictactoe") == SELFPLAY.dump([recorded], "tictactoe")
    with pytest.raises(UserError, match="has no network of cycle 0"):
        play_again(run, cycle=0, number=13)


def test_a_game_that_was_left_out_is_not_played_again_after_a_stop(config: Config, use: Any) -> None:
    advance(config, until="selfplay")
    with Run.open(config, NAME, "test") as run:
        run.commit(replace(run.state, aside=[AsideEntry(1, 13, "killed"), AsideEntry(2, 5, "of another")]))
    use(NearCrew(1))
    state = advance(config, until="train")
    assert state.shards[0].games == 39 and len(state.aside) == 2


def test_a_worker_that_joins_in_the_middle_gets_work(config: Config, undisturbed: str, use: Any) -> None:
    crew, joined = use(NearCrew(1)), list[Report]()

    def join(name: str, report: Report) -> None:
        if name == "near-1" and report.answers and "far-1" not in crew.processes:
            crew.start("far-1")
        if name == "far-1":
            joined.append(report)

    crew.on_report = join
    report = Told()
    advance(config, report=report)
    assert digest_of(config) == undisturbed
    assert report.scalars[2]["cluster/nodes"] == 2 and any(each.answers for each in joined)


REFUSALS = {
    "another version": (lambda it: replace(it, version="azero 9"), "it runs azero 9 and the head azero"),
    "no tokens": (lambda it: replace(it, tokens=False), "asks nobody for a token.*cluster.tokens=false"),
    "other numbers": (lambda it: replace(it, digest="0"), "computes the network differently.*cluster.mixed"),
    "other rules": (lambda it: replace(it, rules="0"), "its copy of tictactoe differs"),
}


@pytest.mark.parametrize("change, told", REFUSALS.values(), ids=REFUSALS)
def test_a_worker_that_does_not_fit_is_refused_in_one_sentence_and_the_others_play(
    config: Config, alone: str, use: Any, change: Any, told: str
) -> None:
    def with_token(greeting: Greeting) -> Greeting:
        return replace(greeting, tokens=True)

    changes = {"near-1": with_token, "near-2": lambda greeting: change(with_token(greeting))}
    crew = use(NearCrew(2, changes=changes))
    report = Told()
    advance(replace(config, cluster=replace(NEAR, tokens=True)), until="train", report=report)
    assert digest_of(config) == alone and crew.refused[0] == "near-2"
    (sentence,) = [line for line in report.messages if "Worker near-2 was refused" in line]
    assert re.search(told, sentence) and "\n" not in sentence


def test_a_mixed_run_takes_workers_that_compute_differently_and_is_marked(
    config: Config, alone: str, use: Any
) -> None:
    crew = use(NearCrew(2, changes={"near-2": lambda it: replace(it, digest="0")}))
    report = Told()
    advance(replace(config, cluster=replace(NEAR, mixed=True)), until="train", report=report)
    assert not crew.refused and Run.read(config, NAME).state.mixed
    assert sum("marked as mixed" in line for line in report.messages) == 1
    assert digest_of(config) == alone  # the mark does not count, and here they did compute alike


def test_a_cluster_without_workers_is_one_sentence_and_finished_games_are_kept(
    config: Config, alone: str, use: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(head, "NOBODY_SECONDS", 0.3)
    crew = use(NearCrew(1))

    def die(name: str, report: Report) -> None:
        if len(report.answers) > 0 and name in crew.processes and crew.taken > 0:
            crew.kill(name)
        crew.taken += len(report.answers)

    crew.taken, crew.on_report = 0, die
    with pytest.raises(UserError, match=r"cluster near has had no worker for 0 s.*near-1 was lost: killed"):
        advance(config, until="train")
    assert 0 < sum(part.games for part in Run.read(config, NAME).state.partial) < 40
    use(NearCrew(2))
    advance(config, until="train")
    assert digest_of(config) == alone


@pytest.mark.parametrize("looks", [1, 3])
def test_a_stop_keeps_finished_games_and_the_run_goes_on(
    config: Config, alone: str, use: Any, looks: int
) -> None:
    use(NearCrew(2))
    with Run.open(config, NAME, "test") as run:
        with pytest.raises(Stopped):
            loop.run_cycles(config, run, Told(), StopInside(run, 1, "selfplay", looks))
        assert run.state.stage == "selfplay" and not run.state.shards
    use(NearCrew(1))
    advance(config, until="train")
    assert digest_of(config) == alone


def test_games_of_unfinished_chunks_are_kept_at_a_stop(
    config: Config, use: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One chunk of all games: without partial answers nothing would be kept."""
    monkeypatch.setattr("azero.cluster.selfplay.chunks_of", whole)
    crew, stop = use(NearCrew(1)), list[State]()
    with Run.open(config, NAME, "test") as run:
        signal = StopInside(run, 1, "selfplay", 10**9)
        original = crew.poll

        def stop_when_some_are_finished(seconds: float) -> Any:
            (process,) = crew.processes.values()
            if process.play is not None and process.play.queue.finished > 5:
                signal._looks = -1
            return original(0.001)

        crew.poll = stop_when_some_are_finished
        with pytest.raises(Stopped):
            loop.run_cycles(config, run, Told(), signal)
        stop.append(run.state)
    assert 5 < sum(part.games for part in stop[0].partial) < 40


def whole(numbers: Any) -> Any:
    from azero.cluster.chunks import chunks_of

    return chunks_of(numbers, size=1000)


def test_a_deadline_ends_the_stage_with_the_games_that_are_finished(config: Config, use: Any) -> None:
    crew = use(NearCrew(2))
    report = Told()
    with Run.open(config, NAME, "test") as run:
        from azero.process.signals import StopSignal
        from azero.stages.registry import stage_named

        stage_named("initialize").run(config, run, report, StopSignal())
        crew.on_report = lambda name, each: time.sleep(0.2)
        stage_named("selfplay").run(config, run, report, StopSignal(), time.perf_counter() + 0.3)
        shards: list[ShardEntry] = run.state.shards
        assert run.state.stage == "train" and 0 < shards[0].games < 40


def test_a_worker_has_three_times_the_games_that_its_threads_have_places_for() -> None:
    assert room_for(threads=2, rows=64) == 49  # 128 games are 16 chunks; 3 times them and one
    assert room_for(threads=1, rows=16) == 7


def test_a_run_without_a_cluster_never_imports_ray(tmp_path: Path) -> None:
    code = "import sys; import azero.stages.selfplay, azero.cluster.head; print('ray' in sys.modules)"
    (tmp_path / "imports.py").write_text(code)
    answer = subprocess.run(forked("imports"), capture_output=True, text=True, check=True, cwd=tmp_path)
    assert answer.stdout.strip() == "False"


def test_a_stop_at_once_is_a_stop_of_the_workers_too(config: Config, use: Any) -> None:
    """After a stage no thread of a worker plays on."""
    crew = use(NearCrew(2))
    advance(config, until="train")
    wait_for(lambda: all(each.play.ended for each in crew.processes.values()))


def test_planes_are_compared_in_every_size_of_batch() -> None:
    from azero.cluster.worker import positions_digest
    from azero.network.inference import InferenceChoice

    class Sizes:
        batch_size = 16

        def __init__(self) -> None:
            self.seen: list[int] = []

        def infer(self, planes: np.ndarray, rows: int | None = None) -> tuple[np.ndarray, np.ndarray]:
            self.seen.append(len(planes))
            return planes.reshape(len(planes), -1), planes[:, 0, 0, 0]

    inference = Sizes()
    choice = InferenceChoice("torch", "fp32", 16, "cpu", 0.0, batches=(8, 16))
    planes = np.random.default_rng(1).random((20, 2, 3, 3)).astype(np.float32)
    one = positions_digest(inference, planes, choice)
    assert inference.seen == [8, 8, 8, 16, 16]
    assert (
        positions_digest(inference, planes, choice) == one != positions_digest(inference, planes + 1, choice)
    )
