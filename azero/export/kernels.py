"""What a page or a library calls: the position on the board, its evaluation, and the search.

An entry point is a function over azero's own kernels. Its arguments are found by their names in the module's
memory (`memory_of`); the others are numbers that JavaScript passes. There is one game, row 0 of the tree.

Letters: A actions; C, H, W planes; S state words; K key words; R repetition words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numba import njit

from azero.config.schema import SearchConfig
from azero.export.marks import ActionCells, cell_of, write_marks
from azero.export.webassembly import entry
from azero.games.game import Game, Rules
from azero.games.kit.board import EMPTY, FIRST, NO_CELL, SECOND
from azero.games.legal import leave_out, list_legal
from azero.games.repetition import find_banned
from azero.kernels.words import copy_words
from azero.search.algorithm import choose_move, make_algorithm, search_value
from azero.search.bounds import bounds_of
from azero.search.cache import cache_of
from azero.search.mcts import advance as advance_search
from azero.search.mcts import receive as receive_answer
from azero.search.mcts import take_win
from azero.search.repetition import ban
from azero.search.root import NO_WIN, prefer_end, win_at_once
from azero.search.scratch import make_scratch
from azero.search.tree import LOSS, NO_LEAF, ROOT, WIN, edge_range, reset, softmax, trees_of

ILLEGAL = -1.0  # prior of an action that is not legal
DEAD_END = -1  # a leaf has no legal move although the game is not over


def memory_of(
    game: Game,
    searches: Sequence[SearchConfig],
    mark_bits: np.ndarray,
    action_cells: ActionCells,
    weights: int,
    scratch_floats: int,
) -> dict[str, Any]:
    """Return what a module keeps in memory: arrays, and tuples of arrays and numbers, by name.

    searches: one for each algorithm, with as many simulations as the tree has room for.
    """
    actions, cells = game.num_actions, mark_bits.shape[1]
    kept = game.max_plies if game.repetition_words else 0
    nodes = searches[0].num_simulations + 1
    return {
        "state": np.zeros(game.state_words, np.uint64),
        "history": np.zeros((kept, game.state_words), np.uint64),  # earlier positions
        "plies": np.zeros(1, np.int64),  # how many
        "mark_bits": mark_bits,
        "action_goals": action_cells.goals,
        "action_starts": action_cells.starts,
        "marks": np.zeros(cells, np.int8),
        "marks_after": np.zeros(cells, np.int8),
        "legal": np.zeros(actions, np.bool_),  # by the rules and the history
        "banned": np.zeros(actions, np.bool_),  # by the history
        "cells": np.zeros(actions, np.int32),  # of each legal action, as the next two: where its piece goes
        "starts": np.zeros(actions, np.int32),  # which cell its piece leaves
        "arrivals": np.zeros(actions, np.int8),  # the mark that it leaves on `cells`, EMPTY without a cell
        "status": np.zeros(3),  # who is to play, whether the game is over, its outcome for the first player
        "planes": np.zeros(game.planes_shape, np.float32),
        "weights": np.zeros(weights, np.float32),
        "key": np.zeros(game.key_words, np.uint64),
        "repetition_key": np.zeros(game.repetition_words, np.uint64),
        "floats": np.zeros(scratch_floats, np.float32),
        "logits": np.zeros(actions, np.float32),
        "value": np.zeros(1, np.float32),
        "policy": np.zeros(actions, np.float32),  # of the position, ILLEGAL where it is not legal
        "budget": np.zeros(2, np.int64),  # simulations of the search; a win at once, or NO_WIN
        "visits": np.zeros(actions, np.int32),  # of the root's actions, as the next four
        "values": np.zeros(actions),
        "priors": np.zeros(actions, np.float32),
        "lower": np.zeros(actions, np.float32),
        "upper": np.zeros(actions, np.float32),
        "summary": np.zeros(3),  # simulations done, the search's value, its move
        "cache": cache_of(game, 0),
        "scratch": make_scratch(game, 0),
        "stream": np.zeros(2, np.uint64),
        **{name_of(search): algorithm_of(search, actions) for search in searches},
        "tree": trees_of(game, 1, nodes),
    }


def name_of(search: SearchConfig) -> str:
    """Return the name of a search algorithm in a module, where a person's own has no path."""
    return "own" if search.kind.endswith(".py") else search.kind


def algorithm_of(search: SearchConfig, num_actions: int) -> Any:
    """Return the record of a search algorithm.

    Gumbel's table of visits depends on the number of simulations: it is empty here, and `begin` writes it.
    """
    algorithm = make_algorithm(replace(search, num_simulations=1), 1, num_actions)
    if search.kind == "gumbel":
        rows = algorithm.considered_visits.shape[0]
        table = np.zeros((rows, search.num_simulations), np.int32)
        algorithm = algorithm._replace(considered_visits=table)
    return algorithm


@entry
def write_considered_visits(algorithm, simulations):
    """Write `gumbel.visit_sequence` for each number of moves considered.

    All moves that are still considered have the same number of visits.
    """
    for considered in range(algorithm.considered_visits.shape[0]):
        row = algorithm.considered_visits[considered]
        phases, alive, visits, written = 1, max(1, considered), 0, 0
        while 1 << phases < considered:
            phases += 1
        while written < simulations:
            for _ in range(max(1, simulations // (phases * alive))):
                for _ in range(min(alive, simulations - written)):
                    row[written] = visits
                    written += 1
                visits += 1
            alive = max(2, alive // 2)


def entry_points(game: Game, searches: Sequence[SearchConfig]) -> dict[str, Any]:
    """Return the entry points by name; `_` and the name of an algorithm end those of one."""
    solver = all(search.solver for search in searches)  # players look for a win at once then
    # not at addresses as elsewhere, so that LLVM can inline them
    rules = Rules(*(njit(error_model="numpy")(rule) for rule in game.rules.plain()))

    @entry
    def restart(state, plies):
        """Put the initial position on the board."""
        rules.initial(state)
        plies[0] = 0

    @entry
    def play(state, history, plies, scratch, action):
        """Play a legal action on the board."""
        if history.shape[0] > 0:
            copy_words(state, history[plies[0]])
            plies[0] += 1
        rules.step(state, action, scratch.successor)
        copy_words(scratch.successor, state)

    @entry
    def look(
        state,
        history,
        plies,
        mark_bits,
        action_goals,
        action_starts,
        marks,
        marks_after,
        legal,
        banned,
        cells,
        starts,
        arrivals,
        status,
        scratch,
    ):
        """Describe the position on the board and its legal actions in the arrays from `marks` to `status`."""
        mover, over = rules.to_play(state), rules.is_terminal(state)
        status[0], status[1], status[2] = mover, over, 0.0
        write_marks(state, mover, mark_bits, marks)
        legal[:] = False
        banned[:] = False
        if over:
            status[2] = rules.outcome(state) * (1.0 - 2.0 * mover)
            return
        count, actions, there = (
            list_legal(rules, state, scratch.legal),
            scratch.legal.actions,
            scratch.successor,
        )
        find_banned(rules, history, plies[0], state, actions, count, scratch.repetition_keys, there, banned)
        mark = SECOND if mover else FIRST
        cells[:] = NO_CELL
        for place in range(leave_out(actions, count, banned)):
            action = actions[place]
            legal[action] = True
            rules.step(state, action, there)
            write_marks(there, rules.to_play(there), mark_bits, marks_after)
            cell = cell_of(action, action_goals[mover], marks, marks_after, mark)
            cells[action], starts[action] = cell, action_starts[mover, action]
            arrivals[action] = EMPTY if cell == NO_CELL else marks_after[cell]

    @entry
    def show(state, planes, key, repetition_key):
        """Write the planes and the keys of the position on the board."""
        rules.planes(state, planes)
        rules.evaluation_key(state, key)
        if repetition_key.shape[0] > 0:
            rules.repetition_key(state, repetition_key)

    @entry
    def judge(logits, legal, scratch, policy):
        """Write the network's policy over the legal actions, ILLEGAL elsewhere."""
        count, moves = 0, scratch.moves
        for action in range(legal.shape[0]):
            policy[action] = ILLEGAL
            moves[count].action = action
            moves[count].prior = logits[action]
            count += legal[action]
        softmax(moves[:count])
        for place in range(count):
            policy[moves[place].action] = moves[place].prior

    @entry
    def begin(tree, state, banned, scratch, budget, simulations):
        """Begin a search of the position on the board, which `look` has seen, with an empty tree."""
        reset(rules, tree, 0, state)
        for action in range(banned.shape[0]):  # as `[:] =` it would take a sixth of a module's compilation
            scratch.banned[action] = banned[action]
        budget[0] = simulations
        budget[1] = win_at_once(rules, state, scratch.legal, scratch.successor) if solver else NO_WIN
        # with banned moves or a win the root alone is expanded first, as in `Searches.begin`
        tree.searches[0].simulations_left = 0 if banned.any() or budget[1] != NO_WIN else simulations

    @entry
    def receive(tree, logits, value, scratch, budget):
        """Give the waiting leaf its evaluation. Return whether simulations are left to do, or DEAD_END."""
        at_root = tree.searches[0].leaf == ROOT
        if receive_answer(rules, tree, 0, logits, value[0], scratch) == 0:
            return DEAD_END
        if at_root and scratch.banned.any():
            ban(tree, 0, scratch.banned)
            tree.searches[0].simulations_left = budget[0]
        if at_root and budget[1] != NO_WIN:
            take_win(rules, tree, 0, budget[1])
        return int(tree.searches[0].simulations_left > 0)

    @entry
    def advance(tree, cache, algorithm, scratch, planes):
        """Search on until a leaf waits for its evaluation, and write its planes. Return whether one does."""
        advance_search(rules, tree, cache, 0, algorithm, scratch.key, None)
        leaf = tree.searches[0].leaf
        if leaf == NO_LEAF:
            return 0
        rules.planes(tree.states[0, leaf], planes)
        return 1

    @entry
    def read(tree, algorithm, stream, scratch, visits, values, priors, lower, upper, summary):
        """Write what the search knows of the root and its actions."""
        done, likeliest = 0, 0
        visits[:] = 0
        values[:] = np.nan
        priors[:] = ILLEGAL
        lower[:] = LOSS
        upper[:] = WIN
        for place in edge_range(tree, 0, ROOT):
            edge = tree.edges[0, place]
            action, count = edge.action, edge.child_visits
            visits[action], priors[action] = count, edge.prior
            values[action] = edge.child_value_sum / count if count > 0 else np.nan
            lower[action], upper[action] = bounds_of(tree, 0, ROOT, place)
            done += count
            if priors[action] > priors[likeliest]:
                likeliest = action
        expanded = tree.nodes[0, ROOT].expanded
        summary[0] = done
        summary[1] = search_value(tree, 0, algorithm) if expanded else np.nan
        summary[2] = likeliest
        if done > 0:
            chosen = choose_move(tree, 0, algorithm, 0.0, stream)
            summary[2] = tree.edges[0, prefer_end(rules, tree, 0, chosen, scratch.successor)].action
        elif not expanded:
            summary[2] = -1

    common = (restart, play, look, show, judge, begin, receive)
    found = {function.__name__: function for function in common}
    for search in searches:
        found |= {f"advance_{name_of(search)}": advance, f"read_{name_of(search)}": read}
        if search.kind == "gumbel":
            found["prepare_gumbel"] = write_considered_visits
    return found
