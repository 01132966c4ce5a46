#!/usr/bin/env python3
"""Damage files of a run in thousands of ways and read them.

usage: damage.py [--files 60000] [--seed 1] [--run tests/old_run]

Each damaged file is read twice. With its SHA-256, as azero reads what `state.json` names, it must be
refused. By its parser alone it must end with a UserError or a value: any other exception, a row of
metrics.csv that was not written, a started process or a removed file is wrong. Exit status 0 if nothing was.
"""

from __future__ import annotations

import argparse
import hashlib
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from azero.config.schema import UserError  # noqa: E402
from azero.network.model import unpack_network  # noqa: E402
from azero.replay.shards import load_games  # noqa: E402
from azero.report.event_files import read_events  # noqa: E402
from azero.report.metrics_csv import MetricsTable, read_rows  # noqa: E402
from azero.run.disk import DamagedFile, read_checked  # noqa: E402
from azero.run.state import parse_state  # noqa: E402

FORBIDDEN = ("os.system", "os.exec", "os.posix_spawn", "os.fork", "subprocess.Popen", "os.remove", "socket")


def damaged(whole: bytes, choice: random.Random) -> bytes:
    """Return a file with bits flipped, a piece cut out, moved, doubled or written over, or noise."""
    place, length = choice.randrange(len(whole)), choice.choice((1, 2, 4, 8, 64, 4096))
    if choice.random() < 0.5:  # structure is at the beginning and at the end
        place = choice.choice((place % 300, len(whole) - 1 - place % 300)) % len(whole)
    head, piece, rest = whole[:place], whole[place : place + length], whole[place + length :]
    match choice.randrange(7):
        case 0:
            return head + bytes([whole[place] ^ 1 << choice.randrange(8)]) + whole[place + 1 :]
        case 1:
            return head
        case 2:
            return head + rest
        case 3:
            return head + piece + piece + rest
        case 4:
            return head + choice.randbytes(len(piece)) + rest
        case 5:
            return head + bytes(len(piece)) + rest
        case _:
            return choice.randbytes(choice.randrange(200))


def parsers(folder: Path, scratch: Path) -> dict[str, tuple[Path, Callable[[Path], Any]]]:
    """Return by kind a file of the run, and what reads such a file."""
    run = next((folder / "checkpoints").iterdir())
    table = MetricsTable(scratch / "metrics.csv", lambda cycle, tag: True)
    for cycle, stats in read_rows(run / "metrics.csv"):
        table.add(cycle, {tag: float(text) for tag, text in stats.items()})
    written = dict(read_rows(table.path))

    def read_table(path: Path) -> None:
        if any(written.get(cycle) != stats for cycle, stats in read_rows(path)):
            raise ValueError("a damaged row was read")

    return {
        "network": (
            next((run / "champion").glob("*.pt")),
            lambda path: unpack_network(path.read_bytes(), "network"),
        ),
        "games": (
            next((folder / "data").rglob("*.pickle")),
            lambda path: load_games(path.read_bytes(), "games"),
        ),
        "state": (run / "state.json", lambda path: parse_state(path.read_bytes(), "state")),
        "metrics": (table.path, read_table),
        "events": (
            next((run / "tensorboard").rglob("*tfevents*")),
            lambda path: list(read_events(path.read_bytes())),
        ),
    }


def main() -> int:
    """Damage, read, count and print."""
    parser = argparse.ArgumentParser(description="Damage files of a run and see that none does harm.")
    parser.add_argument("--files", type=int, default=60_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--run", type=Path, default=ROOT / "tests/old_run", help="a folder with one run")
    given = parser.parse_args()
    choice, counts, wrong = random.Random(given.seed), Counter[tuple[str, str]](), list[str]()

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        if event.startswith(FORBIDDEN):
            wrong.append(f"{event} {arguments}")

    with tempfile.TemporaryDirectory() as scratch:
        kinds, place = parsers(given.run, Path(scratch)), Path(scratch) / "file"
        sys.addaudithook(watch)
        for number in range(given.files):
            kind, (source, read) = list(kinds.items())[number % len(kinds)]
            whole = source.read_bytes()
            data = damaged(whole, choice)
            place.write_bytes(data)
            if data == whole:
                counts[kind, "unchanged"] += 1
                continue
            try:
                read_checked(place, "file", hashlib.sha256(whole).hexdigest())
                wrong.append(f"{kind} {number}: its SHA-256 was accepted")
            except DamagedFile:
                pass
            try:
                read(place)
                counts[kind, "read by the parser alone"] += 1
            except UserError:
                counts[kind, "refused by the parser alone"] += 1
            except Exception as error:
                wrong.append(f"{kind} {number}: {type(error).__name__}: {error}")
        found = list(wrong)  # before the folder is removed
    for (kind, what), count in sorted(counts.items()):
        print(f"{kind:8} {what:30} {count:7,}")
    print("\n".join(found[:20]))
    print(f"{given.files:,} damaged files, all refused by their SHA-256; wrong: {len(found)}")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
