"""What a thread does with its place: begin or resume a game, play to a search's next leaf, take an answer.

These functions are those of a worker on the CPU (`workers/games.py`, `search/mcts.py`), called for game 0 of
a place. They run on a GPU as they are, and in the tests on the CPU.
"""

from __future__ import annotations

import math

from azero.games.legal import list_legal
from azero.kernels.compiled import part
from azero.network.inference import LARGEST_VALUE
from azero.search.mcts import receive_and_remember
from azero.search.tree import NO_LEAF
from azero.workers.games import PLAYING, STUCK, go_on, play_until_evaluation, start_game

# More states of a game, beside those of `workers/games.py`: its leaf has no legal move; the network answered
# no number, or a value beyond 1.
DEAD_END, BAD_ANSWER = STUCK + 1, STUCK + 2


@part
def begin(rules, place, seed, settings):
    """Begin a game from its seed, uint64."""
    start_game(rules, place.tree, place.worker, 0, seed, settings, place.scratch)


@part
def resume(rules, place, settings):
    """Go on with the game whose record is in the place."""
    go_on(rules, place.tree, place.worker, 0, settings, place.scratch)


@part
def advance(rules, place, settings, planes):
    """Play until the game is over, its leaf needs the network, or `settings.at_once` simulations are made.

    Write the leaf into planes [C, H, W].
    """
    tree, worker = place.tree, place.worker
    if worker.status[0] == PLAYING and tree.searches[0].leaf == NO_LEAF:
        algorithm, scratch = place.algorithm, place.scratch
        play_until_evaluation(rules, tree, place.cache, worker, 0, algorithm, settings, scratch, place.exact)
        if worker.status[0] == PLAYING and tree.searches[0].leaf != NO_LEAF:
            rules.planes(tree.states[0, tree.searches[0].leaf], planes)


@part
def receive(rules, place, logits, value):
    """Expand the waiting leaf with the network's answer, logits [A], and back it up."""
    tree, worker = place.tree, place.worker
    if worker.status[0] != PLAYING or tree.searches[0].leaf == NO_LEAF:
        return
    if not is_answer(rules, place, logits, value):
        worker.status[0] = BAD_ANSWER
    elif receive_and_remember(rules, tree, place.cache, 0, logits, value, place.scratch) == 0:
        worker.status[0] = DEAD_END
    else:
        place.evaluations[0] += 1


@part
def is_answer(rules, place, logits, value):
    """Return whether the logits of the leaf's legal moves are finite and the value is within ±1, rounded."""
    sound = abs(value) <= LARGEST_VALUE  # false for NaN
    legal = place.scratch.legal
    for number in range(list_legal(rules, place.tree.states[0, place.tree.searches[0].leaf], legal)):
        sound = sound and math.isfinite(logits[legal.actions[number]])
    return sound
