"""Scratch: buffers that kernels write to and nobody reads afterwards.

Letters: N nodes, A actions, K key words, S state words, P plies at most, R repetition words.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from azero.games.game import Game
from azero.games.legal import Legal, make_legal
from azero.search.tree import MOVE


class Scratch(NamedTuple):
    """Buffers of one worker or player."""

    key: np.ndarray  # [K] uint64
    legal: Legal
    moves: np.ndarray  # [A] MOVE
    weights: np.ndarray  # [A] float32
    successor: np.ndarray  # [S] uint64
    new_index: np.ndarray  # [N] int32
    repetition_keys: np.ndarray  # [P + 2, R] uint64
    banned: np.ndarray  # [A] bool
    gathered: bool  # not scratch: the network answers with the logits of legal moves only


def make_scratch(game: Game, num_nodes: int, gathered: bool = False) -> Scratch:
    """Return buffers for trees of `num_nodes` nodes a game."""
    return Scratch(
        key=np.zeros(game.key_words, np.uint64),
        legal=make_legal(game.num_actions),
        moves=np.zeros(game.num_actions, MOVE),
        weights=np.zeros(game.num_actions, np.float32),
        successor=np.zeros(game.state_words, np.uint64),
        new_index=np.zeros(num_nodes, np.int32),
        repetition_keys=np.zeros((game.max_plies + 2, game.repetition_words), np.uint64),
        banned=np.zeros(game.num_actions, np.bool_),
        gathered=gathered,
    )
