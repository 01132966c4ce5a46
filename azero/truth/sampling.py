"""Draw positions from uniformly random play, no two of them mirror images of each other."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import NamedTuple

import numpy as np

from azero.config.schema import UserError
from azero.games.game import Game
from azero.match.openings import random_opening
from azero.truth.known import is_connect_four
from azero.truth.positions import PositionSet, best_scores, plies_left
from azero.truth.solvers import Oracle

MOST_MISSES = 20_000  # games in a row without a new position of the kind wanted


class SetKind(NamedTuple):
    """Which positions belong to a set."""

    name: str
    plies: range  # played so far: the stage
    left: range  # until the end under perfect play: the difficulty


LATE, MIDDLE, EARLY = range(29, 42), range(14, 29), range(14)
EASY, MEDIUM, HARD = range(14), range(14, 29), range(29, 43)
CONNECT_FOUR = (
    SetKind("late easy", LATE, EASY),
    SetKind("middle easy", MIDDLE, EASY),
    SetKind("early easy", EARLY, EASY),
    SetKind("middle medium", MIDDLE, MEDIUM),
    SetKind("early medium", EARLY, MEDIUM),
    SetKind("early hard", EARLY, HARD),
)


def kinds_of(game: Game, plies: range | None = None) -> tuple[SetKind, ...]:
    """Return the kinds of positions of a game.

    Connect Four has six, by stage and difficulty. Other games, or given plies, have one of any difficulty.
    """
    if plies is None and is_connect_four(game.name, game.options):
        return CONNECT_FOUR
    plies = plies or range(game.max_plies)
    return (SetKind(f"plies {plies.start}-{plies.stop - 1}", plies, range(game.max_plies + 1)),)


def key_of(game: Game, moves: Sequence[int]) -> bytes:
    """Return a key that a position shares with its mirror images: the smallest of their states.

    Every symmetry maps a game to a game, so the mapped moves lead to the images.
    """
    return min(
        reduce(game.step, symmetry[list(moves)].tolist(), game.initial_state()).tobytes()
        for symmetry in game.action_symmetries
    )


def draw_set(
    game: Game, oracle: Oracle, kind: SetKind, count: int, source: np.random.SeedSequence, taken: set[bytes]
) -> PositionSet:
    """Draw positions of a kind, each from a random game of its own, after plies drawn evenly from the stage.

    `taken` holds keys of positions to leave out; those of the new ones are added.

    Raises:
        UserError: no more are found, or the solver does not know one.
    """
    rng = np.random.default_rng(source)
    moves, states, scores, misses = list[list[int]](), list[np.ndarray](), list[np.ndarray](), 0
    while len(moves) < count:
        if misses == MOST_MISSES:
            raise UserError(
                f"{game.name} has only {len(moves)} positions of {kind.name}; set positions={len(moves)}."
            )
        misses += 1
        ply = int(rng.integers(kind.plies.start, kind.plies.stop))
        actions = random_opening(game, ply, rng)
        if len(actions) < ply or (key := key_of(game, actions)) in taken:
            continue
        state = reduce(game.step, actions, game.initial_state())
        known = oracle.score_moves(state)
        if plies_left(int(best_scores(known[None])[0]), ply, game.max_plies) not in kind.left:
            continue
        taken.add(key)
        moves, states, scores, misses = [*moves, actions], [*states, state], [*scores, known], 0
    return PositionSet(kind.name, moves, np.stack(states), np.stack(scores))
