"""Forks: games that leave an earlier game with another move, as in KataGo (Wu 2019).

The earlier game, the ply and the other move are drawn uniformly.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from azero.games.game import Game
from azero.replay.examples import GameRecord
from azero.search.repetition import History


def forks(
    game: Game, earlier: Sequence[GameRecord], fraction: float, games: int, source: np.random.SeedSequence
) -> dict[int, np.ndarray]:
    """Return the first actions, [plies] int32, of the games that are forks, by number.

    Whether game g is a fork, and which, depends on g, the earlier games and the source alone.
    """
    found: dict[int, np.ndarray] = {}
    for number, child in enumerate(source.spawn(games) if earlier and fraction else []):
        rng = np.random.default_rng(child)
        if rng.random() < fraction:
            actions = fork(game, earlier[int(rng.integers(len(earlier)))], rng)
            found |= {number: actions} if len(actions) else {}
    return found


def fork(game: Game, record: GameRecord, rng: np.random.Generator) -> np.ndarray:
    """Return a game's actions up to a random ply, then another, [plies] int32; none if all end it."""
    plies = min(len(record.actions), game.max_plies - 1)  # a fork leaves one ply to play
    if not plies:
        return np.zeros(0, np.int32)
    ply = int(rng.integers(plies))
    past = History(game, 1)
    for state in record.states[:ply]:
        past.add(np.zeros(1, np.int64), state[None])
    legal = past.legal_mask(0, record.states[ply])
    legal[record.actions[ply]] = False
    state, legal_actions = record.states[ply], np.flatnonzero(legal).tolist()
    others = [action for action in legal_actions if not game.is_terminal(game.step(state, action))]
    if not others:
        return np.zeros(0, np.int32)
    return np.append(record.actions[:ply], rng.choice(others)).astype(np.int32)
