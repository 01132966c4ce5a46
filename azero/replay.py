"""Self-play games on disk, the replay window, and the order in which its examples are drawn.

Letters: G games, T plies of all games together, N examples, A actions, S state words.

A shard is a pickle of builtins only: a dict of column name → (dtype, shape, bytes). Reading one can run nothing: only the few
opcodes that such a pickle needs are let through, and the unpickler refuses to look up any class or function.
"""

from __future__ import annotations

import io
import math
import pickle
import pickletools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from azero.config import UserError
from azero.examples import Examples, GameRecord, examples_of
from azero.files.disk import DamagedFile
from azero.run import Run, ShardEntry

FORMAT = 1
SHARD_GAMES = 8192  # the most games of one shard: keeps files handy, and a damaged one costs little

# column: (dtype, dimensions); the first dimension is G for the first three and T for the others
COLUMNS = {
    "number": ("<i8", 1),
    "plies": ("<i8", 1),
    "first_outcome": ("<f4", 1),
    "states": ("<u8", 2),
    "to_play": ("|i1", 1),
    "actions": ("<i4", 1),
    "policy_target": ("<f4", 2),
    "root_value": ("<f4", 1),
    "searched": ("|b1", 1),
    "repeats": ("|u1", 1),
    "proven": ("|b1", 1),
}
OPTIONAL = {"repeats", "proven"}  # columns that a shard has where its games have them
PER_GAME = ("number", "plies", "first_outcome")

OPCODES = {
    *("PROTO", "FRAME", "MARK", "STOP", "EMPTY_DICT", "SETITEM", "SETITEMS"),
    *("EMPTY_TUPLE", "TUPLE", "TUPLE1", "TUPLE2", "TUPLE3"),
    *("BININT", "BININT1", "BININT2", "LONG1", "SHORT_BINUNICODE", "BINUNICODE", "SHORT_BINBYTES", "BINBYTES", "BINBYTES8"),
}
MOST_OPCODES = 1000  # a shard needs about a hundred; an endless one could nest deeper than the C stack


class _BuiltinsOnly(pickle.Unpickler):
    """Reads numbers, text, bytes, tuples and dicts, and nothing that has a name."""

    def find_class(self, module_name: str, global_name: str) -> Any:
        raise pickle.UnpicklingError(f"it asks for {module_name}.{global_name}")


def dump_games(records: Sequence[GameRecord], game_name: str) -> bytes:
    """Some games as the content of a shard. Equal games give equal bytes."""
    left_out = missing(records)
    columns = {name: _pack(_column(records, name), name) for name in COLUMNS if name not in left_out}
    buffer = io.BytesIO()
    pickler = pickle.Pickler(buffer, protocol=4)
    pickler.fast = True  # no memo: the bytes depend on values alone, never on which objects are the same
    pickler.dump({"format": FORMAT, "game": game_name, "columns": columns})
    return buffer.getvalue()


def missing(records: Sequence[GameRecord]) -> set[str]:
    """The optional columns that some game lacks, such as those of a stage that went on with other settings: none is written."""
    return {name for name in OPTIONAL if not records or any(getattr(record, name) is None for record in records)}


def load_games(data: bytes, name: str) -> list[GameRecord]:
    """The games in a shard's content, which `name` names in messages.

    Raises:
        DamagedFile: it is no shard, or not one that `dump_games` wrote.
    """
    try:
        columns = _unpack_all(_unpickle(data))
        _check_columns(columns)
    except Exception as error:  # damaged bytes make the unpickler raise nearly anything
        raise DamagedFile(name, f"it is no shard of games ({_first_line(error)})") from error
    ends = np.cumsum(columns["plies"])
    spans = [slice(end - plies, end) for end, plies in zip(ends, columns["plies"], strict=True)]
    return [
        GameRecord(
            number=int(number),
            states=columns["states"][span],
            to_play=columns["to_play"][span],
            actions=columns["actions"][span],
            policy_target=columns["policy_target"][span],
            root_value=columns["root_value"][span],
            searched=columns["searched"][span],
            first_outcome=float(outcome),
            **{name: columns[name][span] for name in OPTIONAL & columns.keys()},
        )
        for number, outcome, span in zip(columns["number"], columns["first_outcome"], spans, strict=True)
    ]


def write_games(run: Run, cycle: int, records: Sequence[GameRecord], game_name: str) -> list[ShardEntry]:
    """Write all games of a self-play stage, in the order of their numbers, as few shards; for `state.shards`.

    The files are the same whether or not the stage was interrupted and however many lanes played.
    """
    ordered = sorted(records, key=lambda record: record.number)
    parts = [ordered[start : start + SHARD_GAMES] for start in range(0, len(ordered), SHARD_GAMES)]
    return [_write_part(run, cycle, part, games, game_name, partial=False) for part, games in enumerate(parts)]


def write_partial(run: Run, cycle: int, records: Sequence[GameRecord], game_name: str) -> list[ShardEntry]:
    """Write the games that an interrupted self-play stage has finished since its last part, if any; to add to `state.partial`."""
    if not records:
        return []
    return [_write_part(run, cycle, len(run.state.partial), records, game_name, partial=True)]


def load_partial(run: Run, report: Callable[[str], None] = lambda text: None) -> list[GameRecord]:
    """The finished games of the interrupted self-play stage. Damaged parts go to quarantine; their games are missing here.

    Args:
        run: opened for work.
        report: is given one sentence for each damaged file.
    """
    return [record for shard in list(run.state.partial) for record in _read_shard(run, shard, report)]


def load_newest(run: Run, report: Callable[[str], None] = lambda text: None) -> list[GameRecord]:
    """The whole games of the newest cycle that has any; none in the first cycle. Damaged shards go to quarantine."""
    shards = list(run.state.shards)
    for cycle in sorted({shard.cycle for shard in shards}, reverse=True):
        parts = [_read_shard(run, shard, report) for shard in shards if shard.cycle == cycle]
        if any(parts):
            return [record for part in parts for record in part]
    return []


def load_window(
    run: Run,
    window: int,
    report: Callable[[str], None] = lambda text: None,
    mix: float = 0.0,
    *,
    replies: bool = False,
) -> Examples:
    """The newest `window` examples of the run, in the order in which they were played: by cycle, game number and ply.

    Shards are read from the newest on, until there are enough. Damaged ones go to quarantine and older ones take their place.

    Args:
        run: opened for work.
        window: the most examples, N of the result.
        report: is given one sentence for each damaged file.
        mix, replies: as for `examples_of`.

    Raises:
        UserError: there is no example, or none is left.
    """
    newest_first: list[Examples] = []
    count = 0
    for shard in reversed(list(run.state.shards)):
        if count >= window:
            break
        records = _read_shard(run, shard, report)
        if records:
            newest_first.append(examples_of(records, mix, replies=replies))
            count += len(newest_first[-1].value_target)
    if count == 0:
        if run.state.shards:
            raise UserError(
                f"No ply of the games in {run.paths.data} was searched in full, so there is nothing to train on; begin again "
                "with run=NAME and more selfplay.games or a larger selfplay.full_search_fraction."
            )
        raise DamagedFile(str(run.paths.data), "it holds no whole shard of games to train on; play again with run=NAME")
    parts = newest_first[::-1]
    return Examples(*(np.concatenate(column)[-window:] for column in zip(*parts, strict=True)))


class Sampler:
    """Batches of example numbers for one train stage: every example once, in random order, then again in another order.

    All batches are full: one that the end of an order leaves short is filled from the next order.

    Attributes:
        steps: how many batches there are.
    """

    def __init__(self, examples: int, batch_size: int, steps: int, generator: np.random.Generator) -> None:
        """Draw `steps` batches of `batch_size` from `examples` examples; every random number comes from `generator`."""
        self.steps = steps
        self._examples = examples
        self._batch_size = batch_size
        self._generator = generator

    def __len__(self) -> int:
        """The number of batches."""
        return self.steps

    def __iter__(self) -> Iterator[np.ndarray]:
        """The batches, each [batch_size] int64."""
        left = np.empty(0, np.int64)
        for _ in range(self.steps):
            while len(left) < self._batch_size:
                left = np.concatenate([left, self._generator.permutation(self._examples)])
            yield left[: self._batch_size]
            left = left[self._batch_size :]


def _write_part(run: Run, cycle: int, part: int, records: Sequence[GameRecord], game_name: str, *, partial: bool) -> ShardEntry:
    unwritten: dict[str, Any] = dict.fromkeys(missing(records))
    examples = sum(record._replace(**unwritten).num_examples for record in records)  # as they will be read
    return run.write_shard(cycle, part, dump_games(records, game_name), len(records), examples, partial=partial)


def _read_shard(run: Run, shard: ShardEntry, report: Callable[[str], None]) -> list[GameRecord]:
    """The games of a shard; none if it is damaged."""
    try:
        return load_games(run.read_file(shard), str(run.paths.of(shard.file)))
    except DamagedFile as damage:
        run.drop_shard(shard, damage)
        report(f"{damage} It is kept aside in {run.paths.quarantine}, and the run goes on without its {shard.games} games.")
        return []


def _column(records: Sequence[GameRecord], name: str) -> np.ndarray:
    if name == "plies":
        return np.array([len(record.actions) for record in records])
    if name in PER_GAME:
        return np.array([getattr(record, name) for record in records])
    parts = [getattr(record, name) for record in records]
    return np.concatenate(parts) if parts else np.empty((0,) * COLUMNS[name][1])


def _pack(column: np.ndarray, name: str) -> tuple[str, tuple[int, ...], bytes]:
    dtype, _ = COLUMNS[name]
    return dtype, column.shape, np.ascontiguousarray(column, dtype).tobytes()


def _unpickle(data: bytes) -> Any:
    for count, (opcode, _, _) in enumerate(pickletools.genops(data)):
        if opcode.name not in OPCODES or count > MOST_OPCODES:
            raise pickle.UnpicklingError(f"it uses {opcode.name}")
    return _BuiltinsOnly(io.BytesIO(data)).load()


def _unpack_all(content: Any) -> dict[str, np.ndarray]:
    if type(content) is not dict or content.get("format") != FORMAT or type(content.get("game")) is not str:
        raise ValueError(f"it is not format {FORMAT}")
    columns = content["columns"]
    if type(columns) is not dict or columns.keys() | OPTIONAL != COLUMNS.keys():
        raise ValueError("its columns are others")
    return {name: _unpack(name, *columns[name]) for name in columns}


def _unpack(name: str, dtype: Any, shape: Any, data: Any) -> np.ndarray:
    """One column as an array of its own. Everything is checked before NumPy sees the bytes."""
    expected, dimensions = COLUMNS[name]
    if dtype != expected or type(shape) is not tuple or len(shape) != dimensions or type(data) is not bytes:
        raise ValueError(f"column {name} has another type or shape")
    if any(type(size) is not int or size < 0 for size in shape) or math.prod(shape) * np.dtype(expected).itemsize != len(data):
        raise ValueError(f"column {name} has {len(data)} bytes for shape {shape}")
    if expected == "|b1" and data.translate(None, b"\0\1"):
        raise ValueError(f"column {name} holds more than True and False")
    return np.frombuffer(data, expected).reshape(shape).copy()


def _check_columns(columns: dict[str, np.ndarray]) -> None:
    """Refuse columns that do not fit each other, and values that no game gives."""
    games, plies = len(columns["plies"]), columns["plies"]
    total = len(columns["actions"])
    if (plies < 0).any() or (plies > total).any() or plies.sum() != total:
        raise ValueError("its games have more or fewer plies than it holds")
    for name, column in columns.items():
        if len(column) != (games if name in PER_GAME else total):
            raise ValueError(f"column {name} has {len(column)} rows")
    _check_values(columns)


def _check_values(columns: dict[str, np.ndarray]) -> None:
    policy = columns["policy_target"]
    values = np.concatenate([columns["root_value"], columns["first_outcome"]])
    if not (np.isfinite(policy).all() and (policy >= 0).all() and (np.abs(values) <= 1.001).all()):
        raise ValueError("a target is not finite, or not between -1 and 1")
    if not np.isin(columns["to_play"], (0, 1)).all():
        raise ValueError("a player is neither 0 nor 1")
    actions = columns["actions"]
    if ((actions < 0) | (actions >= policy.shape[1])).any():
        raise ValueError("an action is none of the game's")


def _first_line(error: Exception) -> str:
    return (str(error) or type(error).__name__).splitlines()[0][:200].rstrip(".")
