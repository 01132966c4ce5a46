"""Exact values of every position of a small game.

Letters: P positions, A actions, S state words.

The positions are listed ply by ply and then valued backwards from the ends of the game.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba import njit

from azero.config.schema import UserError
from azero.games.game import Game, rules_at

NO_POSITION = -1  # the successor of a terminal position or by an illegal action


@dataclass(frozen=True)
class Solution:
    """Every reachable position, each once, and its exact value. Row 0 is the initial position."""

    states: np.ndarray  # [P, S] uint64, ordered by the first ply at which they are reached
    terminal: np.ndarray  # [P] bool
    to_play: np.ndarray  # [P] int64, 0 or 1
    value: np.ndarray  # [P] float64, for to_play
    # [P, A] float64, for to_play of the position before the move; nan for illegal actions and at the end
    action_value: np.ndarray
    successor: np.ndarray  # [P, A] int64, a row of these arrays, or NO_POSITION

    @property
    def unfinished(self) -> np.ndarray:
        """Return where the game is not over, [P] bool."""
        return ~self.terminal

    def keeps_value(self, positions: np.ndarray, actions: np.ndarray) -> np.ndarray:
        """Return for pairs of row and action whether the move keeps the exact value; False if illegal."""
        return np.asarray(self.action_value[positions, actions] == self.value[positions])


class Level(NamedTuple):
    """The positions at one ply, each once."""

    states: np.ndarray  # [P, S] uint64
    terminal: np.ndarray  # [P] bool
    to_play: np.ndarray  # [P] int64
    outcome: np.ndarray  # [P] float64, for to_play; 0 where not terminal
    successor: np.ndarray  # [P, A] int64: row of the next level, or NO_POSITION


@njit(cache=True, nogil=True)
def expand_positions(
    addresses: np.ndarray,
    states: np.ndarray,
    terminal: np.ndarray,
    to_play: np.ndarray,
    outcome: np.ndarray,
    legal: np.ndarray,
    successors: np.ndarray,
) -> None:
    """Write what the rules say of states [P, S]: [P], [P], [P], [P, A], and successors [P, A, S] if legal."""
    rules = rules_at(addresses)
    for row in range(states.shape[0]):
        to_play[row] = rules.to_play(states[row])
        terminal[row] = rules.is_terminal(states[row])
        if terminal[row]:
            outcome[row] = rules.outcome(states[row])
            legal[row] = False
            continue
        rules.legal_mask(states[row], legal[row])
        for action in range(legal.shape[1]):
            if legal[row, action]:
                rules.step(states[row], action, successors[row, action])


def unique_states(states: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the distinct ``states`` [P, S] in rising order, the first row of each, and the inverse."""
    order = np.lexsort(states.T[::-1])
    ordered = states[order]
    is_new = np.ones(len(states), np.bool_)
    is_new[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    inverse = np.empty(len(states), np.int64)
    inverse[order] = np.cumsum(is_new) - 1
    return ordered[is_new], order[is_new], inverse


def next_level(game: Game, states: np.ndarray) -> tuple[Level, np.ndarray]:
    """Return the level of ``states`` and the distinct states one ply later."""
    count, actions = len(states), game.num_actions
    terminal, to_play, outcome = np.zeros(count, np.bool_), np.zeros(count, np.int64), np.zeros(count)
    legal = np.zeros((count, actions), np.bool_)
    successors = np.zeros((count, actions, game.state_words), np.uint64)
    expand_positions(game.rule_addresses, states, terminal, to_play, outcome, legal, successors)
    below, _, inverse = unique_states(successors[legal])
    successor = np.full((count, actions), NO_POSITION, np.int64)
    successor[legal] = inverse
    return Level(states, terminal, to_play, outcome, successor), below


def list_levels(game: Game, most_positions: int) -> list[Level]:
    """List the positions ply by ply.

    Raises:
        UserError: the game has more than ``most_positions`` positions.
    """
    levels: list[Level] = []
    states, listed = game.initial_state()[None], 0
    while len(states):
        listed += len(states)
        if listed > most_positions:
            raise UserError(f"{game.name} has more than {most_positions:,} positions, too many to list.")
        level, states = next_level(game, states)
        levels.append(level)
    return levels


def values_of(
    level: Level, below_value: np.ndarray, below_to_play: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return value [P] and action_value [P, A] of a level from value and to_play one ply later."""
    action_value = np.full(level.successor.shape, np.nan)
    rows, actions = np.nonzero(level.successor != NO_POSITION)
    children = level.successor[rows, actions]
    sign = np.where(below_to_play[children] == level.to_play[rows], 1.0, -1.0)
    action_value[rows, actions] = sign * below_value[children] + 0.0  # + 0.0 turns -0.0 into 0.0
    best = np.where(np.isnan(action_value), -np.inf, action_value).max(axis=1)
    return np.where(level.terminal, level.outcome, best), action_value


def solve(game: Game, most_positions: int = 2_000_000) -> Solution:
    """Return the exact value of every position that play can reach.

    Raises:
        UserError: the game has more than ``most_positions`` positions.
    """
    levels = list_levels(game, most_positions)
    value, to_play = np.zeros(0), np.zeros(0, np.int64)
    valued: list[tuple[np.ndarray, np.ndarray]] = []
    for level in reversed(levels):
        value, action_value = values_of(level, value, to_play)
        to_play = level.to_play
        valued.append((value, action_value))
    return join_levels(levels, valued[::-1])


def join_levels(levels: list[Level], valued: list[tuple[np.ndarray, np.ndarray]]) -> Solution:
    """Return one solution of all levels; a position of several plies is kept once, at the first."""
    starts = np.cumsum([0] + [len(level.states) for level in levels])
    states = np.concatenate([level.states for level in levels])
    _, first, inverse = unique_states(states)
    kept = np.sort(first)
    row_of = np.append(np.searchsorted(kept, first)[inverse], NO_POSITION)  # [NO_POSITION] is the last
    linked = [
        np.where(level.successor == NO_POSITION, NO_POSITION, level.successor + start)
        for level, start in zip(levels, starts[1:], strict=True)
    ]
    successor = row_of[np.concatenate(linked)]
    return Solution(
        states=states[kept],
        terminal=np.concatenate([level.terminal for level in levels])[kept],
        to_play=np.concatenate([level.to_play for level in levels])[kept],
        value=np.concatenate([value for value, _ in valued])[kept],
        action_value=np.concatenate([action_value for _, action_value in valued])[kept],
        successor=successor[kept],
    )
