"""One run: what it has committed, and the only ways to change that.

Order of every change: write the new files, `commit` the state that names them, then `clean` away what it no
longer names. A process that is killed in between leaves the old state or the new one, and at most files that
no state names.
"""

from __future__ import annotations

import json
import subprocess
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from azero.config.schema import Config, SearchConfig, UserError, flatten, value_text
from azero.config.suggest import did_you_mean
from azero.run.disk import DamagedFile, Disk, is_there, make_folders, read_checked, reading
from azero.run.folder import (
    SHIPPED_PREFIX,
    Folder,
    is_shipped,
    names_of_runs,
    names_of_shipped,
    names_without_state,
    paths_of,
)
from azero.run.state import (
    FileEntry,
    QuarantineEntry,
    ShardEntry,
    StageName,
    State,
    format_state,
    parse_state,
)

# Settings that stay when a run is resumed; init_from may be left out then, but not name another run.
FIXED = ("game.", "network.", "seed", "init_from")
MOST_NAMED = 8  # runs that are listed when one is not there


class Run:
    """One run, opened for work (`Run.open`, under the lock) or for reading (`Run.read`).

    Attributes:
        config: the configuration it was opened with.
        name: the run's name, and its folders'.
        paths: where its files are.
        state: what was committed last.
        writable: whether this process holds the lock.
        changes: settings that differ from those before it was opened for work, each as "key old → new".
        new_rules: whether the text of the rules differs from what it was then.
        went_back: a sentence for each damaged champion that another one has replaced, for the report.
    """

    def __init__(
        self, config: Config, name: str, disk: Disk | None = None, recipe: str = "", rules: str = ""
    ) -> None:
        """Touch nothing yet; see `open` and `read`."""
        self.config = config
        self.name = name
        self.paths = paths_of(config, name)
        self.recipe, self.rules = recipe, rules
        self.state = State(name=name, seed=config.seed, recipe=recipe)
        self.writable = False
        self.changes: list[str] = []
        self.new_rules = False
        self.went_back: list[str] = []
        self._disk = disk or Disk()
        self._folder = Folder(self.paths, self._disk)

    @classmethod
    def open(
        cls,
        config: Config,
        name: str,
        program: str,
        disk: Disk | None = None,
        stage: str | None = None,
        recipe: str = "",
        rules: str = "",
    ) -> Run:
        """Open a run for work, or begin it: lock it, check the configuration, clean up after a crash.

        With `accept_previous` an earlier champion replaces a damaged one.

        Args:
            config: replaces the run's configuration where that may change.
            name: the run's name.
            program: who takes the lock, for the message to others.
            disk: for tests.
            stage: the stage that has to come next; None for any.
            recipe: the recipe of its settings, to list it by; "" leaves the one known.
            rules: the digest of a person's own rules; "" leaves the one known.

        Raises:
            UserError: another process works on it; the folder is another program's; the configuration
                does not fit; another stage comes next; state.json is damaged; the disk refused.
        """
        run = cls(config, name, disk, recipe, rules)
        if is_shipped(name):
            raise UserError(f"run={name} stays as it is; init_from={name} run=NAME begins a run with it.")
        try:
            run._folder.lock(program)
            run.writable = True
            run._load_or_begin(stage)
            run._recover()
            run._take_settings()
            run.accept_previous()
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
        if not is_there(run.paths.state):
            if name in names_without_state(config):
                missing = f"{run.paths.state} is missing"
                raise UserError(f"{missing}; put a copy of it back, or delete the rest of the run.")
            if is_shipped(name):
                raise UserError(f"azero has no {name}; it has {', '.join(names_of_shipped()) or 'none'}.")
            there = names_of_runs(config)
            known = (
                f"; it holds {', '.join(there)}."
                if there
                else "; there is none yet, and azero loop makes one."
            )
            if (own := f"{SHIPPED_PREFIX}{name}") in names_of_shipped():
                known = f"; {own} comes with azero."
            elif len(there) > MOST_NAMED:
                known = did_you_mean(name, there, "; azero runs lists those that are there.")
            raise UserError(f"{config.checkpoints} holds no run {name}{known}")
        run._load()
        run.accept_previous()
        return run

    def __enter__(self) -> Run:
        """Return the run itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Give the lock back."""
        self.close()

    def close(self) -> None:
        """Give the lock back. All that was committed is on the disk already."""
        self.writable = False
        self._folder.unlock()

    def commit(self, state: State, *, ends_cycle: bool = False) -> None:
        """Make a new state the run's, on the disk: the only commit point. The files it names exist already.

        A new champion or candidate joins the list of its kind. A cycle's end keeps the champion, the
        candidate, `keep` networks of each kind before them, and the shards that reach into the replay window.
        Files that are no longer named become `retired`, for `clean`.

        Raises:
            UserError: the disk refused; the old state is still in force.
        """
        if not self.writable:
            raise RuntimeError(f"run {self.name} was opened for reading")
        champions = _ending_with(state.champion, state.champions)
        candidates = _ending_with(state.candidate, state.candidates)
        if state.candidate != self.state.candidate:
            state = replace(state, train_steps_before=self.state.train_steps)
        if ends_cycle:
            kept = self.config.keep + 1
            champions, candidates = champions[-kept:], candidates[-kept:]
            state = replace(state, shards=shards_in_window(state.shards, self.config.train.window))
        state = replace(state, champions=champions, candidates=candidates)
        named = state.files() | {entry.file for entry in state.quarantine}
        gone = ({*self.state.retired} | self.state.files()) - named
        state = replace(state, retired=sorted(file for file in gone if is_there(self.paths.of(file))))
        self._folder.replace(self.paths.state, format_state(state))
        self.state = state

    def clean(self) -> None:
        """Remove the files that an earlier state named and this one does not. No other file is removed.

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

    def write_shard(
        self, cycle: int, part: int, data: bytes, games: int, examples: int, *, partial: bool = False
    ) -> ShardEntry:
        """Write self-play games, part 0, 1, … of a cycle; `partial` for those of an unfinished stage.

        Raises:
            UserError: the disk refused.
        """
        stem = f"{cycle:06d}-partial-{part:03d}" if partial else f"{cycle:06d}-{part:03d}"
        file, sha256 = self._write(stem, ".pickle", data)
        return ShardEntry(file, sha256, cycle, games, examples)

    def read_file(self, entry: FileEntry | ShardEntry) -> bytes:
        """Return the content of a file that the state names.

        Raises:
            DamagedFile: it is missing, or its SHA-256 is not the committed one.
            UserError: it cannot be read; it may be whole.
        """
        path = self.paths.of(entry.file)
        return read_checked(self._disk, path, str(path), entry.sha256)

    def read_champion(self) -> bytes:
        """Return the champion's file.

        Raises:
            UserError: there is none yet, or it is damaged.
        """
        champion = self.state.champion
        if champion is None:
            raise UserError(f"Run {self.name} has no champion yet; azero initialize makes the first one.")
        try:
            return self.read_file(champion)
        except DamagedFile as damage:
            before = [entry.file for entry in self.state.champions if entry != champion]
            how = "by the azero loop command of this run with accept_previous=true"
            how = "by the same command again" if self.config.accept_previous else how
            way = f"go back to {before[-1]} {how}" if before else "begin anew with run=NAME"
            what = f"The champion {damage.name} is damaged ({damage.reason})"
            raise UserError(f"{what}; put a copy of it back, or {way}.") from damage

    def read_player(self) -> bytes:
        """Return the file of the network that plays the next games; see `State.player`.

        Raises:
            UserError: as for `read_champion`.
        """
        player = self.state.player
        if player is None or player == self.state.champion:
            return self.read_champion()
        try:
            return self.read_file(player)
        except DamagedFile as damage:
            what = f"The network {damage.name}, which plays the next games, is damaged ({damage.reason})"
            raise UserError(
                f"{what}; put a copy of it back, or let the champion play with accept_previous=true."
            ) from damage

    def read_candidate(self) -> bytes:
        """Return the file of the candidate trained last; the champion's where the champion stands in for it.

        Raises:
            DamagedFile: the candidate is damaged; `drop_candidate` does without it.
            UserError: there is none yet, or the champion is needed and damaged too.
        """
        if self.state.candidate is None or self.state.candidate == self.state.champion:
            return self.read_champion()
        return self.read_file(self.state.candidate)

    def drop_candidate(self, damage: DamagedFile) -> None:
        """Commit that the candidate is damaged, and move its file to quarantine.

        The candidate before it stands in, or the champion where there is none. If `evaluate` came next,
        `train` does again.
        """
        assert self.state.candidate is not None
        before = [entry for entry in self.state.candidates if entry != self.state.candidate]
        candidate = before[-1] if before else self.state.champion
        state = replace(self.state, candidates=before, candidate=candidate)
        if state.stage == StageName.EVALUATE:
            state = replace(state, stage=StageName.TRAIN, train_steps=state.train_steps_before)
        self._set_aside(state, self.state.candidate, damage.reason)

    def drop_shard(self, shard: ShardEntry, damage: DamagedFile) -> None:
        """Commit that a shard is damaged, and move it to quarantine with its reason beside it."""
        shards = [entry for entry in self.state.shards if entry != shard]
        partial = [entry for entry in self.state.partial if entry != shard]
        self._set_aside(replace(self.state, shards=shards, partial=partial), shard, damage.reason)

    def _write(self, stem: str, suffix: str, data: bytes) -> tuple[str, str]:
        taken = {entry.file: entry.sha256 for entry in self.state.entries()}
        taken |= {entry.file: "" for entry in self.state.quarantine}
        return self._folder.write_new(stem, suffix, data, taken)

    def _set_aside(self, state: State, entry: FileEntry | ShardEntry, reason: str) -> None:
        """Commit a state that does without a damaged file, then move the file to quarantine.

        Raises:
            UserError: the run's folder is gone, and with it the lock.
        """
        if not is_there(self.paths.data):
            gone = f"{self.paths.data} was removed while the run worked on it"
            raise UserError(f"{gone}; put it back, or begin anew with run=NAME.")
        damaged = QuarantineEntry(entry.file, reason, entry.cycle)
        self.commit(replace(state, quarantine=[*state.quarantine, damaged]))
        self._folder.quarantine(damaged)

    def accept_previous(self) -> None:
        """Go back to the newest undamaged champion if `accept_previous` is set and the newest is damaged.

        The champion stands in for a damaged network that plays the next games.
        """
        while self.config.accept_previous and len(self.state.champions) > 1:
            *before, champion = self.state.champions
            if not (damage := self._damage(champion)):
                break
            player = None if self.state.player == champion else self.state.player
            state = replace(self.state, champion=before[-1], champions=before, player=player)
            self._go_back(state, champion, damage)
        player = self.state.player
        if not self.config.accept_previous or player is None or player == self.state.champion:
            return
        if damage := self._damage(player):
            champions = [entry for entry in self.state.champions if entry != player]
            self._go_back(replace(self.state, champions=champions, player=None), player, damage)

    def _damage(self, entry: FileEntry) -> DamagedFile | None:
        try:
            self.read_file(entry)
        except DamagedFile as damage:
            return damage
        return None

    def _go_back(self, state: State, entry: FileEntry, damage: DamagedFile) -> None:
        """Do without a damaged champion, or without an older one that would have played."""
        assert state.champion is not None
        self.went_back.append(f"{damage} The run goes back to {state.champion.file}.")
        if self.writable:
            self._set_aside(state, entry, damage.reason)
        else:
            self.state = state

    def _load(self) -> None:
        with reading(self.paths.state):
            data = self._disk.read(self.paths.state)
        self.state = parse_state(data, str(self.paths.state))

    def _load_or_begin(self, stage: str | None) -> None:
        begun = is_there(self.paths.state)
        if begun:
            self._load()
        else:
            self._folder.refuse_foreign()
        if stage not in (None, self.state.stage):
            due, where = self.state.stage, f"In run {self.name}"
            where = where if begun else f"Run {self.name} has not begun:"
            raise UserError(f"{where} the stage {due} comes next, not {stage}; run azero {due}.")
        if self.state.champion is not None:
            self._refuse_misfit(leaves_of(self.config))
        if not begun:
            self.commit(replace(self.state, config=leaves_of(self.config), git=git_commit()))

    def _take_settings(self) -> None:
        """Make the configuration the run's, in the state and in config.yaml."""
        from omegaconf import OmegaConf

        asked = leaves_of(self.config)
        if self.state.champion is not None:
            asked["init_from"] = asked["init_from"] or self.state.config["init_from"]
        self.changes = changes_between(self.state.config, {key: asked[key] for key in asked if key != "run"})
        recipe, rules = self.recipe or self.state.recipe, self.rules or self.state.rules
        self.new_rules = self.state.rules not in ("", rules)
        if (self.state.config, self.state.recipe, self.state.rules) != (asked, recipe, rules):
            state = replace(self.state, config=asked, seed=self.config.seed, recipe=recipe, rules=rules)
            self.commit(state)
        text = OmegaConf.to_yaml(OmegaConf.create(asdict(self.config)))
        self._folder.replace_if_other(self.paths.config_yaml, text.encode())

    def _refuse_misfit(self, asked: dict[str, Any]) -> None:
        fixed = {key: value for key, value in asked.items() if key.startswith(FIXED)}
        if fixed["init_from"] is None:
            del fixed["init_from"]
        if misfits := changes_between(self.state.config, fixed):
            begun = f"{self.paths.folder} was begun otherwise: {', '.join(misfits)}"
            raise UserError(f"{begun}; take that back, or begin a new run with run=NAME.")

    def _recover(self) -> None:
        """Finish what a crash interrupted."""
        for folder in self.paths.folders():
            make_folders(self._disk, folder)
        self._folder.remove_temporary()
        if self.state.retired:
            self.clean()
            self.commit(self.state)  # which names them no longer
        for damaged in self.state.quarantine:
            if damaged.file not in self.state.files() and is_there(self.paths.of(damaged.file)):
                self._folder.quarantine(damaged)


def leaves_of(config: Config) -> dict[str, Any]:
    """Return every setting by its dotted key, as `state.json` keeps it."""
    leaves: dict[str, Any] = json.loads(json.dumps(flatten(config)))
    return leaves


def changes_between(had: dict[str, Any], asked: dict[str, Any]) -> list[str]:
    """Return changed settings as "key old → new". A setting that the run does not know had its default."""
    had = leaves_of(Config()) | had
    changed = [key for key in asked if not same_setting(had[key], asked[key])]
    return [f"{key} {value_text(had[key])} → {value_text(asked[key])}" for key in changed]


def same_setting(had: Any, asked: Any) -> bool:
    """Return whether a setting has stayed. A person's own file may have moved."""
    if isinstance(had, str) and isinstance(asked, str) and had.endswith(".py") and asked.endswith(".py"):
        moved = Path(had).name == Path(asked).name and not Path(had).exists()
        return moved or bool(had == asked)
    return bool(had == asked)


def shards_in_window(shards: list[ShardEntry], window: int) -> list[ShardEntry]:
    """Return the newest shards that hold `window` examples, or all if they hold fewer; oldest first."""
    first, examples = len(shards), 0
    while first > 0 and examples < window:
        first -= 1
        examples += shards[first].examples
    return shards[first:]


def git_commit() -> str:
    """Return the commit of azero's sources, with "-dirty" if they changed; "" if unknown."""
    here = Path(__file__).resolve()

    def ask(*command: str) -> str:
        answer = subprocess.run(
            ["git", *command], cwd=here.parent, capture_output=True, check=True, timeout=9, text=True
        )
        return answer.stdout.strip()

    try:
        ask("ls-files", "--error-unmatch", here.name)
        return ask("describe", "--always", "--dirty", "--abbrev=40", "--exclude=*")
    except (OSError, subprocess.SubprocessError):
        return ""


def _ending_with(entry: FileEntry | None, entries: list[FileEntry]) -> list[FileEntry]:
    return list(entries) if entry is None or entries[-1:] == [entry] else [*entries, entry]


def search_of(run: Run) -> SearchConfig:
    """Return the search settings of a run."""
    settings = [(key.partition("."), value) for key, value in run.state.config.items()]
    return SearchConfig(**{name: value for (group, _, name), value in settings if group == "search"})
