"""What a watched search reports of each simulation, whatever its algorithm.

UCT counts rewards in [0, 1] for the player who moves first in the game. PV-MCTS counts values in [-1, 1] for
the player who chooses the move, and at the root for the player to move there.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from azero.games.game import Game
from azero.kernels.random_stream import next_below


class Candidate(NamedTuple):
    """A move at a node of the path, before the simulation's backup."""

    move: int
    visits: int
    value_sum: float
    score: float  # the highest one is chosen; inf: a move without visits, which comes first
    terms: dict[str, float]  # of the score, by the keys of `rules.RULES`
    note: str = ""  # why the search does not consider it, if so


class Choice(NamedTuple):
    """What was chosen at one node of the path."""

    to_play: int
    rule: str  # a key of `rules.RULES`
    shared: dict[str, float]  # terms that are the same for all candidates
    candidates: list[Candidate]  # by move
    chosen: int


class Evaluation(NamedTuple):
    """What the end of the path is worth."""

    kind: str  # "rollout", "network" or "end": the game is over there
    value: float  # a reward of UCT, or a value for the player to move
    moves: list[int]  # random ones, of a rollout
    end: np.ndarray  # [S] uint64: where the rollout ended


class Update(NamedTuple):
    """A node of the path: visits and sum before the simulation and after it."""

    move: int  # -1 at the root
    before: tuple[int, float]
    after: tuple[int, float]


class Simulation(NamedTuple):
    """One simulation."""

    choices: list[Choice]
    added: bool  # whether the last node of the path is new
    listed: int  # the place on the path of the node that was expanded, that is, got its moves; -1 for none
    evaluation: Evaluation
    updates: list[Update]  # from the root down
    leaf: np.ndarray  # [S] uint64: the last node of the path


def roll_out(game: Game, state: np.ndarray, stream: np.ndarray) -> tuple[list[int], np.ndarray]:
    """Play random moves to the end, at most `max_plies`; return the moves and the last state."""
    moves = list[int]()
    while (
        not game.is_terminal(state) and len(moves) < game.max_plies and (legal := game.legal_actions(state))
    ):
        moves.append(legal[next_below(stream, len(legal))])
        state = game.step(state, moves[-1])
    return moves, state


def first_value(game: Game, end: np.ndarray) -> float:
    """Return the value of a rollout's last state for the player who moves first; 0 if it was cut."""
    return game.first_outcome(end) if game.is_terminal(end) else 0.0
