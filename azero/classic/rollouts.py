"""Rollouts: random play from a position to the end of the game, or for some plies and then a heuristic.

Letters: A actions, S state words.

Rewards lie in [0, 1], 1 for a win and 0.5 for a draw. They are for player 0, who makes the first move of the
game, so sums need not know who was to play.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from azero.games.legal import Legal, draw_legal, make_legal
from azero.heuristics import heuristic_at
from azero.kernels.compiled import part
from azero.kernels.words import copy_words

NO_HEURISTIC = 0


class Judge(NamedTuple):
    """How far a rollout goes and which heuristic judges it if the game is not over by then."""

    depth: int  # most plies
    heuristic: int  # address of a heuristic; with NO_HEURISTIC an unfinished game counts as a draw


class Room(NamedTuple):
    """Scratch memory of searches with rollouts."""

    here: np.ndarray  # [S] uint64
    there: np.ndarray  # [S] uint64
    start: np.ndarray  # [S] uint64
    moves: Legal


def new_room(num_actions: int, state_words: int) -> Room:
    """Return scratch memory for rollouts, one after another."""
    here, there, start = np.zeros((3, state_words), np.uint64)
    return Room(here, there, start, make_legal(num_actions))


@part
def turned(value, to_play):
    """Return the reward for player 0 of a value in [-1, 1] for the player to move."""
    return 0.5 + 0.5 * value if to_play == 0 else 0.5 - 0.5 * value


@part
def end_reward(rules, state):
    """Return the reward of a terminal state."""
    return turned(rules.outcome(state), rules.to_play(state))


@part
def cut_reward(rules, judge, state):
    """Return the reward of a state where a rollout was cut."""
    if judge.heuristic == NO_HEURISTIC:
        return 0.5
    return turned(heuristic_at(judge.heuristic)(state), rules.to_play(state))


@part
def rollout(rules, start, judge, room, stream):
    """Play random moves from `start` and return the reward; room and stream are borrowed.

    A position without a legal move cuts it.
    """
    here, there = room.here, room.there
    copy_words(start, here)
    plies = 0
    over = rules.is_terminal(here)
    while not over and plies < judge.depth:
        action = draw_legal(rules, here, room.moves, stream)
        if action < 0:
            break
        rules.step(here, action, there)
        here, there = there, here
        plies += 1
        over = rules.is_terminal(here)
    return end_reward(rules, here) if over else cut_reward(rules, judge, here)
