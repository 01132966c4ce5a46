"""Faults from outside: the clock, a run's folder, its files, its process. docs/lab/faults.md lists all."""

from __future__ import annotations

import errno
import io
import itertools
import os
import shutil
import signal
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torture
from crashing import Crash, CrashingDisk
from toy import NAME, Told, ToyUntil, advance, digest_of, toy_config

from azero import loop
from azero.config.schema import Config, UserError
from azero.games.game import Game
from azero.process.signals import StopSignal
from azero.replay import shards
from azero.replay.examples import Plies
from azero.report.reporter import Reporter
from azero.run.disk import DamagedFile
from azero.run.folder import paths_of
from azero.run.run import Run
from azero.run.state import run_digest


@pytest.mark.usefixtures("unmeasured")
def test_a_clock_that_is_set_back_changes_nothing(
    tmp_path: Path, undisturbed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each look at the clock is a day before the last one; the run is stopped and resumed in between."""
    days, now = itertools.count(), time.time()
    monkeypatch.setattr(time, "time", lambda: now - 86_400 * next(days))
    config = toy_config(tmp_path)
    advance(config, until="evaluate")
    assert loop.run_asked(config, NAME) == 0
    assert next(days) > 1
    assert digest_of(config) == undisturbed


def crashes(config: Config, operation: int) -> bool:
    """Return whether the run dies in that file operation; if so, names that were not synced are lost."""
    try:
        with Run.open(config, NAME, "test", CrashingDisk(operation, forgetful=True)) as run:
            loop.run_cycles(config, run, Told(), StopSignal())
    except Crash:
        return True
    return False


@pytest.mark.long
def test_a_crash_at_any_file_operation_of_the_real_stages_has_the_same_end(tmp_path: Path) -> None:
    """tests/run/test_run.py has both kinds of crash without the stages' work; here each stage does it."""
    toy = toy_config(tmp_path / "calm", cycles=1)
    small = replace(
        toy,
        selfplay=replace(toy.selfplay, games=4, concurrent_games=4),
        search=replace(toy.search, num_simulations=2),
        train=replace(toy.train, batch_size=8),
        evaluate=replace(toy.evaluate, games=2),
    )
    end = run_digest(advance(small))
    for operation in itertools.count(1):
        folder = tmp_path / str(operation)
        config = replace(small, checkpoints=str(folder / "checkpoints"), data=str(folder / "data"))
        if not crashes(config, operation):
            break
        assert run_digest(advance(config)) == end
    assert operation > 50


def test_a_run_lives_in_any_folder(tmp_path: Path, undisturbed: str) -> None:
    config = toy_config(tmp_path / "a folder with spaces" / "Größe-対局-❄" / ("x" * 200) / "quote'\"$HOME;%s")
    advance(config, until="train")
    assert run_digest(advance(config)) == undisturbed


def test_a_run_lives_behind_a_symbolic_link(tmp_path: Path, undisturbed: str) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "disk")
    advance(toy_config(tmp_path / "link"), until="train")
    assert run_digest(advance(toy_config(tmp_path / "disk"))) == undisturbed


@pytest.mark.parametrize(
    "kinds", [("candidate",), ("shard",), ("metrics.csv", "tensorboard", "config.yaml")], ids=" ".join
)
def test_a_file_that_was_deleted_is_made_again_or_done_without(
    tmp_path: Path, toy_until: ToyUntil, kinds: tuple[str, ...]
) -> None:
    config, report = toy_until(tmp_path, "evaluate"), Told()
    state, paths = Run.read(config, NAME).state, paths_of(config, NAME)
    assert state.candidate is not None
    deleted = {"candidate": paths.of(state.candidate.file), "shard": paths.of(state.shards[-1].file)}
    for kind in kinds:
        place = deleted.get(kind, paths.folder / kind)
        if place.is_dir():
            shutil.rmtree(place)
        else:
            place.unlink(missing_ok=True)
    state = advance(config, report=report)
    assert state.cycle == 2
    if kinds == ("candidate",):
        assert any(place.name in message for message in report.messages)


@pytest.mark.parametrize(
    ("file", "stage", "number"),
    [
        ("state.json", "train", errno.EIO),
        ("000001-000.pickle", "train", errno.EIO),
        ("candidate/000001.pt", "evaluate", errno.EACCES),
        ("champion/000000.pt", "evaluate", errno.EIO),
        ("metrics.csv", "evaluate", errno.EACCES),
        ("events.out.tfevents.0000000001", "evaluate", errno.EIO),
    ],
)
@pytest.mark.usefixtures("unmeasured")
def test_a_file_that_cannot_be_read_once_is_neither_lost_nor_moved(
    tmp_path: Path,
    toy_until: ToyUntil,
    undisturbed: str,
    monkeypatch: pytest.MonkeyPatch,
    file: str,
    stage: str,
    number: int,
) -> None:
    config = toy_until(tmp_path, stage)
    with Run.open(config, NAME, "test") as run, Reporter.open(run) as report:
        report.cycle_scalars(1, {"selfplay/games": 40.0})
    open_file, failed = io.open, list[str]()

    def fail_once(path: Any, mode: str = "r", *arguments: Any, **options: Any) -> Any:
        if str(path).endswith(file) and not set(mode) & set("wax+") and not failed:
            failed.append(str(path))
            raise OSError(number, os.strerror(number), str(path))
        return open_file(path, mode, *arguments, **options)

    with monkeypatch.context() as broken:
        broken.setattr(io, "open", fail_once)
        with pytest.raises(UserError, match=r"cannot be read \(.*same command"):
            loop.run_asked(config, NAME)
    assert failed and not paths_of(config, NAME).quarantine.exists()
    assert loop.run_asked(config, NAME) == 0
    assert digest_of(config) == undisturbed
    assert Run.read(config, NAME).state.quarantine == []


def test_games_of_the_cycle_that_were_damaged_are_played_again(
    tmp_path: Path, toy_until: ToyUntil, undisturbed: str
) -> None:
    config, report = toy_until(tmp_path, "train"), Told()
    state = Run.read(config, NAME).state
    paths_of(config, NAME).of(state.shards[0].file).write_bytes(b"damaged")
    advance(config, until="evaluate", report=report)
    assert any("makes the lost games of cycle 1 again" in message for message in report.messages)
    assert digest_of(config) != undisturbed
    assert run_digest(advance(config)) == undisturbed
    assert len(Run.read(config, NAME).state.quarantine) == 1


def test_games_that_are_damaged_again_and_again_are_not_played_for_ever(
    tmp_path: Path, toy_until: ToyUntil, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As by rules that play the same game in two ways."""

    def never(data: bytes, name: str, game: Game) -> Plies:
        raise DamagedFile(name, "its games differ")

    config, report = toy_until(tmp_path, "train"), Told()
    monkeypatch.setattr(shards, "load_games", never)
    with pytest.raises(DamagedFile, match="no whole shard"):
        advance(config, until="evaluate", report=report)
    assert sum("makes the lost games" in message for message in report.messages) == 1


def champion_of(config: Config) -> Path:
    state = Run.read(config, NAME).state
    assert state.champion is not None
    return paths_of(config, NAME).of(state.champion.file)


def test_a_champion_that_was_deleted_is_named_and_nothing_starts_from_zero(
    tmp_path: Path, toy_until: ToyUntil
) -> None:
    config = toy_until(tmp_path, "train")
    champion = champion_of(config)
    champion.unlink()
    with pytest.raises(UserError, match=champion.name):
        advance(config)
    assert not champion.exists() and Run.read(config, NAME).state.cycle == 0


def test_a_state_that_was_deleted_is_named_while_games_are_there(tmp_path: Path, toy_until: ToyUntil) -> None:
    config = toy_until(tmp_path, "train")
    paths_of(config, NAME).state.unlink()
    with pytest.raises(UserError, match=r"state\.json"):
        advance(config)


@pytest.mark.parametrize("kind", ["checkpoints", "data"])
def test_a_folder_that_is_removed_under_a_run_stops_it(
    tmp_path: Path, toy_until: ToyUntil, kind: str
) -> None:
    config = toy_until(tmp_path, "train")
    with Run.open(config, NAME, "test") as run:
        shutil.rmtree(tmp_path / kind)
        with pytest.raises(UserError, match=kind):
            loop.run_cycles(config, run, Told(), StopSignal())


@pytest.mark.crash
@pytest.mark.long
def test_a_process_that_is_stopped_and_continued_goes_on(tmp_path: Path) -> None:
    """SIGSTOP and SIGCONT, as a laptop that sleeps: five times half a second."""
    expected = torture.finish(tmp_path / "undisturbed", [])[0]
    process = torture.Process(tmp_path / "stopped", [])
    process.wait_until_begun()
    for _ in range(5):
        time.sleep(0.3)
        process.child.send_signal(signal.SIGSTOP)
        time.sleep(0.5)
        process.child.send_signal(signal.SIGCONT)
    assert process.child.wait(240) == 0
    assert torture.finish(tmp_path / "stopped", [])[0] == expected
