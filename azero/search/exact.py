"""Exact play: a leaf that alpha-beta can solve is not evaluated.

The rule `plies_left` of a game bounds how many plies are left. A new leaf with at most `search.exact_plies`
of them is searched to the end of the game, looking at about `search.exact_nodes` positions at most.

In play and in matches any other leaf is searched for a forced win or loss: to two plies, three, and so on,
until `search.forced_nodes` positions are spent (MCTS-minimax hybrids, Baier and Winands 2013).

A leaf of a known value is proven, as an end of the game is, and `mcts.prove` carries the value up the tree.
Any other leaf is an ordinary one. The budgets count positions, not time, and a leaf is judged without what
others have shown, so the result depends on the position alone. A table keeps results, because the search
after a move meets many leaves of the search before it.

Letters: P plies, A actions, M moves of a position at most, S state words, E entries.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from azero.config.schema import SearchConfig, UserError
from azero.games.game import Game, no_plies_left
from azero.games.legal import Legal, legal_room, list_legal, make_legal
from azero.kernels.compiled import kernel, part
from azero.kernels.hashing import entry_of, table_size
from azero.kernels.words import copy_words, same_words
from azero.search.tree import LOSS, WIN, set_bounds

NO_MOVE = -1
UNSOLVED = np.inf
UNKNOWN = 0.0  # a position at the depth limit: neither win nor loss
FORCED_PLIES = 16  # most plies of a forced win
MOST_MOVES = 2  # a position with more than this times `legal_room` is not solved

ROW = np.dtype(
    [
        ("alpha", np.float64),  # the player to move has at least this elsewhere
        ("beta", np.float64),  # the opponent never allows this much
        ("best", np.float64),  # value of the best move so far, for the player to move
        ("place", np.int64),  # of the move being searched
        ("to_play", np.int64),
    ]
)


class Exact(NamedTuple):
    """The budgets of a leaf, scratch, and what was found.

    Row r of the scratch is the position of the current line after r plies.
    """

    plies: int
    nodes: int
    forced_nodes: int
    rows: np.ndarray  # [P] ROW
    counts: np.ndarray  # [P] int64: how many legal moves
    moves: np.ndarray  # [P, M] int32
    left: np.ndarray  # [P, M] bool: moves not searched yet
    successors: np.ndarray  # [P, M, S] uint64
    history: np.ndarray  # [2, A] int64: how much each player's moves cut off so far
    legal: Legal
    judged: np.ndarray  # [E] bool; E is a power of two, or 0
    leaves: np.ndarray  # [E, S] uint64: states that were judged
    results: np.ndarray  # [E] float64: their values, or UNSOLVED


def make_exact(game: Game, search: SearchConfig, kept: int = 0) -> Exact | None:
    """Return the budgets and buffers of one thread; None if leaves are not solved.

    kept: room for so many results at least.

    Raises:
        UserError: the game has no bound on the plies left.
    """
    if not (search.solver and (search.exact_plies or search.forced_nodes)):
        return None
    if search.exact_plies and game.rules.plies_left is no_plies_left:
        raise UserError(
            f"search.exact_plies={search.exact_plies} needs the rule plies_left, which {game.name} does not "
            "have; set search.exact_plies=0."
        )
    plies, actions = min(search.exact_plies, game.max_plies), game.num_actions
    most = min(actions, MOST_MOVES * legal_room(game))
    rows = max(plies, FORCED_PLIES if search.forced_nodes else 0)
    entries = table_size(kept)
    return Exact(
        plies,
        search.exact_nodes,
        search.forced_nodes,
        rows=np.zeros(rows, ROW),
        counts=np.zeros(rows, np.int64),
        moves=np.zeros((rows, most), np.int32),
        left=np.zeros((rows, most), np.bool_),
        successors=np.zeros((rows, most, game.state_words), np.uint64),
        history=np.zeros((2, actions), np.int64),
        legal=make_legal(actions),
        judged=np.zeros(entries, np.bool_),
        leaves=np.zeros((entries, game.state_words), np.uint64),
        results=np.zeros(entries),
    )


@kernel
def solve_leaf(rules, tree, b, leaf, exact):
    """Prove a new node if its budgets are enough to find its value."""
    if exact is None:  # known when this is compiled, so a search without it pays nothing
        return
    if tree.nodes[b, leaf].proven or tree.nodes[b, leaf].node_visits > 0:
        return
    value = judge(rules, exact, tree.states[b, leaf])
    if value != UNSOLVED:
        tree.nodes[b, leaf].proven = True
        tree.nodes[b, leaf].raw_value = value
        set_bounds(tree, b, leaf, value, value)


@kernel
def judge(rules, exact, state):
    """Return an unfinished state's value for its player to move, or UNSOLVED if the budgets are too small."""
    near, size = rules.plies_left(state) <= exact.plies, exact.judged.shape[0]
    if not near and exact.forced_nodes == 0:
        return UNSOLVED
    entry = entry_of(state, size)
    if size > 0 and exact.judged[entry] and same_words(exact.leaves[entry], state):
        return exact.results[entry]
    value = UNSOLVED
    if near:
        value, _ = find_value(rules, exact, state, exact.plies, exact.nodes)
    if value == UNSOLVED:
        value = find_forced(rules, exact, state)
    if size > 0:
        exact.judged[entry], exact.results[entry] = True, value
        copy_words(state, exact.leaves[entry])
    return value


@kernel
def find_forced(rules, exact, state):
    """Return the exact value if few plies are enough to find it, as of a forced win, or UNSOLVED."""
    plies, budget = 2, exact.forced_nodes
    while budget > 0 and plies <= FORCED_PLIES:
        value, nodes = find_value(rules, exact, state, plies, budget)
        if value != UNSOLVED or nodes == 0:  # 0: the position has more moves than there is room for
            return value
        budget -= nodes
        plies += 1
    return UNSOLVED


@kernel
def find_value(rules, exact, state, plies, budget):
    """Return the exact value of an unfinished state for its player to move, or UNSOLVED, and the nodes.

    nodes: positions looked at, about `budget` at most. A game that is not over after `plies` counts as
    UNKNOWN; then only a win or a loss is certain.
    """
    rows = exact.rows
    exact.history[:] = 0
    nodes, row, alpha, beta, to_play = 0, 0, LOSS, WIN, rules.to_play(state)
    all_ended = True
    while True:
        # open the row: a move that ends the game is searched by looking at its successor
        count = list_legal(rules, state, exact.legal)
        if count > exact.moves.shape[1]:
            return UNSOLVED, nodes
        exact.counts[row] = count
        best = -np.inf
        for place in range(count):
            exact.moves[row, place] = exact.legal.actions[place]
            exact.left[row, place] = True
            if best < beta:
                successor = exact.successors[row, place]
                rules.step(state, exact.moves[row, place], successor)
                nodes += 1
                if rules.is_terminal(successor):
                    value = rules.outcome(successor)
                    best = max(best, value if rules.to_play(successor) == to_play else -value)
                    exact.left[row, place] = False
                elif row == plies - 1:
                    best = max(best, UNKNOWN)
                    exact.left[row, place] = all_ended = False
        rows[row].alpha, rows[row].beta, rows[row].best = max(alpha, best), beta, best
        rows[row].to_play = to_play
        if nodes >= budget:
            return UNSOLVED, nodes
        # return to the last row with a move that matters
        place = next_move(exact, row)
        while place == NO_MOVE and row > 0:
            row -= 1
            back_up(exact, row)
            place = next_move(exact, row)
        if place == NO_MOVE:
            value = rows[0].best
            known = abs(value) == WIN or (all_ended and abs(value) < WIN)  # not if a line has no legal move
            return (value if known else UNSOLVED), nodes
        # make that move
        exact.left[row, place] = False
        rows[row].place = place
        state = exact.successors[row, place]
        to_play = rules.to_play(state)
        alpha, beta = rows[row].alpha, rows[row].beta
        if to_play != rows[row].to_play:
            alpha, beta = -beta, -alpha
        row += 1


@kernel
def next_move(exact, row):
    """Return the place of the move of a row that cut off most elsewhere, or NO_MOVE if none matters."""
    chosen, most = NO_MOVE, -1
    if exact.rows[row].best < exact.rows[row].beta:
        history = exact.history[exact.rows[row].to_play]
        for place in range(exact.counts[row]):
            if exact.left[row, place] and history[exact.moves[row, place]] > most:
                chosen, most = place, history[exact.moves[row, place]]
    return chosen


@part
def back_up(exact, row):
    """Give a row the value of its current move, which is that of the row below."""
    here, below = exact.rows[row], exact.rows[row + 1]
    value = below.best if below.to_play == here.to_play else -below.best
    here.best, here.alpha = max(here.best, value), max(here.alpha, value)
    if value >= here.beta:
        exact.history[here.to_play, exact.moves[row, here.place]] += (exact.rows.shape[0] - row) ** 2
