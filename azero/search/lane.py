"""A lane: many games of self-play in flight, each moved on by compiled code until it needs the network.

Letters: B games in flight, P plies (at most), A actions, S state words, R repetition words.

A game runs at its own pace: when its search is done it makes its move, keeps the subtree, and searches again, all in one call.
So the network's batch stays full although games and searches end at different times. A game's random numbers come from one stream
seeded by its number: what it plays depends on the network, the settings and that seed only, never on its neighbours.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from azero.games.game import Game, rules_at
from azero.search.kernels import borrowed, kernel, part
from azero.search.mcts import expand_root, simulate
from azero.search.random_stream import next_below, next_float
from azero.search.repetition import ban, find_banned
from azero.search.root import Fading, Temperature, divergence, temperature_at
from azero.search.scores import begin_search, choose_move, search_value, write_target
from azero.search.tree import NO_LEAF, ROOT, UNVISITED, add_child, reroot, reset

IDLE, PLAYING, FINISHED = 0, 1, 2
NO_ACTION = -1


class Lane(NamedTuple):
    """The games in flight and the record each one writes."""

    status: np.ndarray  # [B] int8: IDLE, PLAYING or FINISHED
    ply: np.ndarray  # [B] int64
    stream: np.ndarray  # [B, 2] uint64
    root_ready: np.ndarray  # [B] bool: the root's noise is in
    plays_on: np.ndarray  # [B] bool: nobody resigns in this game
    states: np.ndarray  # [B, P, S] uint64, before each ply
    to_play: np.ndarray  # [B, P] int8
    actions: np.ndarray  # [B, P] int32
    policy_target: np.ndarray  # [B, P, A] float32
    root_value: np.ndarray  # [B, P] float32, the search's value for to_play
    proven: np.ndarray  # [B, P] bool: the search has proven that value
    prior: np.ndarray  # [B, A] float32, the root's, before chance came into it
    surprise: np.ndarray  # [B, P] float32, how far the search's target is from that prior, in nats
    searched: np.ndarray  # [B, P] bool: searched in full; False for fast searches and random plies of an opening
    first_outcome: np.ndarray  # [B] float32, for the player who moves first in the initial state
    searches: np.ndarray  # [B] int64, finished in this game
    simulations: np.ndarray  # [B] int64, of those


class Policy(NamedTuple):
    """How a lane's games are played, beyond the search itself."""

    num_simulations: int  # of a full search
    dirichlet_alpha: float
    dirichlet_fraction: float
    root_temperature: Fading
    tree_reuse: bool
    temperature: Temperature
    opening_fraction: float
    opening_plies: int
    full_search_fraction: float
    fast_simulations: int
    resign_threshold: float
    resign_play_on: float


class Scratch(NamedTuple):
    """Buffers that kernels write to and nobody reads afterwards."""

    key: np.ndarray  # [K] uint64
    legal: np.ndarray  # [A] bool
    prior: np.ndarray  # [A] float32
    noise: np.ndarray  # [A] float64
    successor: np.ndarray  # [S] uint64
    new_index: np.ndarray  # [N] int32
    repetition_keys: np.ndarray  # [P + 2, R] uint64
    banned: np.ndarray  # [A] bool


def make_lane(num_games: int, max_plies: int, num_actions: int, state_words: int) -> Lane:
    """A lane of idle games."""
    plies = (num_games, max_plies)
    return Lane(
        status=np.full(num_games, IDLE, np.int8),
        ply=np.zeros(num_games, np.int64),
        stream=np.zeros((num_games, 2), np.uint64),
        root_ready=np.zeros(num_games, np.bool_),
        plays_on=np.zeros(num_games, np.bool_),
        states=np.zeros((*plies, state_words), np.uint64),
        to_play=np.zeros(plies, np.int8),
        actions=np.zeros(plies, np.int32),
        policy_target=np.zeros((*plies, num_actions), np.float32),
        root_value=np.zeros(plies, np.float32),
        proven=np.zeros(plies, np.bool_),
        prior=np.zeros((num_games, num_actions), np.float32),
        surprise=np.zeros(plies, np.float32),
        searched=np.zeros(plies, np.bool_),
        first_outcome=np.zeros(num_games, np.float32),
        searches=np.zeros(num_games, np.int64),
        simulations=np.zeros(num_games, np.int64),
    )


def make_scratch(game: Game, num_nodes: int) -> Scratch:
    """Buffers for one lane, or one player, whose trees have so many nodes a game."""
    return Scratch(
        key=np.zeros(game.key_words, np.uint64),
        legal=np.zeros(game.num_actions, np.bool_),
        prior=np.zeros(game.num_actions, np.float32),
        noise=np.zeros(game.num_actions, np.float64),
        successor=np.zeros(game.state_words, np.uint64),
        new_index=np.zeros(num_nodes, np.int32),
        repetition_keys=np.zeros((game.max_plies + 2, game.repetition_words), np.uint64),
        banned=np.zeros(game.num_actions, np.bool_),
    )


@kernel
def start_games(addresses, tree, lane, places, seeds, openings, policy, scratch):
    """Begin a game in each of `places` [any], from its seed, [any] uint64: a call from Python costs more than a short game.

    openings [any, plies] int32: the actions that each begins with, NO_ACTION behind them.
    """
    rules = rules_at(addresses)
    tree, lane, scratch = borrowed(tree), borrowed(lane), borrowed(scratch)
    for row in range(places.shape[0]):
        start_game(rules, tree, lane, places[row], seeds[row], openings[row], policy, scratch)


@kernel
def start_game(rules, tree, lane, b, seed, opening, policy, scratch):
    """Begin a game in place b from a seed, by the actions of `opening` [plies] or, if there are none, perhaps by random ones."""
    lane.status[b] = PLAYING
    lane.ply[b] = 0
    lane.searches[b] = 0
    lane.simulations[b] = 0
    lane.stream[b, 0] = seed
    lane.stream[b, 1] = 0
    rules.initial(scratch.successor)
    reset(rules, tree, b, scratch.successor)
    has_random_opening = next_float(lane.stream[b]) < policy.opening_fraction
    if opening.shape[0] > 0 and opening[0] != NO_ACTION:
        replay_opening(rules, tree, lane, b, opening, scratch)
    elif has_random_opening:
        play_opening(rules, tree, lane, b, 1 + next_below(lane.stream[b], policy.opening_plies), scratch)
    lane.plays_on[b] = policy.resign_threshold <= -1.0 or next_float(lane.stream[b]) < policy.resign_play_on
    prepare_search(tree, lane, b, policy)


@kernel
def find_banned_here(rules, lane, b, state, scratch):
    """Write into scratch.banned which legal actions of `state`, game b's present position, its history forbids; how many."""
    rules.legal_mask(state, scratch.legal)
    if scratch.repetition_keys.shape[1] == 0:
        return 0
    past = lane.states[b]
    return find_banned(rules, past, lane.ply[b], state, scratch.legal, scratch.repetition_keys, scratch.successor, scratch.banned)


@kernel
def find_legal(rules, lane, b, state, scratch):
    """Write into scratch.legal what may be played in `state`, game b's present position."""
    if find_banned_here(rules, lane, b, state, scratch) > 0:
        for action in range(scratch.legal.shape[0]):
            scratch.legal[action] &= not scratch.banned[action]


@part
def replay_opening(rules, tree, lane, b, opening, scratch):
    """Play given actions up to the first NO_ACTION."""
    for action in opening:
        if action == NO_ACTION:
            break
        rules.step(tree.states[b, ROOT], action, scratch.successor)
        play_unsearched(rules, tree, lane, b, action, scratch)


@kernel
def play_opening(rules, tree, lane, b, plies, scratch):
    """Play uniformly random legal plies, stopping before one that would end the game."""
    for _ in range(plies):
        state = tree.states[b, ROOT]
        find_legal(rules, lane, b, state, scratch)
        remaining = next_below(lane.stream[b], scratch.legal.sum())
        action = 0
        while remaining > 0 or not scratch.legal[action]:
            remaining -= scratch.legal[action]
            action += 1
        rules.step(state, action, scratch.successor)
        if rules.is_terminal(scratch.successor):
            return
        play_unsearched(rules, tree, lane, b, action, scratch)


@part
def play_unsearched(rules, tree, lane, b, action, scratch):
    """Record a ply of an opening and move on to scratch.successor, its successor."""
    lane.root_value[b, lane.ply[b]] = 0.0
    lane.proven[b, lane.ply[b]] = False
    lane.surprise[b, lane.ply[b]] = 0.0
    for choice in range(lane.policy_target.shape[2]):
        lane.policy_target[b, lane.ply[b], choice] = 0.0
    record_ply(tree, lane, b, action, False)
    reset(rules, tree, b, scratch.successor)


@kernel
def record_ply(tree, lane, b, action, searched):
    """Write the root and the action chosen there into the game's record."""
    ply = lane.ply[b]
    for word in range(tree.states.shape[2]):  # word by word: Numba's assignment of rows costs five seconds of compilation
        lane.states[b, ply, word] = tree.states[b, ROOT, word]
    lane.to_play[b, ply] = tree.nodes[b, ROOT].to_play
    lane.actions[b, ply] = action
    lane.searched[b, ply] = searched
    lane.ply[b] = ply + 1


@kernel
def budget(policy, fast):
    """Simulations of a search."""
    return policy.fast_simulations if fast else policy.num_simulations


@kernel
def prepare_search(tree, lane, b, policy):
    """Begin the next search, in full or fast as chance has it: playout-cap randomization (Wu 2019, section 3.1)."""
    fast = policy.full_search_fraction < 1.0 and next_float(lane.stream[b]) >= policy.full_search_fraction
    tree.searches[b].fast = fast
    tree.searches[b].simulations_left = budget(policy, fast)
    lane.root_ready[b] = False


@part
def record_search(tree, lane, b, score, policy):
    """Write what game b's search has found into the game's record."""
    ply = lane.ply[b]
    lane.searches[b] += 1
    lane.simulations[b] += budget(policy, tree.searches[b].fast) - tree.searches[b].simulations_left
    write_target(tree, b, score, lane.policy_target[b, ply])
    lane.surprise[b, ply] = divergence(lane.policy_target[b, ply], lane.prior[b])
    lane.root_value[b, ply] = search_value(tree, b, score)
    lane.proven[b, ply] = tree.nodes[b, ROOT].proven


@part
def end_game(lane, b, player, outcome):
    """Mark game b FINISHED with that outcome for a player."""
    lane.first_outcome[b] = outcome if player == 0 else -outcome
    lane.status[b] = FINISHED


@kernel
def make_move(rules, tree, lane, b, score, policy, scratch):
    """End a search: record it, choose the move, and make its node the root. Marks the game FINISHED at its end.

    Who resigns has chosen a move, which is recorded and not made. A move that ends the game is made: by it others tell whether
    who lost has resigned.
    """
    ply = lane.ply[b]
    record_search(tree, lane, b, score, policy)
    action = choose_move(tree, b, score, temperature_at(policy.temperature, ply), lane.stream[b])
    record_ply(tree, lane, b, action, not tree.searches[b].fast)
    child = tree.edges[b, ROOT, action].child
    if child == UNVISITED:  # its node was forgotten when the tree was full
        child = add_child(rules, tree, b, ROOT, action)
    if tree.nodes[b, child].terminal:
        end_game(lane, b, tree.nodes[b, child].to_play, tree.nodes[b, child].raw_value)
        return
    if not lane.plays_on[b] and lane.root_value[b, ply] < policy.resign_threshold:
        end_game(lane, b, lane.to_play[b, ply], -1.0)
        return
    if policy.tree_reuse:
        reroot(tree, b, child, policy.num_simulations + 1, scratch.new_index)
    else:
        for word in range(tree.states.shape[2]):
            scratch.successor[word] = tree.states[b, child, word]
        reset(rules, tree, b, scratch.successor)
    prepare_search(tree, lane, b, policy)


@kernel
def play_until_evaluation(rules, tree, cache, lane, b, score, policy, scratch):
    """Move game b on until its search needs the network (its leaf waits in `leaf`) or the game is finished."""
    while lane.status[b] == PLAYING:
        if not tree.nodes[b, ROOT].expanded:
            if expand_root(rules, tree, cache, b, scratch.key):
                return
        elif not lane.root_ready[b]:
            if find_banned_here(rules, lane, b, tree.states[b, ROOT], scratch) > 0:
                ban(tree, b, scratch.banned)
            for action in range(lane.prior.shape[1]):
                lane.prior[b, action] = tree.edges[b, ROOT, action].prior
            begin_search(tree, b, score, policy, lane.ply[b], lane.stream[b], scratch.noise)
            lane.root_ready[b] = True
        elif simulate(rules, tree, cache, b, score, scratch.key):
            return
        else:
            make_move(rules, tree, lane, b, score, policy, scratch)


@kernel
def play_wave(addresses, tree, cache, lane, score, policy, scratch):
    """Move every game on that waits for nothing. Returns how many games are finished and wait to be collected."""
    rules = rules_at(addresses)
    tree, cache, lane = borrowed(tree), borrowed(cache), borrowed(lane)
    score, scratch = borrowed(score), borrowed(scratch)
    finished = 0
    for b in range(lane.status.shape[0]):
        if lane.status[b] == PLAYING and tree.searches[b].leaf == NO_LEAF:
            play_until_evaluation(rules, tree, cache, lane, b, score, policy, scratch)
        finished += lane.status[b] == FINISHED
    return finished
