"""Play through the tree of a record: the position of every node, or the first move that is wrong.

Letters: N nodes, S state words, R repetition words.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from azero.config.schema import UserError
from azero.games.checked import ANYONE, ILLEGAL, OVER, REPEATS, TURN, play_checked
from azero.games.game import rules_at
from azero.games.legal import make_legal
from azero.kernels.compiled import kernel
from azero.records.record import NONE, MoveNames, Record, short

WRONG = {
    OVER: "comes after the end of the game",
    ILLEGAL: "is not legal",
    REPEATS: "repeats an earlier position, which is not legal",
    TURN: "is played out of turn",
}


@kernel
def walk(addresses, parents, actions, movers, passing, states, dropped, keys, legal):
    """Write states [N, S] of all nodes but the first, which is given.

    Return (the first node whose move is wrong, why); (0, 0) if none is.

    parents, actions, movers: [N] int64. passing: an action that does nothing after the end of the game, where
    dropped [N] becomes True. keys, legal: scratch, [N, R] and `make_legal`'s.
    """
    rules = rules_at(addresses)
    rules.repetition_key(states[0], keys[0])
    for node in range(1, parents.shape[0]):
        wrong, _ = play_checked(rules, parents, actions[node], movers[node], states, node, keys, legal)
        if wrong == OVER and actions[node] == passing:
            dropped[node] = True
            states[node] = states[parents[node]]
        elif wrong != 0:
            return node, wrong
    return 0, 0


class Walked(NamedTuple):
    """A played record: states [N, S], which nodes are dropped [N], the first wrong node, and why."""

    states: np.ndarray
    dropped: np.ndarray
    node: int
    wrong: int


def walk_through(record: Record, movers: Sequence[int] = (), passing: int = NONE) -> Walked:
    """Play through a record.

    movers: who plays the move to each node, 0 for the first player, to be checked too.
    passing: the action that is dropped after the end of the game.
    """
    game, count = record.game, len(record.nodes)
    states, dropped = np.zeros((count, game.state_words), np.uint64), np.zeros(count, np.bool_)
    states[0] = record.first_state()
    parents, actions = (
        np.array([getattr(node, name) for node in record.nodes], np.int64) for name in ("parent", "action")
    )
    node, wrong = walk(
        *(game.rule_addresses, parents, actions),
        *(np.array(movers or [ANYONE] * count, np.int64), passing, states, dropped),
        *(np.zeros((count, game.repetition_words), np.uint64), make_legal(game.num_actions)),
    )
    return Walked(states, dropped, node, wrong)


def sentence(record: Record, walked: Walked) -> str:
    """Return which move of a record is wrong, and why; without a full stop."""
    path = record.path(walked.node)
    name = MoveNames(record).name(record.nodes[walked.node].parent, path[-1])
    return f"move {len(path)}, {short(name)}, {WRONG[walked.wrong]}"


def positions(record: Record) -> np.ndarray:
    """Return the states of all nodes of a record, [N, S] uint64.

    Raises:
        UserError: a move is not legal.
    """
    walked = walk_through(record)
    if walked.wrong:
        raise UserError(f"{sentence(record, walked)}.")
    return walked.states
