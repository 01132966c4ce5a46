"""One run: what it has committed, and the only ways to change that.

Order of every change: write the new files, `commit` the state that names them, then `clean` away what it no longer names. A
process that is killed between any two of these leaves the old state or the new one, and at most files that no state names.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from types import TracebackType
from typing import Any

from azero.config import Config, SearchConfig, UserError, flatten
from azero.files.disk import DamagedFile, Disk, read_checked
from azero.files.folder import Folder, Paths, names_of_runs, paths_of
from azero.files.state import FileEntry, QuarantineEntry, ShardEntry, State, format_state, parse_state, run_digest
from azero.signals import Stopped, StopSignal
from azero.window import window_size

__all__ = ["DamagedFile", "Disk", "FileEntry", "Paths", "QuarantineEntry", "Run", "ShardEntry", "State", "StopSignal", "Stopped"]
__all__ += ["run_digest"]

# What a run is made of. Everything else may change when it is resumed: how long it goes on (cycles, minutes), how it plays,
# searches, trains and evaluates from the next stage on, what it keeps, and where it is computed (device, lanes, inference).
# init_from may be left out when a run is resumed, but not name another run.
FIXED = ("game.", "network.", "seed", "init_from")


class Run:
    """One run, opened for work (`Run.open`, under the lock) or for reading (`Run.read`).

    Attributes:
        config: the configuration it was opened with.
        name: the run's name, and its folders'.
        paths: where its files are.
        state: what was committed last.
        writable: whether this process holds the lock.
        changes: the settings that differ from those the run had before it was opened for work, each as "key old → new".
    """

    def __init__(self, config: Config, name: str, disk: Disk | None = None) -> None:
        """For `open` and `read`; nothing is touched yet."""
        self.config = config
        self.name = name
        self.paths = paths_of(config, name)
        self.state = State(name=name, seed=config.seed)
        self.writable = False
        self.changes: list[str] = []
        self._folder = Folder(self.paths, disk or Disk())

    @classmethod
    def open(cls, config: Config, name: str, programme: str, disk: Disk | None = None, stage: str | None = None) -> Run:
        """Open a run for work, or begin it: take the lock, check that the configuration fits, mend what a crash left.

        What is no longer needed stays until a cycle ends, and goes by the configuration that is asked for then.

        Args:
            config: the configuration asked for; it replaces the run's where that may change.
            name: the run's name.
            programme: who takes the lock, for the message to others.
            disk: for tests.
            stage: the stage that has to come next, where only that is wanted; else nothing is changed.

        Raises:
            UserError: another process works on it; the folder is another program's; the configuration cannot fit; another stage
                comes next; state.json is damaged; the disk is full or read-only.
        """
        run = cls(config, name, disk)
        try:
            run._folder.lock(programme)
            run.writable = True
            run._load_or_begin(stage)
            run._recover()
            run._take_settings()
        except BaseException:
            run.close()
            raise
        return run

    @classmethod
    def read(cls, config: Config, name: str) -> Run:
        """Open a run for reading, without the lock; another process may be at work on it.

        Raises:
            UserError: there is no such run, or its state.json is damaged.
        """
        run = cls(config, name)
        if not run.paths.state.is_file():
            there = ", ".join(names_of_runs(config))
            known = f"there are {there}" if there else "there is none yet, and python -m azero.loop makes one"
            raise UserError(f"{config.checkpoints} holds no run {name}; {known}.")
        run._load()
        return run

    def __enter__(self) -> Run:
        """The run itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Give the lock back."""
        self.close()

    def close(self) -> None:
        """Give the lock back. All that was committed is on the disk already."""
        self.writable = False
        self._folder.unlock()

    def commit(self, state: State, *, ends_cycle: bool = False) -> None:
        """Make a new state the run's, at once and on the disk: the only commit point. The files it names must have been written.

        A champion or candidate that differs from the one before joins the list of its kind; files that are no longer named are
        noted as retired, for `clean`. At the end of a cycle those that are no longer needed are named no longer: kept are the
        champion, the candidate, `keep` networks of each kind before them, and the shards that reach into the replay window.

        Raises:
            UserError: the disk refused; the old state is still in force.
        """
        if not self.writable:
            raise RuntimeError(f"run {self.name} was opened for reading")
        champions = _ending_with(state.champion, state.champions)
        candidates = _ending_with(state.candidate, state.candidates)
        steps_before = self.state.train_steps if state.candidate != self.state.candidate else state.train_steps_before
        state = replace(state, champions=champions, candidates=candidates, train_steps_before=steps_before)
        if ends_cycle:
            state = self._trimmed(state)
        gone = ({*self.state.retired} | self.state.files()) - state.files() - {entry.file for entry in state.quarantine}
        state = replace(state, retired=sorted(file for file in gone if self.paths.of(file).exists()))
        self._folder.replace(self.paths.state, format_state(state))
        self.state = state

    def _trimmed(self, state: State) -> State:
        kept, window = self.config.keep + 1, window_size(self.config.train, state.examples)
        return replace(
            state,
            champions=state.champions[-kept:],
            candidates=state.candidates[-kept:],
            shards=shards_in_window(state.shards, window),
        )

    def clean(self) -> None:
        """Remove the files that an earlier state named and the committed one does not; only such are ever removed.

        Raises:
            UserError: the disk refused.
        """
        self._folder.remove(self.state.retired)

    def write_network(self, kind: str, cycle: int, data: bytes) -> FileEntry:
        """Write a network; `kind` is champion or candidate. It counts once a committed state names it.

        Raises:
            UserError: the disk refused.
        """
        file, sha256 = self._write(f"{kind}/{cycle:06d}", ".pt", data)
        return FileEntry(file, sha256, cycle)

    def write_shard(self, cycle: int, part: int, data: bytes, games: int, examples: int, *, partial: bool = False) -> ShardEntry:
        """Write self-play games, part 0, 1, … of a cycle; `partial` for those of an interrupted stage.

        Raises:
            UserError: the disk refused.
        """
        stem = f"{cycle:06d}-partial-{part:03d}" if partial else f"{cycle:06d}-{part:03d}"
        file, sha256 = self._write(stem, ".pickle", data)
        return ShardEntry(file, sha256, cycle, games, examples)

    def read_file(self, entry: FileEntry | ShardEntry) -> bytes:
        """The content of a file that the state names.

        Raises:
            DamagedFile: it is missing, cannot be read, or its SHA-256 is not the committed one.
        """
        return read_checked(self.paths.of(entry.file), str(self.paths.of(entry.file)), entry.sha256)

    def read_champion(self) -> bytes:
        """The champion's file.

        Raises:
            UserError: there is none yet; or it is damaged and `accept_previous` does not allow the one before it.
        """
        while True:
            champion = self.state.champion
            if champion is None:
                raise UserError(f"Run {self.name} has no champion yet; python -m azero.initialize makes the first one.")
            try:
                return self.read_file(champion)
            except DamagedFile as damage:
                self._step_back_champion(champion, damage)

    def read_candidate(self, report: Callable[[str], None] = lambda text: None) -> bytes:
        """The file of the candidate trained last; if it is damaged, of the newest whole one before it, or else the champion's.

        Args:
            report: is given one sentence for each damaged file.

        Raises:
            UserError: there is none yet, or the champion was needed and is damaged too.
        """
        while self.state.candidate is not None and self.state.candidate != self.state.champion:
            try:
                return self.read_file(self.state.candidate)
            except DamagedFile as damage:
                if not self.writable:
                    raise
                self.drop_candidate(damage)
                report(f"{damage} It is kept aside in {self.paths.quarantine}, and the network before it takes its place.")
        return self.read_champion()

    def drop_candidate(self, damage: DamagedFile) -> None:
        """Commit that the candidate is damaged: the one before it (or the champion) stands in, and training comes next again."""
        assert self.state.candidate is not None
        before = [entry for entry in self.state.candidates if entry != self.state.candidate]
        state = replace(self.state, candidates=before, candidate=before[-1] if before else self.state.champion)
        if state.stage == "evaluate":
            state = replace(state, stage="train", train_steps=state.train_steps_before)
        self._set_aside(state, self.state.candidate, damage.reason)

    def drop_shard(self, shard: ShardEntry, damage: DamagedFile) -> None:
        """Commit that a shard is damaged, and move it to quarantine with its reason beside it."""
        shards = [entry for entry in self.state.shards if entry != shard]
        partial = [entry for entry in self.state.partial if entry != shard]
        self._set_aside(replace(self.state, shards=shards, partial=partial), shard, damage.reason)

    def _write(self, stem: str, suffix: str, data: bytes) -> tuple[str, str]:
        taken = {entry.file: entry.sha256 for entry in self.state.entries()} | {entry.file: "" for entry in self.state.quarantine}
        return self._folder.write_new(stem, suffix, data, taken)

    def _set_aside(self, state: State, entry: FileEntry | ShardEntry, reason: str) -> None:
        """Commit a state that does without a damaged file, then move the file to quarantine."""
        damaged = QuarantineEntry(entry.file, reason, entry.cycle)
        self.commit(replace(state, quarantine=[*state.quarantine, damaged]))
        self._folder.quarantine(damaged)

    def _step_back_champion(self, champion: FileEntry, damage: DamagedFile) -> None:
        before = [entry for entry in self.state.champions if entry != champion]
        what = f"The champion {damage.name} is damaged ({damage.reason}); put a copy of it back"
        if not before:
            raise UserError(f"{what}, or begin anew with run=NAME.") from damage
        if not self.config.accept_previous:
            raise UserError(f"{what}, or go back to {before[-1].file} with accept_previous=true.") from damage
        state = replace(self.state, champion=before[-1], champions=before)
        if self.writable:
            self._set_aside(state, champion, damage.reason)
        else:
            self.state = state

    def _load(self) -> None:
        try:
            data = self.paths.state.read_bytes()
        except OSError as error:
            raise UserError(f"{self.paths.state} cannot be read ({error.strerror or error}).") from error
        self.state = parse_state(data, str(self.paths.state))

    def _load_or_begin(self, stage: str | None) -> None:
        begun = self.paths.state.exists()
        if begun:
            self._load()
        else:
            self._folder.refuse_foreign()
        if stage not in (None, self.state.stage):
            due = self.state.stage
            raise UserError(f"In run {self.name} the stage {due} comes next, not {stage}; run python -m azero.{due}.")
        if self.state.champion is not None:
            self._refuse_misfit(leaves_of(self.config))
        if not begun:
            self.commit(replace(self.state, config=leaves_of(self.config), git=git_commit()))

    def _take_settings(self) -> None:
        """The configuration asked for becomes the run's, also where people can read it."""
        from omegaconf import OmegaConf

        asked = leaves_of(self.config)
        if self.state.champion is not None:
            asked["init_from"] = asked["init_from"] or self.state.config["init_from"]
        self.changes = changes_between(self.state.config, {key: asked[key] for key in asked if key != "run"})
        if self.state.config != asked:
            self.commit(replace(self.state, config=asked, seed=self.config.seed))
        self._folder.replace_if_other(self.paths.config_yaml, OmegaConf.to_yaml(OmegaConf.create(asdict(self.config))).encode())

    def _refuse_misfit(self, asked: dict[str, Any]) -> None:
        fixed = {key: asked[key] for key in asked if key.startswith(FIXED) and (key, asked[key]) != ("init_from", None)}
        if misfits := changes_between(self.state.config, fixed):
            changes = ", ".join(misfits)
            raise UserError(
                f"{self.paths.folder} was begun otherwise: {changes}; take that back, or begin a new run with run=NAME."
            )

    def _recover(self) -> None:
        """Finish what a crash interrupted."""
        self._folder.make_inner()
        self._folder.remove_temporary()
        self.clean()
        for damaged in self.state.quarantine:
            if damaged.file not in self.state.files() and self.paths.of(damaged.file).exists():
                self._folder.quarantine(damaged)


def leaves_of(config: Config) -> dict[str, Any]:
    """Every setting by its dotted key, as `state.json` keeps it."""
    leaves: dict[str, Any] = json.loads(json.dumps(flatten(config)))
    return leaves


def changes_between(had: dict[str, Any], asked: dict[str, Any]) -> list[str]:
    """Each of the settings `asked` that a run did not have, as "key old → new"; one that it was begun before had its default."""
    had = leaves_of(Config()) | had
    return [f"{key} {had[key]} → {asked[key]}" for key in asked if not same_setting(key, had[key], asked[key])]


def same_setting(key: str, had: Any, asked: Any) -> bool:
    """Whether a setting that is fixed has stayed; the file of a person's own game may have moved to another folder."""
    if key == "game.name" and had.endswith(".py") and asked.endswith(".py"):
        moved = Path(had).name == Path(asked).name and not Path(had).exists()
        return had == asked or moved
    return had == asked


def shards_in_window(shards: list[ShardEntry], window: int) -> list[ShardEntry]:
    """The newest shards that together hold `window` examples, or all if they hold fewer; oldest first."""
    first = len(shards)
    examples = 0
    while first > 0 and examples < window:
        first -= 1
        examples += shards[first].examples
    return shards[first:]


def git_commit() -> str:
    """The commit of azero's own sources, "-dirty" behind it if they were changed; "" when they are in no repository."""
    here = Path(__file__).resolve()
    describe = ["git", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    try:
        subprocess.run(
            ["git", "ls-files", "--error-unmatch", here.name], cwd=here.parent, capture_output=True, check=True, timeout=9
        )
        answer = subprocess.run(describe, cwd=here.parent, capture_output=True, check=True, timeout=9, text=True)
    except (OSError, subprocess.SubprocessError):
        return ""
    return answer.stdout.strip()


def _ending_with(entry: FileEntry | None, entries: list[FileEntry]) -> list[FileEntry]:
    return list(entries) if entry is None or entries[-1:] == [entry] else [*entries, entry]


def search_of(run: Run) -> SearchConfig:
    """The search of a run's own configuration."""
    settings = {key.removeprefix("search."): value for key, value in run.state.config.items() if key.startswith("search.")}
    return SearchConfig(**settings)
