"""Moves of a file, played under the rules: a compiled rule checks nothing itself.

Letters: N positions, A actions, S state words, R repetition words.
"""

from __future__ import annotations

from azero.kernels.compiled import inner
from azero.kernels.words import same_words

ANYONE = -1  # a mover that is not known
OVER, TURN, ILLEGAL, REPEATS = 1, 2, 3, 4  # what is wrong with a move


@inner
def play_checked(rules, parents, action, mover, states, node, keys, legal):
    """Write states[node] and keys[node] after a move at its parent; return 0 or what is wrong with it.

    The position before the first move is node 0, with its key if the game has any; parents [N] lead there.
    states: [N, S]. keys: [N, R]. legal: scratch, [A]; holds the legal moves at the parent if it gets there.
    """
    parent = parents[node]
    if rules.is_terminal(states[parent]):
        return OVER
    if mover != ANYONE and mover != rules.to_play(states[parent]):
        return TURN
    rules.legal_mask(states[parent], legal)
    if not legal[action]:
        return ILLEGAL
    rules.step(states[parent], action, states[node])
    if keys.shape[1] == 0:
        return 0
    rules.repetition_key(states[node], keys[node])
    if same_words(keys[node], keys[parent]):
        return 0
    before = parents[parent]
    while before >= 0:
        if same_words(keys[node], keys[before]):
            return REPEATS
        before = parents[before]
    return 0
