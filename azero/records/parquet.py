"""Records as Parquet, one game a row, for those who study many. The columns are the members of a JSON line.

pyarrow reads and writes it (the extra `records`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from azero.config.schema import UserError
from azero.records.json_lines import SCHEMA, VERSION, content_of, read_content
from azero.records.record import MakeGame, Record, Refuse, once, raise_error, read_object

MAGIC = b"PAR1"  # begins and ends a file
GROUP_NODES = 50_000  # positions of a row group, all of which are in memory at once
READ_ROWS = 500  # in memory at once


def library() -> Any:
    """Return pyarrow; UserError: it is not installed."""
    try:
        import pyarrow.parquet
    except ImportError as error:
        raise UserError('Parquet needs pyarrow; run pip install "azero[records]".') from error
    return pyarrow


def schema() -> Any:
    """Return the types of the columns; `docs/records.md` says what they mean."""
    arrow = library()
    node = {
        "parent": arrow.int32(),
        "move": arrow.string(),
        "value": arrow.float64(),
        "visits": arrow.int64(),
        "policy": arrow.map_(arrow.string(), arrow.float64()),
        "comment": arrow.string(),
    }
    columns = {
        "schema": arrow.string(),
        "version": arrow.int32(),
        "game": arrow.string(),
        "options": arrow.string(),  # JSON
        "players": arrow.list_(arrow.string()),
        "moves": arrow.list_(arrow.string()),
        "outcome": arrow.float64(),
        "result": arrow.string(),
        "date": arrow.string(),
        "source": arrow.string(),
        "cycle": arrow.int32(),
        "nodes": arrow.list_(arrow.struct(list(node.items()))),
        "position": arrow.string(),
    }
    return arrow.schema(list(columns.items()), metadata={SCHEMA: str(VERSION)})


def row_of(record: Record) -> dict[str, Any]:
    """Return a record as a row: the members of its JSON line, the options as JSON, policies as pairs."""
    content = content_of(record)
    nodes = [
        {**node, "policy": list(node["policy"].items())} if "policy" in node else node
        for node in content.get("nodes", ())
    ]
    return {
        **content,
        "options": json.dumps(content["options"], ensure_ascii=False),
        "nodes": nodes or None,
    }


def content_of_row(row: dict[str, Any]) -> dict[str, Any]:
    """Return the members of a record's JSON line from a row."""
    content = dict(row, options=read_object(row.get("options") or "{}", "options"))
    for name in ("cycle", "nodes", "position"):
        if content.get(name) is None:
            content.pop(name, None)
    for place, node in enumerate(content.get("nodes", ())):
        known = {name: value for name, value in node.items() if value is not None}
        if "policy" in known:
            known["policy"] = dict(known["policy"])
        content["nodes"][place] = known
    return content


@contextmanager
def writer(path: Path) -> Iterator[Callable[[Record], None]]:
    """Open a Parquet file; games are written by row groups."""
    arrow, columns = library(), schema()
    rows, nodes = list[dict[str, Any]](), 0
    with arrow.parquet.ParquetWriter(path, columns, compression="zstd") as parquet:

        def write_group() -> None:
            nonlocal nodes
            parquet.write_table(arrow.Table.from_pylist(rows, columns))
            rows.clear()
            nodes = 0

        def write(record: Record) -> None:
            nonlocal nodes
            rows.append(row_of(record))
            nodes += len(record.nodes)
            if nodes >= GROUP_NODES:
                write_group()

        yield write
        if rows:
            write_group()


def count(path: Path) -> int:
    """Return the number of games of a file; 0 if it is damaged."""
    arrow = library()
    try:
        return int(arrow.parquet.read_metadata(path).num_rows)
    except arrow.ArrowException:
        return 0


def read(path: Path, make: MakeGame, refuse: Refuse = raise_error) -> Iterator[Record]:
    """Yield the games of a Parquet file, a few rows in memory at a time; `refuse` as in `read_sgf`.

    Raises:
        UserError: it is damaged, has other columns, or a game of it cannot be played by azero's rules.
    """
    arrow, make, number = library(), once(make), 0
    try:
        with arrow.parquet.ParquetFile(path) as file:
            known = schema()
            older = known.remove(known.get_field_index("position"))  # before games that begin elsewhere
            if not any(file.schema_arrow.equals(each) for each in (known, older)):
                raise UserError("its columns are not those of azero's records.")
            for batch in file.iter_batches(READ_ROWS):
                for row in batch.to_pylist():
                    number += 1
                    try:
                        record = read_content(content_of_row(row), make)
                    except UserError as error:
                        refuse(UserError(f"Parquet, game {number}: {error}"))
                        continue
                    yield record
    except (arrow.ArrowException, OSError) as error:
        what = " ".join(str(error).split())[:120].rstrip(".")
        raise UserError(f"this Parquet file is damaged ({what}).") from error
    if not number:
        raise UserError("this holds no record, because it is empty.")
