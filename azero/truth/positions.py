"""Sets of positions with exact scores, and the files that hold them.

A file is gzip'd text: a line of JSON that says what it holds, then a line for each position,

    set <tab> moves that lead to it <tab> the score of every action, a dot for an illegal one

Reading a file executes nothing and checks every move by the rules.
"""

from __future__ import annotations

import gzip
import json
import os
import zlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from azero.config.schema import UserError, explaining_failure
from azero.games.game import Game
from azero.games.playing import GameInProgress
from azero.run.disk import digest, write_for_user

FORMAT = 1
ILLEGAL = int(np.iinfo(np.int64).min)  # in place of an illegal move's score
ILLEGAL_TEXT = "."


@dataclass(frozen=True)
class PositionSet:
    """Positions of one kind and their exact scores."""

    name: str  # such as "late easy"
    moves: list[list[int]]  # from the start to each position
    states: np.ndarray  # [P, S] uint64, none of them terminal
    scores: np.ndarray  # [P, A] int64, see `azero/truth/__init__.py`; ILLEGAL for an illegal move

    @property
    def plies(self) -> np.ndarray:
        """Plies played before each position, [P] int64."""
        return np.array([len(moves) for moves in self.moves], np.int64)

    @property
    def best(self) -> np.ndarray:
        """The score of each best move, [P] int64."""
        return best_scores(self.scores)

    @property
    def values(self) -> np.ndarray:
        """The exact value for the player to move, 1, 0 or -1: [P] float64."""
        return np.array(np.sign(self.best), np.float64)


@dataclass(frozen=True)
class Origin:
    """Where the positions of a file come from."""

    game: str
    options: dict[str, Any]
    seed: int
    oracle: str  # the solver of the scores


def write_positions(path: Path, game: Game, origin: Origin, sets: Sequence[PositionSet]) -> str:
    """Write a new file and return the digest of its text.

    Raises:
        UserError: see `refuse_place`; or the disk refused.
    """
    lines = [json.dumps({"format": FORMAT, **asdict(origin)})]
    for each in sets:
        for moves, scores in zip(each.moves, each.scores, strict=True):
            words = [ILLEGAL_TEXT if score == ILLEGAL else str(score) for score in scores.tolist()]
            lines.append("\t".join([each.name, " ".join(game.move_names(moves)), " ".join(words)]))
    text = "".join(f"{line}\n" for line in lines)
    refuse_place(path)
    write_for_user(path, gzip.compress(text.encode(), mtime=0))
    return digest(text.encode())  # compressed bytes differ between compressors


def refuse_place(out: Path) -> None:
    """Check that a new file can be written here, before the work begins.

    Raises:
        UserError: the file exists, or its folder cannot be written.
    """
    if out.exists():
        raise UserError(f"out={out} is there already; name a new file.")
    if not (out.parent.is_dir() and os.access(out.parent, os.W_OK)):
        raise UserError(f"out={out} cannot be written: {out.parent} is not a folder that you can write to.")


def read_text(path: Path) -> str:
    """Return the text of a file.

    Raises:
        UserError: it cannot be read, or is damaged.
    """
    with explaining_failure(f"{path} cannot be read"):
        data = path.read_bytes()
    try:
        return gzip.decompress(data).decode()
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as failure:
        raise UserError(f"{path} is no readable file of positions ({failure}).") from failure


def read_positions(path: Path, game: Game, most: int | None = None) -> tuple[Origin, list[PositionSet]]:
    """Return what a file of a game holds: the first `most` positions of each set, or all.

    Raises:
        UserError: the file cannot be read, is damaged, belongs to another game, or breaks its rules.
    """
    header, *lines = read_text(path).splitlines() or [""]
    origin = read_header(header, path)
    if (origin.game, origin.options) != (game.name, game.options):
        raise UserError(
            f"{path} holds positions of {origin.game} {origin.options}, not of {game.name} {game.options}."
        )
    numbered = [(number, line.split("\t")) for number, line in enumerate(lines, 2)]
    if wrong := next((number for number, parts in numbered if len(parts) != 3), None):
        raise UserError(f"{path}, line {wrong} must be a set, moves and scores with tabs between them.")
    kinds = groupby(numbered, key=lambda line: line[1][0])
    return origin, [read_set(path, game, name, list(members)[:most]) for name, members in kinds]


def read_header(line: str, path: Path) -> Origin:
    """Return what the first line says."""
    try:
        header = json.loads(line)
        if header.pop("format") == FORMAT:
            return Origin(**header)
    except (ValueError, TypeError, AttributeError, KeyError):
        pass
    raise UserError(f"{path} is no file of positions that this version can read; azero oracle makes them.")


def read_set(path: Path, game: Game, name: str, numbered: Sequence[tuple[int, list[str]]]) -> PositionSet:
    """Return the set of numbered lines, each split into its three parts."""
    moves, states, scores = list[list[int]](), [], []
    for number, (_, moves_text, scores_text) in numbered:
        try:
            at = GameInProgress(game)
            at.play_moves(moves_text.split())
            scores.append(read_scores(game, at.state, scores_text.split()))
        except UserError as mistake:
            raise UserError(f"{path}, line {number}: {mistake}") from mistake
        moves.append(at.actions)
        states.append(at.state)
    return PositionSet(name, moves, np.stack(states), np.stack(scores))


def read_scores(game: Game, state: np.ndarray, words: Sequence[str]) -> np.ndarray:
    """Return the scores of one position, [A] int64."""
    try:
        scores = np.array([ILLEGAL if word == ILLEGAL_TEXT else int(word) for word in words], np.int64)
    except (ValueError, OverflowError) as mistake:
        raise UserError(f"{' '.join(words)!r} are no scores; write whole numbers and dots.") from mistake
    if game.is_terminal(state) or not np.array_equal(scores != ILLEGAL, game.legal_mask(state)):
        raise UserError(
            "there must be a score for each legal move of an unfinished position, and a dot for each other."
        )
    return scores


def worth(scores: np.ndarray) -> np.ndarray:
    """Return how good moves are, [..., A] float64: 1/score, so 1 > 3 > 0 > -6 > -2; illegal: -inf."""
    ranks = np.divide(1.0, scores, out=np.zeros(scores.shape), where=scores != 0)
    return np.where(scores == ILLEGAL, -np.inf, ranks)


def best_scores(scores: np.ndarray) -> np.ndarray:
    """Return the score of the best move of each position of scores [P, A]: [P] int64."""
    return np.take_along_axis(scores, worth(scores).argmax(axis=1)[:, None], axis=1)[:, 0]


def plies_left(best: int, ply: int, max_plies: int) -> int:
    """Return the plies until the end under perfect play; a draw counts as the longest possible game."""
    return abs(best) if best else max_plies - ply
