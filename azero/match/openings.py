"""Openings: the first plies of a pair of games, drawn at random or read from a file, so that games differ."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from azero.config.schema import UserError
from azero.games.game import Game
from azero.search.dead_end import dead_end
from azero.search.repetition import History

DRAWS = 20  # for each opening wanted, when they shall differ


def random_opening(game: Game, plies: int, rng: np.random.Generator) -> list[int]:
    """Return `plies` uniformly random legal actions, fewer if the next would end the game."""
    state, actions = game.initial_state(), list[int]()
    past, only_game = History(game, 1), np.zeros(1, np.int64)
    for _ in range(plies):
        allowed = np.flatnonzero(past.legal_mask(0, state))
        if not len(allowed):
            raise dead_end(game, actions)
        action = int(rng.choice(allowed))
        past.add(only_game, state[None])
        state = game.step(state, action)
        if game.is_terminal(state):
            break
        actions.append(action)
    return actions


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


def read_book(game: Game, path: Path) -> tuple[list[int], ...]:
    """Return the openings in a file, one a line, with moves as the game writes them.

    Raises:
        UserError: the file is missing or empty, a move is not legal, or an opening ends the game.
    """
    try:
        lines = [line.split() for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    except OSError as mistake:
        raise UserError(f"book={path} cannot be read: {mistake.strerror}.") from mistake
    if not lines:
        raise UserError(f"book={path} holds no opening.")
    return tuple(read_opening(game, line, f"book={path}")[0] for line in lines)


def read_opening(game: Game, moves: list[str], where: str) -> tuple[list[int], np.ndarray]:
    """Return one opening's actions and the unfinished state [S] after it. `where` names it in messages."""
    try:
        actions, state = read_moves(game, moves)
    except UserError as mistake:
        raise UserError(f"{where}: {mistake}") from mistake
    if game.is_terminal(state):
        raise UserError(f"{where}: the game is over after {' '.join(moves)}.")
    return actions, state


def read_moves(game: Game, moves: list[str]) -> tuple[list[int], np.ndarray]:
    """Return the actions of moves from the initial state on, and the state [S] after them.

    Raises:
        UserError: a move does not exist or is not legal.
    """
    state, past, actions = game.initial_state(), History(game, 1), list[int]()
    for ply, text in enumerate(moves):
        try:
            action = game.parse_action(text)
        except ValueError as mistake:
            raise UserError(str(mistake)) from mistake
        if game.is_terminal(state) or not past.legal_mask(0, state)[action]:
            before = " ".join(moves[:ply]) or "no moves"
            raise UserError(f"{text!r} is not legal after {before} in {game.name}.")
        past.add(np.zeros(1, np.int64), state[None])
        state = game.step(state, action)
        actions.append(action)
    return actions, state
