"""Shards: games read back, damaged files stay out, hostile ones run nothing. The window and the batches."""

from __future__ import annotations

import io
import os
import pickle
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from places import PROJECT
from targets import rows_of_targets

from azero.config.schema import Config, TrainConfig, UserError
from azero.games import make_game
from azero.replay.examples import GameRecord, Plies, examples_of, pairs_of, plies_of
from azero.replay.shards import (
    COLUMNS,
    dump_games,
    load_games,
    load_partial,
    load_window,
    write_games,
    write_partial,
)
from azero.run.disk import DamagedFile
from azero.run.run import Run
from azero.run.state import ShardEntry
from azero.training.batches import draw_batch, load_data
from azero.training.fit import shuffled

GAME = make_game("tictactoe")


def make_record(number: int, plies: int, opening: int = 0) -> GameRecord:
    """A game of random moves, cut after some plies if it is not over; its number is its seed."""
    rng = np.random.default_rng(number)
    states, actions, legal = [GAME.initial_state()], list[int](), list[np.ndarray]()
    while len(actions) < plies:
        after = {move: GAME.step(states[-1], move) for move in GAME.legal_actions(states[-1])}
        moves = [move for move, state in after.items() if not GAME.is_terminal(state)]
        if not moves:  # every one would end the game
            states, actions, legal = states[:1], [], []
            continue
        legal.append(GAME.legal_mask(states[-1]))
        actions.append(int(rng.choice(moves)))
        states.append(after[actions[-1]])
    searched = np.arange(plies) >= opening
    policy = np.array(legal) * rng.uniform(0.1, 1, (plies, GAME.num_actions))
    policy /= policy.sum(axis=1, keepdims=True)
    return GameRecord(
        number=number,
        states=np.array(states[:-1]),
        to_play=(np.arange(plies) % 2).astype(np.int8),
        actions=np.array(actions, np.int32),
        **pairs_of(policy * searched[:, None]),
        root_value=rng.uniform(-1, 1, plies).astype(np.float32),
        searched=searched,
        first_outcome=0.0,
    )


RECORDS = [make_record(number, plies=3 + number % 5, opening=number % 2) for number in range(6)]
SHARD = dump_games(plies_of(RECORDS), GAME.name)


def same(left: list[GameRecord], right: list[GameRecord]) -> bool:
    """Equal values and equal dtypes, game by game."""
    pairs = [
        (np.asarray(getattr(one, name)), np.asarray(getattr(other, name)))
        for one, other in zip(left, right, strict=True)
        for name in GameRecord._fields
    ]
    return all(np.array_equal(one, other) and one.dtype == other.dtype for one, other in pairs)


@pytest.fixture
def run(tmp_path: Path) -> Any:
    config = Config(
        checkpoints=str(tmp_path / "checkpoints"), data=str(tmp_path / "data"), train=TrainConfig(window=256)
    )
    with Run.open(config, "toy", "test") as opened:
        yield opened


def add_cycle(run: Run, cycle: int, records: list[GameRecord]) -> None:
    run.commit(
        replace(
            run.state, shards=[*run.state.shards, *write_games(run, cycle, records, GAME.name)], partial=[]
        )
    )


def test_games_read_back_as_they_were() -> None:
    assert same(load_games(SHARD, "shard").games(), RECORDS)


def test_games_with_proofs_read_back_so() -> None:
    proven = [record._replace(proven=np.arange(len(record.actions)) % 3 == 0) for record in RECORDS]
    assert (
        same(load_games(dump_games(plies_of(proven), GAME.name), "shard").games(), proven)
        and "proven" not in GOOD
    )
    some = [proven[0], *RECORDS[1:]]  # those of an older version among them
    assert same(
        load_games(dump_games(plies_of(some), GAME.name), "shard").games(),
        [record._replace(proven=None) for record in some],
    )


def test_equal_games_give_equal_bytes_whoever_made_them() -> None:
    copies = [
        record._replace(states=record.states.copy(), actions=record.actions.copy()) for record in RECORDS
    ]
    assert dump_games(plies_of(copies), "".join(["tic", "tactoe"])) == SHARD


def test_no_games_are_a_shard_too() -> None:
    empty = Plies(
        **{name: np.empty((0,) * dimensions, dtype) for name, (dtype, dimensions) in COLUMNS.items()}
    )._replace(stream=np.empty((0, 2), np.uint64))
    assert load_games(dump_games(empty, GAME.name), "shard").games() == []


def test_arrays_that_come_out_may_be_written_to() -> None:
    load_games(SHARD, "shard").games()[0].states[0] = 0


def is_refused_or_sound(data: bytes) -> None:
    """A damaged shard raises DamagedFile. A change of numbers alone may pass; the digest finds it."""
    try:
        records = load_games(data, "shard").games()
    except DamagedFile:
        return
    for record in records:
        plies = len(record.actions)
        assert all(len(column) == plies for column in (*record[1:5], *record[7:9]))
        assert len(record.target_actions) == len(record.target_weights) == record.target_counts.sum()
        assert np.isfinite(record.target_weights).all() and np.isfinite(record.root_value).all()
        assert set(record.searched.view(np.uint8)) <= {0, 1}


@settings(max_examples=1000, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_damaged_bytes_never_do_anything_but_raise(data: st.DataObject) -> None:
    how = data.draw(st.sampled_from(["flip", "cut", "insert", "swap", "noise"]))
    place = data.draw(st.integers(0, len(SHARD) - 1) | st.integers(0, 200))
    some = data.draw(st.binary(min_size=1, max_size=12))
    end = place + len(some)
    is_refused_or_sound(
        {
            "flip": SHARD[:place] + bytes([SHARD[place] ^ 1 << some[0] % 8]) + SHARD[place + 1 :],
            "cut": SHARD[:place],
            "insert": SHARD[:place] + some + SHARD[place:],
            "swap": SHARD[:place] + some + SHARD[end:],
            "noise": some * (1 + place % 50),
        }[how]
    )


def test_every_single_byte_near_the_beginning_may_be_anything() -> None:
    for place in range(120):
        for value in range(0, 256, 3):
            is_refused_or_sound(SHARD[:place] + bytes([value]) + SHARD[place + 1 :])


@pytest.mark.parametrize(
    "data",
    [b"", b"\x80", b"PK\x03\x04", b"\x93NUMPY\x01\x00", b"N.", b".", SHARD[:-1], SHARD[1:], b"(" * 10**6],
)
def test_what_is_no_shard_is_refused(data: bytes) -> None:
    with pytest.raises(DamagedFile):
        load_games(data, "shard")


def columns_with(name: str, value: Any) -> bytes:
    content = pickle.loads(SHARD)
    content["columns"][name] = value
    return pickled_plainly(content)


def pickled_plainly(content: Any) -> bytes:
    """As `dump_games` pickles: builtins, no memo."""
    buffer = io.BytesIO()
    pickler = pickle.Pickler(buffer, protocol=4)
    pickler.fast = True
    pickler.dump(content)
    return buffer.getvalue()


GOOD = pickle.loads(SHARD)["columns"]
TOTAL = sum(len(record.actions) for record in RECORDS)
PAIRS = sum(len(record.target_actions) for record in RECORDS)


def weights(value: float) -> tuple[str, tuple[int], bytes]:
    """A column in which all weights are equal."""
    return "<f4", (PAIRS,), np.full(PAIRS, value, np.float32).tobytes()


def counts_that_wrap() -> np.ndarray:
    counts = np.zeros(TOTAL, np.int32)
    counts[:5] = [2**30, 2**30, 2**30, 2**30, PAIRS]
    return counts


def negative_counts() -> np.ndarray:
    counts = np.zeros(TOTAL, np.int32)
    counts[:2] = [PAIRS + 5, -5]
    return counts


def dense(records: list[GameRecord]) -> bytes:
    """A shard of format 1, which has a row of all actions a ply."""
    content = pickle.loads(dump_games(plies_of(records), GAME.name))
    columns = {name: held for name, held in content["columns"].items() if not name.startswith("target_")}
    targets = np.concatenate([rows_of_targets(record, 9) for record in records])
    actions = np.concatenate([record.actions for record in records])
    columns["actions"] = ("<i4", actions.shape, actions.tobytes())
    columns["policy_target"] = ("<f4", targets.shape, targets.tobytes())
    return pickled_plainly({**content, "format": 1, "columns": columns})


def test_a_shard_of_rows_of_all_actions_gives_the_same_games_and_batches() -> None:
    read, converted = load_games(SHARD, "shard", GAME), load_games(dense(RECORDS), "old", GAME)
    assert same(converted.games(), RECORDS) and dump_games(converted, GAME.name) == SHARD
    rows = np.concatenate([rows_of_targets(record, 9) for record in RECORDS])
    for examples in map(examples_of, (read, converted)):
        assert np.array_equal(rows_of_targets(examples, 9), rows[read.searched])
        batch = draw_batch(load_data(examples, GAME, "cpu"), GAME, torch.arange(len(examples.states)), None)
        assert np.array_equal(batch.policy_target.numpy(), rows[read.searched])


@pytest.mark.parametrize(
    "value, rows, match",
    [
        (np.nan, TOTAL, "is not above 0"),
        (-0.2, TOTAL, "is not above 0"),
        (0.3, TOTAL, "does not sum to 1"),
        (1 / 9, TOTAL - 1, "do not match"),
    ],
)
def test_rows_that_no_search_makes_are_refused(value: float, rows: int, match: str) -> None:
    content = pickle.loads(dense(RECORDS))
    content["columns"]["policy_target"] = ("<f4", (rows, 9), np.full((rows, 9), value, "<f4").tobytes())
    with pytest.raises(DamagedFile, match=match):
        load_games(pickled_plainly(content), "shard")


def test_rows_without_bytes_take_no_memory() -> None:
    content = pickle.loads(dense(RECORDS))
    content["columns"]["policy_target"] = ("<f4", (2**40, 0), b"")
    with pytest.raises(DamagedFile, match="do not match"):
        load_games(pickled_plainly(content), "shard")


@pytest.mark.parametrize(
    "first, second, match",
    [
        (1.5, -0.5, "is not above 0"),
        (1.0, 0.0, "is not above 0"),
        (np.nan, 0.5, "is not above 0"),
        (0.5, 0.4, "does not sum to 1"),
        (np.inf, 0.5, "does not sum to 1"),
    ],
)
def test_weights_that_no_search_gives_are_refused(first: float, second: float, match: str) -> None:
    """Two weights share what they had together so; with 1.5 and -0.5, or 1 and 0, all sums stay."""
    held = np.frombuffer(GOOD["target_weights"][2], "<f4").copy()
    held[:2] = held[:2].sum(dtype=np.float64) * np.array([first, second])
    with pytest.raises(DamagedFile, match=match):
        load_games(columns_with("target_weights", ("<f4", (PAIRS,), held.tobytes())), "shard")


def test_a_machine_without_room_does_not_make_a_shard_damaged(monkeypatch: pytest.MonkeyPatch) -> None:
    def without_room(games: Plies) -> None:
        raise MemoryError

    monkeypatch.setattr("azero.replay.shards._check_columns", without_room)
    with pytest.raises(MemoryError):
        load_games(SHARD, "shard")


def test_games_of_an_earlier_version_are_read() -> None:
    data = (PROJECT / "tests" / "old_run" / "data" / "old" / "000001-000.pickle").read_bytes()
    assert pickle.loads(data)["format"] == 1
    plies = load_games(data, "old", GAME)
    assert (len(plies.plies), len(plies.actions), plies.num_examples, len(plies.target_actions)) == (
        *(24, 162, 82, 332),
    )
    assert plies.actions[:9].tolist() == [5, 0, 3, 1, 4, 2, 3, 5, 8]
    assert plies.target_counts[:9].tolist() == [9, 8, 7, 5, 1, 0, 0, 0, 6]
    weights = [0.165818, 0.024768, 0.036756, 0.011206, 0.004411, 0.723547, 0.009488, 0.009849, 0.014155]
    assert plies.target_weights[:9] == pytest.approx(weights, abs=1e-6)
    assert plies.target_entropy.sum() == pytest.approx(49.740647, abs=1e-5)


@pytest.mark.parametrize(
    "name, value",
    [
        ("states", ("<u8", (TOTAL, 3), GOOD["states"][2])),  # more than its bytes hold
        ("states", ("<u8", (TOTAL * 2,), GOOD["states"][2])),  # another number of dimensions
        ("states", ("<u8", (-TOTAL, -2), GOOD["states"][2])),  # product as expected, sizes impossible
        ("states", ("<u8", (2**40, 2**40), GOOD["states"][2])),
        ("states", ("<u8", (TOTAL - 1, 2), GOOD["states"][2][:-16])),  # fewer rows than plies
        ("states", ("|O8", (TOTAL, 2), GOOD["states"][2])),  # NumPy objects would be pointers
        ("states", ("<f8", (TOTAL, 2), GOOD["states"][2])),
        ("states", ("<u8", [TOTAL, 2], GOOD["states"][2])),
        ("states", None),
        ("searched", ("|b1", (TOTAL,), b"\x02" * TOTAL)),  # neither True nor False
        ("plies", ("<i8", (6,), np.array([TOTAL + 5, -5, 0, 0, 0, 0]).tobytes())),  # the sum is right
        (
            "plies",
            ("<i8", (6,), np.array([2**62, 2**62, 2**62, 2**62, TOTAL, 0]).tobytes()),
        ),  # the sum wraps around
        ("number", ("<i8", (5,), GOOD["number"][2][:-8])),
        ("target_weights", weights(np.nan)),
        ("target_weights", weights(np.inf)),
        ("target_weights", weights(-0.2)),
        ("target_weights", weights(0.0)),
        ("target_weights", weights(0.3)),  # sums to more than 1
        ("target_weights", ("<f4", (PAIRS - 1,), GOOD["target_weights"][2][:-4])),
        ("target_actions", ("|u1", (PAIRS - 1,), GOOD["target_actions"][2][:-1])),
        ("target_actions", ("|u1", (PAIRS,), GOOD["target_actions"][2][::-1])),  # not in rising order
        ("target_actions", ("|u1", (PAIRS,), b"\1" * PAIRS)),
        ("target_actions", ("<i4", (PAIRS,), np.arange(-PAIRS, 0, dtype="<i4").tobytes())),
        ("target_actions", ("<i8", (PAIRS,), np.arange(PAIRS).tobytes())),
        ("target_actions", ("<f4", (PAIRS,), np.arange(PAIRS, dtype="<f4").tobytes())),
        ("target_counts", ("|u1", (TOTAL - 1,), GOOD["target_counts"][2][:-1])),
        ("target_counts", ("|u1", (TOTAL,), b"\0" * TOTAL)),
        ("target_counts", ("<i4", (TOTAL,), counts_that_wrap().tobytes())),  # the sum is right in 32 bits
        ("target_counts", ("<i4", (TOTAL,), negative_counts().tobytes())),  # the sum is right
        ("policy_target", ("<f4", (TOTAL, 9), np.full((TOTAL, 9), 1 / 9, np.float32).tobytes())),
        ("root_value", ("<f4", (TOTAL,), np.full(TOTAL, np.inf, np.float32).tobytes())),
        ("first_outcome", ("<f4", (6,), np.full(6, 7, np.float32).tobytes())),
        ("actions", ("<i4", (TOTAL,), np.full(TOTAL, -1, np.int32).tobytes())),
        ("to_play", ("|i1", (TOTAL,), np.full(TOTAL, 2, np.int8).tobytes())),
        ("extra", ("<i4", (0,), b"")),
    ],
)
def test_columns_that_do_not_fit_are_refused(name: str, value: Any) -> None:
    with pytest.raises(DamagedFile):
        load_games(columns_with(name, value), "shard")


@pytest.mark.parametrize(
    "key, value", [("format", 3), ("format", 1), ("game", 3), ("columns", []), ("columns", {})]
)
def test_other_content_is_refused(key: str, value: Any) -> None:
    assert same(
        load_games(pickled_plainly(pickle.loads(SHARD)), "shard").games(), RECORDS
    )  # the ground the cases stand on
    with pytest.raises(DamagedFile):
        load_games(pickled_plainly({**pickle.loads(SHARD), key: value}), "shard")


class Reduces:
    """Pickles as a call."""

    def __init__(self, function: Callable[..., Any], *arguments: Any) -> None:
        self.call = (function, arguments)

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return self.call


def hostile(marker: Path) -> dict[str, bytes]:
    """Pickles that would create `marker`, or bring the process down, in a plain unpickler."""
    name = str(marker).encode()
    text = f"__import__('os').mkdir({str(marker)!r})"
    return {
        "system, protocol 0": pickle.dumps(Reduces(os.system, f"touch {marker}"), 0),
        "system, protocol 4": pickle.dumps(Reduces(os.system, f"touch {marker}"), 4),
        "mkdir": pickle.dumps(Reduces(os.mkdir, str(marker))),
        "exec": pickle.dumps(Reduces(exec, text)),
        "inside a shard": columns_with("states", Reduces(os.mkdir, str(marker))),
        "global": b"cos\nsystem\n(Vtouch " + name + b"\ntR.",
        "inst": b"(Vtouch " + name + b"\nios\nsystem\n.",
        "object": b"(cos\nsystem\nVtouch " + name + b"\no.",
        "stack global": b"\x80\x04\x8c\x02os\x8c\x06system\x93\x8c"
        + bytes([len(name) + 6])
        + b"touch "
        + name
        + b"\x85R.",
        "new object": b"\x80\x02cbuiltins\nopen\nX" + len(name).to_bytes(4, "little") + name + b"\x85\x81.",
        "extension": b"\x80\x02\x82\x01.",
        "persistent": b"Pos.system\n.",
        "numpy": pickle.dumps(np.arange(3)),
        "import": b"cantigravity\nfly\n.",
        "memo bomb": b"\x80\x04Nr\xff\xff\xff\xff.",
        "long": b"\x80\x04\x8b\xff\xff\xff\x7f.",
        "bytes": b"\x80\x04\x8e" + b"\xff" * 7 + b"\x7f.",
        "nested key": b"\x80\x04})" + b"\x85" * 10**6 + b"Ns.",
        "nested list": b"\x80\x04" + b"]" * 10**6 + b"a" * (10**6 - 1) + b".",
    }


@pytest.mark.parametrize("case", list(hostile(Path("marker"))))
def test_a_hostile_pickle_runs_nothing(tmp_path: Path, case: str) -> None:
    marker = tmp_path / "marker"
    with pytest.raises(DamagedFile):
        load_games(hostile(marker)[case], "shard")
    assert not marker.exists() and "antigravity" not in sys.modules


def test_the_hostile_pickles_are_hostile(tmp_path: Path) -> None:
    """In a plain unpickler the first eight do create the marker, so the test above could fail."""
    for number, case in enumerate(list(hostile(tmp_path))[:8]):
        marker = tmp_path / str(number)
        pickle.loads(hostile(marker)[case])
        assert marker.exists(), case


def test_a_cycle_gives_the_same_files_in_whatever_order_games_end(run: Run) -> None:
    first = write_games(run, 1, RECORDS, GAME.name)
    again = write_games(run, 1, RECORDS[::-1], GAME.name)
    assert [entry.sha256 for entry in first] == [entry.sha256 for entry in again]
    assert [(entry.games, entry.examples) for entry in first] == [
        (6, sum(int(record.searched.sum()) for record in RECORDS))
    ]


def test_a_large_cycle_is_cut_into_shards(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("azero.replay.shards.SHARD_GAMES", 4)
    entries = write_games(run, 1, RECORDS, GAME.name)
    assert [(entry.file, entry.games) for entry in entries] == [
        ("000001-000.pickle", 4),
        ("000001-001.pickle", 2),
    ]


def test_partial_games_come_back_and_damaged_ones_are_missing(run: Run) -> None:
    for part in (RECORDS[:2], [], RECORDS[2:5]):
        run.commit(replace(run.state, partial=[*run.state.partial, *write_partial(run, 1, part, GAME.name)]))
    assert same(load_partial(run, GAME), RECORDS[:5])
    run.paths.of(run.state.partial[0].file).write_bytes(b"")
    told: list[str] = []
    assert same(load_partial(run, GAME, told.append), RECORDS[2:5])
    assert (
        len(told) == 1
        and "000001-partial-000.pickle is damaged" in told[0]
        and "without its 2 games" in told[0]
    )
    replayed = write_partial(run, 1, RECORDS[:2], GAME.name)
    run.commit(replace(run.state, partial=[*run.state.partial, *replayed]))
    assert len({entry.file for entry in run.state.partial}) == 2
    assert sorted(record.number for record in load_partial(run, GAME)) == [0, 1, 2, 3, 4]


def test_the_window_holds_the_newest_examples_in_order(run: Run) -> None:
    for cycle in (1, 2, 3):
        add_cycle(run, cycle, [make_record(10 * cycle + number, plies=4) for number in range(5)])
    numbers = [10 * cycle + number for cycle in (1, 2, 3) for number in range(5)]
    everything = examples_of(plies_of([make_record(number, plies=4) for number in numbers]))
    for window in (60, 100, 1, 20, 33):
        examples = load_window(run, GAME, window)
        for part, whole in zip(examples, everything, strict=True):
            np.testing.assert_array_equal(part, whole[-window:])


def test_the_window_mixes_root_values_as_it_is_asked(run: Run) -> None:
    add_cycle(run, 1, RECORDS)
    mixed = load_window(run, GAME, 1000, mix=0.5)
    for part, whole in zip(mixed, examples_of(plies_of(RECORDS), 0.5), strict=True):
        np.testing.assert_array_equal(part, whole)
    assert not np.array_equal(mixed.value_target, load_window(run, GAME, 1000).value_target)


def test_only_the_shards_that_are_needed_are_read(run: Run) -> None:
    for cycle in (1, 2):
        add_cycle(run, cycle, [make_record(cycle, plies=8)])
    run.paths.of("000001-000.pickle").write_bytes(b"damaged")
    assert len(load_window(run, GAME, 8).states) == 8 and not run.state.quarantine


@pytest.mark.parametrize("how", [b"", b"foreign", SHARD, None])
def test_a_damaged_shard_goes_to_quarantine_and_is_counted(run: Run, how: bytes | None) -> None:
    for cycle in (1, 2, 3):
        add_cycle(run, cycle, [make_record(cycle, plies=8)])
    path = run.paths.of("000002-000.pickle")
    if how is None:
        path.unlink()
    else:
        path.write_bytes(how)
    told: list[str] = []
    examples = load_window(run, GAME, 16, told.append)
    np.testing.assert_array_equal(
        examples.states, examples_of(plies_of([make_record(1, 8), make_record(3, 8)])).states
    )
    assert len(told) == 1 and "000002-000.pickle is damaged" in told[0]
    assert [entry.file for entry in run.state.shards] == ["000001-000.pickle", "000003-000.pickle"]
    assert [entry.file for entry in run.state.quarantine] == ["000002-000.pickle"]
    aside = run.paths.quarantine / "000002-000.pickle"
    assert not path.exists() and (aside.exists() if how is None else aside.read_bytes() == how) == (
        how is not None
    )
    assert (
        run.paths.quarantine / "000002-000.pickle.reason.txt"
    ).read_text().strip() == run.state.quarantine[0].reason
    assert Run.read(run.config, "toy").state == run.state


def test_a_shard_with_the_right_digest_and_the_wrong_content_goes_to_quarantine_too(run: Run) -> None:
    add_cycle(run, 1, RECORDS)
    entry = run.write_shard(2, 0, pickle.dumps({"format": 1}), 9, 9)
    run.commit(replace(run.state, shards=[*run.state.shards, entry]))
    assert len(load_window(run, GAME, 1000).states) == run.state.shards[0].examples
    assert [shard.file for shard in run.state.quarantine] == ["000002-000.pickle"]


def test_without_a_whole_shard_there_is_one_sentence(run: Run) -> None:
    with pytest.raises(UserError, match="no whole shard"):
        load_window(run, GAME, 10)


def test_games_without_a_searched_ply_are_not_called_damaged(run: Run) -> None:
    record = make_record(1, plies=4)
    blind = record._replace(searched=np.zeros(4, np.bool_), **pairs_of(np.zeros((4, 9))))
    run.commit(replace(run.state, shards=write_games(run, 1, [blind], GAME.name)))
    with pytest.raises(UserError, match=r"No ply of the games in .* was searched, .* run=NAME") as told:
        load_window(run, GAME, 10)
    assert not isinstance(told.value, DamagedFile) and len(run.state.shards) == 1


def test_a_shard_entry_counts_games_and_examples(run: Run) -> None:
    entry = write_games(run, 7, RECORDS, GAME.name)[0]
    assert entry == ShardEntry(
        "000007-000.pickle", entry.sha256, 7, 6, len(examples_of(plies_of(RECORDS)).states)
    )


@settings(max_examples=200)
@given(
    examples=st.integers(1, 60),
    batch_size=st.integers(2, 40),
    steps=st.integers(1, 99),
    seed=st.integers(0, 99),
)
def test_batches_are_full_and_every_example_comes_once_before_any_comes_twice(
    examples: int, batch_size: int, steps: int, seed: int
) -> None:
    batches = list(shuffled(examples, batch_size, steps, np.random.default_rng(seed)))
    assert len(batches) == steps
    assert all(len(batch) == batch_size for batch in batches)
    drawn = np.concatenate(batches)
    for start in range(0, len(drawn) - examples + 1, examples):
        assert sorted(drawn[start : start + examples]) == list(range(examples))
    counts = np.bincount(drawn, minlength=examples)
    assert counts.max() - counts.min() <= 1


def test_the_same_generator_gives_the_same_batches() -> None:
    once, twice = (np.concatenate(list(shuffled(50, 8, 3, np.random.default_rng(5)))) for _ in range(2))
    np.testing.assert_array_equal(once, twice)
    assert not np.array_equal(once, np.concatenate(list(shuffled(50, 8, 3, np.random.default_rng(6)))))


def test_every_column_of_a_record_is_written() -> None:
    assert set(GameRecord._fields) < COLUMNS.keys() and Plies._fields == tuple(COLUMNS)
