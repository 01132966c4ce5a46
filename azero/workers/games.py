"""A worker: many games of self-play in flight, each advanced by compiled code until it needs the network.

Letters: B games in flight, P plies (at most), A actions, S state words, R repetition words.

A game runs at its own pace. When its search is done it makes its move, keeps the subtree, and searches again,
all in one call, so the network's batch stays full although games and searches end at different times. A game
draws its random numbers from one stream seeded by its number. What it plays depends on the network, the
settings and that seed only, never on its neighbours.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from azero.games.game import rules_at
from azero.games.repetition import find_banned
from azero.kernels.compiled import borrowed, inner, kernel, part
from azero.kernels.random_stream import next_below, next_float
from azero.kernels.words import copy_words
from azero.search.algorithm import begin_search, choose_move, search_value, write_target
from azero.search.mcts import expand_root, simulate
from azero.search.repetition import ban
from azero.search.root import Temperature, temperature_at
from azero.search.tree import NO_LEAF, ROOT, UNVISITED, add_child, reroot, reset

IDLE, PLAYING, FINISHED, STUCK = 0, 1, 2, 3  # STUCK: the history forbids every legal move


class Worker(NamedTuple):
    """The games in flight and their records."""

    status: np.ndarray  # [B] int8: IDLE, PLAYING, FINISHED or STUCK
    ply: np.ndarray  # [B] int64
    stream: np.ndarray  # [B, 2] uint64
    root_ready: np.ndarray  # [B] bool: the root's noise is in
    states: np.ndarray  # [B, P, S] uint64, before each ply
    to_play: np.ndarray  # [B, P] int8
    actions: np.ndarray  # [B, P] int32
    policy_target: np.ndarray  # [B, P, A] float32
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


def make_worker(num_games: int, max_plies: int, num_actions: int, state_words: int) -> Worker:
    """Return a worker of idle games."""
    plies = (num_games, max_plies)
    return Worker(
        status=np.full(num_games, IDLE, np.int8),
        ply=np.zeros(num_games, np.int64),
        stream=np.zeros((num_games, 2), np.uint64),
        root_ready=np.zeros(num_games, np.bool_),
        states=np.zeros((*plies, state_words), np.uint64),
        to_play=np.zeros(plies, np.int8),
        actions=np.zeros(plies, np.int32),
        policy_target=np.zeros((*plies, num_actions), np.float32),
        root_value=np.zeros(plies, np.float32),
        proven=np.zeros(plies, np.bool_),
        searched=np.zeros(plies, np.bool_),
        first_outcome=np.zeros(num_games, np.float32),
        searches=np.zeros(num_games, np.int64),
        simulations=np.zeros(num_games, np.int64),
    )


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
    """Begin a game in place b from a seed, perhaps with a random opening."""
    worker.status[b] = PLAYING
    worker.ply[b] = 0
    worker.searches[b] = 0
    worker.simulations[b] = 0
    worker.stream[b, 0] = seed
    worker.stream[b, 1] = 0
    rules.initial(scratch.successor)
    reset(rules, tree, b, scratch.successor)
    if next_float(worker.stream[b]) < settings.opening_fraction:
        play_opening(
            rules, tree, worker, b, 1 + next_below(worker.stream[b], settings.opening_plies), scratch
        )
    prepare_search(tree, worker, b, settings)


@inner
def find_banned_here(rules, worker, b, state, scratch):
    """Write which legal actions of `state`, game b's position, its history forbids into scratch.banned.

    Return how many.
    """
    rules.legal_mask(state, scratch.legal)
    if scratch.repetition_keys.shape[1] == 0:
        return 0
    past = worker.states[b]
    return find_banned(
        rules,
        past,
        worker.ply[b],
        state,
        scratch.legal,
        scratch.repetition_keys,
        scratch.successor,
        scratch.banned,
    )


@inner
def find_legal(rules, worker, b, state, scratch):
    """Write what may be played in `state`, game b's position, into scratch.legal."""
    if find_banned_here(rules, worker, b, state, scratch) > 0:
        for action in range(scratch.legal.shape[0]):
            scratch.legal[action] &= not scratch.banned[action]


@inner
def play_opening(rules, tree, worker, b, plies, scratch):
    """Play uniformly random legal plies, stopping before one that would end the game or be the last."""
    for _ in range(min(plies, worker.actions.shape[1] - 1)):
        state = tree.states[b, ROOT]
        find_legal(rules, worker, b, state, scratch)
        if not scratch.legal.any():  # the search from here reports it
            return
        remaining = next_below(worker.stream[b], scratch.legal.sum())
        action = 0
        while remaining > 0 or not scratch.legal[action]:
            remaining -= scratch.legal[action]
            action += 1
        rules.step(state, action, scratch.successor)
        if rules.is_terminal(scratch.successor):
            return
        play_unsearched(rules, tree, worker, b, action, scratch)


@part
def play_unsearched(rules, tree, worker, b, action, scratch):
    """Record a ply of an opening and move on to scratch.successor."""
    worker.root_value[b, worker.ply[b]] = 0.0
    worker.proven[b, worker.ply[b]] = False
    for choice in range(worker.policy_target.shape[2]):
        worker.policy_target[b, worker.ply[b], choice] = 0.0
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
def record_search(tree, worker, b, algorithm, settings):
    """Write the results of game b's search into the game's record."""
    ply = worker.ply[b]
    worker.searches[b] += 1
    worker.simulations[b] += settings.num_simulations - tree.searches[b].simulations_left
    write_target(tree, b, algorithm, worker.policy_target[b, ply])
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
    record_search(tree, worker, b, algorithm, settings)
    action = choose_move(tree, b, algorithm, temperature_at(settings.temperature, ply), worker.stream[b])
    record_ply(tree, worker, b, action, True)
    child = np.int64(tree.edges[b, ROOT, action].child)  # the type of a new child, so that `reroot` has one
    if child == UNVISITED:  # its node was forgotten when the tree was full
        child = add_child(rules, tree, b, ROOT, action)
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
def play_until_evaluation(rules, tree, cache, worker, b, algorithm, settings, scratch, exact):
    """Advance game b until it is finished or its search needs the network; its leaf then waits in `leaf`."""
    while worker.status[b] == PLAYING:
        if not tree.nodes[b, ROOT].expanded:
            if expand_root(rules, tree, cache, b, scratch.key):
                return
        elif not worker.root_ready[b]:
            banned = find_banned_here(rules, worker, b, tree.states[b, ROOT], scratch)
            if banned > 0:
                if banned == scratch.legal.sum():
                    worker.status[b] = STUCK
                    return
                ban(tree, b, scratch.banned)
            temperature = temperature_at(settings.temperature, worker.ply[b])
            begin_search(tree, b, algorithm, temperature, worker.stream[b])
            worker.root_ready[b] = True
        elif simulate(rules, tree, cache, b, algorithm, scratch.key, exact):
            return
        else:
            make_move(rules, tree, worker, b, algorithm, settings, scratch)


@kernel
def play_wave(addresses, tree, cache, worker, algorithm, settings, scratch, exact):
    """Advance every game that does not wait. Return how many are FINISHED or STUCK."""
    rules = rules_at(addresses)
    tree, cache, worker = borrowed(tree), borrowed(cache), borrowed(worker)
    algorithm, scratch = borrowed(algorithm), borrowed(scratch)
    finished = 0
    for b in range(worker.status.shape[0]):
        if worker.status[b] == PLAYING and tree.searches[b].leaf == NO_LEAF:
            play_until_evaluation(rules, tree, cache, worker, b, algorithm, settings, scratch, exact)
        finished += worker.status[b] >= FINISHED
    return finished
