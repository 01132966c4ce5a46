"""A game for tests of searches: 97 places, four moves, alternate turns, no end within 10,000 plies.

State words: [0] the place, [1] the plies played. Move a leads from place s to (4 s + 31 a + 7) mod 97. The
one plane holds the place, so that a fake network can look its answer up in a table.
"""

from __future__ import annotations

import numpy as np

from azero.games import game as interface
from azero.games.game import Game, Rules

PLACES, MOVES, LONGEST = 97, 4, 10_000


@interface.rule(interface.INITIAL)
def initial(state):
    state[0] = 0
    state[1] = 0


@interface.rule(interface.STEP)
def step(state, action, successor):
    successor[0] = (np.uint64(4) * state[0] + np.uint64(31) * np.uint64(action) + np.uint64(7)) % np.uint64(
        PLACES
    )
    successor[1] = state[1] + np.uint64(1)


@interface.rule(interface.LEGAL_MASK)
def legal_mask(state, mask):
    for action in range(MOVES):
        mask[action] = True


@interface.rule(interface.IS_TERMINAL)
def is_terminal(state):
    return state[1] >= np.uint64(LONGEST)


@interface.rule(interface.OUTCOME)
def outcome(state):
    return 0.0


@interface.rule(interface.TO_PLAY)
def to_play(state):
    return np.int64(state[1] & np.uint64(1))


@interface.rule(interface.WRITE_PLANES)
def planes(state, out):
    out[0, 0, 0] = np.float32(state[0])


@interface.rule(interface.EVALUATION_KEY)
def evaluation_key(state, key):
    key[0] = state[0]


def make_game() -> Game:
    """The ring."""
    return Game(
        name="ring",
        num_actions=MOVES,
        planes_shape=(1, 1, 1),
        state_words=2,
        key_words=1,
        max_plies=LONGEST,
        rules=Rules(initial, step, legal_mask, is_terminal, outcome, to_play, planes, evaluation_key),
        action_symmetries=np.arange(MOVES)[None],
        cell_symmetries=np.zeros((1, 1), np.int64),
        format_state=lambda state: f"place {state[0]}",
        action_name=str,
    )
