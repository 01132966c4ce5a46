"""Self-play of the next cycle while the head trains: who plays is fixed by rule, whatever the timing.

The workers run in this process. `test_cluster_ray.py` does the same with Ray's processes.
"""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from crews import NearCrew
from terminal import Terminal
from toy import NAME, StopInside, Told, advance, digest_of, toy_config
from waiting import wait_for

from azero import loop
from azero.cluster import head
from azero.cluster.worker import Report, Terms
from azero.config.checks import check
from azero.config.schema import ClusterConfig, Config, EvaluateConfig, UserError
from azero.games import make_game
from azero.network.model import pack_network, unpack_network
from azero.process.signals import Stopped, StopSignal
from azero.report.console import Console
from azero.run.run import Run
from azero.run.state import State, run_digest
from azero.stages import executor
from azero.stages.clock import RunClock

OVERLAP = ClusterConfig(address="near", tokens=False, overlap=True)


def overlap_config(folder: Path, **changes: Any) -> Config:
    """Three cycles, each with a new champion."""
    settings = {"cycles": 3, "evaluate": EvaluateConfig(games=0), "cluster": OVERLAP, **changes}
    return toy_config(folder, **settings)


@pytest.fixture(scope="module")
def by_rule(tmp_path_factory: pytest.TempPathFactory) -> dict[int, str]:
    """The digests of the run after 2 and 3 cycles by the rule alone: one stage after the other, here."""
    alone = overlap_config(tmp_path_factory.mktemp("alone"), cluster=replace(OVERLAP, address=""))
    return {cycles: run_digest(advance(replace(alone, cycles=cycles))) for cycles in (2, 3)}


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return overlap_config(tmp_path, cycles=2)


@pytest.fixture
def crew(monkeypatch: pytest.MonkeyPatch) -> Iterator[NearCrew]:
    """Two workers in this process."""
    crew = NearCrew(2)
    monkeypatch.setattr(executor, "crew_of", lambda config, device: crew)
    yield crew
    crew.close()


class Waiting(Told):
    """Lets training wait in its first step until the crew plays cycle 2 and `ready` is true."""

    def __init__(self, crew: Any, ready: Callable[[], bool]) -> None:
        super().__init__()
        self.crew, self.ready = crew, ready

    def train_scalars(self, step: int, scalars: Mapping[str, float]) -> None:
        wait_for(lambda: self.crew.terms.cycle > 1 and self.ready())


def is_over(crew: Any) -> bool:
    """Whether all workers have ended the stage."""
    return all(each.play is not None and each.play.ended for each in crew.processes.values())


def some_finished(crew: Any) -> bool:
    """Whether a worker has finished a chunk of cycle 2."""
    plays = [each.play for each in crew.processes.values() if each.play is not None]
    return any(play.terms.cycle == 2 and play.queue.finished >= 16 for play in plays)


def test_a_cycle_is_played_by_the_champion_from_before_the_match_of_the_cycle_before(
    config: Config, by_rule: dict[int, str], crew: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cycle 1: the first network, 2: the same, 3: that of cycle 1."""
    begun, begin = list[Terms](), crew.begin

    def begin_and_note(terms: Terms) -> None:
        begun.append(terms)
        begin(terms)

    monkeypatch.setattr(crew, "begin", begin_and_note)
    report = Told()
    config = replace(config, cycles=3)
    state = advance(config, report=report)
    game = make_game("tictactoe")
    with Run.open(config, NAME, "test") as run:
        files = [run.read_file(entry) for entry in state.champions]
    assert [entry.cycle for entry in state.champions] == [0, 1, 2, 3] and len(begun) == 3
    networks = [unpack_network(data, "champion", game).network for data in files]
    for terms, player in zip(begun, (0, 0, 1), strict=True):
        assert terms.network == pack_network(networks[player], game=game, cycle=terms.cycle)
        sent = report.scalars[terms.cycle]["cluster/mib_sent"] * 2**20
        assert sent >= len(terms.network) + terms.planes.nbytes + 8 * 40  # once for the machine; 40 games
    assert digest_of(config) == by_rule[3]


def test_the_setting_changes_the_games(config: Config, by_rule: dict[int, str]) -> None:
    advance(replace(config, cluster=ClusterConfig()))
    assert digest_of(config) != by_rule[2]


def test_games_are_played_while_the_head_trains_and_the_stats_say_so(
    config: Config, by_rule: dict[int, str], crew: Any
) -> None:
    report = Waiting(crew, lambda: is_over(crew))
    advance(config, report=report)
    second = report.scalars[2]
    assert second["selfplay/games"] == 40
    assert second["cluster/play_seconds"] > second["time/selfplay"]
    assert second["selfplay/games_per_second"] == pytest.approx(40 / second["cluster/play_seconds"])
    assert digest_of(config) == by_rule[2]


def test_games_of_a_cycle_that_the_minutes_leave_no_time_for_are_kept(
    config: Config, by_rule: dict[int, str], crew: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = Waiting(crew, lambda: is_over(crew))
    with monkeypatch.context() as patch, Run.open(config, NAME, "test") as run:
        patch.setattr(
            RunClock, "has_time_for", lambda clock, stage: stage != "selfplay" or not run.state.cycle
        )
        assert not loop.run_cycles(config, run, report, StopSignal())
        assert sum(part.games for part in run.state.partial) == 40 and run.state.cycle == 1
    assert any("leaves no time for another cycle" in line for line in report.messages)
    advance(config)
    assert digest_of(config) == by_rule[2]


def test_a_stop_while_the_head_trains_keeps_the_games_of_the_next_cycle(
    config: Config, by_rule: dict[int, str], crew: Any
) -> None:
    report = Waiting(crew, lambda: some_finished(crew))
    with Run.open(config, NAME, "test") as run:
        with pytest.raises(Stopped):
            loop.run_cycles(config, run, report, StopInside(run, 1, "train", 3))
        assert (run.state.cycle, run.state.stage) == (0, "train")
        assert {part.cycle for part in run.state.partial} == {2}
        kept = sum(part.games for part in run.state.partial)
    assert 16 <= kept <= 40
    wait_for(lambda: is_over(crew))  # Ctrl-C ends both
    advance(config)
    assert digest_of(config) == by_rule[2]


def test_a_kill_at_any_moment_changes_no_byte(
    tmp_path: Path, by_rule: dict[int, str], crew: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What kill -9 leaves is what was committed last: a copy of the folders goes on, on one worker."""
    places, commit = {(0, "train"), (0, "evaluate"), (1, "selfplay"), (2, "selfplay")}, Run.commit
    copies = dict[tuple[int, str], Path]()

    def commit_and_copy(run: Run, state: State, **how: Any) -> None:
        commit(run, state, **how)
        place = (state.cycle, state.stage)
        if place in places - copies.keys():
            copies[place] = tmp_path / f"copy-{len(copies)}"
            for kind in ("checkpoints", "data"):
                shutil.copytree(tmp_path / kind, copies[place] / kind)

    with monkeypatch.context() as patch:
        patch.setattr(Run, "commit", commit_and_copy)
        whole = advance(overlap_config(tmp_path))
    resumed = [advance(overlap_config(copies[place])) for place in places]
    assert {run_digest(state) for state in (whole, *resumed)} == {by_rule[3]}


def test_the_older_champion_is_kept_while_it_is_needed(
    tmp_path: Path, by_rule: dict[int, str], crew: Any
) -> None:
    config = overlap_config(tmp_path, cycles=2, keep=0)
    with Run.open(config, NAME, "test") as run:
        seen = list[tuple[int, int]]()

        class Looking(Told):
            def end_cycle(self, cycle: int) -> None:
                assert run.state.player is not None and run.state.champion is not None
                run.clean()
                assert run.paths.of(run.state.player.file).exists()
                seen.append((run.state.player.cycle, run.state.champion.cycle))

        loop.run_cycles(config, run, Looking(), StopSignal())
        assert seen == [(0, 1), (1, 2)]
    assert digest_of(config) == by_rule[2]


def test_a_damaged_older_champion_stops_the_run_unless_the_champion_may_stand_in(config: Config) -> None:
    alone = replace(config, cluster=replace(OVERLAP, address=""))
    state = advance(replace(alone, cycles=1))
    assert state.player is not None and (state.player.cycle, state.cycle) == (0, 1)
    Run.read(alone, NAME).paths.of(state.player.file).write_bytes(b"damaged")
    with pytest.raises(
        UserError, match=r"champion/000000.pt, which plays the next games, is damaged"
    ) as told:
        advance(alone)
    assert "accept_previous=true" in str(told.value)
    end = advance(replace(alone, accept_previous=True))
    assert end.cycle == 2 and state.player.file in {entry.file for entry in end.quarantine}


def test_a_cluster_that_fails_meanwhile_loses_neither_the_training_nor_finished_games(
    config: Config, by_rule: dict[int, str], crew: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(head, "NOBODY_SECONDS", 0.2)

    def die(name: str, report: Report) -> None:
        if crew.terms.cycle == 2 and name in crew.processes and len(report.answers) > 0:
            crew.processes.pop(name).play.end()
            crew.events.put(head.Reported(name, report))
            crew.events.put(head.Lost(name, "killed"))

    crew.on_report = die
    with pytest.raises(UserError, match=r"The cluster near has had no worker"):
        advance(config)
    state = Run.read(config, NAME).state
    assert (state.cycle, state.stage) == (1, "selfplay") and 0 < sum(
        part.games for part in state.partial
    ) < 40
    crew.on_report = lambda name, report: None
    crew.processes = NearCrew(1).processes
    advance(config)
    assert digest_of(config) == by_rule[2]


def test_without_a_cluster_the_setting_is_refused() -> None:
    check(Config(cluster=OVERLAP))
    with pytest.raises(UserError, match=r"cluster.overlap=true needs the workers of a cluster; set cluster."):
        check(Config(cluster=ClusterConfig(overlap=True)))


def test_two_stages_at_once_share_a_line_of_80_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "xterm")
    stream = Terminal()
    console = Console(stream)
    console.beside = lambda: "cycle 3: 1,200/25,000 games"
    with console.stage("train", 2, 100, 12_000, "steps") as progress:
        for step in range(0, 12_001, 4000):
            progress.update(step, policy_loss=1.234, value_loss=0.567)
            time.sleep(0.11)
    lines = re.split(r"[\r\n]+", re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", stream.getvalue()))
    assert max(map(len, lines)) <= 80
    assert any("train" in line and "cycle 3: 1,200/25,000 games" in line for line in lines)
    finished = [re.sub(r" in [\d.]+ s", "", line) for line in lines if line.strip()][-2:]
    assert finished == [
        "cycle   2/100  train  12,000 steps  policy loss 1.23  value loss 0.567",
        "  cycle 3: 1,200/25,000 games",
    ]
