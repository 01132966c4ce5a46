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
DETAIL = re.compile(r"(?<=not SGF at ).*|'[^']*'|\b[0-9][0-9,.]*\b|in [a-z]+ with .*")  # of a reason
NO_MOVES = (b"resign", b"forfeit")  # what B and W also say in Hex


def moves_of_sgfmill(data: bytes) -> list[list[str]]:
    """Return the moves of the main lines by sgfmill; none if it does not read the file.

    A move of Go is "b 3 4": colour, row, and column from the lower left, or "b pass". Others are only "".
    """
    games = []
    try:
        trees = sgf_grammar.parse_sgf_collection(data)
    except ValueError:
        return []
    for tree in trees:
        try:
            game = sgf.Sgf_game.from_coarse_game_tree(tree)
            played = [node.get_move() for node in game.get_main_sequence()]
            games.append([" ".join(map(str, (colour, *(at or ["pass"])))) for colour, at in played if colour])
        except ValueError:
            nodes = sgf_grammar.main_sequence_iter(tree)
            moves = [node[colour][0] for node in nodes for colour in "BW" if colour in node]
            games.append(["" for move in moves if move.lower() not in NO_MOVES])
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
    data, refused, count = path.read_bytes(), list[str](), 0
    theirs = moves_of_sgfmill(data)
    try:
        for record in read_records(data, refuse=lambda error: refused.append(str(error))):
            place, count = count + len(refused), count + 1
            name = record.game.name
            if not theirs:
                yield f"read, {name}, sgfmill does not read the file"
            elif place >= len(theirs):
                yield "MISMATCH"
            else:
                yield compare_game(record, theirs[place])
    except UserError as error:
        refused.append(str(error))
    for reason in refused:
        yield "refused: " + DETAIL.sub("…", reason.partition(": ")[2] or reason)
    if count + len(refused) < len(theirs):
        yield "MISMATCH"


def compare_game(record: Record, theirs: list[str]) -> str:
    """Return what becomes of a game that both read."""
    name = record.game.name
    if name != "go" or "" in theirs:
        plies = len(record.main_line()) - 1
        return f"read, {name}, as many moves" if plies == len(theirs) else "MISMATCH"
    ours = moves_of_azero(record)
    if ours == theirs:
        return f"read, {name}, equal moves"
    return (
        f"read, {name}, equal but for passes after the end" if ours == without_passes(theirs) else "MISMATCH"
    )


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
