"""Sets of positions with exact scores, and the files that hold them.

A file is gzip'd text: a line of JSON that says what it holds, then a line for each position,

    set <tab> moves that lead to it <tab> the score of every action, a dot for an illegal one

Nothing in it is executed, and every move is checked by the rules when it is read.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import zlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from azero.config import UserError
from azero.files.disk import Disk, write_atomically
from azero.games.game import Game
from azero.openings import read_moves
from azero.truth.scores import ILLEGAL, best_scores

FORMAT = 1
ILLEGAL_TEXT = "."


@dataclass(frozen=True)
class PositionSet:
    """Positions of one kind and what is known of them."""

    name: str  # such as "late easy"
    moves: list[list[int]]  # that lead to each
    states: np.ndarray  # [P, S] uint64, none of them terminal
    scores: np.ndarray  # [P, A] int64, see `azero/truth/__init__.py`; ILLEGAL for an illegal move

    @property
    def plies(self) -> np.ndarray:
        """[P] int64: how many were played to come there."""
        return np.array([len(moves) for moves in self.moves], np.int64)

    @property
    def best(self) -> np.ndarray:
        """[P] int64: the score of the best move."""
        return best_scores(self.scores)

    @property
    def values(self) -> np.ndarray:
        """[P] float64: the exact value for the player to move: 1, 0 or -1."""
        return np.sign(self.best).astype(np.float64)


@dataclass(frozen=True)
class Origin:
    """Where the positions of a file come from."""

    game: str
    options: dict[str, Any]
    seed: int
    oracle: str  # who knew the scores


def line_of(game: Game, name: str, moves: Sequence[int], scores: np.ndarray) -> str:
    """A position as a line of the file."""
    words = (ILLEGAL_TEXT if score == ILLEGAL else str(score) for score in scores.tolist())
    return "\t".join([name, " ".join(map(game.action_name, moves)), " ".join(words)])


def text_of(game: Game, origin: Origin, sets: Sequence[PositionSet]) -> str:
    """A file's text."""
    lines = [json.dumps({"format": FORMAT, **asdict(origin)})]
    for each in sets:
        lines += [line_of(game, each.name, *known) for known in zip(each.moves, each.scores, strict=True)]
    return "".join(f"{line}\n" for line in lines)


def digest(text: str) -> str:
    """SHA-256 of a file's text; of the text, because compressors differ."""
    return hashlib.sha256(text.encode()).hexdigest()


def refuse_place(out: Path) -> None:
    """Refuse a file that is there, or that could not be written once the work is done.

    Raises:
        UserError: it says which.
    """
    if out.exists():
        raise UserError(f"out={out} is there already; name a new file.")
    if not (out.parent.is_dir() and os.access(out.parent, os.W_OK)):
        raise UserError(f"out={out} cannot be written: {out.parent} is no folder that files can be put into.")


def write_positions(path: Path, text: str) -> None:
    """Write a file that does not exist yet.

    Raises:
        UserError: as `refuse_place`, or the disk refused.
    """
    refuse_place(path)
    write_atomically(Disk(), path, gzip.compress(text.encode(), mtime=0))


def read_text(path: Path) -> str:
    """A file's text.

    Raises:
        UserError: it cannot be read, or is damaged.
    """
    try:
        return gzip.decompress(path.read_bytes()).decode()
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as failure:
        raise UserError(f"{path} is no readable file of positions ({failure}).") from failure


def read_positions(path: Path, game: Game, most: int | None = None) -> tuple[Origin, list[PositionSet]]:
    """What a file holds.

    Args:
        path: the file.
        game: the rules it must be of.
        most: positions of each set, the first ones; None for all.

    Raises:
        UserError: it cannot be read, is damaged, of another game, or says what the rules do not allow.
    """
    header, *lines = read_text(path).splitlines() or [""]
    origin = read_header(header, path)
    if (origin.game, origin.options) != (game.name, game.options):
        raise UserError(f"{path} holds positions of {origin.game} {origin.options}, not of {game.name} {game.options}.")
    numbered = [(number, line.split("\t")) for number, line in enumerate(lines, 2)]
    if wrong := next((number for number, parts in numbered if len(parts) != 3), None):
        raise UserError(f"{path}, line {wrong}: a set, moves and scores should stand there, with tabs between.")
    kinds = groupby(numbered, key=lambda line: line[1][0])
    return origin, [read_set(path, game, name, list(members)[:most]) for name, members in kinds]


def read_header(line: str, path: Path) -> Origin:
    """The first line."""
    try:
        header = json.loads(line)
        if header.pop("format") == FORMAT:
            return Origin(**header)
    except (ValueError, TypeError, AttributeError, KeyError):
        pass
    raise UserError(f"{path} is no file of positions that this version can read; python -m azero.oracle makes them.")


def read_set(path: Path, game: Game, name: str, numbered: Sequence[tuple[int, list[str]]]) -> PositionSet:
    """The lines of one set, each with its number and split into its three parts."""
    moves, states, scores = list[list[int]](), [], []
    for number, (_, moves_text, scores_text) in numbered:
        try:
            actions, state = read_moves(game, moves_text.split())
            scores.append(read_scores(game, state, scores_text.split()))
        except UserError as mistake:
            raise UserError(f"{path}, line {number}: {mistake}") from mistake
        moves.append(actions)
        states.append(state)
    return PositionSet(name, moves, np.stack(states), np.stack(scores))


def read_scores(game: Game, state: np.ndarray, words: Sequence[str]) -> np.ndarray:
    """The scores of one position, [A] int64."""
    try:
        scores = np.array([ILLEGAL if word == ILLEGAL_TEXT else int(word) for word in words], np.int64)
    except (ValueError, OverflowError) as mistake:
        raise UserError(f"{' '.join(words)!r} are no scores.") from mistake
    if game.is_terminal(state) or not np.array_equal(scores != ILLEGAL, game.legal_mask(state)):
        raise UserError("there must be a score for each legal move of an unfinished position, and a dot for each other.")
    return scores
