"""Read a file of records, whatever its format, and write one in the format of its ending."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from azero.config.schema import UserError, explaining_failure
from azero.config.suggest import did_you_mean
from azero.records import parquet
from azero.records.json_lines import read_json_lines, read_lines, write_json
from azero.records.pgn import looks_like_pgn, read_pgn, write_pgn
from azero.records.record import MakeGame, Record, Refuse, named_game, raise_error
from azero.records.sgf import read_sgf, write_sgf
from azero.run.disk import refuse_existing, replacing

MOST_BYTES = 2**26  # of a file that is read at once, and of a line

Write = Callable[[Record], None]


# Read


def read_records(data: bytes, make: MakeGame = named_game, refuse: Refuse = raise_error) -> Iterator[Record]:
    """Return the games of a file, SGF, PGN or JSON lines, one after the other.

    Args:
        data: the file.
        make: makes the game of a record from its name and options.
        refuse: receives what is wrong with a game, which is left out if that returns.

    Raises:
        UserError: it is too large or none of them; while it is read also as their readers say.
    """
    if len(data) > MOST_BYTES:
        raise UserError(f"the records are larger than {MOST_BYTES // 2**20} MiB; split the file.")
    begin = data.removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
    if looks_like_pgn(data):  # it may begin with a comment, {so}
        return read_pgn(data, make, refuse)
    return (read_json_lines if begin in (b"{", b"") else read_sgf)(data, make, refuse)


def read_file(path: Path, make: MakeGame = named_game, refuse: Refuse = raise_error) -> Iterator[Record]:
    """Yield the games of a file: SGF, PGN, JSON lines or Parquet. SGF and PGN are held in memory as a whole.

    `make` and `refuse` as in `read_records`.

    Raises:
        UserError: it cannot be read, or as `read_records` says. The sentence names the file.
    """
    with explaining_failure(f"{path} cannot be read"), path.open("rb") as file:
        try:
            begin = file.read(4)
            file.seek(0)
            if begin == parquet.MAGIC:
                yield from parquet.read(path, make, refuse)
            elif path.suffix.lower() == ".pgn" and not begin.startswith((b"(", b'{"')):
                yield from read_pgn(file.read(MOST_BYTES + 1)[:MOST_BYTES], make, refuse)
            elif begin.removeprefix(b"\xef\xbb\xbf")[:1] == b"{":
                yield from read_lines(iter(lambda: file.readline(MOST_BYTES), b""), make, refuse)
            else:
                yield from read_records(file.read(MOST_BYTES + 1), make, refuse)
        except UserError as mistake:
            raise UserError(f"{path}: {mistake}") from mistake


def about_how_many(path: Path) -> int:
    """Return about how many games a file has, for the progress; 0 if that is not known."""
    try:
        with path.open("rb") as file:
            begin = file.read(4)
            file.seek(0)
            if begin == parquet.MAGIC:
                return parquet.count(path)
            return sum(line.count(b"FF[") or line[:1] == b"{" or line[:7] == b"[Event " for line in file)
    except OSError:
        return 0  # `read_file` says what is wrong


# Write


def refuse_file(path: Path, overwrite: bool) -> None:
    """Check before the work begins that records can be written to a file.

    Raises:
        UserError: its ending names no format, the file exists, or its folder is missing.
    """
    if path.suffix.lower() not in WRITERS:
        hint = did_you_mean(path.suffix, WRITERS, "") if path.suffix else ""
        raise UserError(f"out={path} must end in {', '.join(WRITERS)}{hint or '.'}")
    refuse_existing(path, overwrite)
    if not path.parent.is_dir():
        raise UserError(f"out={path} cannot be written: {path.parent} is not a folder.")
    if path.suffix.lower() == ".parquet":
        parquet.library()


@contextmanager
def open_records(path: Path, overwrite: bool = False) -> Iterator[Write]:
    """Return a function that adds a game to a new file, in the format of its ending.

    The file appears when the block ends; if the block raises, nothing is left.

    Raises:
        UserError: see `refuse_file`; or the disk refuses.
    """
    refuse_file(path, overwrite)
    with (
        explaining_failure(f"out={path} cannot be written"),
        replacing(path) as temporary,
        WRITERS[path.suffix.lower()](temporary) as write,
    ):
        yield write


@contextmanager
def writer_of(path: Path, format_record: Callable[[Record], bytes]) -> Iterator[Write]:
    """Open a file to which games are added as bytes."""
    with path.open("wb") as file:

        def write(record: Record) -> None:
            file.write(format_record(record))

        yield write


WRITERS: dict[str, Callable[[Path], AbstractContextManager[Write]]] = {
    ".sgf": lambda path: writer_of(path, write_sgf),  # several games are a collection
    ".pgn": lambda path: writer_of(path, write_pgn),
    ".jsonl": lambda path: writer_of(path, lambda record: write_json(record).encode() + b"\n"),
    ".parquet": parquet.writer,
}
