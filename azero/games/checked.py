"""Moves of a file, played under the rules: a compiled rule checks nothing itself.

Letters: N positions, A actions, S state words, R repetition words.
"""

from __future__ import annotations

from azero.games.legal import list_legal
from azero.kernels.compiled import inner
from azero.kernels.words import same_words

ANYONE = -1  # a mover that is not known
OVER, TURN, ILLEGAL, REPEATS = 1, 2, 3, 4  # what is wrong with a move


@inner
def play_checked(rules, parents, action, mover, states, node, keys, legal):
    """Write states[node] and keys[node] after a move at its parent.

    Return 0 or what is wrong with the move, and the number of legal moves at the parent in legal.actions; 0
    if it does not get there.

    The position before the first move is node 0, with its key if the game has any; parents [N] lead there.
    action: any number. states: [N, S]. keys: [N, R]. legal: from `make_legal`.
    """
    parent = parents[node]
    if rules.is_terminal(states[parent]):
        return OVER, 0
    if mover != ANYONE and mover != rules.to_play(states[parent]):
        return TURN, 0
    count, place = list_legal(rules, states[parent], legal), 0
    while place < count and legal.actions[place] < action:
        place += 1
    if place == count or legal.actions[place] != action:
        return ILLEGAL, count
    rules.step(states[parent], action, states[node])
    if keys.shape[1] == 0:
        return 0, count
    rules.repetition_key(states[node], keys[node])
    if same_words(keys[node], keys[parent]):
        return 0, count
    before = parents[parent]
    while before >= 0:
        if same_words(keys[node], keys[before]):
            return REPEATS, count
        before = parents[before]
    return 0, count
