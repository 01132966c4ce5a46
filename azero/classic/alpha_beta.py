"""Negamax with alpha-beta pruning, compiled once for every game.

Letters: D depth of the search in plies, A actions, S state words.

Knuth & Moore, "An analysis of alpha-beta pruning" (1975). A search to the end of the game is exact. At a
depth limit an unfinished position counts its heuristic, or 0 without one. Of equally good moves the search
takes the first. Value and move equal those of plain negamax of the same depth, whatever the table holds and
in whatever order moves are tried: an entry of another depth counts only if its search was complete, that is,
never met the depth limit.

The current line of play is in arrays, not on a stack of calls, so a search can pause after any number of
positions: that is how it keeps a time limit. `deepening.py` is the interface for Python.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from azero.classic.transposition import (
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
from azero.games.game import rules_at
from azero.games.legal import Legal, list_legal, make_legal
from azero.heuristics import heuristic_at
from azero.kernels.compiled import borrowed, kernel, part
from azero.kernels.words import copy_words

BEST_POSSIBLE = 1.0  # no outcome is better: a move that reaches it ends the search of a position
NOTHING_YET = -np.inf
NO_ACTION = -1
ROOT = 0
NO_PLACE = -1

# Which moves of a position come next
TABLE_ACTION, KILLER, OTHERS = 0, 1, 2

ROW = np.dtype(
    [
        ("alpha", np.float64),  # the player to move has at least this elsewhere
        ("beta", np.float64),  # the opponent never allows this much
        ("first_alpha", np.float64),  # alpha before the first move
        ("best", np.float64),  # value of the best move so far
        ("best_action", np.int64),  # that move, NO_ACTION before the first
        ("action", np.int64),  # the move being searched, NO_ACTION before the first
        ("stage", np.int64),  # which moves are next
        ("table_action", np.int64),  # the best move of an earlier search, or NO_ACTION
        ("killer", np.int64),  # the move that refuted the latest position at this depth, or NO_ACTION
        ("to_play", np.int64),
        ("first_move", np.int64),  # its place in `moves`
        ("last_move", np.int64),  # the place after its last move, where those of the next row begin
        ("height", np.int64),  # plies below it that the search needed, if complete
        ("nodes_before", np.int64),
        ("complete", np.bool_),  # no line below met the depth limit
    ],
    align=True,
)
PROGRESS = np.dtype(
    [
        ("row", np.int64),  # the current row
        ("nodes", np.int64),  # positions reached by a move, including those at the depth limit
        ("depth", np.int64),
        ("number", np.int64),  # of this search; entries of older searches are replaced first
    ]
)


class Line(NamedTuple):
    """The current line of play. Row d is the position at ply d; values are for its player to move."""

    states: np.ndarray  # [D + 1, S] uint64
    # [(D + 1) * A] int32: the legal moves of one row after another, rising; once a move is searched, its
    # complement, a negative number. Memory is used when it is first written.
    moves: np.ndarray
    legal: Legal  # scratch
    rows: np.ndarray  # [D + 1] ROW
    history: np.ndarray  # [2, A] int64: how much each player's moves cut off so far
    progress: np.ndarray  # [1] PROGRESS


class Settings(NamedTuple):
    """The kind of search."""

    heuristic: int  # address of the heuristic at the depth limit; 0 for none
    final: int  # address of the heuristic at the end of the game; 0 for the rules' outcome
    prune: bool
    ordered: bool  # whether to try good moves first, else in rising order
    look: bool  # whether to look first for a move that wins at once


def make_line(depth: int, num_actions: int, state_words: int) -> Line:
    """Return an empty line of `depth` plies."""
    rows = depth + 1
    return Line(
        states=np.zeros((rows, state_words), np.uint64),
        moves=np.zeros(rows * num_actions, np.int32),
        legal=make_legal(num_actions),
        rows=np.zeros(rows, ROW),
        history=np.zeros((2, num_actions), np.int64),
        progress=np.zeros(1, PROGRESS),
    )


@part
def open_row(rules, line, row, alpha, beta, table_action, ordered):
    """Begin to search the position in `row`, whose state and to_play are set."""
    first = line.rows[row - 1].last_move if row > ROOT else 0
    room = line.moves[first : first + line.legal.actions.shape[0]]
    moves = list_legal(rules, line.states[row], Legal(room, line.legal.mask, line.legal.words))
    line.rows[row].first_move = first
    line.rows[row].last_move = first + moves
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
    """Return the place of the unsearched move of `row` that cut off most in other positions, or NO_PLACE.

    At the root moves come in rising order, because a tie with an earlier move costs a proof.
    """
    side = line.rows[row].to_play
    chosen, most = NO_PLACE, -1
    for place in range(line.rows[row].first_move, line.rows[row].last_move):
        action = line.moves[place]
        if action >= 0:
            if not ordered or row == ROOT:
                return place
            if line.history[side, action] > most:
                chosen, most = place, line.history[side, action]
    return chosen


@part
def place_of(line, row, action):
    """Return the place of a move if it can still be searched in `row`, else NO_PLACE."""
    place, last = line.rows[row].first_move, line.rows[row].last_move
    end = last
    while place < end:
        middle = (place + end) // 2
        listed = line.moves[middle]
        if max(listed, ~listed) < action:
            place = middle + 1
        else:
            end = middle
    return place if action != NO_ACTION and place < last and line.moves[place] == action else NO_PLACE


@part
def next_action(line, row, ordered):
    """Return the next move to search in `row`; NO_ACTION if there is none or the rest cannot matter."""
    if line.rows[row].best >= line.rows[row].beta and row != ROOT:
        return NO_ACTION
    place = NO_PLACE
    if line.rows[row].stage == TABLE_ACTION:
        line.rows[row].stage = KILLER
        place = place_of(line, row, line.rows[row].table_action)
    if place == NO_PLACE and line.rows[row].stage == KILLER:
        line.rows[row].stage = OTHERS
        place = place_of(line, row, line.rows[row].killer)
    if place == NO_PLACE:
        place = best_of_the_rest(line, row, ordered)
    if place == NO_PLACE:
        return NO_ACTION
    action = np.int64(line.moves[place])
    line.moves[place] = ~action
    line.rows[row].action = action
    return action


@part
def backup(line, row, value, height, complete):
    """Give `row` the result of its current move; `value` is for the player to move in the row below."""
    action = line.rows[row].action
    if line.rows[row].to_play != line.rows[row + 1].to_play:
        value = -value
    is_first_of_equals = row == ROOT and value == line.rows[row].best and action < line.rows[row].best_action
    if value > line.rows[row].best or is_first_of_equals:
        line.rows[row].best = value
        line.rows[row].best_action = action
        line.rows[row].alpha = max(line.rows[row].alpha, value)
    if value >= line.rows[row].beta:  # this move alone proves it
        line.rows[row].height = height + 1
        line.rows[row].complete = complete
        left = line.progress[0].depth - row
        line.rows[row].killer = action
        line.history[line.rows[row].to_play, action] += left * left
        if row == ROOT:  # only an earlier move can still replace this one
            for place in range(line.rows[ROOT].first_move, line.rows[ROOT].last_move):
                if line.moves[place] > action:
                    line.moves[place] = ~line.moves[place]
    elif line.rows[row].best < line.rows[row].beta:
        line.rows[row].height = max(line.rows[row].height, height + 1)
        line.rows[row].complete &= complete


@part
def close_row(line, table, row):
    """Store the result of the position in `row` in the table."""
    best = line.rows[row].best
    bound = EXACT
    if best >= line.rows[row].beta:
        bound = LOWER
    elif best <= line.rows[row].first_alpha:
        bound = UPPER
    complete = line.rows[row].complete
    depth = line.rows[row].height if complete else line.progress[0].depth - row
    size = line.progress[0].nodes - line.rows[row].nodes_before
    action, number = line.rows[row].best_action, line.progress[0].number
    store(table, line.states[row], best, action, bound, complete, depth, number, size)


@part
def lowest_that_matters(line, row, action):
    """Return alpha for a move of `row`. At the root an earlier move replaces an equal best one."""
    alpha = line.rows[row].alpha
    if row == ROOT and action < line.rows[row].best_action:
        alpha = max(np.nextafter(alpha, -np.inf), -BEST_POSSIBLE)
    return alpha


@kernel
def begin_search(addresses, line, root, banned, depth, number, first_action, settings):
    """Begin to search `root` [S], without its banned moves [A], to `depth` plies.

    number: number of the search for the table, the same for all depths of one root.
    first_action: the move to search first if moves are ordered, or NO_ACTION.
    """
    rules = rules_at(addresses)
    copy_words(root, line.states[ROOT])
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
    beta = BEST_POSSIBLE if settings.prune else np.inf
    open_row(rules, line, ROOT, -BEST_POSSIBLE, beta, first_action, settings.ordered)
    for place in range(line.rows[ROOT].last_move):
        if banned[line.moves[place]]:
            line.moves[place] = ~line.moves[place]


@part
def wins_at_once(rules, line, row):
    """Return whether a move wins at once in `row`, at least two plies above the depth limit.

    Row + 1 is scratch, and these looks count no nodes. Without them a win is often tried last, after whole
    trees (measured: 3.5 times longer for Connect Four to depth 14 from its start).
    """
    won = False
    for place in range(line.rows[row].first_move, line.rows[row].last_move):
        if not won:
            rules.step(line.states[row], np.int64(line.moves[place]), line.states[row + 1])
            if rules.is_terminal(line.states[row + 1]):
                turned = rules.to_play(line.states[row + 1]) != line.rows[row].to_play
                value = rules.outcome(line.states[row + 1])
                won = (-value if turned else value) >= BEST_POSSIBLE
    return won


@kernel
def search_on(addresses, line, table, settings, num_nodes):
    """Continue a search for about `num_nodes` more positions; return whether it is finished.

    Then row ROOT of the line holds the result: `best`, `best_action` and `complete`.
    """
    rules, line, table = rules_at(addresses), borrowed(line), borrowed(table)
    evaluate, final = heuristic_at(settings.heuristic), heuristic_at(settings.final)
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
            end = final(line.states[below]) if settings.final else rules.outcome(line.states[below])
            backup(line, row, end, ROOT, True)
            continue
        if below == depth:
            backup(line, row, evaluate(line.states[below]) if settings.heuristic else 0.0, ROOT, False)
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
