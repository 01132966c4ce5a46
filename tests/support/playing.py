"""Games played by the names of their moves, and counts of move sequences, for tests of rules."""

from __future__ import annotations

import numpy as np
from numba import njit

from azero.games.game import Game, rules_at
from azero.games.legal import Legal, list_legal, make_legal


def play(game: Game, moves: str) -> np.ndarray:
    """Return the state after some moves, named and separated by spaces.

    Each must be legal and none may follow the end.
    """
    state = game.initial_state()
    for ply, name in enumerate(moves.split()):
        assert not game.is_terminal(state), f"the game was over before ply {ply}, {name}"
        action = game.parse_action(state, name)
        assert game.legal_mask(state)[action], (
            f"ply {ply}, {name}, is not legal in\n{game.format_state(state)}"
        )
        state = game.step(state, action)
    return state


def legal_names(game: Game, state: np.ndarray) -> set[str]:
    """Return the legal moves by name."""
    return {game.action_name(state, action) for action in game.legal_actions(state)}


@njit(cache=True)
def count_from(addresses, states, lists, legal, tried, lengths, counts, finished):
    """Walk through all sequences of moves from states[0], depth first, and count them by ply."""
    rules = rules_at(addresses)
    last, ply = len(counts) - 1, 0
    arrived = True
    while ply >= 0:
        if arrived:
            counts[ply] += 1
            over = rules.is_terminal(states[ply])
            finished[ply] += over
            tried[ply] = lengths[ply] = 0
            if not over and ply < last:
                lengths[ply] = list_legal(rules, states[ply], Legal(lists[ply], legal.mask, legal.words))
        arrived = tried[ply] < lengths[ply]
        if arrived:
            rules.step(states[ply], np.int64(lists[ply, tried[ply]]), states[ply + 1])
            tried[ply] += 1
        ply += 1 if arrived else -1


def perft(game: Game, plies: int, start: np.ndarray | None = None) -> tuple[list[int], list[int]]:
    """Return how many sequences of 0, 1, …, `plies` moves there are, and how many end the game.

    They begin at a state, by default the initial one, and stop at the end of the game.
    """
    states = np.zeros((plies + 1, game.state_words), np.uint64)
    states[0] = game.initial_state() if start is None else start
    counts, finished = np.zeros(plies + 1, np.int64), np.zeros(plies + 1, np.int64)
    lists, legal = np.zeros((plies + 1, game.num_actions), np.int32), make_legal(game.num_actions)
    tried, lengths = np.zeros((2, plies + 1), np.int64)
    count_from(game.rule_addresses, states, lists, legal, tried, lengths, counts, finished)
    return counts.tolist(), finished.tolist()


def printed_score(game: Game, state: np.ndarray) -> tuple[int, int]:
    """Return the final score of Othello's first and second player; empty squares count for the winner."""
    assert game.board
    marks = game.board.marks(state)
    first, second, empty = (int((marks == mark).sum()) for mark in (1, 2, 0))
    return first + empty * (first > second), second + empty * (second > first)
