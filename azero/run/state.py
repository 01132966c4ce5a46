"""The state of a run: the records of `state.json`, their text form, and the digest of a run.

`state.json` is the only commit point: a file that it does not name does not exist for azero, whatever lies in
the folders.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from azero.config.schema import UserError, settings
from azero.run.disk import digest

FORMAT = 1
NETWORK_FILE = re.compile(r"(champion|candidate)/\d{6,}(-\d+)?\.pt")
SHARD_FILE = re.compile(r"\d{6,}-(partial-)?\d{3,}(-\d+)?\.pickle")


class StageName(StrEnum):
    """The stages of a run, in order. The last three make a cycle."""

    INITIALIZE = "initialize"
    SELFPLAY = "selfplay"
    TRAIN = "train"
    EVALUATE = "evaluate"


STAGES = tuple(StageName)
CYCLE_STAGES = STAGES[1:]


@dataclass(frozen=True)
class FileEntry:
    """One network file."""

    file: str  # such as champion/000012.pt, below checkpoints/<run>
    sha256: str
    cycle: int


@dataclass(frozen=True)
class ShardEntry:
    """One file of self-play games."""

    file: str  # such as 000012-000.pickle, below data/<run>
    sha256: str
    cycle: int
    games: int
    examples: int


@dataclass(frozen=True)
class QuarantineEntry:
    """One file that was damaged and is kept aside, below data/<run>/quarantine."""

    file: str
    reason: str
    cycle: int


@dataclass(frozen=True)
class AsideEntry:
    """One game of self-play that was left out, because the workers that played it died."""

    cycle: int
    game: int
    reason: str  # why the last one did


@dataclass(frozen=True)
class State:
    """Where a run stands.

    Attributes:
        format: the version of this record.
        name: the run's.
        seed: every random number of the run comes from it.
        cycle: cycles finished.
        stage: the stage that comes next, one of STAGES.
        champion: the network that plays; None before `initialize`.
        player: with `cluster.overlap`, who plays the next games instead: the champion when training began.
        candidate: the network trained last, promoted or not.
        champions: champions kept, oldest first; the last one is `champion`.
        candidates: candidates kept, oldest first; the last one is `candidate`.
        shards: self-play games of finished self-play stages, oldest first.
        partial: games of the self-play stage under way, or of the next one: the finished ones when it was
            interrupted, and those that a GPU has begun while it finished the cycle before.
        train_steps: optimizer steps since the beginning.
        train_steps_before: those before the candidate was trained, in case it must be made again.
        inference: the backend chosen for this run, so that timing noise never changes it.
        elapsed_seconds: time spent on stages, finished or stopped.
        stage_seconds: part of it, spent on the stage that comes next before it was stopped.
        final_openings: the first cycle with `selfplay.opening_plies_final`; 0 before that is known.
        history: one small record for each finished cycle.
        config: the configuration in force, by dotted key.
        recipe: the recipe of that configuration; "" if none or unknown.
        rules: digest of the text of a person's own rules that played last; "" for other games or unknown.
        git: the commit of the sources that began the run, with "-dirty" if they were changed; "" if unknown.
        quarantine: damaged files kept aside.
        aside: games of self-play that were left out.
        mixed: games were played by machines that compute the network differently in its last bits.
        retired: files that an earlier state named and this one does not; they may be removed.
    """

    name: str
    seed: int
    format: int = FORMAT
    cycle: int = 0
    stage: str = StageName.INITIALIZE
    champion: FileEntry | None = None
    player: FileEntry | None = None
    candidate: FileEntry | None = None
    champions: list[FileEntry] = field(default_factory=list)
    candidates: list[FileEntry] = field(default_factory=list)
    shards: list[ShardEntry] = field(default_factory=list)
    partial: list[ShardEntry] = field(default_factory=list)
    train_steps: int = 0
    train_steps_before: int = 0
    inference: dict[str, Any] | None = None
    elapsed_seconds: float = 0.0
    stage_seconds: float = 0.0
    final_openings: int = 0
    history: list[dict[str, Any]] = field(default_factory=list)
    config: dict[str, Any] = field(default_factory=dict)
    recipe: str = ""
    rules: str = ""
    git: str = ""
    quarantine: list[QuarantineEntry] = field(default_factory=list)
    aside: list[AsideEntry] = field(default_factory=list)
    mixed: bool = False
    retired: list[str] = field(default_factory=list)

    def entries(self) -> Iterator[FileEntry | ShardEntry]:
        """Yield every file in use, some of them more than once."""
        yield from (entry for entry in (self.champion, self.player, self.candidate) if entry)
        yield from itertools.chain(self.champions, self.candidates, self.shards, self.partial)

    def files(self) -> set[str]:
        """Return the names of all files in use."""
        return {entry.file for entry in self.entries()}


def format_state(state: State) -> bytes:
    """Return the text of state.json, with its own digest."""
    document = json.loads(json.dumps(asdict(state), default=_plain_number))
    return json.dumps({"digest": _digest(document), **document}, indent=1).encode() + b"\n"


def parse_state(data: bytes, name: str) -> State:
    """Return the state in a file, which `name` names in messages.

    Raises:
        UserError: the text is damaged, foreign, or written by another version whose settings are gone.
    """
    try:
        document = json.loads(data)
        if document.get("format", FORMAT) != FORMAT:
            misfit = f"{name} has format {document['format']} and this azero reads {FORMAT}"
            raise UserError(f"{misfit}; use the version that wrote it, or run=NAME.")
        if document.pop("digest") != _digest(document):
            raise ValueError
        for gone in ("train_threads", "examples"):  # of earlier versions
            document.pop(gone, None)
        state = _build(document, name)
        _check_names(state)
    except UserError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        what = f"{name} is damaged or no file of azero"
        raise UserError(f"{what}; put a copy of it back, or begin anew with run=NAME.") from error
    return state


def run_digest(state: State) -> str:
    """Return one hash over champions, games and candidate: equal for equal runs, interrupted or not.

    Wall time, file names, and which old files are still kept do not count.
    """
    keys = ("cycle", "promoted", "score", "games", "champion")
    history = [{key: record.get(key) for key in keys} for record in state.history]
    parts = {
        "seed": state.seed,
        "cycle": state.cycle,
        "history": history,
        "champion": state.champion and state.champion.sha256,
        "candidate": state.candidate and state.candidate.sha256,
        "shards": [(shard.cycle, shard.games, shard.examples, shard.sha256) for shard in state.shards],
        "train_steps": state.train_steps,
    }
    return _digest(json.loads(json.dumps(parts, default=_plain_number)))


def _build(document: dict[str, Any], name: str) -> State:
    document.setdefault("player", None)  # old states do not have it
    # They have the cycles with long random openings instead of a share of the run
    if cycles := document["config"].pop("selfplay.opening_plies_cycles", 0):
        document["final_openings"] = cycles + 1
        document["config"]["selfplay.opening_plies_share"] = min(1.0, cycles / document["config"]["cycles"])
    single = ("champion", "player", "candidate")
    networks = {key: document[key] and FileEntry(**document[key]) for key in single}
    kept = {key: [FileEntry(**entry) for entry in document[key]] for key in ("champions", "candidates")}
    shards = {key: [ShardEntry(**entry) for entry in document[key]] for key in ("shards", "partial")}
    quarantine = [QuarantineEntry(**entry) for entry in document["quarantine"]]
    aside = [AsideEntry(**entry) for entry in document.get("aside", [])]  # old states do not have it
    for key in document["config"].keys() - settings().keys():
        raise UserError(f"{name} sets {key}, which this version does not know; use the one that wrote it.")
    built = {**networks, **kept, **shards, "quarantine": quarantine, "aside": aside}
    return State(**{**document, **built})


def _check_names(state: State) -> None:
    """Refuse a state that names files outside the run's folders."""
    names = [*state.files(), *state.retired, *(entry.file for entry in state.quarantine)]
    known = all(NETWORK_FILE.fullmatch(name) or SHARD_FILE.fullmatch(name) for name in names)
    if state.stage not in STAGES or not known:
        raise ValueError


def _digest(document: dict[str, Any]) -> str:
    return digest(json.dumps(document, sort_keys=True).encode())


def _plain_number(value: Any) -> Any:
    return value.item()  # NumPy's scalars
