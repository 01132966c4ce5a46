"""Self-play games on disk, and the replay window.

A shard holds the columns of `Plies` as a pickle of builtins only: a dict of column name → (dtype, shape,
bytes). Reading one cannot run code: only the few opcodes that such a pickle needs are allowed, and the
unpickler refuses to look up any class or function. Where the games meet the rules they are played again
first, so that compiled rules get only states that rules have made.

Whole numbers of moves are written in the narrowest of three types. Format 1, of earlier versions, has a
column `policy_target` [T, A] float32 in the place of the `target_` columns.

Letters: G games, T plies of all games together, U pairs of their policy targets, A actions.
"""

from __future__ import annotations

import io
import math
import pickle
import pickletools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from azero.config.schema import UserError
from azero.games.game import Game
from azero.replay.examples import (
    PER_PAIR,
    Examples,
    GameRecord,
    Plies,
    ended_and_waiting,
    examples_of,
    join,
    narrow,
    pairs_of,
    plies_of,
)
from azero.replay.under_rules import fault_under
from azero.run.disk import DamagedFile
from azero.run.run import Run
from azero.run.state import ShardEntry

FORMAT = 2
SHARD_GAMES = 8192  # the most games of one shard: keeps files small, so a damaged one costs little

# Field of `Plies`: (dtype, dimensions). The first dimension is G for those of PER_GAME, U for those of
# PER_PAIR and T for the others.
COLUMNS = {
    "number": ("<i8", 1),
    "plies": ("<i8", 1),
    "first_outcome": ("<f4", 1),
    "states": ("<u8", 2),
    "to_play": ("|i1", 1),
    "actions": ("<i4", 1),
    "target_counts": ("<i4", 1),
    "target_actions": ("<i4", 1),
    "target_weights": ("<f4", 1),
    "root_value": ("<f4", 1),
    "searched": ("|b1", 1),
    "proven": ("|b1", 1),
    "stream": ("<u8", 2),
}
OPTIONAL = {"proven", "stream"}  # not written where they are None
PER_GAME = ("number", "plies", "first_outcome", "stream")
NARROWED = {"actions", "target_counts", "target_actions"}  # written in the narrowest type that holds them
NARROW = ("|u1", "<i2", "<i4")
OF_FORMAT_1 = {name: kind for name, kind in COLUMNS.items() if not name.startswith("target_")}
OF_FORMAT_1["policy_target"] = ("<f4", 2)

OPCODES = {
    *("PROTO", "FRAME", "MARK", "STOP", "EMPTY_DICT", "SETITEM", "SETITEMS"),
    *("EMPTY_TUPLE", "TUPLE", "TUPLE1", "TUPLE2", "TUPLE3"),
    *("BININT", "BININT1", "BININT2", "LONG1"),
    *("SHORT_BINUNICODE", "BINUNICODE", "SHORT_BINBYTES", "BINBYTES", "BINBYTES8"),
}
MOST_OPCODES = 1000  # a shard needs about a hundred; an endless one could nest deeper than the C stack

Report = Callable[[str], None]


class OtherRules(DamagedFile):
    """Games that the rules cannot have made."""


def ignore(text: str) -> None:
    """Report nothing."""


class _BuiltinsOnly(pickle.Unpickler):
    """Reads numbers, text, bytes, tuples and dicts only."""

    def find_class(self, module_name: str, global_name: str) -> Any:
        raise pickle.UnpicklingError(f"it asks for {module_name}.{global_name}")


def dump_games(plies: Plies, game_name: str) -> bytes:
    """Return some games as the content of a shard. Equal games give equal bytes."""
    columns = {}
    for name, column in plies._asdict().items():
        if column is not None:
            dtype = COLUMNS[name][0]
            if name in NARROWED:
                dtype = np.dtype(narrow(int(column.max(initial=0)))).newbyteorder("<").str
            columns[name] = (dtype, column.shape, np.ascontiguousarray(column, dtype).tobytes())
    buffer = io.BytesIO()
    pickler = pickle.Pickler(buffer, protocol=4)
    pickler.fast = True  # no memo: the bytes depend on values only, not on which objects are the same
    pickler.dump({"format": FORMAT, "game": game_name, "columns": columns})
    return buffer.getvalue()


def load_games(data: bytes, name: str, game: Game | None = None) -> Plies:
    """Return the games of a shard's content.

    Args:
        data: the content.
        name: names it in messages.
        game: the rules, under which the games are played again; None if no rule will see their states.

    Raises:
        DamagedFile: `dump_games` did not write it.
        OtherRules: the rules did not play the games.
    """
    try:
        game_name, plies = _unpack_all(data)
        _check_columns(plies)
        if game and (fault := fault_under(game, game_name, plies)):
            raise OtherRules(name, fault)
    except (OtherRules, MemoryError):  # a machine without room says nothing of the file
        raise
    except Exception as error:  # damaged bytes make the unpickler raise nearly anything
        reason = (str(error) or type(error).__name__).splitlines()[0][:200].rstrip(".")
        raise DamagedFile(name, f"it is not a shard of games ({reason})") from error
    return plies


def write_games(run: Run, cycle: int, records: Sequence[GameRecord], game_name: str) -> list[ShardEntry]:
    """Write all games of a self-play stage, ordered by number, and return the entries of the shards.

    The files do not depend on interruptions or on the number of workers.
    """
    ordered = sorted(records, key=lambda record: record.number)
    parts = [ordered[start : start + SHARD_GAMES] for start in range(0, len(ordered), SHARD_GAMES)]
    return [
        _write_part(run, cycle, part, games, game_name, partial=False) for part, games in enumerate(parts)
    ]


def write_partial(run: Run, cycle: int, records: Sequence[GameRecord], game_name: str) -> list[ShardEntry]:
    """Write some games of an unfinished stage, after the parts that are there; return the entries.

    Games that have ended and games that wait to go on are in different parts.
    """
    parts = enumerate(filter(None, ended_and_waiting(records)), len(run.state.partial))
    return [_write_part(run, cycle, part, games, game_name, partial=True) for part, games in parts]


def load_partial(run: Run, game: Game, report: Report = ignore) -> list[GameRecord]:
    """Return the games of the self-play stage that comes next. Damaged parts go to quarantine.

    Args:
        run: opened for work.
        game: the run's.
        report: receives one sentence for each damaged file.
    """
    parts = (_read_shard(run, shard, game, report) for shard in list(run.state.partial))
    return [record for part in parts if part for record in part.games()]


def load_window(
    run: Run,
    game: Game,
    window: int,
    report: Report = ignore,
    mix: float = 0.0,
    decay: float = 1.0,
    occupation: bool = False,
) -> Examples:
    """Return the newest `window` examples of the run in the order of play: by cycle, game number and ply.

    Shards are read from the newest on, until there are enough. Damaged ones go to quarantine and older ones
    replace them.

    Args:
        run: opened for work.
        game: the run's.
        window: the most examples to return.
        report: receives one sentence for each damaged file.
        mix, decay: as for `examples_of`.
        occupation: whether the examples have it.

    Raises:
        UserError: there are no examples.
    """
    newest_first: list[Examples] = []
    count = 0
    for shard in reversed(list(run.state.shards)):
        if count >= window:
            break
        plies = _read_shard(run, shard, game, report)
        if plies and plies.num_examples:
            newest_first.append(examples_of(plies, mix, decay, game if occupation else None))
            count += len(newest_first[-1].states)
    if count == 0:
        if run.state.shards:
            raise UserError(
                f"No ply of the games in {run.paths.data} was searched, so there is nothing to train "
                "on; start a new run with run=NAME and more selfplay.games."
            )
        raise DamagedFile(
            str(run.paths.data), "it holds no whole shard of games to train on; play again with run=NAME"
        )
    return join(newest_first[::-1]).each(lambda column: column[-window:])


def _write_part(
    run: Run, cycle: int, part: int, records: Sequence[GameRecord], game_name: str, *, partial: bool
) -> ShardEntry:
    plies = plies_of(records)
    data = dump_games(plies, game_name)
    return run.write_shard(cycle, part, data, len(records), plies.num_examples, partial=partial)


def _read_shard(run: Run, shard: ShardEntry, game: Game, report: Report) -> Plies | None:
    """Return the games of a shard; None if it is damaged."""
    try:
        return load_games(run.read_file(shard), str(run.paths.of(shard.file)), game)
    except DamagedFile as damage:
        run.drop_shard(shard, damage)
        report(
            f"{damage} It is kept aside in {run.paths.quarantine}, "
            f"and the run goes on without its {shard.games} games."
        )
        return None


def _unpack_all(data: bytes) -> tuple[str, Plies]:
    """Return the name of the game and the games."""
    for count, (opcode, _, _) in enumerate(pickletools.genops(data)):
        if opcode.name not in OPCODES or count > MOST_OPCODES:
            raise pickle.UnpicklingError(f"it uses {opcode.name}")
    content = _BuiltinsOnly(io.BytesIO(data)).load()
    if type(content) is not dict or type(content.get("game")) is not str:
        raise ValueError("it names no game")
    if content.get("format") not in (1, FORMAT):
        raise ValueError(f"it is neither format 1 nor {FORMAT}")
    known, columns = OF_FORMAT_1 if content["format"] == 1 else COLUMNS, content["columns"]
    if type(columns) is not dict or columns.keys() | OPTIONAL != known.keys():
        raise ValueError("it has other columns")
    arrays = {name: _unpack(name, known[name], *columns[name]) for name in columns}
    if known is OF_FORMAT_1:
        if len(arrays["policy_target"]) != len(arrays["actions"]):
            raise ValueError("its policy targets and its plies do not match")
        arrays |= pairs_of(arrays.pop("policy_target"))
    return content["game"], Plies(**arrays)


def _unpack(name: str, kind: tuple[str, int], dtype: Any, shape: Any, data: Any) -> np.ndarray:
    """Return one column as an array of its own. Check everything before NumPy sees the bytes.

    kind: its type in memory and its number of dimensions.
    """
    own, dimensions = kind
    allowed = NARROW if name in NARROWED else (own,)
    if (
        dtype not in allowed
        or type(shape) is not tuple
        or len(shape) != dimensions
        or type(data) is not bytes
    ):
        raise ValueError(f"column {name} has another type or shape")
    wrong_size = any(type(size) is not int or size < 0 for size in shape)
    if wrong_size or math.prod(shape) * np.dtype(dtype).itemsize != len(data):
        raise ValueError(f"column {name} has {len(data)} bytes for shape {shape}")
    if own == "|b1" and data.translate(None, b"\0\1"):
        raise ValueError(f"column {name} holds more than True and False")
    return np.frombuffer(data, dtype).reshape(shape).astype(own)


def _check_columns(games: Plies) -> None:
    """Refuse columns of different lengths, and values that no game has."""
    plies, total = games.plies, len(games.actions)
    if (plies < 1).any() or (plies > total).any() or plies.sum() != total:
        raise ValueError("its games and its plies do not match")
    counts, pairs = games.target_counts, len(games.target_actions)
    if (counts < 0).any() or counts.sum(dtype=np.int64) != pairs:
        raise ValueError("its policy targets and their moves do not match")
    for name, column in games._asdict().items():
        rows = len(plies) if name in PER_GAME else pairs if name in PER_PAIR else total
        if column is not None and len(column) != rows:
            raise ValueError(f"column {name} has {len(column)} rows")
    if games.stream is not None and games.stream.shape[1:] != (2,):
        raise ValueError("a random stream is no pair of numbers")
    values = np.concatenate([games.root_value, games.first_outcome])
    if not (np.abs(values) <= 1.001).all():
        raise ValueError("a value is not between -1 and 1")
    _check_targets(games)
    if not np.isin(games.to_play, (0, 1)).all():
        raise ValueError("a player is neither 0 nor 1")
    if (games.actions < 0).any():
        raise ValueError("an action is not one of the game's")


def _check_targets(games: Plies) -> None:
    """Refuse policy targets that no search makes. Their columns have the right lengths."""
    actions, weights = games.target_actions, games.target_weights
    counts = games.target_counts[games.target_counts > 0]
    if not (weights > 0).all():
        raise ValueError("a weight of a policy target is not above 0")
    starts = np.cumsum(counts) - counts
    if not (np.abs(np.add.reduceat(weights, starts) - 1) <= 0.001).all():
        raise ValueError("a policy target does not sum to 1")
    rises = actions[1:] > actions[:-1]
    rises[starts[1:] - 1] = True
    if (actions < 0).any() or not rises.all():
        raise ValueError("the moves of a policy target do not rise")
