"""Compare what azero reads of SGF files with what sgfmill reads.

    python scripts/compare_sgf.py FOLDER  # every .sgf and .mgt file below it

The moves of a main line must be equal wherever both read a game of Go. The table counts the games, and says
why azero refuses others. The last line is `mismatches=N`; the exit status is 1 unless N is 0. sgfmill:
pip install sgfmill.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from sgfmill import sgf, sgf_grammar

from azero.cli.hydra_program import one_sentence
from azero.config.schema import UserError
from azero.records.files import read_records
from azero.records.record import Record

ENDINGS = (".sgf", ".mgt")
DETAIL = re.compile(r"'[^']*'|\b[0-9][0-9,.]*\b|line [0-9].*|in [a-z]+ with .*")  # of a reason


def moves_of_sgfmill(data: bytes) -> list[list[str] | None]:
    """Return the moves of each game's main line by sgfmill, None for a game that it does not read.

    A move is "b 3 4": colour, row, and column from the lower left, or "b pass".
    """
    games: list[list[str] | None] = []
    for tree in sgf_grammar.parse_sgf_collection(data):
        try:
            game = sgf.Sgf_game.from_coarse_game_tree(tree)
            played = [node.get_move() for node in game.get_main_sequence()]
        except ValueError:
            games.append(None)
            continue
        games.append(
            [" ".join(map(str, (colour, *(point or ["pass"])))) for colour, point in played if colour]
        )
    return games


def moves_of_azero(record: Record) -> list[str]:
    """Return the moves of a main line of Go in the same words."""
    size, moves, state = record.game.options["size"], [], record.game.initial_state()
    for action in record.path(record.main_line()[-1]):
        point = f"{size - 1 - action // size} {action % size}" if action < size * size else "pass"
        moves.append(f"{'bw'[record.game.to_play(state)]} {point}")
        state = record.game.step(state, action)
    return moves


def without_passes(moves: list[str]) -> list[str]:
    """Return moves without the passes that follow the first two in a row at the end."""
    last = len(moves)
    while last > 2 and all(move.endswith("pass") for move in moves[last - 3 : last]):
        last -= 1
    return moves[:last]


def compare(path: Path) -> Iterator[str]:
    """Yield what becomes of each game of a file; a mismatch begins with "MISMATCH"."""
    data = path.read_bytes()
    try:
        theirs = moves_of_sgfmill(data)
    except ValueError:
        theirs = []
    refused: list[str] = []
    count = 0
    try:
        for record in read_records(data, refuse=lambda error: refused.append(str(error))):
            place = count + len(refused)
            count += 1
            if place >= len(theirs) or theirs[place] is None or record.game.name != "go":
                yield f"read, {record.game.name}, not by sgfmill"
                continue
            moves = theirs[place] or []
            if moves_of_azero(record) == moves:
                yield "read, equal to sgfmill"
            elif moves_of_azero(record) == without_passes(moves):
                yield "read, equal but for passes after the end"
            else:
                yield "MISMATCH"
    except UserError as error:
        refused.append(str(error))
    for reason in refused:
        yield "refused: " + DETAIL.sub("…", reason.partition(": ")[2] or reason)


def main() -> int:
    """Compare the files of a folder; return the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--files", help="print the files of which this is a part of what becomes of a game")
    arguments = parser.parse_args()
    files = [path for path in sorted(arguments.folder.rglob("*")) if path.suffix.lower() in ENDINGS]
    ends: Counter[str] = Counter()
    for path in files:
        for end in compare(path):
            ends[end] += 1
            if arguments.files and arguments.files in end:
                print(path)
    for end, games in ends.most_common():
        print(f"{games:7,}  {end}")
    print(f"{len(files):,} files, {ends.total():,} games\nmismatches={ends['MISMATCH']}")
    return 1 if ends["MISMATCH"] else 0


if __name__ == "__main__":
    with one_sentence():
        sys.exit(main())
