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
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
from PIL import Image
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.plugins.custom_scalar import metadata as layout_metadata
from tensorboard.plugins.custom_scalar.layout_pb2 import Layout
from tensorboard.plugins.text import metadata as text_metadata
from tensorboard.summary.writer.record_writer import RecordWriter
from tensorboard.util.tensor_util import make_tensor_proto

from azero.config.schema import UserError
from azero.run.disk import TEMPORARY, Disk, write_atomically

HISTOGRAM_BINS = 30
RETRY_SECONDS = 10.0  # between two attempts to write after one failed


class EventFolder:
    """One TensorBoard run: numbered event files in a folder. This process writes the last one.

    For each tag only steps above its last one are written.
    """

    def __init__(self, path: Path, keep: Callable[[int, str], bool]) -> None:
        """Open a folder and remove the values for which `keep(step, tag)` is False."""
        self.path = path
        self._last_step: dict[str, int] = {}
        self._last_text: dict[str, bytes] = {}
        self._file: Any = None
        self._retry_at = -math.inf
        self.cut(keep)

    def cut(self, keep: Callable[[int, str], bool]) -> None:
        """Remove the values for which `keep(step, tag)` is False; the next write opens a new file."""
        self.close()
        self._last_step, self._last_text = {}, {}
        for place in sorted(self.path.glob("*tfevents*")):
            if place.suffix != TEMPORARY:
                with contextlib.suppress(OSError, UserError):
                    self._cut(place, keep)

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
        make = MAKERS[kind]
        new = [make(tag, stat) for tag, stat in stats.items() if step > self._last_step.get(tag, -1)]
        if not new or time.monotonic() < self._retry_at:
            return
        try:
            if self._file is None:
                self._open()
            self._append(Event(wall_time=time.time(), step=step, summary=Summary(value=new)))
        except OSError:
            self._drop()
            raise
        self._remember(step, new)

    def close(self) -> None:
        """Close the file; a later write opens a new one."""
        if self._file is not None:
            with contextlib.suppress(OSError):
                self._file.close()
            self._file = None

    def _open(self) -> None:
        self.path.mkdir(parents=True, exist_ok=True)
        numbers = [
            int(number)
            for place in self.path.glob("*tfevents*")
            if (number := place.name.rpartition(".")[2]).isdigit()
        ]
        self._file = (self.path / f"events.out.tfevents.{max(numbers, default=0) + 1:010d}").open("xb")
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

    def _remember(self, step: int, values: list[Any]) -> None:
        """Remember the last step and text of each tag; call it in the order of the events."""
        self._last_step.update({value.tag: max(step, self._last_step.get(value.tag, -1)) for value in values})
        self._last_text.update(
            {value.tag: value.SerializeToString() for value in values if value.HasField("tensor")}
        )

    def _cut(self, place: Path, keep: Callable[[int, str], bool]) -> None:
        kept, whole = bytearray(), place.read_bytes()
        for event in read_events(whole):
            values = [value for value in event.summary.value if keep(event.step, value.tag)]
            self._remember(event.step, values)
            if values or event.file_version:
                if len(values) < len(event.summary.value):
                    event.summary.CopyFrom(Summary(value=values))
                kept += frame(event)
        if kept != whole:
            write_atomically(Disk(), place, bytes(kept))


def read_events(data: bytes) -> Iterator[Any]:
    """Yield the events of a file up to its end or its first damaged record."""
    start = 0
    while start + 12 <= len(data):
        (length,) = struct.unpack_from("<Q", data, start)
        end = start + 12 + length + 4
        if end > len(data):
            return
        try:
            yield Event.FromString(data[start + 12 : end - 4])
        except DecodeError:
            return
        start = end


def frame(event: Any) -> bytes:
    """Return an event as a record of an event file."""
    record = io.BytesIO()
    RecordWriter(record).write(event.SerializeToString())
    return record.getvalue()


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
    "scalar": lambda tag, value: Summary.Value(tag=tag, simple_value=value),
    "histogram": histogram_value,
    "image": image_value,
    "text": text_value,
    "layout": layout_value,
}
