"""The network's input for many states at once, and their legal moves.

Letters: N positions, U legal moves of all of them together, A actions, C H W planes, S state words.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numba import njit

from azero.games.game import Game, rules_at
from azero.games.legal import Legal, list_legal, make_legal, mask_legal

MOVES_AT_ONCE = 1 << 20  # legal moves listed at a time


@njit(cache=True, nogil=True)
def write_planes(addresses: np.ndarray, states: np.ndarray, planes: np.ndarray) -> None:
    """Write planes [N, C, H, W] of states [N, S]. addresses: `Game.rule_addresses`."""
    rules = rules_at(addresses)
    for row in range(states.shape[0]):
        rules.planes(states[row], planes[row])


@njit(cache=True, nogil=True)
def write_moves(
    addresses: np.ndarray, states: np.ndarray, counts: np.ndarray, moves: np.ndarray, legal: Legal
) -> tuple[int, int]:
    """Write the legal moves of states [N, S] one after the other into moves, as long as there is room.

    counts: [N] int32, gets how many each state has. legal: scratch. Returns how many states and moves.
    """
    rules, written = rules_at(addresses), 0
    for row in range(states.shape[0]):
        count = 0 if rules.is_terminal(states[row]) else list_legal(rules, states[row], legal)
        if written + count > moves.shape[0]:
            return row, written
        counts[row] = count
        for place in range(count):
            moves[written + place] = legal.actions[place]
        written += count
    return states.shape[0], written


@njit(cache=True, nogil=True)
def write_masks(addresses: np.ndarray, states: np.ndarray, masks: np.ndarray, legal: Legal) -> None:
    """Write the legal moves of states [N, S] into masks [N, A], False at the end. legal: scratch."""
    rules = rules_at(addresses)
    for row in range(states.shape[0]):
        if rules.is_terminal(states[row]):
            masks[row] = False
        else:
            mask_legal(rules, states[row], Legal(legal.actions, masks[row], legal.words))


def planes_of(game: Game, states: np.ndarray) -> np.ndarray:
    """Return the network's input for states [N, S] uint64, [N, C, H, W] float32."""
    planes = np.empty((len(states), *game.planes_shape), np.float32)
    write_planes(game.rule_addresses, np.ascontiguousarray(states, np.uint64), planes)
    return planes


def moves_of(game: Game, states: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the legal moves of states [N, S] uint64, those of some states at a time.

    Each time: how many each of the next states has, int32, and all of them, [U] int32, state after state and
    rising in each. A state that is over has none. They hold until the next ones are asked for.
    """
    states, legal = np.ascontiguousarray(states, np.uint64), make_legal(game.num_actions)
    moves, done = np.empty(max(MOVES_AT_ONCE, game.num_actions), np.int32), 0
    counts = np.empty(len(states), np.int32)
    while done < len(states):
        count, written = write_moves(game.rule_addresses, states[done:], counts[done:], moves, legal)
        yield counts[done : done + count], moves[:written]
        done += count


def encode(game: Game, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the network's input for some states, and their legal moves as masks; no moves at the end.

    Args:
        game: the rules.
        states: [N, S] uint64.

    Returns:
        (planes [N, C, H, W] float32, legal_mask [N, A] bool).
    """
    states = np.ascontiguousarray(states, np.uint64)
    legal_mask = np.empty((len(states), game.num_actions), np.bool_)
    write_masks(game.rule_addresses, states, legal_mask, make_legal(game.num_actions))
    return planes_of(game, states), legal_mask
