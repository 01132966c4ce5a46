"""Read a file of records, whatever its format."""

from __future__ import annotations

from collections.abc import Iterator

from azero.config.schema import UserError
from azero.records.json_lines import read_json_lines
from azero.records.record import MakeGame, Record, named_game
from azero.records.sgf import read_sgf

MOST_BYTES = 2**26


def read_records(data: bytes, make: MakeGame = named_game) -> Iterator[Record]:
    """Return the games of a file, SGF or JSON lines, one after the other.

    Args:
        data: the file.
        make: makes the game of a record from its name and options.

    Raises:
        UserError: it is too large or neither; while it is read also as `read_sgf` and `read_json_lines` say.
    """
    if len(data) > MOST_BYTES:
        raise UserError(f"the records are larger than {MOST_BYTES // 2**20} MiB; split the file.")
    begin = data.removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
    return read_json_lines(data, make) if begin in (b"{", b"") else read_sgf(data, make)
