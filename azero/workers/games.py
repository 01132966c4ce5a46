"""A worker: many games of self-play in flight, each advanced by compiled code until it needs the network.

Letters: B games in flight, P plies (at most), T targets' weights (at most), A actions, S state words, R
repetition words.

A game runs at its own pace. When its search is done it makes its move, keeps the subtree, and searches again,
all in one call, so the network's batch stays full although games and searches end at different times. A game
draws its random numbers from one stream seeded by its number. What it plays depends on the network, the
settings and that seed only, never on its neighbours.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from azero.config.schema import SearchConfig
from azero.games.game import Game, rules_at
from azero.games.legal import leave_out, legal_room, list_legal
from azero.games.repetition import find_banned
from azero.kernels.compiled import borrowed, inner, kernel, part
from azero.kernels.random_stream import next_below, next_float
from azero.kernels.words import copy_words
from azero.search.algorithm import begin_search, choose_move, make_algorithm, search_value, write_target
from azero.search.exact import Exact, make_exact
from azero.search.mcts import ALL, expand_root, simulate
from azero.search.repetition import ban
from azero.search.root import Temperature, temperature_at
from azero.search.scratch import Scratch, make_scratch
from azero.search.tree import (
    NO_LEAF,
    ROOT,
    UNVISITED,
    Tree,
    add_child,
    edge_range,
    first_edge,
    nodes_needed,
    reroot,
    reset,
    trees_of,
)

# FULL: the game's targets need more room. STUCK: the history forbids every legal move.
IDLE, PLAYING, FULL, FINISHED, STUCK = 0, 1, 2, 3, 4
TARGET_PLIES = 32  # whose targets have room at first


class Worker(NamedTuple):
    """The games in flight and their records."""

    status: np.ndarray  # [B] int8: IDLE, PLAYING, FULL, FINISHED or STUCK
    ply: np.ndarray  # [B] int64
    stream: np.ndarray  # [B, 2] uint64
    root_ready: np.ndarray  # [B] bool: the root's noise is in
    states: np.ndarray  # [B, P, S] uint64, before each ply
    to_play: np.ndarray  # [B, P] int8
    actions: np.ndarray  # [B, P] int32
    target_counts: np.ndarray  # [B, P] int32: weights of each ply's policy target that are not 0
    target_actions: np.ndarray  # [B, T] int32: their actions, ply after ply
    target_weights: np.ndarray  # [B, T] float32
    targets: np.ndarray  # [B] int64: how many of T
    root_value: np.ndarray  # [B, P] float32, the search's value for to_play
    proven: np.ndarray  # [B, P] bool: the search has proven that value
    searched: np.ndarray  # [B, P] bool: False for the plies of an opening
    first_outcome: np.ndarray  # [B] float32, for the player who moves first in the initial state
    searches: np.ndarray  # [B] int64, finished in this game
    simulations: np.ndarray  # [B] int64, of those


class PlaySettings(NamedTuple):
    """How a worker's games are played, apart from the search algorithm."""

    num_simulations: int
    tree_reuse: bool
    temperature: Temperature
    opening_fraction: float
    opening_plies: int
    book: np.ndarray  # [L, P] int32: lines of actions that games begin with, each filled up with -1
    book_fraction: float
    at_once: int = ALL  # simulations that a game makes before it waits for the others, or for the network


def target_room(game: Game) -> int:
    """Return how many weights of policy targets a game in flight has room for at first."""
    return min(TARGET_PLIES, game.max_plies) * legal_room(game)


def make_worker(game: Game, num_games: int) -> Worker:
    """Return a worker of idle games."""
    plies = (num_games, game.max_plies)
    targets = (num_games, target_room(game))
    return Worker(
        status=np.full(num_games, IDLE, np.int8),
        ply=np.zeros(num_games, np.int64),
        stream=np.zeros((num_games, 2), np.uint64),
        root_ready=np.zeros(num_games, np.bool_),
        states=np.zeros((*plies, game.state_words), np.uint64),
        to_play=np.zeros(plies, np.int8),
        actions=np.zeros(plies, np.int32),
        target_counts=np.zeros(plies, np.int32),
        target_actions=np.zeros(targets, np.int32),
        target_weights=np.zeros(targets, np.float32),
        targets=np.zeros(num_games, np.int64),
        root_value=np.zeros(plies, np.float32),
        proven=np.zeros(plies, np.bool_),
        searched=np.zeros(plies, np.bool_),
        first_outcome=np.zeros(num_games, np.float32),
        searches=np.zeros(num_games, np.int64),
        simulations=np.zeros(num_games, np.int64),
    )


def make_searches(
    game: Game, search: SearchConfig, num_games: int, kept: int, gathered: bool = False
) -> tuple[Tree, Any, Scratch, Exact | None]:
    """Return trees, the algorithm's record, scratch and exact play for the searches of so many games.

    kept: results of exact play.

    Without a search for forced wins: a network that learned from such games had a worse raw policy, and no
    better search (docs/lab/strength.md).
    """
    nodes = nodes_needed(search.num_simulations, search.tree_reuse) + 1
    return (
        trees_of(game, num_games, nodes),
        make_algorithm(search, num_games, game.num_actions),
        make_scratch(game, nodes, gathered),
        make_exact(game, replace(search, forced_nodes=0), kept),
    )


def with_more_room(worker: Worker) -> Worker:
    """Return the worker with twice the room for targets; games that are FULL play on."""
    worker.status[worker.status == FULL] = PLAYING
    grown = (
        np.concatenate([each, np.zeros_like(each)], axis=-1)
        for each in (worker.target_actions, worker.target_weights)
    )
    actions, weights = grown
    return worker._replace(target_actions=actions, target_weights=weights)


@kernel
def start_games(addresses, tree, worker, places, seeds, settings, scratch):
    """Begin a game in each of `places` [any] from its seed, [any] uint64.

    One call starts many games, because a call from Python costs more than a short game.
    """
    rules = rules_at(addresses)
    tree, worker, scratch = borrowed(tree), borrowed(worker), borrowed(scratch)
    for row in range(places.shape[0]):
        start_game(rules, tree, worker, places[row], seeds[row], settings, scratch)


@part
def start_game(rules, tree, worker, b, seed, settings, scratch):
    """Begin a game in place b from a seed, perhaps with a line of the book or a random opening."""
    worker.status[b] = PLAYING
    worker.ply[b] = 0
    worker.searches[b] = 0
    worker.simulations[b] = 0
    worker.targets[b] = 0
    worker.stream[b, 0] = seed
    worker.stream[b, 1] = 0
    rules.initial(scratch.successor)
    reset(rules, tree, b, scratch.successor)
    if settings.book.shape[0] > 0 and next_float(worker.stream[b]) < settings.book_fraction:
        line = next_below(worker.stream[b], settings.book.shape[0])
        play_line(rules, tree, worker, b, settings.book[line], scratch)
    elif next_float(worker.stream[b]) < settings.opening_fraction:
        play_opening(
            rules, tree, worker, b, 1 + next_below(worker.stream[b], settings.opening_plies), scratch
        )
    prepare_search(tree, worker, b, settings)


@part
def go_on(rules, tree, worker, b, settings, scratch):
    """Begin the next search of game b, whose record was read from a file."""
    worker.status[b] = PLAYING
    worker.searches[b] = 0
    worker.simulations[b] = 0
    if worker.ply[b] == 0:
        rules.initial(scratch.successor)
    else:
        last = worker.ply[b] - 1
        rules.step(worker.states[b, last], worker.actions[b, last], scratch.successor)
    reset(rules, tree, b, scratch.successor)
    prepare_search(tree, worker, b, settings)


@inner
def find_banned_here(rules, worker, b, state, count, scratch):
    """Write which of the legal actions in scratch.legal the history of game b forbids into scratch.banned.

    state: its position. count: of the legal actions. Return how many.
    """
    if scratch.repetition_keys.shape[1] == 0:
        return 0
    actions, keys = scratch.legal.actions, scratch.repetition_keys
    past, ply = worker.states[b], worker.ply[b]
    return find_banned(rules, past, ply, state, actions, count, keys, scratch.successor, scratch.banned)


@inner
def find_legal(rules, worker, b, state, scratch):
    """Write what may be played in `state`, game b's position, into scratch.legal.actions. Return how many."""
    count = list_legal(rules, state, scratch.legal)
    if find_banned_here(rules, worker, b, state, count, scratch) > 0:
        count = leave_out(scratch.legal.actions, count, scratch.banned)
    return count


@inner
def play_opening(rules, tree, worker, b, plies, scratch):
    """Play uniformly random legal plies, stopping before one that would end the game or be the last."""
    for _ in range(min(plies, worker.actions.shape[1] - 1)):
        state = tree.states[b, ROOT]
        count = find_legal(rules, worker, b, state, scratch)
        if count == 0:  # the search from here reports it
            return
        action = scratch.legal.actions[next_below(worker.stream[b], count)]
        rules.step(state, action, scratch.successor)
        if rules.is_terminal(scratch.successor):
            return
        play_unsearched(rules, tree, worker, b, action, scratch)


@inner
def play_line(rules, tree, worker, b, line, scratch):
    """Play the actions of a line of the book, [P] int32, which are legal and do not end the game."""
    for action in line:
        if action < 0:
            return
        rules.step(tree.states[b, ROOT], action, scratch.successor)
        play_unsearched(rules, tree, worker, b, action, scratch)


@part
def play_unsearched(rules, tree, worker, b, action, scratch):
    """Record a ply of an opening and move on to scratch.successor."""
    worker.root_value[b, worker.ply[b]] = 0.0
    worker.proven[b, worker.ply[b]] = False
    worker.target_counts[b, worker.ply[b]] = 0
    record_ply(tree, worker, b, action, False)
    reset(rules, tree, b, scratch.successor)


@inner
def record_ply(tree, worker, b, action, searched):
    """Write the root and the action chosen there into the game's record."""
    ply = worker.ply[b]
    copy_words(tree.states[b, ROOT], worker.states[b, ply])
    worker.to_play[b, ply] = tree.nodes[b, ROOT].to_play
    worker.actions[b, ply] = action
    worker.searched[b, ply] = searched
    worker.ply[b] = ply + 1


@inner
def prepare_search(tree, worker, b, settings):
    """Begin the next search."""
    tree.searches[b].simulations_left = settings.num_simulations
    worker.root_ready[b] = False


@part
def record_target(tree, worker, b, weights):
    """Write the weights of game b's root edges that are not 0, [M or more] float32, into its record."""
    before = worker.targets[b]
    place = before
    for edge in edge_range(tree, b, ROOT):
        weight = weights[edge - first_edge(tree, b, ROOT)]
        if weight > 0.0:
            worker.target_actions[b, place] = tree.edges[b, edge].action
            worker.target_weights[b, place] = weight
            place += 1
    worker.targets[b] = place
    worker.target_counts[b, worker.ply[b]] = place - before


@part
def record_search(tree, worker, b, algorithm, settings, scratch):
    """Write the results of game b's search into the game's record, which has room for them."""
    ply = worker.ply[b]
    worker.searches[b] += 1
    worker.simulations[b] += settings.num_simulations - tree.searches[b].simulations_left
    write_target(tree, b, algorithm, scratch.weights)
    record_target(tree, worker, b, scratch.weights)
    worker.root_value[b, ply] = search_value(tree, b, algorithm)
    worker.proven[b, ply] = tree.nodes[b, ROOT].proven


@part
def end_game(worker, b, player, outcome):
    """Mark game b FINISHED with that outcome for a player."""
    worker.first_outcome[b] = outcome if player == 0 else -outcome
    worker.status[b] = FINISHED


@inner
def make_move(rules, tree, worker, b, algorithm, settings, scratch):
    """End a search: record it, choose the move, and make its node the root.

    Mark the game FINISHED at its end. A game that goes on after `max_plies` ends as a draw, which keeps the
    arrays' bounds whatever the rules do.
    """
    ply = worker.ply[b]
    record_search(tree, worker, b, algorithm, settings, scratch)
    edge = choose_move(tree, b, algorithm, temperature_at(settings.temperature, ply), worker.stream[b])
    record_ply(tree, worker, b, tree.edges[b, edge].action, True)
    child = np.int64(tree.edges[b, edge].child)  # the type of a new child, so that `reroot` has one
    if child == UNVISITED:  # its node was forgotten when the tree was full
        child = add_child(rules, tree, b, ROOT, edge)
    if tree.nodes[b, child].terminal:
        end_game(worker, b, tree.nodes[b, child].to_play, tree.nodes[b, child].raw_value)
        return
    if worker.ply[b] >= worker.actions.shape[1]:
        end_game(worker, b, 0, 0.0)
        return
    if settings.tree_reuse:
        reroot(tree, b, child, settings.num_simulations + 1, scratch.new_index)
    else:
        copy_words(tree.states[b, child], scratch.successor)
        reset(rules, tree, b, scratch.successor)
    prepare_search(tree, worker, b, settings)


@part
def must_search(tree, b):
    """Return whether game b's search is not over."""
    return tree.searches[b].simulations_left > 0 and not tree.nodes[b, ROOT].proven


@part
def play_until_evaluation(rules, tree, cache, worker, b, algorithm, settings, scratch, exact):
    """Advance game b until it is finished or its search needs the network; its leaf then waits in `leaf`.

    Or until it has made `settings.at_once` simulations.
    """
    left = settings.at_once
    while worker.status[b] == PLAYING and left > 0:
        if not tree.nodes[b, ROOT].expanded:
            if expand_root(rules, tree, cache, b, scratch.key):
                return
        elif not worker.root_ready[b]:
            if scratch.repetition_keys.shape[1] > 0:
                legal = list_legal(rules, tree.states[b, ROOT], scratch.legal)
                banned = find_banned_here(rules, worker, b, tree.states[b, ROOT], legal, scratch)
                if banned == legal:
                    worker.status[b] = STUCK
                    return
                if banned > 0:
                    ban(tree, b, scratch.banned)
            temperature = temperature_at(settings.temperature, worker.ply[b])
            begin_search(tree, b, algorithm, temperature, worker.stream[b])
            worker.root_ready[b] = True
        elif must_search(tree, b):
            before = tree.searches[b].simulations_left
            if simulate(rules, tree, cache, b, algorithm, scratch.key, exact, left):
                return
            left -= before - tree.searches[b].simulations_left
        elif worker.targets[b] + tree.nodes[b, ROOT].num_edges > worker.target_actions.shape[1]:
            worker.status[b] = FULL
        else:
            make_move(rules, tree, worker, b, algorithm, settings, scratch)


@kernel
def play_wave(addresses, tree, cache, worker, algorithm, settings, scratch, exact):
    """Advance every game that does not wait. Return how many are FULL, FINISHED or STUCK."""
    rules = rules_at(addresses)
    tree, cache, worker = borrowed(tree), borrowed(cache), borrowed(worker)
    algorithm, scratch, exact = borrowed(algorithm), borrowed(scratch), borrowed(exact)
    finished = 0
    for b in range(worker.status.shape[0]):
        if worker.status[b] == PLAYING and tree.searches[b].leaf == NO_LEAF:
            play_until_evaluation(rules, tree, cache, worker, b, algorithm, settings, scratch, exact)
        finished += worker.status[b] >= FULL
    return finished
