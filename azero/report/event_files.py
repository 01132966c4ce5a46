"""Write TensorBoard's event files: numbered, cut back on a resume, appended to.

This is the only importer of TensorBoard, and it needs no torch. A file is a sequence of records: 8 bytes of
length, 4 of checksum, the event, 4 of checksum. An event is a step and tagged values.
"""

from __future__ import annotations

import contextlib
import io
import math
import struct
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
from PIL import Image
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.compat.tensorflow_stub.pywrap_tensorflow import masked_crc32c
from tensorboard.plugins.custom_scalar import metadata as layout_metadata
from tensorboard.plugins.custom_scalar.layout_pb2 import Layout
from tensorboard.plugins.text import metadata as text_metadata
from tensorboard.util.tensor_util import make_tensor_proto

from azero.config.schema import UserError
from azero.run.disk import TEMPORARY, Disk, names_in, next_number, reading, write_atomically

HEADER, FOOTER = 12, 4  # bytes of a record around its event
HISTOGRAM_BINS = 30
RETRY_SECONDS = 10.0  # between two attempts to write after one failed


class EventFolder:
    """One TensorBoard run: numbered event files in a folder. This process writes the last one.

    For each tag only steps above its last one are written.

    Attributes:
        path: the folder.
        scalars: the numbers in the files by step and tag.
        damaged: whether records with a wrong checksum were found, and left out.
    """

    def __init__(self, path: Path, keep: Callable[[int, str], bool]) -> None:
        """Open a folder and remove the values for which `keep(step, tag)` is False.

        Raises:
            UserError: a file cannot be read.
        """
        self.path = path
        self.scalars: dict[int, dict[str, float]] = {}
        self.damaged = False
        self._last_step: dict[str, int] = {}
        self._last_text: dict[str, bytes] = {}
        self._file: Any = None
        self._retry_at = -math.inf
        self.cut(keep)

    def cut(self, keep: Callable[[int, str], bool]) -> None:
        """Remove the values for which `keep(step, tag)` is False; the next write opens a new file.

        Damaged records go too, and values of a tag that do not come after the one before.

        Raises:
            UserError: a file cannot be read.
        """
        self.close()
        self.scalars, self._last_step, self._last_text = {}, {}, {}
        for place in self._places():
            self._cut(place, keep)

    def fill(self, wanted: Mapping[int, Mapping[str, float]]) -> None:
        """Write the numbers that the files lack, by step and tag, each before the values of later steps.

        Raises:
            UserError or OSError: a file cannot be read or written.
        """
        lacking = {
            step: {tag: stat for tag, stat in stats.items() if tag not in self.scalars.get(step, {})}
            for step, stats in wanted.items()
        }
        lacking = {step: lacking[step] for step in sorted(lacking) if lacking[step]}
        if not lacking:
            return
        self.close()
        for place in self._places():
            kept, (records, _) = bytearray(), records_of(self._read(place))
            for event, record in records:
                for step in [step for step in lacking if step < event.step]:
                    added = event_of("scalar", step, lacking.pop(step))
                    self._remember(step, added.summary.value)
                    kept += frame(added)
                kept += record
            if len(kept) > sum(len(record) for _, record in records):
                write_atomically(Disk(), place, bytes(kept))
        for step, stats in lacking.items():
            self.write("scalar", step, stats)

    def write_text_if_other(self, step: int, tag: str, text: str) -> None:
        """Write a text if it differs from its tag's last one; at the same step it replaces that one.

        Raises:
            OSError: see `write`.
        """
        if self._last_text.get(tag) == text_value(tag, text).SerializeToString():
            return
        if step <= self._last_step.get(tag, -1):
            self.cut(lambda other_step, other_tag: other_tag != tag or other_step < step)
        self.write("text", step, {tag: text})

    def write(self, kind: str, step: int, stats: Mapping[str, Any]) -> None:
        """Append an event with the stats that are new for their tag; do nothing for a while after a failure.

        `kind` is a key of MAKERS.

        Raises:
            OSError: it could not be written. Earlier events stay readable; a later call opens a new file.
        """
        new = {tag: stat for tag, stat in stats.items() if step > self._last_step.get(tag, -1)}
        if not new or time.monotonic() < self._retry_at:
            return
        event = event_of(kind, step, new)
        try:
            if self._file is None:
                self._open()
            self._append(event)
        except OSError:
            self._drop()
            raise
        self._remember(step, event.summary.value)

    def close(self) -> None:
        """Close the file; a later write opens a new one."""
        if self._file is not None:
            with contextlib.suppress(OSError):
                self._file.close()
            self._file = None

    def _places(self) -> list[Path]:
        """Return the files in the order in which they were written."""
        names = names_in(self.path, "*tfevents*")
        return [self.path / name for name in names if not name.endswith(TEMPORARY)]

    def _read(self, place: Path) -> bytes:
        with reading(place):
            return Disk().read(place)

    def _open(self) -> None:
        self.path.mkdir(parents=True, exist_ok=True)
        number = next_number(self.path, r".*tfevents.*\.(\d+)")
        self._file = (self.path / f"events.out.tfevents.{number:010d}").open("xb")
        self._append(Event(wall_time=time.time(), file_version="brain.Event:2"))

    def _append(self, event: Any) -> None:
        self._file.write(frame(event))
        self._file.flush()

    def _drop(self) -> None:
        """Close a file that could not be written.

        Its last record may be cut off; readers take that for its end.
        """
        self._retry_at = time.monotonic() + RETRY_SECONDS
        if self._file is None:
            return
        place = Path(self._file.name)
        self.close()
        with contextlib.suppress(OSError):
            if place.stat().st_size == 0:
                place.unlink()

    def _remember(self, step: int, values: Iterable[Any]) -> None:
        """Remember the numbers, and the last step and text of each tag."""
        for value in values:
            if value.HasField("simple_value"):
                self.scalars.setdefault(step, {})[value.tag] = value.simple_value
            if step >= self._last_step.get(value.tag, -1):
                self._last_step[value.tag] = step
                if value.HasField("tensor"):
                    self._last_text[value.tag] = value.SerializeToString()

    def _cut(self, place: Path, keep: Callable[[int, str], bool]) -> None:
        kept, whole = bytearray(), self._read(place)
        records, damaged = records_of(whole)
        self.damaged |= damaged
        for event, record in records:
            values = [
                value
                for value in event.summary.value
                if keep(event.step, value.tag) and event.step > self._last_step.get(value.tag, -1)
            ]
            self._remember(event.step, values)
            if values or event.file_version:
                if len(values) < len(event.summary.value):
                    event.summary.CopyFrom(Summary(value=values))
                    record = frame(event)
                kept += record
        if kept != whole:
            with contextlib.suppress(UserError):  # it could not be written; the next start tries again
                write_atomically(Disk(), place, bytes(kept))


def event_of(kind: str, step: int, stats: Mapping[str, Any]) -> Any:
    """Return an event with stats of one kind, a key of MAKERS."""
    make = MAKERS[kind]
    values = [make(tag, stat) for tag, stat in stats.items()]
    return Event(wall_time=time.time(), step=step, summary=Summary(value=values))


def read_events(data: bytes) -> list[Any]:
    """Return the whole events of a file."""
    return [event for event, _ in records_of(data)[0]]


def records_of(data: bytes) -> tuple[list[tuple[Any, bytes]], bool]:
    """Return the whole events of a file, each with its record, and whether something in it is damaged.

    What has a wrong checksum is left out, and reading goes on at the next record that has a right one. A last
    record that is cut off, as by `kill -9`, is left out too and is no damage.
    """
    records, start, damaged = list[tuple[Any, bytes]](), 0, False
    while start < len(data):
        end = end_of(data, start)
        record = data[start:end]
        if event := event_in(record):
            records.append((event, record))
        elif (end := next_record(data, start + 1)) < len(data) or not is_cut_off(data, start):
            damaged = True
        start = end
    return records, damaged


def end_of(data: bytes, start: int) -> int:
    """Return where a record that begins there ends, by its length, whose checksum may be wrong."""
    header = data[start : start + 8].ljust(8, b"\0")
    return start + HEADER + int.from_bytes(header, "little") + FOOTER


def is_cut_off(data: bytes, start: int) -> bool:
    """Return whether the data ends within the record that begins there."""
    return len(data) < start + HEADER or (has_length(data, start) and len(data) < end_of(data, start))


def has_length(data: bytes, start: int) -> bool:
    """Check the checksum of a record's length."""
    return data[start + 8 : start + HEADER] == checksum(data[start : start + 8])


def event_in(record: bytes) -> Any:
    """Return the event of a record; None if it is damaged."""
    content = record[HEADER:-FOOTER]
    if not has_length(record, 0) or record[-FOOTER:] != checksum(content):
        return None
    try:
        return Event.FromString(content)
    except DecodeError:
        return None


def next_record(data: bytes, start: int) -> int:
    """Return where the next record with a right length begins; the end if there is none."""
    while (zeros := data.find(bytes(4), start + 4)) >= 0:  # a length is less than 2**32
        start = zeros - 4
        if start + HEADER <= len(data) and has_length(data, start):
            return start
        start += 1
    return len(data)


def checksum(data: bytes) -> bytes:
    """Return the checksum of a length or an event, as the file has it."""
    return struct.pack("<I", masked_crc32c(data))


def frame(event: Any) -> bytes:
    """Return an event as a record of an event file."""
    content: bytes = event.SerializeToString()
    length = struct.pack("<Q", len(content))
    return length + checksum(length) + content + checksum(content)


def histogram_value(tag: str, values: np.ndarray) -> Any:
    """Return the distribution of finite numbers, at least one."""
    counts, edges = np.histogram(values, HISTOGRAM_BINS)
    histogram = {
        "min": values.min(), "max": values.max(), "num": values.size,
        "sum": values.sum(), "sum_squares": (values * values).sum(),
        "bucket_limit": edges[1:].tolist(), "bucket": counts.tolist(),
    }  # fmt: skip
    return Summary.Value(tag=tag, histo=histogram)


def image_value(tag: str, picture: np.ndarray) -> Any:
    """Return a picture, [H, W, 3] uint8, as a value."""
    height, width, _ = picture.shape
    file = io.BytesIO()
    Image.fromarray(picture).save(file, "PNG")
    image = Summary.Image(height=height, width=width, colorspace=3, encoded_image_string=file.getvalue())
    return Summary.Value(tag=tag, image=image)


def text_value(tag: str, text: str) -> Any:
    """Return text as a block of code, because TensorBoard reads Markdown."""
    block = "\n".join("    " + line for line in text.splitlines())
    metadata = text_metadata.create_summary_metadata(display_name="", description="")
    return Summary.Value(tag=tag, metadata=metadata, tensor=make_tensor_proto([block.encode()]))


def layout_value(tag: str, layout: Mapping[str, Mapping[str, str]]) -> Any:
    """Return the page "custom scalars"; see `reporter.LAYOUT`."""
    page = Layout(
        category=[
            {"title": title, "chart": [chart(name, tags.split()) for name, tags in charts.items()]}
            for title, charts in layout.items()
        ]
    )
    tensor = make_tensor_proto([page.SerializeToString()])
    return Summary.Value(tag=tag, metadata=layout_metadata.create_summary_metadata(), tensor=tensor)


def chart(title: str, tags: list[str]) -> dict[str, Any]:
    """Return a chart of lines, or of one line in a band if the tags are X, X_low and X_high."""
    if tags[1:] == [f"{tags[0]}_low", f"{tags[0]}_high"]:
        series = {"value": tags[0], "lower": tags[1], "upper": tags[2]}
        return {"title": title, "margin": {"series": [series]}}
    return {"title": title, "multiline": {"tag": [f"^{tag}$" for tag in tags]}}


MAKERS: dict[str, Callable[[str, Any], Any]] = {
    # six digits, as metrics.csv has them: so each can be made again from the other
    "scalar": lambda tag, value: Summary.Value(tag=tag, simple_value=float(f"{value:.6g}")),
    "histogram": histogram_value,
    "image": image_value,
    "text": text_value,
    "layout": layout_value,
}
