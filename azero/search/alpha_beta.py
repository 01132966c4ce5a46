"""Negamax with alpha-beta pruning, compiled once for every game.

Letters: B positions, D depth of the search in plies, A actions, S state words.

Knuth & Moore, "An analysis of alpha-beta pruning" (1975). The search is exact to full depth; at a limited depth an unfinished
position counts 0. Of equally good moves it takes the first.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from azero.games.game import rules_at

BEST_POSSIBLE = 1.0  # no outcome is better, so the search of a position stops at a move that reaches it
NOTHING_YET = -np.inf

# The first row. Not a plain 0: a literal argument would make Numba compile every function that takes it twice.
ROOT: Any = np.int64(0)


class Line(NamedTuple):
    """The line of play being searched; row d belongs to the position d plies below the root, values to its player to move."""

    states: np.ndarray  # [D + 1, S] uint64
    legal: np.ndarray  # [D + 1, A] bool
    to_play: np.ndarray  # [D + 1] int64
    alpha: np.ndarray  # [D + 1] float64: the player to move is sure of this elsewhere
    beta: np.ndarray  # [D + 1] float64: the opponent never allows this or more
    best: np.ndarray  # [D + 1] float64: value of the best move so far
    best_action: np.ndarray  # [D + 1] int64: that move, -1 before the first
    action: np.ndarray  # [D + 1] int64: the move being searched, -1 before the first


@njit(cache=True, nogil=True)
def new_line(depth: int, num_actions: int, state_words: int) -> Line:
    """Return an empty line of ``depth`` plies."""
    rows = depth + 1
    return Line(
        np.zeros((rows, state_words), np.uint64),
        np.zeros((rows, num_actions), np.bool_),
        np.zeros(rows, np.int64),
        np.zeros(rows, np.float64),
        np.zeros(rows, np.float64),
        np.zeros(rows, np.float64),
        np.zeros(rows, np.int64),
        np.zeros(rows, np.int64),
    )


@njit(cache=True, nogil=True)
def open_row(rules: Any, line: Line, row: int, alpha: float, beta: float) -> None:
    """Begin to search the position in ``row``; its state and mover are set already."""
    rules.legal_mask(line.states[row], line.legal[row])
    line.alpha[row], line.beta[row] = alpha, beta
    line.best[row] = NOTHING_YET
    line.best_action[row] = line.action[row] = -1


@njit(cache=True, nogil=True)
def next_action(line: Line, row: int) -> int:
    """Return the next legal move to search in ``row``, or -1 when there is none or the rest cannot matter."""
    if line.best[row] >= line.beta[row]:
        return -1
    for action in range(line.action[row] + 1, line.legal.shape[1]):
        if line.legal[row, action]:
            return action
    return -1


@njit(cache=True, nogil=True)
def backup(line: Line, row: int, value: float) -> None:
    """Give ``row`` the value of its current move; ``value`` is meant for the player to move in the row below."""
    if line.to_play[row] != line.to_play[row + 1]:
        value = -value
    if value > line.best[row]:
        line.best[row], line.best_action[row] = value, line.action[row]
        line.alpha[row] = max(line.alpha[row], value)


@njit(cache=True, nogil=True)
def search(rules: Any, root: np.ndarray, banned: np.ndarray, line: Line) -> None:
    """Search ``root``, without its ``banned`` moves [A], as deep as ``line`` has rows; row 0 of ``line`` holds the result."""
    depth = line.states.shape[0] - 1
    for word in range(root.shape[0]):  # Numba's assignment of rows costs seconds of compilation
        line.states[0, word] = root[word]
    line.to_play[0] = rules.to_play(root)
    open_row(rules, line, ROOT, NOTHING_YET, BEST_POSSIBLE)
    for action in range(banned.shape[0]):
        line.legal[ROOT, action] &= not banned[action]
    row = ROOT
    while True:
        action = next_action(line, row)
        if action < 0:
            if row == ROOT:
                return
            row -= 1
            backup(line, row, line.best[row + 1])
            continue
        line.action[row] = action
        below = row + 1
        rules.step(line.states[row], action, line.states[below])
        line.to_play[below] = rules.to_play(line.states[below])
        if rules.is_terminal(line.states[below]):
            backup(line, row, rules.outcome(line.states[below]))
        elif below == depth:
            backup(line, row, 0.0)
        elif line.to_play[below] == line.to_play[row]:
            open_row(rules, line, below, line.alpha[row], line.beta[row])
            row = below
        else:
            open_row(rules, line, below, -line.beta[row], -line.alpha[row])
            row = below


@njit(cache=True, nogil=True)
def best_moves(
    addresses: np.ndarray, states: np.ndarray, depth: int, banned: np.ndarray, actions: np.ndarray, values: np.ndarray
) -> None:
    """Search every position and write its best move and value.

    Args:
        addresses: the game's `rule_addresses`.
        states: [B, S] uint64, none of them terminal.
        depth: plies to search, at least 1; the game's ``max_plies`` makes the values exact.
        banned: [B, A] bool, moves left out at the root.
        actions: [B] int64, written: the first of the best moves.
        values: [B] float64, written: value for the player to move.
    """
    rules = rules_at(addresses)
    line = new_line(depth, banned.shape[1], states.shape[1])
    for index in range(states.shape[0]):
        search(rules, states[index], banned[index], line)
        actions[index] = line.best_action[0]
        values[index] = line.best[0]
