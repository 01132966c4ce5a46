"""Positions drawn from uniformly random play until there are enough of each kind, no two of them mirror images of each other."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import NamedTuple

import numpy as np

from azero.config import UserError
from azero.games.game import Game
from azero.openings import random_opening
from azero.truth.oracles import Oracle
from azero.truth.positions import PositionSet
from azero.truth.scores import best_scores, plies_left
from azero.truth.shipped import is_connect_four

MOST_MISSES = 20_000  # games in a row without a new position of the kind wanted


class Kind(NamedTuple):
    """What positions belong to a set."""

    name: str
    plies: range  # played so far: the stage
    left: range  # until the end under perfect play: the difficulty


LATE, MIDDLE, EARLY = range(29, 42), range(14, 29), range(14)
EASY, MEDIUM, HARD = range(14), range(14, 29), range(29, 43)
CONNECT_FOUR = (
    Kind("late easy", LATE, EASY),
    Kind("middle easy", MIDDLE, EASY),
    Kind("early easy", EARLY, EASY),
    Kind("middle medium", MIDDLE, MEDIUM),
    Kind("early medium", EARLY, MEDIUM),
    Kind("early hard", EARLY, HARD),
)


def kinds_of(game: Game, plies: range | None = None) -> tuple[Kind, ...]:
    """The sets of a game: for Connect Four six by stage and difficulty, else, or where plies are named, one of any difficulty."""
    if plies is None and is_connect_four(game.name, game.options):
        return CONNECT_FOUR
    plies = plies or range(game.max_plies)
    return (Kind(f"plies {plies.start}-{plies.stop - 1}", plies, range(game.max_plies + 1)),)


def key_of(game: Game, moves: Sequence[int]) -> bytes:
    """What a position has in common with its mirror images: the least of their states.

    Every symmetry maps a game to a game, so the images are where the mapped moves lead.
    """
    return min(
        reduce(game.step, symmetry[list(moves)].tolist(), game.initial_state()).tobytes() for symmetry in game.action_symmetries
    )


def draw_set(
    game: Game, oracle: Oracle, kind: Kind, count: int, source: np.random.SeedSequence, taken: set[bytes]
) -> PositionSet:
    """So many positions of a kind, each from a random game of its own, after a number of plies drawn evenly from the stage.

    Args:
        game: the rules.
        oracle: who knows their scores.
        kind: what is wanted.
        count: how many.
        source: of everything random.
        taken: keys of positions that are not to be drawn; those of the new ones are added.

    Raises:
        UserError: there seem to be no more of them, or the oracle does not know one.
    """
    rng = np.random.default_rng(source)
    moves, states, scores, misses = list[list[int]](), list[np.ndarray](), list[np.ndarray](), 0
    while len(moves) < count:
        if misses == MOST_MISSES:
            raise UserError(
                f"{game.name} has hardly more than {len(moves)} positions of {kind.name}; set positions={len(moves)}."
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
