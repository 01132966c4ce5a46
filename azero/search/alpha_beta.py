"""Negamax with alpha-beta pruning, compiled once for every game.

Letters: D depth of the search in plies, A actions, S state words.

Knuth & Moore, "An analysis of alpha-beta pruning" (1975). A search to the end of the game is exact; at a limited depth an
unfinished position counts what an evaluation says of it, without one 0. Of equally good moves it takes the first. Value and move
are those of plain negamax of the same depth, whatever the table holds and in whatever order moves are tried: an entry of another
depth counts only if its search was complete, that is, came nowhere upon the depth limit.

The line of play being searched lies in arrays, not on a stack of calls, so that a search can stop after any number of positions
and go on later: that is how it keeps to a clock. `deepening.py` is its face in Python.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from azero.evaluations import evaluate_at
from azero.games.game import rules_at
from azero.search.kernels import borrowed, kernel, part
from azero.search.transposition import (
    ACTION_BITS,
    DEPTH_AT,
    DEPTH_BITS,
    EXACT,
    LOWER,
    NO_ENTRY,
    UPPER,
    facts_of,
    field,
    find_entry,
    is_complete,
    is_usable,
    settles,
    store,
)

BEST_POSSIBLE = 1.0  # no outcome is better, so the search of a position stops at a move that reaches it
NOTHING_YET = -np.inf
NO_ACTION = -1
ROOT = 0

# Which moves of a position come next
TABLE_ACTION, KILLER, OTHERS = 0, 1, 2

ROW = np.dtype(
    [
        ("alpha", np.float64),  # the player to move is sure of this elsewhere
        ("beta", np.float64),  # the opponent never allows this or more
        ("first_alpha", np.float64),  # alpha before the first move was searched
        ("best", np.float64),  # value of the best move so far
        ("best_action", np.int64),  # that move, NO_ACTION before the first
        ("action", np.int64),  # the move being searched, NO_ACTION before the first
        ("stage", np.int64),  # which moves are next
        ("table_action", np.int64),  # the best move of an earlier search, or NO_ACTION
        ("killer", np.int64),  # the move that refuted the latest position so far from the root, or NO_ACTION
        ("to_play", np.int64),
        ("height", np.int64),  # plies below that the search needed, if it is complete
        ("nodes_before", np.int64),
        ("complete", np.bool_),  # nothing below was cut off by the depth limit
    ],
    align=True,
)
PROGRESS = np.dtype(
    [
        ("row", np.int64),  # where the search stands
        ("nodes", np.int64),  # positions searched: all that were reached by a move, those at the depth limit too
        ("depth", np.int64),
        ("number", np.int64),  # of this search; old entries of the table make room first
    ]
)


class Line(NamedTuple):
    """The line of play being searched; row d belongs to the position d plies below the root, values to its player to move."""

    states: np.ndarray  # [D + 1, S] uint64
    legal: np.ndarray  # [D + 1, A] bool: legal moves that are still to be searched
    rows: np.ndarray  # [D + 1] ROW
    history: np.ndarray  # [2, A] int64: how much each player's moves have cut off so far
    progress: np.ndarray  # [1] PROGRESS


class Settings(NamedTuple):
    """What kind of search it is."""

    evaluation: int  # address of the evaluation at the depth limit, 0 for none
    final: int  # address of the evaluation at the end of the game, 0 for the rules' outcome
    prune: bool
    ordered: bool  # whether good moves are tried first, else they are tried in rising order
    look: bool  # whether a position is first looked over for a move that wins at once


def make_line(depth: int, num_actions: int, state_words: int) -> Line:
    """An empty line of `depth` plies."""
    rows = depth + 1
    return Line(
        states=np.zeros((rows, state_words), np.uint64),
        legal=np.zeros((rows, num_actions), np.bool_),
        rows=np.zeros(rows, ROW),
        history=np.zeros((2, num_actions), np.int64),
        progress=np.zeros(1, PROGRESS),
    )


@part
def open_row(rules, line, row, alpha, beta, table_action, ordered):
    """Begin to search the position in `row`; its state and mover are set already."""
    rules.legal_mask(line.states[row], line.legal[row])
    line.rows[row].alpha = line.rows[row].first_alpha = alpha
    line.rows[row].beta = beta
    line.rows[row].best = NOTHING_YET
    line.rows[row].best_action = line.rows[row].action = NO_ACTION
    line.rows[row].stage = TABLE_ACTION if ordered else OTHERS
    line.rows[row].table_action = table_action
    line.rows[row].height = 0
    line.rows[row].complete = True
    line.rows[row].nodes_before = line.progress[0].nodes


@part
def best_of_the_rest(line, row, ordered):
    """The move of `row`, among those to be searched, that has cut off most in other positions; NO_ACTION if there is none.

    At the root they come in rising order: a tie with an earlier move costs a proof, and fewer moves have one before them.
    """
    if not ordered or row == ROOT:
        for action in range(line.legal.shape[1]):
            if line.legal[row, action]:
                return action
        return NO_ACTION
    side = line.rows[row].to_play
    chosen, most = NO_ACTION, -1
    for action in range(line.legal.shape[1]):
        if line.legal[row, action] and line.history[side, action] > most:
            chosen, most = action, line.history[side, action]
    return chosen


@part
def next_action(line, row, ordered):
    """The next move to search in `row`, or NO_ACTION when there is none or the rest cannot matter."""
    if line.rows[row].best >= line.rows[row].beta and row != ROOT:
        return NO_ACTION
    action = NO_ACTION
    if line.rows[row].stage == TABLE_ACTION:
        line.rows[row].stage = KILLER
        action = line.rows[row].table_action
        if action != NO_ACTION and not line.legal[row, action]:
            action = NO_ACTION
    if action == NO_ACTION and line.rows[row].stage == KILLER:
        line.rows[row].stage = OTHERS
        action = line.rows[row].killer
        if action != NO_ACTION and not line.legal[row, action]:
            action = NO_ACTION
    if action == NO_ACTION:
        action = best_of_the_rest(line, row, ordered)
    if action != NO_ACTION:
        line.legal[row, action] = False
        line.rows[row].action = action
    return action


@part
def backup(line, row, value, height, complete):
    """Give `row` what was found of its current move; `value` is meant for the player to move in the row below."""
    action = line.rows[row].action
    if line.rows[row].to_play != line.rows[row + 1].to_play:
        value = -value
    is_first_of_equals = row == ROOT and value == line.rows[row].best and action < line.rows[row].best_action
    if value > line.rows[row].best or is_first_of_equals:
        line.rows[row].best = value
        line.rows[row].best_action = action
        line.rows[row].alpha = max(line.rows[row].alpha, value)
    if value >= line.rows[row].beta:  # this move alone is the proof
        line.rows[row].height = height + 1
        line.rows[row].complete = complete
        left = line.progress[0].depth - row
        line.rows[row].killer = action
        line.history[line.rows[row].to_play, action] += left * left
        if row == ROOT:  # only a move that stands before this one can still replace it
            for later in range(action, line.legal.shape[1]):
                line.legal[ROOT, later] = False
    elif line.rows[row].best < line.rows[row].beta:
        line.rows[row].height = max(line.rows[row].height, height + 1)
        line.rows[row].complete &= complete


@part
def close_row(line, table, row):
    """Keep in the table what was found of the position in `row`."""
    best = line.rows[row].best
    bound = EXACT
    if best >= line.rows[row].beta:
        bound = LOWER
    elif best <= line.rows[row].first_alpha:
        bound = UPPER
    complete = line.rows[row].complete
    depth = line.rows[row].height if complete else line.progress[0].depth - row
    size = line.progress[0].nodes - line.rows[row].nodes_before
    store(table, line.states[row], best, line.rows[row].best_action, bound, complete, depth, line.progress[0].number, size)


@part
def lowest_that_matters(line, row, action):
    """Alpha for a move of `row`. At the root a move that stands before the best so far replaces it if it is as good."""
    alpha = line.rows[row].alpha
    if row == ROOT and action < line.rows[row].best_action:
        alpha = max(np.nextafter(alpha, -np.inf), -BEST_POSSIBLE)
    return alpha


@kernel
def begin_search(addresses, line, root, banned, depth, number, first_action, settings):
    """Put `root` at the top of the line, without its banned moves [A], to be searched `depth` plies deep.

    number: of the search, for the table; the same for all depths of one root.
    first_action: the move to search first where moves are ordered, or NO_ACTION.
    """
    rules = rules_at(addresses)
    for word in range(root.shape[0]):  # Numba's assignment of rows costs seconds of compilation
        line.states[ROOT, word] = root[word]
    line.rows[ROOT].to_play = rules.to_play(root)
    line.progress[0].row = ROOT
    line.progress[0].nodes = 0
    line.progress[0].depth = depth
    line.progress[0].number = number
    for row in range(depth):
        line.rows[row].killer = NO_ACTION
    for side in range(2):
        for action in range(banned.shape[0]):
            line.history[side, action] //= 2
    open_row(rules, line, ROOT, -BEST_POSSIBLE, BEST_POSSIBLE if settings.prune else np.inf, first_action, settings.ordered)
    for action in range(banned.shape[0]):
        line.legal[ROOT, action] &= not banned[action]


@part
def wins_at_once(rules, line, row):
    """Whether a move wins in `row`, two plies above the depth limit at least. Row + 1 is scratch; these looks count no nodes.

    Without it a win is often tried last, after whole trees (measured: 3.5 times longer for Connect Four 14 plies from its start).
    """
    won = False
    for action in range(line.legal.shape[1]):
        if line.legal[row, action] and not won:
            rules.step(line.states[row], action, line.states[row + 1])
            if rules.is_terminal(line.states[row + 1]):
                turned = rules.to_play(line.states[row + 1]) != line.rows[row].to_play
                value = rules.outcome(line.states[row + 1])
                won = (-value if turned else value) >= BEST_POSSIBLE
    return won


@kernel
def search_on(addresses, line, table, settings, num_nodes):
    """Go on with a search until about `num_nodes` more positions are visited. Returns whether it is finished.

    Then row ROOT of the line holds the result: `best`, `best_action` and `complete`.
    """
    rules, line, table = rules_at(addresses), borrowed(line), borrowed(table)
    evaluate, final = evaluate_at(settings.evaluation), evaluate_at(settings.final)
    depth, row, stop = line.progress[0].depth, line.progress[0].row, line.progress[0].nodes + num_nodes
    while line.progress[0].nodes < stop:
        action = next_action(line, row, settings.ordered)
        if action == NO_ACTION:
            if row == ROOT:
                line.progress[0].row = ROOT
                return True
            if table.words.shape[0] > 0:
                close_row(line, table, row)
            row -= 1
            backup(line, row, line.rows[row + 1].best, line.rows[row + 1].height, line.rows[row + 1].complete)
            continue
        below = row + 1
        rules.step(line.states[row], action, line.states[below])
        line.progress[0].nodes += 1
        line.rows[below].to_play = rules.to_play(line.states[below])
        if rules.is_terminal(line.states[below]):
            backup(line, row, final(line.states[below]) if settings.final else rules.outcome(line.states[below]), ROOT, True)
            continue
        if below == depth:
            backup(line, row, evaluate(line.states[below]) if settings.evaluation else 0.0, ROOT, False)
            continue
        alpha, beta = lowest_that_matters(line, row, action), line.rows[row].beta
        if not settings.prune:
            alpha, beta = -np.inf, np.inf
        elif line.rows[below].to_play != line.rows[row].to_play:
            alpha, beta = -beta, -alpha
        table_action = NO_ACTION
        entry = find_entry(table.words, line.states[below])
        if entry != NO_ENTRY:
            facts, value = facts_of(table.words, entry), table.values[entry, table.values.shape[1] - 2]
            if is_usable(facts, depth - below) and settles(facts, value, alpha, beta):
                backup(line, row, value, field(facts, DEPTH_AT, DEPTH_BITS), is_complete(facts))
                continue
            table_action = field(facts, 0, ACTION_BITS) - 1
        open_row(rules, line, below, alpha, beta, table_action, settings.ordered)
        if settings.look and below + 2 <= depth and wins_at_once(rules, line, below):
            backup(line, row, BEST_POSSIBLE, 1, True)
            continue
        row = below
    line.progress[0].row = row
    return False
