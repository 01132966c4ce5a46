"""The search of AlphaGo, in small.

Silver et al., "Mastering the game of Go with deep neural networks and tree search" (2016).

Letters: B games, R rows of one inference batch (B is R), N nodes, A actions, S state words.

At a node of the player who searches, take the move of the largest q + eta * prior / (1 + visits). Draw the
opponent's reply from the network's policy, so one move leads to several positions and its record is their
mean. (In the two-sided tree the opponent also takes the move of its largest score.) The value of a new
position is (1 - mixing) * the network's value + mixing * the outcome of a rollout, played by the network's
policy or at random.

The network evaluates one position of every game at a time: a new node, or the next position of a rollout. A
game does everything between two of its evaluations in one call, with its own random stream.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from azero.classic.rollouts import Judge, rollout
from azero.games.game import Game, rules_at
from azero.games.legal import leave_out, list_legal
from azero.kernels.compiled import borrowed, kernel, part
from azero.kernels.random_stream import next_float
from azero.kernels.words import copy_words
from azero.search.mcts import backup, descend, gather_logits
from azero.search.puct import best_edge
from azero.search.tree import NO_LEAF, ROOT, add_edges, first_edge, reset, softmax

MOST_AT_ONCE = 1024  # simulations that end with the game, before the caller may stop the search


class AlphaGo(NamedTuple):
    """The settings of one search."""

    eta: float  # weight of prior / (1 + visits)
    mixing: float  # the rollout's share of a leaf's value
    sampled: bool  # draw the opponent's replies from the policy
    policy_rollouts: bool  # rollouts are played by the network's policy, not at random
    judge: Judge  # how rollouts end


class Questions(NamedTuple):
    """The position of each game that waits for the network; none if its `leaf` is NO_LEAF."""

    states: np.ndarray  # [B, S] uint64: the position
    rolling: np.ndarray  # [B] bool: whether it is of the leaf's rollout, not the leaf itself
    plies: np.ndarray  # [B] int64: those of the leaf's rollout so far
    # [B] int32: where the next descent begins: the root, or a node whose reply must be drawn
    start: np.ndarray


def make_questions(game: Game, num_games: int) -> Questions:
    """Return empty questions."""
    return Questions(
        np.zeros((num_games, game.state_words), np.uint64),
        np.zeros(num_games, np.bool_),
        np.zeros(num_games, np.int64),
        np.zeros(num_games, np.int32),
    )


@part
def draw(moves, stream):
    """Return the place of one of moves [M], MOVE or EDGE, drawn by its prior.

    It is the last if rounding leaves a rest, and -1 if there is none.
    """
    left = next_float(stream)
    drawn = -1
    for place in range(moves.shape[0]):
        drawn = place
        left -= moves[place].prior
        if left < 0.0:
            break
    return drawn


@part
def is_reply(tree, alphago, b, node):
    """Return whether the move at this node is drawn from the policy."""
    return alphago.sampled and tree.nodes[b, node].to_play != tree.nodes[b, ROOT].to_play


@part
def has_room(tree, b):
    """Return whether game b's tree has a spare row beyond one for each remaining simulation."""
    return tree.searches[b].num_nodes + tree.searches[b].simulations_left <= tree.nodes.shape[1]


@part
def next_edge(tree, b, node, settings):
    """Return the edge by which a simulation leaves a node. settings: (AlphaGo, the game's stream)."""
    alphago, stream = settings
    if is_reply(tree, alphago, b, node):
        first = first_edge(tree, b, node)
        return first + draw(tree.edges[b, first : first + tree.nodes[b, node].num_edges], stream)
    return best_edge(tree, b, node, alphago.eta, 0.0, False)


@part
def settle(tree, questions, b, leaf, value):
    """End a simulation whose leaf has `value` for its player to move."""
    backup(tree, b, leaf, np.float32(value))
    tree.searches[b].leaf = NO_LEAF
    tree.searches[b].simulations_left -= 1
    questions.rolling[b] = False
    questions.plies[b] = 0


@kernel
def begin_searches(addresses, tree, questions, states, num_simulations):
    """Put states [rows, S], none terminal, at the roots of the first games; each root is evaluated first."""
    rules = rules_at(addresses)
    tree, questions, states = borrowed(tree), borrowed(questions), borrowed(states)
    for b in range(tree.searches.shape[0]):
        tree.searches[b].leaf = NO_LEAF
        tree.searches[b].simulations_left = 0
    for b in range(states.shape[0]):
        reset(rules, tree, b, states[b])
        copy_words(states[b], questions.states[b])
        questions.rolling[b] = False
        questions.plies[b] = 0
        tree.searches[b].leaf = ROOT
        tree.searches[b].simulations_left = num_simulations


@kernel
def ask(addresses, tree, alphago, questions, streams, planes, games):
    """Advance every game to its next position for the network, or by MOST_AT_ONCE simulations without one.

    Write its planes, one row each, and the game into games [R]; return the number of rows. Searches go on
    until no game has simulations left.
    """
    rules = rules_at(addresses)
    tree, questions = borrowed(tree), borrowed(questions)
    streams, planes = borrowed(streams), borrowed(planes)
    rows = 0
    for b in range(streams.shape[0]):
        for _ in range(MOST_AT_ONCE):
            if tree.searches[b].leaf != NO_LEAF or tree.searches[b].simulations_left == 0:
                break
            leaf = descend(rules, tree, b, questions.start[b], next_edge, (alphago, streams[b]))
            questions.start[b] = ROOT
            if tree.nodes[b, leaf].terminal:
                settle(tree, questions, b, leaf, tree.nodes[b, leaf].raw_value)
            else:
                tree.searches[b].leaf = leaf
                copy_words(tree.states[b, leaf], questions.states[b])
        if tree.searches[b].leaf != NO_LEAF:
            rules.planes(questions.states[b], planes[rows])
            games[rows] = b
            rows += 1
    return rows


@kernel
def receive_evaluations(
    addresses, tree, alphago, questions, streams, banned, games, logits, values, room, scratch
):
    """Give the network's answers to the games [R] that wait for them.

    logits: [R, A] float32. values: [R] float32, for the player to move. By game: streams [B, 2], which
    advance, and banned [B, A], the moves left out at the roots.
    """
    rules = rules_at(addresses)
    tree, questions, streams, room = borrowed(tree), borrowed(questions), borrowed(streams), borrowed(room)
    scratch = borrowed(scratch)
    moves = scratch.moves
    for row in range(values.shape[0]):
        b = games[row]
        leaf, state, stream = tree.searches[b].leaf, questions.states[b], streams[b]
        to_play = tree.nodes[b, leaf].to_play
        count = list_legal(rules, state, scratch.legal)
        if leaf == ROOT:
            count = leave_out(scratch.legal.actions, count, banned[b])
        stuck = count == 0  # not over, but without a legal move
        gather_logits(logits[row], scratch.legal.actions, count, False, moves)
        softmax(moves[:count])
        if not questions.rolling[b]:
            add_edges(tree, b, leaf, moves, count, False)
            tree.nodes[b, leaf].raw_value = values[row]
            tree.nodes[b, leaf].proven = stuck
            # A full tree gives replies a value, too, and so does a full pool of edges
            goes_on = is_reply(tree, alphago, b, leaf) and tree.nodes[b, leaf].expanded and has_room(tree, b)
            if leaf == ROOT or (not stuck and goes_on):
                questions.start[b] = leaf
                tree.searches[b].leaf = NO_LEAF
                continue
        rollout_value = 0.0
        if alphago.mixing > 0.0 and alphago.policy_rollouts and not stuck:
            questions.rolling[b] = True
            rules.step(state, moves[draw(moves[:count], stream)].action, room.there)
            copy_words(room.there, state)
            questions.plies[b] += 1
            over = rules.is_terminal(state)
            if not over and questions.plies[b] < alphago.judge.depth:
                continue
            outcome = rules.outcome(state) if over else 0.0
            rollout_value = outcome if rules.to_play(state) == to_play else -outcome
        elif alphago.mixing > 0.0:
            first = 2.0 * rollout(rules, state, alphago.judge, room, stream) - 1.0
            rollout_value = first if to_play == 0 else -first
        own_value = np.float64(tree.nodes[b, leaf].raw_value)
        settle(tree, questions, b, leaf, (1.0 - alphago.mixing) * own_value + alphago.mixing * rollout_value)
