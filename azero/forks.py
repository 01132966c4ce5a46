"""Forks: games that leave an earlier game at some position with another move, so that self-play sees what it passed by.

KataGo starts a share of its games so (Wu 2019, "Accelerating Self-Play Learning in Go"). Here the earlier game, the ply and the
other move are drawn uniformly.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from azero.examples import GameRecord
from azero.games.game import Game
from azero.search.repetition import History


def forks(
    game: Game, earlier: Sequence[GameRecord], fraction: float, games: int, source: np.random.SeedSequence
) -> dict[int, np.ndarray]:
    """The first actions, [plies] int32, of those of so many games that are forks, by number.

    Whether game g is one, and which, depends on g, the earlier games and the source alone.
    """
    found: dict[int, np.ndarray] = {}
    for number, child in enumerate(source.spawn(games) if earlier and fraction else []):
        rng = np.random.default_rng(child)
        if rng.random() < fraction:
            actions = fork(game, earlier[int(rng.integers(len(earlier)))], rng)
            found |= {number: actions} if len(actions) else {}
    return found


def fork(game: Game, record: GameRecord, rng: np.random.Generator) -> np.ndarray:
    """A game's actions up to a random ply and another one there, [plies] int32; none if all others would end the game."""
    ply = int(rng.integers(len(record.actions)))
    past = History(game, 1)
    for state in record.states[:ply]:
        past.add(np.zeros(1, np.int64), state[None])
    legal = past.legal_mask(0, record.states[ply])
    legal[record.actions[ply]] = False
    others = [action for action in np.flatnonzero(legal) if not game.is_terminal(game.step(record.states[ply], int(action)))]
    return np.append(record.actions[:ply], rng.choice(others)).astype(np.int32) if others else np.zeros(0, np.int32)
