"""The commit protocol: old state or new state, never a mix; damaged files are never used."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from crashing import Crash, CrashingDisk, FastDisk
from omegaconf import OmegaConf
from places import PROJECT
from toy import Told

from azero.config.schema import Config, GameConfig, NetworkConfig, TrainConfig, UserError
from azero.run.disk import DamagedFile, Disk, digest, write_atomically
from azero.run.run import Run, changes_between
from azero.run.state import FileEntry, ShardEntry, State, format_state, parse_state, run_digest
from azero.stages.run_stage import report_damage

CYCLES = 3


class FailingDisk(FastDisk):
    """Every write fails with that error once `armed`."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.armed = False

    def write(self, path: Path, data: bytes) -> None:
        if self.armed:
            path.write_bytes(data[:1])
            raise OSError(self.number, os.strerror(self.number))
        super().write(path, data)


class RefusingDisk(FastDisk):
    """Its k-th operation fails, once, as on a network drive that was away for a moment."""

    def __init__(self, k: int, number: int) -> None:
        self.left, self.number = k, number

    def count(self) -> None:
        self.left -= 1
        if self.left == 0:
            raise OSError(self.number, os.strerror(self.number))

    def make_folder(self, folder: Path) -> None:
        self.count()
        super().make_folder(folder)

    def read(self, path: Path) -> bytes:
        self.count()
        return super().read(path)

    def write(self, path: Path, data: bytes) -> None:
        self.count()
        super().write(path, data)

    def rename(self, source: Path, target: Path) -> None:
        self.count()
        super().rename(source, target)

    def sync_folder(self, folder: Path) -> None:
        self.count()

    def remove(self, path: Path) -> None:
        self.count()
        super().remove(path)


@pytest.fixture(autouse=True)
def _no_git(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("azero.run.run.git_commit", lambda: "")


@pytest.fixture
def plain_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write config.yaml without YAML, which takes more time than all else."""
    monkeypatch.setattr(OmegaConf, "create", repr)
    monkeypatch.setattr(OmegaConf, "to_yaml", str)


def config_in(folder: Path, **changes: Any) -> Config:
    small = Config(
        checkpoints=str(folder / "checkpoints"),
        data=str(folder / "data"),
        keep=1,
        train=TrainConfig(window=256),
    )
    return replace(small, **changes)


def content(*parts: object) -> bytes:
    """What a stage would make of its input: the same whenever it is made again."""
    return digest(repr(parts).encode()).encode() * 3


def run_stage(run: Run) -> None:
    """The four stages without their work; each reads what it needs and commits what it makes."""
    state, cycle = run.state, run.state.cycle + 1
    if state.stage == "initialize":
        champion, candidate = (
            run.write_network(kind, 0, content("first")) for kind in ("champion", "candidate")
        )
        run.commit(replace(state, stage="selfplay", champion=champion, candidate=candidate))
    elif state.stage == "selfplay":
        data = content("games", cycle, run.read_champion())
        run.commit(
            replace(state, stage="train", shards=[*state.shards, run.write_shard(cycle, 0, data, 10, 150)])
        )
    elif state.stage == "train":
        data = content("train", whole_candidate(run), *(run.read_file(shard) for shard in state.shards))
        candidate = run.write_network("candidate", cycle, data)
        run.commit(
            replace(run.state, stage="evaluate", candidate=candidate, train_steps=state.train_steps + 10)
        )
    else:
        data = whole_candidate(run)
        promoted = run.write_network("champion", cycle, data) if cycle != 2 else state.champion
        record = {"cycle": cycle, "promoted": cycle != 2, "champion": promoted and promoted.sha256}
        run.commit(
            replace(
                run.state, stage="selfplay", cycle=cycle, champion=promoted, history=[*state.history, record]
            ),
            ends_cycle=True,
        )
        run.clean()


def whole_candidate(run: Run) -> bytes:
    """The candidate, or the newest whole network before it."""
    while True:
        try:
            return run.read_candidate()
        except DamagedFile as damage:
            run.drop_candidate(damage)


def run_stages_for_ever(run: Run) -> None:
    while True:
        run_stage(run)


def finish(
    config: Config, disk: Disk | None = None, watch: Callable[[Run], None] = lambda run: None
) -> State:
    """Start or resume, and go on to the end."""
    with Run.open(config, "toy", "test", disk or FastDisk()) as run:
        while run.state.cycle < CYCLES:
            run_stage(run)
            watch(run)
        return run.state


def whole(run: Run) -> bool:
    """Every file that the state names is there, as committed."""
    return all(run.read_file(entry) for entry in run.state.entries())


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return config_in(tmp_path)


def states_of_undisturbed_run(folder: Path) -> list[str]:
    """The run digest and stage at each commit, in order; the first is that of no state at all."""
    seen = ["nothing"]

    class Watching(FastDisk):
        def rename(self, source: Path, target: Path) -> None:
            super().rename(source, target)
            if target.name == "state.json":
                seen.append(fingerprint(parse_state(target.read_bytes(), "state")))

    finish(config_in(folder), Watching())
    return seen


def networks_in(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*.pt"))


def fingerprint(state: State) -> str:
    """All that a state says but the folders' names."""
    return digest(format_state(replace(state, config={}, retired=[])))


@pytest.mark.usefixtures("plain_settings")
@pytest.mark.parametrize("forgetful", [False, True])
def test_a_crash_at_any_file_operation_leaves_the_old_state_or_the_new_one_and_the_same_end(
    tmp_path: Path, forgetful: bool
) -> None:
    order = states_of_undisturbed_run(tmp_path / "calm")
    end = run_digest(finish(config_in(tmp_path / "calm")))
    latest = 0
    for k in range(1, 1000):
        folder = tmp_path / "stormy"
        stormy, disk = config_in(folder), CrashingDisk(k, forgetful)
        try:
            finish(stormy, disk)
        except Crash:
            pass
        else:
            assert latest == len(order) - 1 and k > 80
            return
        found = "nothing"
        if (folder / "checkpoints/toy/state.json").exists():
            run = Run.read(stormy, "toy")
            assert whole(run)
            found = fingerprint(run.state)
        assert (
            order.index(found, max(0, latest - 1)) >= latest - forgetful
        )  # a name that was not synced may be lost once
        latest = max(latest, len(order) - 1 - order[::-1].index(found))
        if k % 3 == 0:
            with pytest.raises(Crash):
                finish(stormy, CrashingDisk(1 + k % 5, forgetful))  # and again while it recovers
        assert run_digest(finish(stormy)) == end
        assert networks_in(folder) == networks_in(tmp_path / "calm")
        shutil.rmtree(folder)
    raise AssertionError("it never ended")


@pytest.mark.usefixtures("plain_settings")
@pytest.mark.parametrize("number", [errno.EIO, errno.ENOSPC])
def test_an_operation_that_fails_once_says_so_and_the_same_command_has_the_same_end(
    tmp_path: Path, number: int
) -> None:
    end, refused = run_digest(finish(config_in(tmp_path / "calm"))), 0
    for k in range(1, 1000):
        folder = tmp_path / "stormy"
        disk = RefusingDisk(k, number)
        try:
            finish(config_in(folder), disk)
        except UserError:
            refused += 1
        state = finish(config_in(folder))
        assert (run_digest(state), state.quarantine) == (end, [])
        assert networks_in(folder) == networks_in(tmp_path / "calm")
        assert not (folder / "data/toy/quarantine").exists()
        shutil.rmtree(folder)
        if disk.left > 0:
            assert refused > 80
            return
    raise AssertionError("it never ended")


@pytest.mark.parametrize("number", [errno.EIO, errno.EACCES])
def test_a_file_that_cannot_be_read_is_not_called_damaged(config: Config, number: int) -> None:
    finish(config)
    before = sorted(path for path in Path(config.data).parent.rglob("*") if path.is_file())
    for entry in set(Run.read(config, "toy").state.entries()):
        run = Run(config, "toy", RefusingDisk(2, number))  # the first operation reads the state
        run._load()
        with pytest.raises(
            UserError, match=rf"{entry.file} cannot be read \(.*same command again"
        ) as refusal:
            run.read_file(entry)
        assert not isinstance(refusal.value, DamagedFile)
    assert before == sorted(path for path in Path(config.data).parent.rglob("*") if path.is_file())


def test_a_run_killed_in_its_last_clean_up_names_no_file_that_is_gone(tmp_path: Path) -> None:
    finish(config_in(tmp_path / "calm"))
    with Run.open(config_in(tmp_path / "killed"), "toy", "test", FastDisk()) as run:
        run.clean = lambda: None  # type: ignore[method-assign]
        while run.state.cycle < CYCLES:
            run_stage(run)
        assert run.state.retired
    for _ in range(2):  # a finished run is opened only to say so
        assert finish(config_in(tmp_path / "killed")).retired == []
        assert networks_in(tmp_path / "killed") == networks_in(tmp_path / "calm")


def test_the_state_reads_back_as_it_was_written(config: Config) -> None:
    state = finish(config)
    assert parse_state(format_state(state), "state.json") == state
    assert Run.read(config, "toy").state == state
    assert (Path(config.checkpoints) / "toy/config.yaml").read_text().startswith("game:\n  name: tictactoe\n")


@pytest.mark.parametrize("edit", ["flip", "cut", "empty", "foreign", "list", "outside", "stage"])
def test_a_damaged_state_is_refused_with_one_sentence(config: Config, edit: str) -> None:
    finish(config)
    path = Path(config.checkpoints) / "toy/state.json"
    data = path.read_bytes()
    state = parse_state(data, "state")
    outside = replace(state, champion=FileEntry("../../victim.pt", "0" * 64, 1))
    edits = {
        "flip": data.replace(b'"cycle": 3', b'"cycle": 2', 1),
        "cut": data[: len(data) // 2],
        "empty": b"",
        "foreign": b"\x89PNG\r\n",
        "list": b"[1]",
        "outside": format_state(outside),
        "stage": format_state(replace(state, stage="rest")),
    }
    assert edits[edit] != data
    path.write_bytes(edits[edit])
    with pytest.raises(UserError, match=r"state\.json is damaged or no file of azero; .*\.$"):
        Run.open(config, "toy", "test", FastDisk())
    assert path.read_bytes() == edits[edit]


def test_a_state_of_a_later_format_is_refused(config: Config) -> None:
    finish(config)
    path = Path(config.checkpoints) / "toy/state.json"
    document = json.loads(path.read_bytes())
    path.write_text(json.dumps({**document, "format": 99}))
    with pytest.raises(UserError, match="has format 99"):
        Run.read(config, "toy")


def damage(path: Path, how: str) -> None:
    """Spoil a file in one of five ways."""
    data = path.read_bytes()
    if how == "missing":
        path.unlink()
        return
    flipped = data[:7] + bytes([data[7] ^ 1]) + data[8:]
    path.write_bytes(
        {"truncated": data[:-1], "flipped": flipped, "emptied": b"", "foreign": b"PK\x03\x04 something else"}[
            how
        ]
    )


DAMAGES = ["truncated", "flipped", "emptied", "foreign", "missing"]


@pytest.mark.parametrize("how", DAMAGES)
def test_a_damaged_file_is_never_read(config: Config, how: str) -> None:
    finish(config)
    run = Run.read(config, "toy")
    for entry in set(run.state.entries()):
        damage(run.paths.of(entry.file), how)
        with pytest.raises(DamagedFile, match=re.escape(entry.file)):
            run.read_file(entry)


@pytest.mark.parametrize("how", DAMAGES)
def test_a_damaged_champion_stops_the_run_until_the_one_before_is_accepted(config: Config, how: str) -> None:
    before = finish(config)
    assert before.champion and len(before.champions) == 2
    damage(Path(config.checkpoints) / "toy" / before.champion.file, how)
    with (
        Run.open(config, "toy", "test", FastDisk()) as run,
        pytest.raises(
            UserError,
            match=rf"{before.champion.file} is damaged .* {before.champions[0].file} by "
            "the azero loop command of this run with accept_previous=true",
        ),
    ):
        run.read_champion()
    assert Run.read(config, "toy").state.champion == before.champion
    with Run.open(replace(config, accept_previous=True), "toy", "test", FastDisk()) as run:
        assert digest(run.read_champion()) == before.champions[0].sha256
        assert run.state.champion == before.champions[0]
        assert [entry.file for entry in run.state.quarantine] == [before.champion.file]


def test_reading_a_damaged_champion_changes_nothing(config: Config) -> None:
    before = finish(config)
    assert before.champion and len(before.champions) == 2
    with Run.open(replace(config, accept_previous=True), "toy", "test", FastDisk()) as run:
        damage(run.paths.of(before.champion.file), "flipped")
        state = run.state
        with pytest.raises(UserError, match=rf"{before.champion.file} is damaged"):
            run.read_champion()
        assert run.state == state == Run.read(config, "toy").state


def test_a_champion_damaged_in_an_open_run_is_replaced_before_the_next_stage(config: Config) -> None:
    before = finish(config)
    assert before.champion and len(before.champions) == 2
    report = Told()
    with Run.open(replace(config, accept_previous=True), "toy", "test", FastDisk()) as run:
        damage(run.paths.of(before.champion.file), "flipped")
        with pytest.raises(
            UserError, match=rf"go back to {before.champions[0].file} by the same command again"
        ):
            run.read_champion()
        report_damage(run, report)
        assert digest(run.read_champion()) == before.champions[0].sha256
        assert [entry.file for entry in run.state.quarantine] == [before.champion.file]
        report_damage(run, report)
    (said,) = report.messages
    assert re.fullmatch(
        rf"\S+{before.champion.file} is damaged: .*\. The run goes back to {before.champions[0].file}\.", said
    )


def test_the_recipe_is_kept_until_another_command_names_one(config: Config) -> None:
    for recipe, kept in (("", ""), ("smoke", "smoke"), ("", "smoke"), ("plain", "plain")):
        with Run.open(config, "toy", "test", FastDisk(), recipe=recipe) as run:
            assert run.state.recipe == kept
    assert Run.read(config, "toy").state.recipe == "plain"


def test_without_an_earlier_champion_nothing_is_accepted(config: Config) -> None:
    with Run.open(replace(config, accept_previous=True), "toy", "test", FastDisk()) as run:
        run_stage(run)
        damage(run.paths.of("champion/000000.pt"), "flipped")
        with pytest.raises(UserError, match=r"champion/000000\.pt is damaged"):
            run.read_champion()


@pytest.mark.parametrize("how", DAMAGES)
def test_a_damaged_candidate_is_made_again_and_the_end_is_the_same(
    config: Config, tmp_path: Path, how: str
) -> None:
    damaged: list[str] = []

    def watch(run: Run) -> None:
        if run.state.stage == "evaluate" and run.state.cycle == 1 and not damaged:
            assert run.state.candidate
            damage(run.paths.of(run.state.candidate.file), how)
            damaged.append(run.state.candidate.file)
            before = run.state
            for reader in (Run.read(config, "toy"), run):  # reading changes nothing
                with pytest.raises(DamagedFile):
                    reader.read_candidate()
            assert run.state == before == Run.read(config, "toy").state
            whole_candidate(run)
            assert (
                run.state.stage == "train" and run.state.candidate.cycle == 1 and run.state.train_steps == 10
            )

    stormy = finish(config, watch=watch)
    assert damaged == [entry.file for entry in stormy.quarantine]
    assert run_digest(stormy) == run_digest(finish(config_in(tmp_path / "calm")))


def test_with_no_whole_candidate_the_champion_stands_in(config: Config) -> None:
    with Run.open(config, "toy", "test", FastDisk()) as run:
        run_stage(run)
        damage(run.paths.of("candidate/000000.pt"), "emptied")
        assert whole_candidate(run) == run.read_champion()
        assert run.state.stage == "selfplay" and run.state.candidate == run.state.champion
        while run.state.cycle < CYCLES:
            run_stage(run)
        assert whole(run)


def test_a_name_never_gets_another_content(config: Config) -> None:
    with Run.open(config, "toy", "test", FastDisk()) as run:
        run_stage(run)
        assert run.write_network("candidate", 0, content("first")).file == "candidate/000000.pt"
        other = run.write_network("candidate", 0, b"other")
        assert other.file == "candidate/000000-2.pt"
        assert whole(run)


def test_clean_removes_only_what_an_earlier_state_named(config: Config) -> None:
    with Run.open(config, "toy", "test", FastDisk()) as run:
        while run.state.cycle < 8:
            run_stage(run)
            if run.state.cycle == 1:
                strangers = [run.paths.folder / "champion/notes.txt", run.paths.data / "000001-mine.pickle"]
                for path in strangers:
                    path.write_text("mine")
        kept = sorted(str(path.relative_to(run.paths.folder)) for path in run.paths.folder.rglob("*.pt"))
        assert kept == [
            "candidate/000007.pt",
            "candidate/000008.pt",
            "champion/000007.pt",
            "champion/000008.pt",
        ]
        shards = sorted(path.name for path in run.paths.data.glob("*-000.pickle"))
        assert shards == [
            "000007-000.pickle",
            "000008-000.pickle",
        ]  # 2 × 150 examples cover the window of 256
        assert all(path.read_text() == "mine" for path in strangers)
        assert whole(run)


def test_opening_a_run_removes_nothing_by_the_settings_asked_for_and_tells_them(config: Config) -> None:
    with Run.open(
        replace(config, keep=5, train=replace(config.train, window=1000)), "toy", "test", FastDisk()
    ) as run:
        while run.state.cycle < 4:
            run_stage(run)
        had = run.state.files()
    with Run.open(config, "toy", "test", FastDisk()) as run:  # keeps 1 network of a kind and a window of 256
        assert run.state.files() == had and whole(run) and len(run.state.shards) == 4
        assert run.changes == [f"train.window 1000 → {config.train.window}", f"keep 5 → {config.keep}"]
        while run.state.cycle < 5:
            run_stage(run)
        assert len(run.state.shards) == 2 and len(run.state.candidates) == config.keep + 1
    with Run.open(config, "toy", "test", FastDisk()) as run:
        assert run.changes == []


def test_settings_that_were_left_out_by_mistake_cost_nothing_until_a_cycle_has_ended(config: Config) -> None:
    wide = replace(config, keep=5, train=replace(config.train, window=1000))
    with Run.open(wide, "toy", "test", FastDisk()) as run:
        while run.state.cycle < 4:
            run_stage(run)
        had = run.state.files()
    Run.open(config, "toy", "test", FastDisk()).close()
    with Run.open(wide, "toy", "test", FastDisk()) as run:
        assert run.state.files() == had and whole(run)


def test_a_stage_that_is_refused_changes_nothing(config: Config) -> None:
    finish(config)
    before = Run.read(config, "toy").state
    other = replace(config, keep=5)
    with pytest.raises(
        UserError,
        match=r"In run toy the stage selfplay comes next, not train; run azero selfplay\.",
    ):
        Run.open(other, "toy", "test", FastDisk(), stage="train")
    assert Run.read(config, "toy").state == before
    with Run.open(other, "toy", "test", FastDisk(), stage="selfplay") as run:
        assert run.changes == [f"keep {config.keep} → 5"]
    with pytest.raises(UserError, match="Run new has not begun: the stage initialize comes next, not train"):
        Run.open(config, "new", "test", FastDisk(), stage="train")
    assert not (Path(config.checkpoints) / "new/state.json").exists()


def test_one_folder_for_networks_and_games_is_refused(config: Config) -> None:
    with pytest.raises(UserError, match="checkpoints= and data= are one folder"):
        Run.open(replace(config, data=config.checkpoints), "toy", "test", FastDisk())


def test_what_a_crash_left_half_written_is_removed_at_the_next_start(config: Config) -> None:
    finish(config)
    half = Path(config.checkpoints) / "toy/champion/000009.pt.tmp"
    half.write_bytes(b"half")
    finish(config)
    assert not half.exists()


HOLD_THE_LOCK = """
import sys
from azero.config.schema import Config
from azero.run.run import Run
with Run.open(Config(checkpoints=sys.argv[1], data=sys.argv[2]), "toy", "azero.loop"):
    print("ready", flush=True)
    sys.stdin.read()
"""


def test_a_second_process_is_refused_at_once_and_told_who_works_there(config: Config) -> None:
    command = [sys.executable, "-c", HOLD_THE_LOCK, config.checkpoints, config.data]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=PROJECT) as first:
        assert first.stdout and first.stdout.readline() == b"ready\n"
        with pytest.raises(
            UserError, match=rf"in use by process {first.pid} on \S+ \(azero\.loop, since 20\d\d-"
        ):
            Run.open(config, "toy", "test", FastDisk())
        elsewhere = replace(config, checkpoints=config.checkpoints + "2")
        with pytest.raises(UserError, match=f"{config.data}.* is in use by process {first.pid}"):
            Run.open(elsewhere, "toy", "test", FastDisk())
        (Path(config.checkpoints) / "toy/run.lock.json").write_bytes(b"{")
        with pytest.raises(UserError, match="in use by another process"):
            Run.open(config, "toy", "test", FastDisk())
        first.kill()
    Run.open(config, "toy", "test", FastDisk()).close()


def test_a_reader_needs_no_lock_and_writes_nothing(config: Config) -> None:
    finish(config)
    with Run.open(config, "toy", "test", FastDisk()):
        reader = Run.read(config, "toy")
        assert whole(reader)
        with pytest.raises(RuntimeError):
            reader.commit(reader.state)


@pytest.mark.parametrize(
    "number, says",
    [
        (errno.ENOSPC, "disk is full.* free space"),
        (errno.EROFS, "may not be written .*checkpoints="),
        (errno.EIO, "could not be written"),
    ],
)
def test_a_write_that_fails_says_so_and_loses_nothing(
    config: Config, tmp_path: Path, number: int, says: str
) -> None:
    disk = FailingDisk(number)
    with Run.open(config, "toy", "test", disk) as run:
        for _ in range(5):
            run_stage(run)
        before = run.paths.state.read_bytes()
        disk.armed = True
        with pytest.raises(UserError, match=says):
            run_stages_for_ever(run)
        assert run.paths.state.read_bytes() == before and whole(run)
        assert not list(tmp_path.rglob("*.tmp"))
    assert run_digest(finish(config)) == run_digest(finish(config_in(tmp_path / "calm")))


def test_folders_that_cannot_be_made_get_one_sentence(config: Config, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for changed in (
        replace(config, checkpoints=str(tmp_path / "file")),
        replace(config, data=str(tmp_path / "file/deeper")),
    ):
        with pytest.raises(UserError, match="file"):
            Run.open(changed, "toy", "test")


@pytest.mark.parametrize(
    "changes, says",
    [
        ({"network": NetworkConfig(channels=64)}, "network.channels 32 → 64;"),
        (
            {"network": NetworkConfig(channels=64, blocks=1)},
            "network.blocks 4 → 1, network.channels 32 → 64;",
        ),
        ({"game": GameConfig(name="other")}, "game.name tictactoe → other;"),
        ({"game": GameConfig(options={"size": 4})}, r"game.options \{\} → \{'size': 4\};"),
        ({"seed": 2}, "seed 1 → 2; .*run="),
        ({"init_from": "elsewhere"}, "init_from null → elsewhere;"),
    ],
)
def test_a_configuration_that_cannot_fit_is_refused(
    config: Config, changes: dict[str, Any], says: str
) -> None:
    before = finish(config)
    with pytest.raises(UserError, match=says):
        Run.open(replace(config, **changes), "toy", "test")
    assert Run.read(config, "toy").state == before


def test_a_run_of_before_a_setting_was_there_has_it_at_its_default(config: Config) -> None:
    finish(config)
    with Run.open(config, "toy", "test") as run:
        older = {key: value for key, value in run.state.config.items() if key != "network.value_output"}
        run.commit(replace(run.state, config=older))
    with pytest.raises(UserError, match=r"network\.value_output scalar → wdl;"):
        Run.open(replace(config, network=NetworkConfig(value_output="wdl")), "toy", "test")
    Run.open(config, "toy", "test").close()


def test_what_may_change_changes(config: Config) -> None:
    finish(config)
    with Run.open(replace(config, cycles=99, workers=2, train=TrainConfig(lr=0.1)), "toy", "test") as run:
        assert run.state.config["cycles"] == 99 and run.state.config["train.lr"] == 0.1
        assert run.state.cycle == CYCLES


def test_a_run_that_has_no_network_yet_takes_any_configuration(config: Config) -> None:
    Run.open(config, "toy", "test").close()
    with Run.open(replace(config, seed=5, network=NetworkConfig(blocks=1)), "toy", "test") as run:
        assert run.state.seed == 5 and run.state.config["network.blocks"] == 1


def test_init_from_may_be_left_out_on_resume(config: Config) -> None:
    finish(replace(config, init_from="elsewhere"))
    with Run.open(config, "toy", "test") as run:
        assert run.state.config["init_from"] == "elsewhere"


@pytest.mark.parametrize("place", ["checkpoints/toy/thesis.txt", "data/toy/000001-000.pickle"])
def test_a_folder_of_something_else_is_refused_and_left_alone(
    config: Config, tmp_path: Path, place: str
) -> None:
    path = tmp_path / place
    path.parent.mkdir(parents=True)
    path.write_text("mine")
    with pytest.raises(UserError, match=rf"{path.name} belongs to no run"):
        Run.open(config, "toy", "test")
    assert path.read_text() == "mine" and not (tmp_path / "checkpoints/toy/champion").exists()


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "/etc", "a\0b", " a", "x" * 300, "\\\\server"])
def test_a_name_that_is_no_folder_is_refused(config: Config, name: str) -> None:
    with pytest.raises(UserError, match="cannot name a folder"):
        Run.open(config, name, "test")


def test_a_run_that_is_not_there_is_named_with_those_that_are(config: Config) -> None:
    with pytest.raises(UserError, match="there is none yet"):
        Run.read(config, "absent")
    finish(config)
    with pytest.raises(UserError, match=r"holds no run absent; it holds toy\."):
        Run.read(config, "absent")


def test_a_champion_that_comes_with_azero_is_named_where_no_run_is(tmp_path: Path, box: Path) -> None:
    with pytest.raises(UserError, match=r"holds no run hex5; shipped/hex5 comes with azero\.$"):
        Run.read(Config(checkpoints=str(tmp_path)), "hex5")


def test_the_digest_of_a_run_sees_what_counts_and_nothing_else(config: Config) -> None:
    state = finish(config)
    same = replace(
        state, elapsed_seconds=9.0, git="x", champions=[], config={}, inference={"backend": "torch"}
    )
    assert run_digest(same) == run_digest(state)
    shard = ShardEntry("000001-000.pickle", "0" * 64, 1, 10, 150)
    others = [
        replace(state, seed=2),
        replace(state, shards=[shard]),
        replace(state, candidate=FileEntry("candidate/000001.pt", "0" * 64, 1)),
        replace(state, history=[{**state.history[0], "champion": "0" * 64}, *state.history[1:]]),
    ]
    assert len({run_digest(other) for other in [state, *others]}) == 5


def test_plain_writing_would_not_have_passed(tmp_path: Path) -> None:
    """The crash double is no decoration: a file written in place is found half-written."""
    path = tmp_path / "file"
    path.write_bytes(b"old content")
    with pytest.raises(Crash):
        CrashingDisk(1, False).write(path, b"new content")
    assert path.read_bytes() not in (b"old content", b"new content")
    path.write_bytes(b"old content")
    for k in range(1, 4):
        with pytest.raises(Crash):
            write_atomically(CrashingDisk(k, True), path, b"new content")
        assert path.read_bytes() in (b"old content", b"new content")


def test_changes_are_written_as_a_person_types_them() -> None:
    had = {"metrics": "mine.py", "minutes": 0.0, "train.merge_equal": True, "init_from": None}
    asked = {"metrics": "", "minutes": 120.0, "train.merge_equal": False, "init_from": "other"}
    assert changes_between(had, asked) == [
        'metrics mine.py → ""',
        "minutes 0 → 120",
        "train.merge_equal true → false",
        "init_from null → other",
    ]


def test_a_run_that_is_not_there_is_named_with_the_closest_of_many(config: Config) -> None:
    for number in range(12):
        folder = Path(config.checkpoints) / f"connect_{number}"
        folder.mkdir(parents=True)
        (folder / "state.json").touch()
    with pytest.raises(UserError, match=r"holds no run conect_3; did you mean connect_3\?$"):
        Run.read(config, "conect_3")
    with pytest.raises(UserError, match=r"holds no run xyz; azero runs lists those that are there\.$"):
        Run.read(config, "xyz")
