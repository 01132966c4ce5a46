"""Exact values of every position of a small game.

Letters: P positions, M moves of all of them, A actions, S state words.

The positions are listed ply by ply and then valued backwards from the ends of the game.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from azero.classic.look_ahead import count_moves
from azero.config.schema import UserError
from azero.games.game import Game, rules_at
from azero.games.legal import Legal, list_legal, make_legal
from azero.kernels.compiled import borrowed, kernel

NO_POSITION = -1  # the successor of a terminal position or by an illegal action


@dataclass(frozen=True)
class Solution:
    """Every reachable position, each once, and its exact value. Row 0 is the initial position."""

    states: np.ndarray  # [P, S] uint64, ordered by the first ply at which they are reached
    terminal: np.ndarray  # [P] bool
    to_play: np.ndarray  # [P] int64, 0 or 1
    value: np.ndarray  # [P] float64, for to_play
    num_actions: int
    # Every legal move, position by position and rising:
    row: np.ndarray  # [M] int64, its position
    action: np.ndarray  # [M] int64
    below: np.ndarray  # [M] int64, the row of the position after it
    move_value: np.ndarray  # [M] float64, for to_play of the position before it

    @cached_property
    def action_value(self) -> np.ndarray:
        """Return `move_value` as [P, A] float64; nan for illegal actions and at the end."""
        return self._table(self.move_value, np.nan)

    @cached_property
    def successor(self) -> np.ndarray:
        """Return `below` as [P, A] int64, or NO_POSITION."""
        return self._table(self.below, NO_POSITION)

    def _table(self, of_moves: np.ndarray, nothing: float) -> np.ndarray:
        table = np.full((len(self.states), self.num_actions), nothing, of_moves.dtype)
        table[self.row, self.action] = of_moves
        return table

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
    row: np.ndarray  # [M] int64, of each legal move its position
    action: np.ndarray  # [M] int64
    below: np.ndarray  # [M] int64: row of the next level


@kernel
def expand_positions(
    addresses: np.ndarray,
    states: np.ndarray,
    legal: Legal,
    terminal: np.ndarray,
    to_play: np.ndarray,
    outcome: np.ndarray,
    rows: np.ndarray,
    actions: np.ndarray,
    successors: np.ndarray,
) -> None:
    """Write what the rules say of states [P, S]: [P], [P], [P], and of their moves: [M], [M], [M, S].

    M: as many as `count_moves` returns. legal: scratch.
    """
    rules = rules_at(addresses)
    states, legal, successors = borrowed(states), borrowed(legal), borrowed(successors)
    move = 0
    for row in range(states.shape[0]):
        to_play[row] = rules.to_play(states[row])
        terminal[row] = rules.is_terminal(states[row])
        if terminal[row]:
            outcome[row] = rules.outcome(states[row])
            continue
        for place in range(list_legal(rules, states[row], legal)):
            rows[move] = row
            actions[move] = legal.actions[place]
            rules.step(states[row], actions[move], successors[move])
            move += 1


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
    count, legal = len(states), make_legal(game.num_actions)
    moves = count_moves(game.rule_addresses, states, legal)
    terminal, to_play, outcome = np.zeros(count, np.bool_), np.zeros(count, np.int64), np.zeros(count)
    row, action = np.zeros((2, moves), np.int64)
    successors = np.zeros((moves, game.state_words), np.uint64)
    facts = terminal, to_play, outcome, row, action, successors
    expand_positions(game.rule_addresses, states, legal, *facts)
    below, _, inverse = unique_states(successors)
    return Level(states, terminal, to_play, outcome, row, action, inverse), below


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
    """Return value [P] and move_value [M] of a level from value and to_play one ply later."""
    sign = np.where(below_to_play[level.below] == level.to_play[level.row], 1.0, -1.0)
    move_value = sign * below_value[level.below] + 0.0  # + 0.0 turns -0.0 into 0.0
    best = np.full(len(level.states), -np.inf)
    np.maximum.at(best, level.row, move_value)
    return np.where(level.terminal, level.outcome, best), move_value


def solve(game: Game, most_positions: int = 2_000_000) -> Solution:
    """Return the exact value of every position that play can reach.

    Raises:
        UserError: the game has more than ``most_positions`` positions.
    """
    levels = list_levels(game, most_positions)
    value, to_play = np.zeros(0), np.zeros(0, np.int64)
    valued: list[tuple[np.ndarray, np.ndarray]] = []
    for level in reversed(levels):
        value, move_value = values_of(level, value, to_play)
        to_play = level.to_play
        valued.append((value, move_value))
    return join_levels(game.num_actions, levels, valued[::-1])


def join_levels(
    num_actions: int, levels: list[Level], valued: list[tuple[np.ndarray, np.ndarray]]
) -> Solution:
    """Return one solution of all levels; a position of several plies is kept once, at the first."""
    starts = np.cumsum([0] + [len(level.states) for level in levels])
    _, first, inverse = unique_states(np.concatenate([level.states for level in levels]))
    kept = np.sort(first)
    row_of = np.searchsorted(kept, first)[inverse]
    row = np.concatenate([level.row + start for level, start in zip(levels, starts[:-1], strict=True)])
    below = np.concatenate([level.below + start for level, start in zip(levels, starts[1:], strict=True)])
    moves = np.isin(row, kept)  # of the positions that are kept
    return Solution(
        states=np.concatenate([level.states for level in levels])[kept],
        terminal=np.concatenate([level.terminal for level in levels])[kept],
        to_play=np.concatenate([level.to_play for level in levels])[kept],
        value=np.concatenate([value for value, _ in valued])[kept],
        num_actions=num_actions,
        row=row_of[row[moves]],
        action=np.concatenate([level.action for level in levels])[moves],
        below=row_of[below[moves]],
        move_value=np.concatenate([move_value for _, move_value in valued])[moves],
    )
