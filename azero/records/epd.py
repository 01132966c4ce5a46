"""EPD, Extended Position Description: positions with the moves that should be found, or avoided.

    r1bqk2r/ppp2ppp/2n5/4P3/2Bp2n1/5N1P/PP1N1PP1/R2Q1RK1 b kq - bm Nh6; id "BK.01";

A line has four fields of FEN, then operations. The part on EPD is in the standard of PGN, section 16.2. In
other games the position is its rows and who is to play, as in `.../.X./... O bm 0;`.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

from azero.config.schema import UserError
from azero.games.game import Game
from azero.records.record import one_line, short

# A position, the counters that FEN may have, and the operations
FEN_LINE = re.compile(r"((?:\S+\s+){3}\S+)(?:\s+([0-9]+\s+[0-9]+)(?=\s|$))?\s*(.*)")
ROWS_LINE = re.compile(r"(\S+\s+\S+)()\s*(.*)")
OPERATION = re.compile(r'\s*([A-Za-z]\w*)((?:\s*(?:"[^"]*"|[^\s;"]+))*)\s*(?:;|$)')
BEST, AVOID, NAME = "bm", "am", "id"


class Problem(NamedTuple):
    """A position of a suite."""

    name: str
    state: np.ndarray  # [S]
    best: list[int]  # the moves to find; none: any that is not to be avoided
    avoided: list[int]

    def is_solved_by(self, action: int) -> bool:
        """Return whether a move is one of those to find, and none of those to avoid."""
        return action not in self.avoided and (not self.best or action in self.best)


def read_epd(data: bytes, game: Game) -> list[Problem]:
    """Return the positions of a file that have `bm` or `am`, those to find or to avoid.

    Raises:
        UserError: a line is not EPD, a position or a move is not one of the game, or no line has a move.
    """
    problems = []
    for number, line in enumerate(
        data.removeprefix(b"\xef\xbb\xbf").decode(errors="replace").splitlines(), 1
    ):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        try:
            problem = read_problem(one_line(line).strip(), game, f"line {number}")
        except UserError as error:
            raise UserError(f"EPD, line {number}: {error}") from error
        problems += [problem] if problem.best or problem.avoided else []
    if not problems:
        raise UserError("this is not a suite of EPD, because no line has bm or am.")
    return problems


def read_problem(line: str, game: Game, name: str) -> Problem:
    """Return the position of a line; `name`: where the line has no id."""
    fields, form = (4, FEN_LINE) if game.name == "chess" else (2, ROWS_LINE)
    found = form.fullmatch(line)
    if found is None:
        raise UserError(f"{short(line)} has fewer than the {fields} fields of a position.")
    state, place, operations = game.position(" ".join(filter(None, found.group(1, 2)))), 0, dict[str, str]()
    while place < len(found[3]):
        operation = OPERATION.match(found[3], place)
        if operation is None:
            raise UserError(f"{short(found[3][place:])} is not an operation.")
        operations[operation[1]], place = operation[2].strip(), operation.end()
    best, avoided = ([*moves_of(game, state, operations.get(each, ""))] for each in (BEST, AVOID))
    return Problem(operations.get(NAME, name).strip('"') or name, state, best, avoided)


def moves_of(game: Game, state: np.ndarray, text: str) -> list[int]:
    """Return the actions of some moves; UserError: one is not legal."""
    actions = []
    for word in text.split():
        try:
            actions.append(game.parse_action(state, word))
        except ValueError as error:
            raise UserError(f"{short(word)} is not a legal move.") from error
    return actions
