"""The legal moves of a state in compiled code, whether a game writes them as a mask or as a list.

Letters: A actions, S state words.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np

from azero.config.schema import BrokenGame
from azero.games.game import UNLISTED, Game, is_written, rules_at
from azero.kernels.compiled import kernel, part
from azero.kernels.random_moves import ACTIONS_A_WORD, pick_legal
from azero.kernels.random_stream import new_stream, next_below
from azero.kernels.words import copy_words

FEW_ACTIONS = 64  # of which a list is faster than `pick_legal` (random Connect Four: 27 to 18 ns a ply)
ROOM_GAMES = 64  # random games in which `legal_room` counts legal moves
ROOM_PLIES = 3_000  # of all of them together, at most: a game of Python's may need a millisecond for each


class Legal(NamedTuple):
    """Scratch for the legal moves of one state."""

    actions: np.ndarray  # [A] int32, the list, in rising order
    mask: np.ndarray  # [A] bool, the bytes of `words`
    words: np.ndarray  # [ceil(A / 8)] uint64, for `pick_legal`


def make_legal(num_actions: int) -> Legal:
    """Return scratch for a game of `num_actions`."""
    words = np.zeros(-(-num_actions // ACTIONS_A_WORD), np.uint64)
    return Legal(np.zeros(num_actions, np.int32), words.view(np.bool_)[:num_actions], words)


@part
def list_legal(rules, state, legal):
    """Write the legal actions of an unfinished state into legal.actions, in rising order. Return how many.

    legal.mask is scratch.
    """
    count = rules.legal_actions(state, legal.actions) if is_written(rules.legal_actions) else UNLISTED
    if count >= 0:
        return min(count, legal.actions.shape[0])  # a rule that lies must not make others write beyond arrays
    rules.legal_mask(state, legal.mask)
    count = 0
    for action in range(legal.mask.shape[0]):
        legal.actions[count] = action  # overwritten by the next one unless legal
        count += legal.mask[action]
    return count


@part
def copy_legal(rules, state, legal, row):
    """Do as `list_legal`, and copy the list into row [A]."""
    count = list_legal(rules, state, legal)
    for place in range(count):
        row[place] = legal.actions[place]
    return count


@part
def list_allowed(rules, state, legal, banned):
    """Do as `list_legal`, without the banned moves [A] of the state."""
    return leave_out(legal.actions, list_legal(rules, state, legal), banned)


@part
def mask_legal(rules, state, legal):
    """Write the legal actions of an unfinished state into legal.mask; legal.actions is scratch."""
    count = rules.legal_actions(state, legal.actions) if is_written(rules.legal_actions) else UNLISTED
    if count < 0:
        rules.legal_mask(state, legal.mask)
        return
    for action in range(legal.mask.shape[0]):
        legal.mask[action] = False
    for place in range(count):
        legal.mask[legal.actions[place]] = True


@part
def leave_out(actions, count, banned):
    """Remove banned [A] moves from the first `count` of some actions. Return how many are left."""
    left = 0
    for place in range(count):
        actions[left] = actions[place]
        left += not banned[actions[place]]
    return left


@part
def draw_legal(rules, state, legal, stream):
    """Return one of the legal actions of an unfinished state, all equally likely; -1 if there is none.

    A mask and a list of the same moves give the same one. legal: scratch.
    """
    if is_written(rules.legal_actions) or legal.mask.shape[0] < FEW_ACTIONS:
        count = list_legal(rules, state, legal)
        return np.int64(legal.actions[next_below(stream, count)]) if count > 0 else -1
    rules.legal_mask(state, legal.mask)
    return pick_legal(legal.words, stream)


def legal_room(game: Game) -> int:
    """Return the most legal moves of a position in some random games, the same each time: at least 1.

    Trees and caches have room for so many moves a position on average.

    Raises:
        BrokenGame: the game lists actions that cannot be.
    """
    most = _most_legal(game.rule_addresses.tobytes(), game.num_actions, game.state_words, game.max_plies)
    if most == UNLISTED:
        raise BrokenGame(
            f"{game.name} lists legal actions that do not rise, or that it does not have; correct "
            "legal_actions, and try azero check_game."
        )
    return max(1, most)


@functools.cache
def _most_legal(addresses: bytes, num_actions: int, state_words: int, max_plies: int) -> int:
    here, there = np.zeros((2, state_words), np.uint64)
    rules, legal = np.frombuffer(addresses, np.int64).copy(), make_legal(num_actions)
    return int(count_legal(rules, here, there, legal, max_plies, new_stream(1)))


@kernel
def count_legal(addresses, here, there, legal, max_plies, stream):
    """Return the most legal moves of a position in ROOM_GAMES random games of ROOM_PLIES plies at most.

    Return UNLISTED if a list of legal actions is not rising or has one that the game does not have.
    """
    rules, most, left = rules_at(addresses), 0, ROOM_PLIES
    for _ in range(ROOM_GAMES):
        rules.initial(here)
        for _ in range(max_plies):
            if left == 0 or rules.is_terminal(here):
                break
            count = list_legal(rules, here, legal)
            if count == 0:
                break
            before = -1
            for action in legal.actions[:count]:
                if action <= before or action >= legal.mask.shape[0]:
                    return UNLISTED
                before = action
            most, left = max(most, count), left - 1
            rules.step(here, legal.actions[next_below(stream, count)], there)
            copy_words(there, here)
    return most
