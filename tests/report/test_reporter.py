"""TensorBoard files read back, the CSV, and what is printed."""

from __future__ import annotations

import csv
import errno
import io
import json
import re
import shutil
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from places import PROJECT, SCRIPTS
from running import TrainedRun
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from terminal import Terminal

from azero.config.schema import Config, UserError
from azero.report import event_files
from azero.report import reporter as metrics
from azero.report.console import (
    Console,
    Progress,
    estimate_seconds_left,
    format_seconds,
    format_shares,
    format_stat,
    live_line,
    wrap,
)
from azero.report.event_files import EventFolder, chart, image_value, read_events
from azero.report.live import LiveFile
from azero.report.metrics_csv import MetricsTable, read_rows
from azero.report.pictures import policy_picture
from azero.report.reporter import (
    LAYOUT,
    LAYOUT_TAG,
    STEPS,
    NullReporter,
    Reporter,
    is_committed,
    stage_of,
)
from azero.run.folder import Paths
from azero.run.run import Run
from azero.run.state import State


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    (tmp_path / "checkpoints").mkdir()
    return Paths(tmp_path / "checkpoints", tmp_path / "data")


def make_run(paths: Paths, cycle: int = 0, stage: str = "selfplay", train_steps: int = 0) -> Run:
    """A run that stands there."""
    run = Run(Config(), "toy")
    run.paths = paths
    run.state = State(name="toy", seed=1, cycle=cycle, stage=stage, train_steps=train_steps)
    return run


def open_reporter(paths: Paths, cycle: int, stage: str, train_steps: int) -> Reporter:
    return Reporter.open(make_run(paths, cycle, stage, train_steps), stream=io.StringIO())


def play_cycle(
    reporter: Reporter, cycle: int, stages: tuple[str, ...] = ("selfplay", "train", "evaluate")
) -> None:
    """Report what the stages of a cycle report; a cycle has ten training steps."""
    if "selfplay" in stages:
        with reporter.stage("selfplay", cycle, 9, 5, "games") as progress:
            progress.update(5, simulations_per_second=9.0)
        reporter.cycle_scalars(cycle, {"selfplay/game_length": 7.0 + cycle})
        reporter.text("selfplay/game", f"X . .\ncycle {cycle}", cycle)
        reporter.histogram("selfplay/root_value", np.linspace(-1, 1, 50), cycle)
    if "train" in stages:
        with reporter.stage("train", cycle, 9, 10, "steps"):
            for step in range(10 * cycle - 9, 10 * cycle + 1, 3):
                reporter.train_scalars(step, {"loss/policy": 1.0 / step})
            reporter.histogram("train/value_error", np.zeros(4), 10 * cycle)
    if "evaluate" in stages:
        with reporter.stage("evaluate", cycle, 9, 4, "games"):
            pass
        reporter.end_cycle(cycle)
        reporter.cycle_scalars(cycle, {"evaluate/score": 0.5 + cycle / 100})
        reporter.image("correctness/policy", np.zeros((4, 5, 3), np.uint8), cycle)


def read_tensorboard(folder: Path) -> EventAccumulator:
    accumulator = EventAccumulator(
        str(folder), size_guidance={"tensors": 0, "scalars": 0, "images": 0, "histograms": 0}
    )
    accumulator.Reload()
    return accumulator


@given(st.lists(st.integers(0, 1000), min_size=2, max_size=5).filter(any))
def test_shares_that_are_shown_sum_to_100_percent(counts: list[int]) -> None:
    shares = [count / sum(counts) for count in counts]
    shown = [float(text.removesuffix(" %")) for text in format_shares(shares)]
    assert sum(shown) == pytest.approx(100)
    assert all(abs(one - 100 * share) <= 1 for one, share in zip(shown, shares, strict=True))


def test_shares_have_the_digits_that_people_read() -> None:
    assert format_shares([0.455, 0.0, 0.545]) in (["45 %", "0 %", "55 %"], ["46 %", "0 %", "54 %"])
    assert format_shares([0.05, 0.0, 0.95]) == ["5.0 %", "0 %", "95.0 %"]
    assert format_shares([1.0, 0.0, 0.0]) == ["100 %", "0 %", "0 %"]


def test_every_tag_stands_in_the_docs(trained_run: TrainedRun) -> None:
    run = trained_run.checkpoints / trained_run.name
    text = (PROJECT / "docs" / "metrics.md").read_text().partition("### Every tag")[2].partition("## ")[0]
    known = set[str]()
    for row in re.findall(r"^\| (.*?) \|", text, re.MULTILINE):
        group = ""
        for name in re.findall(r"`([^`]+)`", row):
            group, _, rest = name.rpartition("/") if "/" in name else (group, "", name)
            known.add(f"{group}/{rest}" if group else name)
    known |= {re.sub("PLAYER", player, tag) for tag in known for player in ("search", "policy")}
    patterns = [re.sub("[A-Z]+", r"[\\w-]+", tag) for tag in known]
    sources = "\n".join(path.read_text() for path in (PROJECT / "azero").rglob("*.py"))
    groups = "selfplay|replay|loss|train|evaluate|rating|oracle|correctness|cluster"
    written = set(re.findall(rf'"((?:{groups})/[a-z_]+)"', sources))
    written |= set((run / "metrics.csv").read_text().partition("\n")[0].split(",")) - {"cycle"}
    for part in ("train", "cycle"):
        tags = read_tensorboard(run / "tensorboard" / part).Tags()
        written |= {tag for kind in ("scalars", "histograms", "images", "tensors") for tag in tags[kind]}
    written = {re.sub(r"(batch_fill|idle_share)_\d+$", r"\1", tag) for tag in written} - {LAYOUT_TAG}
    written = {tag.replace("cluster/match_", "cluster/") for tag in written}
    assert len(written) > 80
    unknown = {tag for tag in written if not any(re.fullmatch(pattern, tag) for pattern in patterns)}
    assert not unknown


def test_tensorboard_begins_with_what_is_learned(trained_run: TrainedRun) -> None:
    folder = trained_run.checkpoints / trained_run.name / "tensorboard"
    tags = [tag for part in ("train", "cycle") for tag in read_tensorboard(folder / part).Tags()["scalars"]]
    assert min(tags).startswith("correctness/")


def steps(folder: Path, tag: str) -> list[int]:
    accumulator = read_tensorboard(folder)
    for kind, read in (
        ("scalars", accumulator.Scalars), ("tensors", accumulator.Tensors),
        ("images", accumulator.Images), ("histograms", accumulator.Histograms),
    ):  # fmt: skip
        if tag in accumulator.Tags()[kind]:
            return [event.step for event in read(tag)]
    return []


def raw_steps(folder: Path, tag: str) -> list[int]:
    """Return the steps of a tag in the files, without TensorBoard's rule for restarts."""
    found = []
    for place in sorted(folder.iterdir()):
        for event in read_events(place.read_bytes()):
            found += [event.step for value in event.summary.value if value.tag == tag]
    return found


def read_csv(path: Path) -> list[dict[str, str]]:
    with path.open() as file:
        return list(csv.DictReader(file))


def test_every_kind_of_stat_can_be_read_back(paths: Paths) -> None:
    with open_reporter(paths, 0, "initialize", 0) as reporter:
        play_cycle(reporter, 1)
    cycle = read_tensorboard(paths.tensorboard / "cycle")
    assert [(event.step, event.value) for event in cycle.Scalars("selfplay/game_length")] == [(1, 8.0)]
    assert b"\n    seed=1\n" in cycle.Tensors("config")[0].tensor_proto.string_val[0]
    assert cycle.Tensors("selfplay/game")[0].tensor_proto.string_val == [b"    X . .\n    cycle 1"]
    assert (cycle.Images("correctness/policy")[0].width, cycle.Images("correctness/policy")[0].height) == (
        5,
        4,
    )
    histogram = cycle.Histograms("selfplay/root_value")[0].histogram_value
    assert (histogram.num, histogram.min, histogram.max, sum(histogram.bucket)) == (50, -1, 1, 50)
    assert [event.step for event in read_tensorboard(paths.tensorboard / "train").Scalars("loss/policy")] == [
        1,
        4,
        7,
        10,
    ]


def test_steps_strictly_increase_when_a_stage_is_repeated(paths: Paths) -> None:
    with open_reporter(paths, 0, "initialize", 0) as reporter:
        play_cycle(reporter, 1)
        play_cycle(reporter, 2, ("selfplay", "train"))  # killed in the middle of training, before its commit
    with open_reporter(paths, 1, "train", 10) as reporter:
        play_cycle(reporter, 2, ("train", "evaluate"))
    with open_reporter(paths, 2, "selfplay", 20) as reporter:
        play_cycle(reporter, 3)
    with open_reporter(paths, 2, "selfplay", 20) as reporter:  # killed before self-play was committed
        play_cycle(reporter, 3)
    train, cycle = paths.tensorboard / "train", paths.tensorboard / "cycle"
    for read in (steps, raw_steps):
        assert read(train, "loss/policy") == [1, 4, 7, 10, 11, 14, 17, 20, 21, 24, 27, 30]
        assert read(train, "train/value_error") == [10, 20, 30]
        for tag in (
            "selfplay/game_length",
            "selfplay/game",
            "selfplay/root_value",
            "evaluate/score",
            "correctness/policy",
        ):
            assert read(cycle, tag) == [1, 2, 3]
        assert read(cycle, LAYOUT_TAG) == [0]
        assert read(cycle, "config") == [0]  # it did not change


def test_a_tag_reported_twice_at_one_step_stays_once(paths: Paths) -> None:
    with open_reporter(paths, 0, "selfplay", 0) as reporter:
        reporter.cycle_scalars(1, {"evaluate/score": 0.1})
        reporter.cycle_scalars(1, {"evaluate/score": 0.2, "evaluate/elo_chain": 5.0})
    assert steps(paths.tensorboard / "cycle", "evaluate/score") == [1]
    assert steps(paths.tensorboard / "cycle", "evaluate/elo_chain") == [1]


def test_a_config_that_changed_is_written_also_within_one_cycle(paths: Paths) -> None:
    def open_with(minutes: float, cycle: int, stage: str) -> None:
        run = make_run(paths, cycle, stage)
        run.config = Config(minutes=minutes)
        Reporter.open(run, stream=io.StringIO()).close()

    def told() -> list[tuple[int, bool]]:
        events = read_tensorboard(paths.tensorboard / "cycle").Tensors("config")
        return [(event.step, b"\n    minutes=2.0\n" in event.tensor_proto.string_val[0]) for event in events]

    open_with(0.0, 0, "initialize")
    open_with(0.0, 1, "selfplay")
    assert told() == [(0, False)]
    open_with(1.0, 1, "selfplay")
    open_with(2.0, 1, "train")
    assert told() == [(0, False), (1, True)]
    open_with(2.0, 1, "evaluate")
    open_with(0.0, 2, "selfplay")
    assert told() == [(0, False), (1, True), (2, False)]


def test_stats_of_a_stage_that_is_taken_back_are_removed_and_reported_again(paths: Paths) -> None:
    run = make_run(paths, 0, "selfplay", 0)
    with Reporter.open(run, stream=io.StringIO()) as reporter:
        play_cycle(reporter, 1)
        assert reporter.stats(1)["evaluate/score"] == 0.51 and reporter.last_stat("evaluate/score") == 0.51
        run.state = replace(run.state, stage="train")
        reporter.cut_back(run)
        assert (
            reporter.stats(1) == {"selfplay/game_length": 8.0}
            and reporter.last_stat("evaluate/score") is None
        )
        play_cycle(reporter, 1, ("train", "evaluate"))
    assert raw_steps(paths.tensorboard / "train", "loss/policy") == [1, 4, 7, 10]
    for tag in ("selfplay/game_length", "evaluate/score", "correctness/policy", "config"):
        assert raw_steps(paths.tensorboard / "cycle", tag) == [0 if tag == "config" else 1]
    assert [row["evaluate/score"] for row in read_csv(paths.metrics_csv)] == ["0.51"]


def test_a_record_cut_off_by_a_crash_is_removed(paths: Paths) -> None:
    with open_reporter(paths, 0, "initialize", 0) as reporter:
        play_cycle(reporter, 1)
    (place,) = (paths.tensorboard / "cycle").iterdir()
    whole = place.read_bytes()
    place.write_bytes(whole + whole[-300:-20])
    open_reporter(paths, 1, "selfplay", 10).close()
    assert place.read_bytes() == whole


def test_the_csv_has_one_row_a_cycle_and_is_cut_back(paths: Paths) -> None:
    with open_reporter(paths, 0, "initialize", 0) as reporter:
        for cycle in (1, 2, 3):
            play_cycle(reporter, cycle)
    rows = read_csv(paths.metrics_csv)
    assert [row["cycle"] for row in rows] == ["1", "2", "3"]
    assert [row["evaluate/score"] for row in rows] == ["0.51", "0.52", "0.53"]
    assert rows[1]["loss/policy"] == "0.05"  # the last of the cycle, at step 20
    with open_reporter(paths, 1, "train", 10) as reporter:
        play_cycle(reporter, 2, ("train", "evaluate"))
    rows = read_csv(paths.metrics_csv)
    assert [row["cycle"] for row in rows] == ["1", "2"]
    assert rows[1]["selfplay/game_length"] == "9"  # self-play of the second cycle was committed
    with open_reporter(paths, 1, "selfplay", 10) as reporter:
        reporter.cycle_scalars(2, {"selfplay/game_length": 4.0})
    assert read_csv(paths.metrics_csv)[1]["evaluate/score"] == ""


@pytest.mark.parametrize(
    "text", ["", "no table", "cycle,a\nx,1\n", "cycle,a\n1\n", "cycle,a\n1,2,3\n", "\x00\ufffd,\n1"]
)
def test_a_foreign_csv_is_replaced(paths: Paths, text: str) -> None:
    paths.metrics_csv.write_text(text)
    with open_reporter(paths, 4, "selfplay", 0) as reporter:
        reporter.cycle_scalars(5, {"evaluate/score": 0.5})
    (row,) = read_csv(paths.metrics_csv)
    assert row == {"cycle": "5", "evaluate/score": "0.5"}


@pytest.mark.parametrize("damage", [b"x", b",", b"\0", b"--", b"\n", b"e5e"])
def test_a_row_that_does_not_parse_is_never_read_and_is_made_again(paths: Paths, damage: bytes) -> None:
    whole = play_cycles(paths, 3).encode()
    place = whole.index(b"0.52")  # of cycle 2
    paths.metrics_csv.write_bytes(whole[:place] + damage + whole[place:])
    assert dict(read_rows(paths.metrics_csv)).keys() == {1, 3}
    stream = io.StringIO()
    Reporter.open(make_run(paths, 3, train_steps=30), stream=stream).close()
    assert "metrics.csv is damaged" in stream.getvalue()
    assert paths.metrics_csv.read_bytes() == whole


@given(data=st.data())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_damage_of_the_csv_stops_a_run(paths: Paths, data: st.DataObject) -> None:
    """A flipped letter, a zero, a sign or a piece cut out: what is read are numbers of stats."""
    table = MetricsTable(paths.metrics_csv, lambda cycle, tag: True)
    table.rows = {}
    for cycle in (1, 2, 3):
        table.add(cycle, {"time/train": 12.5 * cycle, "evaluate/score": 0.51, "compile/train": -0.25})
    text = bytearray(paths.metrics_csv.read_bytes())
    place = data.draw(st.integers(0, len(text) - 1))
    text[place : place + data.draw(st.integers(0, 9))] = data.draw(st.binary(max_size=3))
    paths.metrics_csv.write_bytes(text)
    for _, stats in read_rows(paths.metrics_csv):
        assert all("/" in tag and abs(float(number)) < 1e100 for tag, number in stats.items())
    with Reporter.open(make_run(paths, cycle=3), stream=io.StringIO()) as reporter:
        reporter.cycle_scalars(3, {"time/evaluate": 1.0})
    assert dict(read_rows(paths.metrics_csv))[3]["time/evaluate"] == "1"
    for kept in paths.metrics_csv.parent.glob("metrics.csv.damaged*"):
        kept.unlink()


def test_a_quote_that_a_flipped_bit_made_swallows_no_other_row(paths: Paths) -> None:
    table = MetricsTable(paths.metrics_csv, lambda cycle, tag: True)
    for cycle in range(1, 601):
        table.add(cycle, {f"time/{stage}": 222.0 for stage in ("train", "evaluate", "selfplay")})
    text = paths.metrics_csv.read_bytes()
    place = text.index(b",222", text.index(b"\n7,")) + 1
    paths.metrics_csv.write_bytes(text[:place] + b'"' + text[place + 1 :])  # 0x32 and 0x22
    table = MetricsTable(paths.metrics_csv, lambda cycle, tag: True)
    assert table.damaged and len(table.rows) == 599 and 7 not in table.rows


def test_a_csv_that_is_not_ours_is_kept_aside(paths: Paths) -> None:
    for kept, text in (("metrics.csv.damaged", "a" * 200_000), ("metrics.csv.damaged-2", "PNG")):
        paths.metrics_csv.write_text(text)
        table = MetricsTable(paths.metrics_csv, lambda cycle, tag: True)
        assert table.damaged == paths.metrics_csv.with_name(kept) and not table.rows
        table.add(2, {"time/train": 1.0})
        assert paths.metrics_csv.with_name(kept).read_text() == text


def test_a_csv_that_cannot_be_read_stays_where_it_is(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    MetricsTable(paths.metrics_csv, lambda cycle, tag: True).add(1, {"time/train": 2.0})
    with monkeypatch.context() as broken:
        broken.setattr(Path, "read_text", lambda *_, **__: (_ for _ in ()).throw(OSError(5, "EIO")))
        with pytest.raises(UserError, match=r"metrics\.csv cannot be read \(EIO\)"):
            MetricsTable(paths.metrics_csv, lambda cycle, tag: True)
    assert [path.name for path in paths.folder.iterdir()] == ["metrics.csv"]
    assert MetricsTable(paths.metrics_csv, lambda cycle, tag: True).rows == {1: {"time/train": "2"}}


def play_cycles(paths: Paths, count: int) -> str:
    """Report cycles in peace; return metrics.csv."""
    with open_reporter(paths, 0, "initialize", 0) as reporter:
        for cycle in range(1, count + 1):
            play_cycle(reporter, cycle)
            reporter.cycle_scalars(cycle, {STEPS: 10.0 * cycle, "time/train": 1 / cycle})
    return paths.metrics_csv.read_text()


@pytest.mark.parametrize("text", [None, "", "PNG\x00\xff", "cycle,a\nx,1\n", "cycle,check\n"])
def test_metrics_are_made_again_from_the_event_files_and_the_run_says_so(
    paths: Paths, text: str | None
) -> None:
    whole = play_cycles(paths, 3)
    if text is None:
        paths.metrics_csv.unlink()
    else:
        paths.metrics_csv.write_text(text)
    stream = io.StringIO()
    Reporter.open(make_run(paths, 3, train_steps=30), stream=stream).close()
    assert paths.metrics_csv.read_text() == whole
    is_damaged = text not in (None, "", "cycle,check\n")
    said = "is damaged; what was lost" if is_damaged else "lacks 3 cycles; what was lost"
    assert stream.getvalue().count(said) == 1 and "is made again" in stream.getvalue()
    assert paths.metrics_csv.with_name("metrics.csv.damaged").exists() == is_damaged
    stream = io.StringIO()
    Reporter.open(make_run(paths, 3, train_steps=30), stream=stream).close()
    assert stream.getvalue() == ""


def test_metrics_that_the_event_files_lack_too_are_counted(paths: Paths) -> None:
    play_cycles(paths, 3)
    paths.metrics_csv.unlink()
    for place in paths.tensorboard.rglob("*tfevents*"):
        place.unlink()
    stream = io.StringIO()
    Reporter.open(make_run(paths, 3, train_steps=30), stream=stream).close()
    assert (
        "lacks 3 cycles" in stream.getvalue() and "without 3 cycles that they lack too" in stream.getvalue()
    )


def scalars_in(folder: Path) -> dict[str, list[tuple[int, float]]]:
    """Return the numbers in event files as TensorBoard reads them: by tag the step and value of each."""
    read = read_tensorboard(folder)
    return {tag: [(event.step, event.value) for event in read.Scalars(tag)] for tag in read.Tags()["scalars"]}


@given(data=st.data())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
def test_a_damaged_event_file_is_named_and_loses_no_number_that_the_csv_has(
    paths: Paths, data: st.DataObject
) -> None:
    """A bit flipped, a piece cut out or overwritten, a file cut off or emptied."""
    shutil.rmtree(paths.folder)
    paths.folder.mkdir()
    play_cycles(paths, 3)
    whole = {name: scalars_in(paths.tensorboard / name) for name in ("train", "cycle")}
    name = data.draw(st.sampled_from(["train", "cycle"]))
    (place,) = (paths.tensorboard / name).iterdir()
    content = place.read_bytes()
    at = data.draw(st.integers(0, len(content) - 1))
    how = data.draw(st.sampled_from(["flip", "cut", "overwrite", "end", "empty"]))
    piece = data.draw(st.integers(1, 400))
    bit = bytes([content[at] ^ (1 << data.draw(st.integers(0, 7)))])
    noise = bytes(piece) if data.draw(st.booleans()) else bytes([7]) * piece
    damaged = {
        "flip": content[:at] + bit + content[at + 1 :],
        "cut": content[:at] + content[at + piece :],
        "overwrite": content[:at] + noise + content[at + piece :],
        "end": content[:at],
        "empty": b"",
    }[how]
    place.write_bytes(damaged)
    stream = io.StringIO()
    Reporter.open(make_run(paths, 3, train_steps=30), stream=stream).close()
    now = {name: scalars_in(paths.tensorboard / name) for name in ("train", "cycle")}
    assert now["cycle"] == whole["cycle"]
    for tag, values in whole["train"].items():  # metrics.csv has a cycle's last ones
        assert set(now["train"][tag]) <= set(values)
        assert {10, 20, 30} <= {step for step, _ in now["train"][tag]}
        assert sorted(now["train"][tag]) == now["train"][tag]
    if how == "flip":
        assert f"{paths.tensorboard / name} has damaged records" in stream.getvalue()
    for _ in range(2):  # and that is all that is said and done
        before = {each: each.read_bytes() for each in paths.tensorboard.rglob("*tfevents*")}
        stream = io.StringIO()
        Reporter.open(make_run(paths, 3, train_steps=30), stream=stream).close()
        assert stream.getvalue() == ""
        assert before == {each: each.read_bytes() for each in paths.tensorboard.rglob("*tfevents*")}


def test_an_event_file_that_cannot_be_read_stays_as_it_is(
    paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    play_cycles(paths, 3)
    before = {each: each.read_bytes() for each in paths.folder.rglob("*") if each.is_file()}
    with monkeypatch.context() as broken:
        broken.setattr(Path, "read_bytes", lambda *_, **__: (_ for _ in ()).throw(OSError(5, "EIO")))
        with pytest.raises(UserError, match=r"tfevents\S* cannot be read \(EIO\)"):
            open_reporter(paths, 3, "selfplay", 30)
    assert before == {each: each.read_bytes() for each in paths.folder.rglob("*") if each.is_file()}


class FullDisk:
    """A file on which the next write fails half-way, as on a full disk."""

    def __init__(self, file: Any) -> None:
        self.file = file
        self.name = file.name

    def write(self, data: bytes) -> None:
        self.file.write(data[: len(data) // 2])
        raise OSError(errno.ENOSPC, "No space left on device")

    def close(self) -> None:
        self.file.close()


def test_a_dead_writer_is_reported_once_and_reopened(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_files, "RETRY_SECONDS", 0.0)
    stream = io.StringIO()
    with Reporter.open(make_run(paths), stream=stream) as reporter:
        for cycle in range(1, 7):
            if cycle in (2, 4):
                reporter._folders["cycle"]._file = FullDisk(reporter._folders["cycle"]._file)
            reporter.cycle_scalars(cycle, {"evaluate/score": 0.5})
    # what could not be written then is written when the run ends
    assert steps(paths.tensorboard / "cycle", "evaluate/score") == [1, 2, 3, 4, 5, 6]
    assert stream.getvalue().count("No space left on device") == 1
    assert [row["cycle"] for row in read_csv(paths.metrics_csv)] == ["1", "2", "3", "4", "5", "6"]


def test_soon_after_a_failure_nothing_is_tried(tmp_path: Path) -> None:
    (tmp_path / "cycle").write_text("a file where a folder should be")
    folder = EventFolder(tmp_path / "cycle", lambda step, tag: True)
    with pytest.raises(OSError):
        folder.write("scalar", 1, {"a": 1.0})
    folder.write("scalar", 2, {"a": 1.0})


def test_a_folder_that_cannot_be_written_does_not_stop_a_run(paths: Paths) -> None:
    paths.tensorboard.write_text("a file where a folder should be")
    paths.metrics_csv.mkdir()
    stream = io.StringIO()
    with Reporter.open(make_run(paths), stream=stream) as reporter:
        play_cycle(reporter, 1)
    assert stream.getvalue().count("could not be written (") == 3  # both event folders and the CSV


def test_ratings_are_replaced_as_a_whole_and_a_refusal_is_reported_once(paths: Paths) -> None:
    stream = io.StringIO()
    with Reporter.open(make_run(paths), stream=stream) as reporter:
        for text in ("first\n", "second\n", "second\n"):
            reporter.ratings(text)
            assert paths.ratings_csv.read_text() == text
        paths.ratings_csv.unlink()
        paths.ratings_csv.mkdir()
        for _ in range(2):
            reporter.ratings("third\n")
    assert stream.getvalue().count(f"{paths.ratings_csv} could not be written (") == 1


def test_stats_belong_to_the_stage_that_reports_them() -> None:
    stages = {
        "config": "initialize",
        "replay/window_examples": "train",
        "time/train": "train",
        "time/other": "evaluate",
    }
    assert {tag: stage_of(tag) for tag in stages} == stages
    assert is_committed(3, "evaluate/score", 3, "selfplay")
    assert is_committed(4, "selfplay/draws", 3, "train")
    assert not is_committed(4, "train/lr", 3, "train")
    assert not is_committed(0, "config", 0, "initialize")
    assert is_committed(0, "config", 0, "selfplay")


def test_the_layout_asks_only_for_tags_of_known_groups() -> None:
    tags = [tag for charts in LAYOUT.values() for text in charts.values() for tag in text.split()]
    assert {tag.partition("/")[0] for tag in tags} <= {*metrics.STAGE_OF_GROUP, "time"}
    # a tag with limits stands alone with them, and is drawn in a band
    banded = [text.split() for charts in LAYOUT.values() for text in charts.values() if "_low" in text]
    assert [tags[0] for tags in banded] == ["evaluate/score", "rating/elo"]
    for value, *limits in banded:
        assert limits == [f"{value}_low", f"{value}_high"]
        assert chart("title", [value, *limits])["margin"]["series"][0]["value"] == value


def test_the_loss_chart_shows_every_loss() -> None:
    (pattern,) = chart("loss", LAYOUT["start here"]["loss"].split())["multiline"]["tag"]
    for tag in ("loss/policy", "loss/value", "loss/total"):
        assert re.search(pattern, tag)
    assert not re.search(pattern, "train/policy_loss")


def test_without_a_terminal_there_is_one_plain_line_a_stage(paths: Paths) -> None:
    stream = io.StringIO()
    with (
        Reporter.open(make_run(paths), stream=stream) as reporter,
        reporter.stage("selfplay", 3, 10, 500, "games") as progress,
    ):
        for games in range(0, 501, 100):
            progress.update(games, simulations_per_second=95_120.4, score=0.914)
    (line,) = stream.getvalue().splitlines()
    assert line.startswith("cycle  3/10  self-play  500 games in 0.")
    assert line.endswith("95,120 simulations/s  score 91 %")
    assert line.isprintable()


def test_a_run_writes_what_it_is_doing_only_while_somebody_watches(
    paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("azero.report.live.WRITE_SECONDS", 0.0)
    with Reporter.open(make_run(paths), stream=io.StringIO()) as reporter:
        with reporter.stage("selfplay", 2, 3, 40, "games") as progress:
            progress.boards = lambda: [{"number": 7, "moves": [3, 4]}]
            progress.update(10, simulations_per_second=5000.0)
            assert not paths.live.exists()
            paths.live.touch()
            progress.update(20, simulations_per_second=6000.0)
            live = json.loads(paths.live.read_text())
            assert live.pop("seconds_left") is None  # training and evaluation were never timed
            assert live == {
                **{"stage": "selfplay", "cycle": 2, "cycles": 3, "done": 20, "total": 40, "unit": "games"},
                **{"doing": "", "stats": {"simulations_per_second": 6000.0}},
                "boards": [{"number": 7, "moves": [3, 4]}],
            }
            paths.live.unlink()
            progress.update(30)
            assert not paths.live.exists()
        paths.live.mkdir()  # it cannot be written: no harm
        with reporter.stage("train", 2, 3, 40, "steps") as progress:
            progress.update(10)
    assert [path.name for path in paths.live.iterdir()] == []


def test_a_live_file_is_written_at_most_once_a_second(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, live = [100.0], LiveFile(tmp_path / "live.json")
    monkeypatch.setattr("azero.report.live.time.monotonic", lambda: now[0])
    live.path.touch()
    texts = list[str]()
    for second in (100.0, 100.5, 101.0, 101.9, 102.5):
        now[0] = second
        live.write(lambda: {"at": now[0]})
        texts.append(live.path.read_text())
    assert texts == [f'{{"at": {second}}}' for second in (100.0, 100.0, 101.0, 101.0, 102.5)]


def test_a_stage_that_raises_prints_no_line(paths: Paths) -> None:
    stream = io.StringIO()
    with (
        Reporter.open(make_run(paths), stream=stream) as reporter,
        pytest.raises(KeyboardInterrupt),
        reporter.stage("selfplay", 1, 10, 500, "games"),
    ):
        raise KeyboardInterrupt
    assert stream.getvalue() == ""


def test_on_a_terminal_the_line_is_live_and_the_last_one_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "160")
    stream = Terminal()
    console = Console(stream)
    console.stage_seconds = {"selfplay": [60.0], "train": [30.0], "evaluate": [10.0]}
    with console.stage("evaluate", 2, 4, 40, "games") as progress:
        progress.update(40, result="promoted", score=0.625)
        console.message("[not markup]")
    shown = stream.getvalue()
    assert "\x1b[" in shown
    assert "[not markup]" in shown
    # two more cycles of 60 + 30 s, and as long a match as this one, which took no time
    assert "40/40 games  3 min 00 s left  promoted  score 62 %" in shown
    assert shown.rstrip().endswith("promoted  score 62 %")


SHOWN = ("cycle 1/2", "self-play", "  173/3,000 games", "3 min 20 s left")
STATS = ("1,642 games/s", "40,263 simulations/s", "loss 0.12345678")


@pytest.mark.parametrize(
    "width,line",
    [
        (40, ("self-play", 8, "173/3,000  3 min 20 s")),  # 9 + 8 + 21 and two spaces are 40
        (60, ("self-play", 8, "  173/3,000 games  3 min 20 s left")),  # 53 of 60: no room for a stat of 13
        (80, ("cycle 1/2  self-play", 8, "  173/3,000 games  3 min 20 s left  1,642 games/s")),  # 79
        (
            120,  # 20 + 24 + 71 and two spaces are 117
            ("cycle 1/2  self-play", 24, "  ".join(("  173/3,000 games  3 min 20 s left", *STATS[:2]))),
        ),
        (200, ("cycle 1/2  self-play", 24, "  ".join(("  173/3,000 games  3 min 20 s left", *STATS)))),
    ],
)
def test_the_live_line_keeps_stage_bar_count_and_time_left(width: int, line: tuple[str, int, str]) -> None:
    shown = live_line(width, *SHOWN, STATS)
    assert len(shown.head) + 1 + shown.bar + 1 + len(shown.note) <= width
    assert shown == line


def test_the_live_line_fits_a_very_narrow_terminal() -> None:
    assert live_line(24, *SHOWN, STATS) == ("self-play", 4, "173/3,000")


def test_a_line_is_wrapped_between_its_parts_never_within_a_word() -> None:
    parts = ["cycle 1/2", "self-play", "3,000 games in 12 s", "1,642 games/s", "score 10 %"]
    assert wrap(parts, 40).splitlines() == [
        "cycle 1/2  self-play",
        "  3,000 games in 12 s  1,642 games/s",
        "  score 10 %",
    ]
    assert wrap(parts, 200) == "  ".join(parts)


def test_a_message_is_wrapped_at_words_and_a_command_is_left_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "40")
    stream = Terminal()
    Console(stream).message(
        "one two three four five six seven eight nine\n  azero play run=a_very_long_name side=second"
    )
    assert stream.getvalue().splitlines() == [
        "one two three four five six seven eight",
        "  nine",
        "  azero play run=a_very_long_name side=second",
    ]


def test_the_rows_of_a_slanted_board_keep_their_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    terminal = Terminal()
    Console(terminal).message("  a b c\n1 . . .\n 2 . . .\n  3 . . .")
    assert [line.rstrip() for line in terminal.getvalue().splitlines()] == [
        "  a b c",
        "1 . . .",
        " 2 . . .",
        "  3 . . .",
    ]


def test_a_message_is_never_wrapped_within_a_quoted_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "30")
    stream = Terminal()
    Console(stream).message(
        "x's champion's file: '/my runs/of this year/a.pt'. It's 4 % of 'all of it', as ever it's been."
    )
    assert stream.getvalue().splitlines() == [
        "x's champion's file:",
        "  '/my runs/of this year/a.pt'.",
        "  It's 4 % of 'all of it', as",
        "  ever it's been.",
    ]


def test_a_stage_that_compiles_says_so_until_something_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    stream = Terminal()
    with Console(stream).stage("selfplay", 1, 4, 40, "games") as progress:
        progress.update(0, doing="compiling", games_per_second=0.0)
        while "compiling" not in stream.getvalue():  # the line is drawn eight times a second
            time.sleep(0.05)
        shown = stream.getvalue().rpartition("\r")[2]
        assert re.search(r"compiling \d+ s", shown) and "0/40" not in shown and "games/s" not in shown
        progress.update(40, games_per_second=12.0)
    finished = stream.getvalue().splitlines()[-1]
    assert finished.endswith("s  12 games/s") and "compiling" not in finished


def test_a_notebook_has_a_live_line_that_is_written_over(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    monkeypatch.setenv("AZERO_LIVE", "1")
    stream = io.StringIO()
    console = Console(stream)
    with console.stage("selfplay", 1, 4, 40, "games") as progress:
        for done in (10, 11, 20):  # the second comes too soon after the first
            now[0] += 0.3 if done == 11 else 1.0
            progress.update(done, games_per_second=12.0)
        console.message("A word.")
    console.message("The end.")
    drawn = [line.rstrip() for line in stream.getvalue().split("\r")]
    assert drawn == [
        "cycle 1/4  self-play ┄┄┄┄┄┄┄┄  0/40 games",
        "cycle 1/4  self-play ━━┄┄┄┄┄┄ 10/40 games  stage: 3.0 s left  12 games/s",
        "cycle 1/4  self-play ━━━━┄┄┄┄ 20/40 games  stage: 2.3 s left  12 games/s",
        "",
        "A word.",
        "cycle 1/4  self-play  20 games in 2.3 s  12 games/s\nThe end.",
    ]


def test_a_run_bounded_by_minutes_shows_them_and_one_of_a_unit_is_singular(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("time.monotonic", lambda: 1000.0)
    stream = io.StringIO()
    console = Console(stream)
    console.minutes, console.deadline = 60.0, 1000.0 + 29 * 60  # 31 of 60 minutes are over
    with console.stage("selfplay", 12, 1000, 1, "games") as progress:
        progress.update(1)
    assert stream.getvalue().startswith("cycle 12, 31 of 60 min  self-play  1 game in 0.0 s")


def test_a_narrow_terminal_has_the_lines_of_a_run_with_minutes_in_one_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr("time.monotonic", lambda: 1000.0)
    stream = Terminal()
    console = Console(stream)
    console.minutes, console.deadline = 60.0, 1000.0 + 29 * 60
    with console.stage("train", 12, 1000, 12_345, "steps") as progress:
        progress.update(12_345, policy_loss=0.7181, value_loss=0.0844)
    assert (
        stream.getvalue()
        .splitlines()[-1]
        .endswith("cycle 12  train      12,345 steps in 0.0 s  policy loss 0.718  value loss 0.0844")
    )


@pytest.mark.parametrize(
    ("waited", "took"), [(19.2, "3 games in 21 s (19 s compiling)  "), (0.3, "3 games in 2.1 s  ")]
)
def test_a_line_with_a_speed_names_the_wait_that_the_speed_leaves_out(
    waited: float, took: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [1000.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    stream = io.StringIO()
    with Console(stream).stage("selfplay", 1, 4, 3, "games") as progress:
        now[0] += waited
        progress.update(0, doing="compiling")
        now[0] += 1.8
        progress.update(3, simulations_per_second=400.0)
    assert stream.getvalue() == f"cycle 1/4  self-play  {took}400 simulations/s\n"


def test_a_command_that_is_too_long_stands_below_its_title(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "40")
    stream = Terminal()
    Console(stream).message(
        "  Play it: azero play game=hex5\n  Start anew: azero loop hex5 run=hex5-2 seed=2"
    )
    assert stream.getvalue().splitlines() == [
        "  Play it: azero play game=hex5",
        "  Start anew:",
        "    azero loop hex5 run=hex5-2 seed=2",
    ]


def test_a_finished_bar_is_green_in_16_colours_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    stream = Terminal()
    with Console(stream).stage("selfplay", 1, 4, 40, "games") as progress:
        progress.update(40)
    assert "\x1b[32m━━━━━━━━\x1b[0m" in stream.getvalue()


def test_no_color_is_respected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("NO_COLOR", "1")
    stream = Terminal()
    with Console(stream).stage("selfplay", 1, 4, 40, "games") as progress:
        progress.update(40)
    colours = re.findall(r"\x1b\[[0-9;]*m", stream.getvalue())
    assert not [code for code in colours if re.search(r"[\[;][349][0-9]", code)]


def test_the_time_left_counts_the_rest_of_the_stage_the_cycle_and_the_run() -> None:
    seconds = {"selfplay": [60.0], "train": [30.0], "evaluate": [10.0]}
    # half of training took 20 s, so 20 more; then a match of 10; then two cycles of 60 + 40 + 10
    assert estimate_seconds_left(seconds, "train", 2, 4, elapsed=20, share_done=0.5) == 20 + 10 + 2 * 110
    assert estimate_seconds_left(seconds, "evaluate", 4, 4, elapsed=4, share_done=0.0) == 6
    assert estimate_seconds_left({"selfplay": [60.0]}, "train", 1, 4, elapsed=20, share_done=0.5) is None


def test_the_time_left_is_known_after_a_resume(paths: Paths) -> None:
    with open_reporter(paths, 0, "selfplay", 0) as reporter:
        for stage in ("selfplay", "train", "evaluate"):
            reporter.cycle_scalars(1, {f"time/{stage}": 10.0})
        assert reporter._console.seconds_left("selfplay", 2, 2, 0.0, 0.0) == 30
    with open_reporter(paths, 1, "selfplay", 0) as reporter:
        assert reporter._console.seconds_left("selfplay", 2, 2, 0.0, 0.0) == 30


def test_the_time_left_is_at_most_the_bound_of_the_run() -> None:
    console = Console(io.StringIO())
    assert console.seconds_left("selfplay", 1, 10, 5.0, 0.5) is None
    console.deadline = 0.0
    assert console.seconds_left("selfplay", 1, 10, 5.0, 0.5) == 0.0


@pytest.mark.parametrize(
    "name,value,text",
    [
        ("games", 5000, "games 5,000"), ("loss", 0.81234, "loss 0.812"), ("loss", float("nan"), "loss nan"),
        ("games_per_second", 12.34, "12.3 games/s"), ("score", 0.5, "score 50 %"),
        ("result", "promoted", "promoted"),
    ],
)  # fmt: skip
def test_stats_are_written_for_people(name: str, value: float | str, text: str) -> None:
    assert format_stat(name, value) == text


def test_seconds_are_written_for_people() -> None:
    assert [format_seconds(s) for s in (0.04, 9.96, 59.4, 200, 7500)] == [
        "0.0 s",
        "10 s",
        "59 s",
        "3 min 20 s",
        "2 h 05 min",
    ]


def test_the_null_reporter_takes_everything() -> None:
    reporter = NullReporter()
    play_cycle(reporter, 1)
    reporter.message("nothing")
    reporter.close()
    with reporter.stage("train", 1, 1, 1, "steps") as progress:
        assert isinstance(progress, Progress)


def test_neither_torch_nor_rich_is_imported_without_a_terminal() -> None:
    heavy = ("torch", "rich", "tensorboard", "PIL")
    program = f"import sys, azero.report.reporter; print([name for name in {heavy} if name in sys.modules])"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout == "[]\n"


def test_a_png_is_what_other_programs_read() -> None:
    image_module = pytest.importorskip("PIL.Image")
    picture = np.random.default_rng(1).integers(0, 256, (5, 7, 3), np.uint8)
    file = io.BytesIO(image_value("picture", picture).image.encoded_image_string)
    assert (np.asarray(image_module.open(file)) == picture).all()


def test_the_policy_picture_shows_marks_heat_and_right_moves() -> None:
    boards = np.zeros((3, 3, 3), np.int8)
    boards[:, 0, 0], boards[:, 2, 2] = 1, -1
    policy = np.full((3, 9), 0.1)
    policy[0, 4] = policy[1, 4] = 0.9
    right = np.zeros((3, 9), np.bool_)
    right[0, 4] = right[1, 1] = True
    picture = policy_picture(boards, policy, right, ["0,8", "", "4"], across=2)
    tile = 3 * 54 + 2 * 14 + 24, 3 * 54 + 2 * 14  # three cells, a margin on both sides, the caption
    assert picture.shape == (2 * tile[0], 2 * tile[1], 3)
    assert picture.dtype == np.uint8

    def cell_colour(board: int, cell: int, y: float, x: float) -> tuple[int, ...]:
        top, left = board // 2 * tile[0] + 14 + cell // 3 * 54, board % 2 * tile[1] + 14 + cell % 3 * 54
        return tuple(picture[top + int(y * 54), left + int(x * 54)].tolist())

    red, green, blue = cell_colour(0, 0, 0.5, 0.5)
    assert blue > red  # the X in the middle of its cell
    red, green, blue = cell_colour(0, 8, 0.5, 0.25)
    assert red > blue  # the O at the side of its ring
    red, green, blue = cell_colour(0, 4, 0.04, 0.5)
    assert green > red  # the frame of a right move
    red, green, blue = cell_colour(1, 4, 0.04, 0.5)
    assert red > green  # and of a wrong one
    assert cell_colour(0, 4, 0.9, 0.5)[2] < cell_colour(0, 5, 0.9, 0.5)[2]  # warmer where likelier
    assert (
        cell_colour(1, 1, 0.2, 0.8) == cell_colour(0, 4, 0.2, 0.8) != cell_colour(0, 1, 0.2, 0.8)
    )  # the dot of a right move


def test_the_screenshot_says_what_is_missing(tmp_path: Path) -> None:
    script = SCRIPTS / "screenshot.py"
    command = [sys.executable, str(script), str(tmp_path), str(tmp_path / "page.png")]
    result = subprocess.run(command, capture_output=True, text=True, env={"PATH": str(tmp_path)})
    assert result.returncode == 2
    (sentence,) = result.stderr.splitlines()
    assert "no Chromium" in sentence
