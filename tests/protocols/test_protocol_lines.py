"""Lines of a client: whatever its bytes, however long, and the end of the input."""

from __future__ import annotations

import io
import os
import queue
import threading

import pytest

from azero.protocols import lines as module
from azero.protocols.lines import MOST_BYTES, Lines, TooLong


def all_lines(data: bytes) -> list[str]:
    """Return what `Lines` makes of an input."""
    lines, found = Lines(io.BytesIO(data)), list[str]()
    while (line := lines.read(timeout=10)) is not None:
        found.append(line)
    lines.finish()
    return found


def test_lines_come_in_order_without_their_ends() -> None:
    assert all_lines(b"one\ntwo\r\n\nlast without an end") == ["one", "two", "", "last without an end"]
    assert all_lines(b"") == []


def test_bytes_that_are_no_text_are_replaced() -> None:
    assert all_lines(b"a\xff\x00b\n\xc3\xa9\n") == ["a�\x00b", "é"]


@pytest.mark.parametrize("more", [1, 2, 3, 3 * MOST_BYTES])
def test_a_line_that_is_too_long_is_refused_and_the_next_one_is_read(more: int) -> None:
    found = all_lines(b"x" * (MOST_BYTES + more) + b"\nnext\n")
    assert [type(line) for line in found] == [TooLong, str]
    assert found == ["x" * 100, "next"]


def test_the_longest_line_is_read() -> None:
    assert all_lines(b"x" * MOST_BYTES + b"\nnext\n") == ["x" * MOST_BYTES, "next"]


def test_at_the_end_of_the_input_every_read_says_so() -> None:
    lines = Lines(io.BytesIO(b""))
    assert lines.read(timeout=10) is None and lines.read(timeout=10) is None
    lines.finish()


def test_a_search_sees_the_next_line_and_an_interrupt() -> None:
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as stream, os.fdopen(writing, "wb", buffering=0) as client:
        lines = Lines(stream, end=lambda: None)
        with pytest.raises(queue.Empty):
            lines.read(timeout=0.01)
        assert not lines.waiting() and not lines.stopping()
        client.write(b"first\n")
        assert lines.read(timeout=10) == "first" and not lines.waiting()
        client.write(b"# interrupt\n")
        while not lines.waiting():
            pass
        assert lines.stopping()
        assert lines.read(timeout=10) == "# interrupt" and not lines.stopping()
        client.write(b"second\nthird\n# interrupt\nfourth\n")
        stopping = []
        for _ in range(4):
            lines.read(timeout=10)
            while lines.received < 6:
                pass
            stopping.append(lines.stopping())
        assert stopping == [True, True, False, False]  # those before it, also if they are read later
        lines.finish()


def test_a_client_that_is_gone_ends_searches_and_then_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SOON", 0.02)
    monkeypatch.setattr(module, "AT_ONCE", 0.05)
    reading, writing = os.pipe()
    ended = threading.Event()
    with os.fdopen(reading, "rb") as stream:
        lines = Lines(stream, end=ended.set)
        os.close(writing)
        assert not ended.wait(0.2)  # the program is not ready yet
        assert lines.read(timeout=10) is None
        assert ended.wait(10) and lines.stopping()


def test_a_program_that_ends_by_itself_is_not_ended_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SOON", 0.2)
    reading, writing = os.pipe()
    ended = threading.Event()
    with os.fdopen(reading, "rb") as stream:
        lines = Lines(stream, end=ended.set)
        os.close(writing)
        assert lines.read(timeout=10) is None
        lines.finish()
        assert not ended.wait(0.4) and not lines.hurry
