"""TensorBoard's event files: numbered, cut back on a resume, appended to. The only importer of TensorBoard; it needs no torch.

A file is a sequence of records: 8 bytes of length, 4 of checksum, the event, 4 of checksum. An event is a step and tagged values.
"""

from __future__ import annotations

import contextlib
import math
import struct
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from azero.config import UserError
from azero.files.disk import TEMPORARY, Disk, write_atomically

LAYOUT_TAG = "custom_scalars__config__"
HISTOGRAM_BINS = 30
RETRY_SECONDS = 10.0  # between two attempts to write after one failed


class Chart(NamedTuple):
    """One chart of the page "custom scalars"."""

    title: str
    tags: tuple[str, ...]
    band: tuple[str, str] | None = None  # tags of a lower and an upper limit, drawn around the only tag


class EventFolder:
    """One TensorBoard run: numbered event files in a folder, of which this process writes the last.

    Of each tag only steps above the last one are written.
    """

    def __init__(self, path: Path, keep: Callable[[int, str], bool]) -> None:
        """Cut back what is there to the values for which `keep(step, tag)`."""
        self.path = path
        self._last_step: dict[str, int] = {}
        self._last_text: dict[str, bytes] = {}
        self._file: Any = None
        self._retry_at = -math.inf
        self.cut(keep)

    def cut(self, keep: Callable[[int, str], bool]) -> None:
        """Cut back what is there to the values for which `keep(step, tag)`; the next write opens a new file."""
        self.close()
        self._last_step, self._last_text = {}, {}
        for place in sorted(self.path.glob("*tfevents*")):
            if place.suffix != TEMPORARY:
                with contextlib.suppress(OSError, UserError):
                    self._cut(place, keep)

    def write_text_if_other(self, step: int, value: Any) -> None:
        """Write a text if it differs from its tag's last one; at the same step it takes the place of that.

        Raises:
            OSError: see `write`.
        """
        if self._last_text.get(value.tag) == value.SerializeToString():
            return
        if step <= self._last_step.get(value.tag, -1):
            self.cut(lambda other, tag: tag != value.tag or other < step)
        self.write(step, [value])

    def write(self, step: int, values: list[Any]) -> None:
        """Append one event with those of the values whose tag has no such step yet; nothing happens soon after a failure.

        Raises:
            OSError: it could not be written. What was written before is still readable; a later call opens a new file.
        """
        new = [value for value in values if step > self._last_step.get(value.tag, -1)]
        if not new or time.monotonic() < self._retry_at:
            return
        try:
            if self._file is None:
                self._file = self._open()
            self._append(make_event(step, new))
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

    def _open(self) -> Any:
        self.path.mkdir(parents=True, exist_ok=True)
        numbers = [int(number) for place in self.path.glob("*tfevents*") if (number := place.name.rpartition(".")[2]).isdigit()]
        file = (self.path / f"events.out.tfevents.{max(numbers, default=0) + 1:010d}").open("xb")
        self._file = file
        self._append(make_event(0, []))
        return file

    def _append(self, event: Any) -> None:
        self._file.write(frame(event))
        self._file.flush()

    def _drop(self) -> None:
        """Let go of a file that could not be written; its last record may be cut off, which readers take for its end."""
        self._retry_at = time.monotonic() + RETRY_SECONDS
        if self._file is None:
            return
        place = Path(self._file.name)
        self.close()
        with contextlib.suppress(OSError):
            if place.stat().st_size == 0:
                place.unlink()

    def _remember(self, step: int, values: list[Any]) -> None:
        """Note what stands in the files, in the order in which it does."""
        self._last_step.update({value.tag: max(step, self._last_step.get(value.tag, -1)) for value in values})
        self._last_text.update({value.tag: value.SerializeToString() for value in values if value.HasField("tensor")})

    def _cut(self, place: Path, keep: Callable[[int, str], bool]) -> None:
        kept, whole = bytearray(), place.read_bytes()
        for event in read_events(whole):
            values = [value for value in event.summary.value if keep(event.step, value.tag)]
            self._remember(event.step, values)
            if values or event.file_version:
                shortened = len(values) < len(event.summary.value)
                if shortened:
                    del event.summary.value[:]
                    event.summary.value.extend(values)
                kept += frame(event)
        if kept != whole:
            write_atomically(Disk(), place, bytes(kept))


def read_events(data: bytes) -> Iterator[Any]:
    """The events of a file up to its end or the first record that is cut off or damaged."""
    from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
    from tensorboard.compat.proto.event_pb2 import Event

    start = 0
    while start + 12 <= len(data):
        (length,) = struct.unpack_from("<Q", data, start)
        end = start + 12 + length + 4
        if end > len(data):
            return
        event = Event()
        try:
            event.ParseFromString(data[start + 12 : end - 4])
        except DecodeError:
            return
        yield event
        start = end


def frame(event: Any) -> bytes:
    """An event as a record of an event file."""
    from tensorboard.compat.tensorflow_stub.pywrap_tensorflow import masked_crc32c

    data = event.SerializeToString()
    length = struct.pack("<Q", len(data))
    return length + struct.pack("<I", masked_crc32c(length)) + data + struct.pack("<I", masked_crc32c(data))


def make_event(step: int, values: list[Any]) -> Any:
    """An event of values at a step, at the present time; with no values, the one that begins a file."""
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary

    if not values:
        return Event(wall_time=time.time(), file_version="brain.Event:2")
    return Event(wall_time=time.time(), step=step, summary=Summary(value=values))


def scalar_value(tag: str, value: float) -> Any:
    """A number."""
    from tensorboard.compat.proto.summary_pb2 import Summary

    return Summary.Value(tag=tag, simple_value=value)


def histogram_value(tag: str, values: np.ndarray) -> Any:
    """A distribution of at least one finite number."""
    from tensorboard.compat.proto.histogram_pb2 import HistogramProto
    from tensorboard.compat.proto.summary_pb2 import Summary

    counts, edges = np.histogram(values, HISTOGRAM_BINS)
    histogram = HistogramProto(
        min=values.min(), max=values.max(), num=values.size, sum=values.sum(), sum_squares=(values * values).sum(),
        bucket_limit=edges[1:].tolist(), bucket=counts.tolist(),
    )  # fmt: skip
    return Summary.Value(tag=tag, histo=histogram)


def image_value(tag: str, picture: np.ndarray) -> Any:
    """A picture, [H, W, 3] uint8."""
    from tensorboard.compat.proto.summary_pb2 import Summary

    height, width, _ = picture.shape
    image = Summary.Image(height=height, width=width, colorspace=3, encoded_image_string=png(picture))
    return Summary.Value(tag=tag, image=image)


def text_value(tag: str, text: str) -> Any:
    """Text as a block of code, because TensorBoard reads Markdown."""
    from tensorboard.plugins.text.metadata import create_summary_metadata

    block = "\n".join("    " + line for line in text.splitlines())
    return string_value(tag, block.encode(), create_summary_metadata(display_name="", description=""))


def layout_value(layout: Mapping[str, tuple[Chart, ...]]) -> Any:
    """The page "custom scalars": charts below titles."""
    from tensorboard.plugins.custom_scalar import layout_pb2
    from tensorboard.plugins.custom_scalar.metadata import create_summary_metadata

    categories = []
    for title, charts in layout.items():
        drawn = []
        for chart in charts:
            if chart.band is None:
                lines = layout_pb2.MultilineChartContent(tag=[f"^{tag}$" for tag in chart.tags])
                drawn.append(layout_pb2.Chart(title=chart.title, multiline=lines))
            else:
                series = layout_pb2.MarginChartContent.Series(value=chart.tags[0], lower=chart.band[0], upper=chart.band[1])
                drawn.append(layout_pb2.Chart(title=chart.title, margin=layout_pb2.MarginChartContent(series=[series])))
        categories.append(layout_pb2.Category(title=title, chart=drawn, closed=False))
    return string_value(LAYOUT_TAG, layout_pb2.Layout(category=categories).SerializeToString(), create_summary_metadata())


def string_value(tag: str, data: bytes, metadata: Any) -> Any:
    """Bytes for a plugin."""
    from tensorboard.compat.proto.summary_pb2 import Summary
    from tensorboard.compat.proto.tensor_pb2 import TensorProto
    from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
    from tensorboard.compat.proto.types_pb2 import DT_STRING

    shape = TensorShapeProto(dim=[TensorShapeProto.Dim(size=1)])
    return Summary.Value(tag=tag, metadata=metadata, tensor=TensorProto(dtype=DT_STRING, tensor_shape=shape, string_val=[data]))


def png(picture: np.ndarray) -> bytes:
    """A picture, [H, W, 3] uint8, as a PNG file."""
    height, width, _ = picture.shape
    rows = np.zeros((height, 1 + 3 * width), np.uint8)  # each row begins with its filter, 0 for none
    rows[:, 1:] = picture.reshape(height, 3 * width)

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows.tobytes(), 6)) + chunk(b"IEND", b"")
