"""Openings: the first plies of a pair of games, drawn at random or read from a file, so that games differ."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from azero.config.schema import UserError, explaining_failure
from azero.games.game import Game
from azero.games.playing import GameInProgress

DRAWS = 20  # for each opening wanted, when they shall differ


def random_opening(game: Game, plies: int, rng: np.random.Generator) -> list[int]:
    """Return `plies` uniformly random legal actions, fewer if the next would end the game."""
    at = GameInProgress(game)
    while not at.is_over and len(at.actions) < plies:
        at.play(int(rng.choice(at.some_legal_actions())))
        if at.is_over:
            at.undo()
            break
    return at.actions


def random_openings(
    game: Game, plies: int, count: int, source: np.random.SeedSequence | None = None
) -> list[list[int]]:
    """Return random openings, each from a seed of its own; without a source, always the same."""
    source = source or np.random.SeedSequence(0)
    return [random_opening(game, plies, np.random.default_rng(child)) for child in source.spawn(count)]


def draw_openings(game: Game, plies: int, count: int, source: np.random.SeedSequence) -> list[list[int]]:
    """Return `count` random openings that differ as far as possible."""
    if plies == 0:
        return [[] for _ in range(count)]
    found: dict[tuple[int, ...], None] = {}
    for child in source.spawn(DRAWS * count):
        found.setdefault(tuple(random_opening(game, plies, np.random.default_rng(child))))
        if len(found) == count:
            break
    distinct = [list(opening) for opening in found]
    return [distinct[number % len(distinct)] for number in range(count)]


def varied_openings(game: Game, count: int, source: np.random.SeedSequence) -> list[list[int]]:
    """Return `count` random openings of as few plies as make them all different."""
    openings: list[list[int]] = [[]] * count
    for plies in range(1, game.max_plies // 2 + 1):
        openings = draw_openings(game, plies, count, source)
        if len(set(map(tuple, openings))) == count:
            break
    return openings


def read_book(game: Game, path: Path, key: str = "book") -> tuple[list[int], ...]:
    """Return the openings in a file, one a line, with moves as the game writes them. `key`: its setting.

    Raises:
        UserError: the file is missing or empty, a move is not legal, or an opening ends the game.
    """
    with explaining_failure(f"{key}={path} cannot be read"):
        data = path.read_bytes()
    lines = [line.split() for line in data.decode("utf-8", "replace").splitlines() if line.strip()]
    if not lines:
        raise UserError(f"{key}={path} holds no opening.")
    return tuple(read_opening(game, line, f"{key}={path}").actions for line in lines)


def read_opening(game: Game, moves: list[str], where: str, start: np.ndarray | None = None) -> GameInProgress:
    """Return the unfinished game after an opening; UserError: it is not legal. `where` names it then.

    start: the first position, [S]; None for the game's own.
    """
    at = GameInProgress(game, state=start)
    try:
        at.play_moves(moves)
    except UserError as mistake:
        raise UserError(f"{where}: {mistake}") from mistake
    if at.is_over:
        raise UserError(f"{where}: the game is over after {' '.join(moves)}.")
    return at
