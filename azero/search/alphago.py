"""The search of AlphaGo (Silver et al., "Mastering the game of Go with deep neural networks and tree search", 2016), small.

Letters: B games, R rows of one inference batch (B is R), N nodes, A actions, S state words.

At a node of the side that searches, the move of the largest q + eta * prior / (1 + visits) is taken. The other side's reply is
drawn from the network's policy, so that one move leads to several positions, and the move's own record is their mean. (In the
two-sided tree the other side, too, takes the move of its largest score.) A new position is judged by (1 - mixing) * the network's
value + mixing * the outcome of a rollout from it, played by the network's policy or at random.

The network is asked about one position of every game at a time: a new node's, or the next one of a rollout. Whatever a game does
between two questions it does in one call, drawing from its own stream.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from azero.games.game import Game, rules_at
from azero.search.kernels import borrowed, kernel, part
from azero.search.mcts import backup, expand, softmax_over_legal
from azero.search.random_stream import next_float
from azero.search.rollouts import rollout
from azero.search.tree import NO_LEAF, ROOT, UNVISITED, add_child, reset


class AlphaGo(NamedTuple):
    """What one search does, as the kernels take it."""

    eta: float  # weight of prior / (1 + visits)
    mixing: float  # the rollout's share of a leaf's value
    sampled: bool  # the other side's replies are drawn from its policy
    policy_rollouts: bool  # rollouts are played by the network's policy, not at random


class Questions(NamedTuple):
    """What each game asks the network; a game whose `leaf` is NO_LEAF asks nothing."""

    states: np.ndarray  # [B, S] uint64: the position
    rolling: np.ndarray  # [B] bool: it is one of the leaf's rollout, not the leaf itself
    start: np.ndarray  # [B] int32: the node where the next descent begins, the root unless a reply must be drawn first


def make_questions(game: Game, num_games: int) -> Questions:
    """Nothing asked yet."""
    return Questions(
        np.zeros((num_games, game.state_words), np.uint64), np.zeros(num_games, np.bool_), np.zeros(num_games, np.int32)
    )


@part
def copy_state(source, target):
    """Copy words [S]; Numba's assignment of rows costs seconds of compilation."""
    for word in range(target.shape[0]):
        target[word] = source[word]


@part
def draw(prior, stream):
    """An action by its probability; prior [A], negative where illegal."""
    left = next_float(stream)
    drawn = -1
    for action in range(prior.shape[0]):
        if prior[action] >= 0.0:
            drawn = action  # the last legal one, where rounding leaves a rest
            left -= prior[action]
            if left < 0.0:
                break
    return drawn


@part
def best_action(tree, b, node, eta):
    """The legal action of the largest q + eta * prior / (1 + visits); q of an unvisited one is 0; of equal ones the first."""
    best, best_score = -1, -math.inf
    for action in range(tree.edges.shape[2]):
        prior = tree.edges[b, node, action].prior
        if prior < 0.0:
            continue
        visits = tree.edges[b, node, action].child_visits
        q = tree.edges[b, node, action].child_value_sum / visits if visits > 0 else 0.0
        score = q + eta * prior / (1.0 + visits)
        if score > best_score:
            best, best_score = action, score
    return best


@part
def is_reply(tree, alphago, b, node):
    """Whether the move at this node is drawn from the policy."""
    return alphago.sampled and tree.nodes[b, node].to_play != tree.nodes[b, ROOT].to_play


@part
def has_room(tree, b):
    """Whether game b's tree has a row to spare beside one for each simulation that is left."""
    return tree.searches[b].num_nodes + tree.searches[b].simulations_left <= tree.nodes.shape[1]


@part
def descend(rules, tree, alphago, b, node, stream):
    """A node that is new or terminal, reached from `node`."""
    while tree.nodes[b, node].expanded and not tree.nodes[b, node].terminal:
        if is_reply(tree, alphago, b, node):
            action = draw(tree.edges[b, node].prior, stream)
        else:
            action = best_action(tree, b, node, alphago.eta)
        child = tree.edges[b, node, action].child
        if child == UNVISITED:
            return add_child(rules, tree, b, node, action)
        node = child
    return node


@part
def settle(tree, questions, b, leaf, value):
    """End a simulation whose leaf is worth `value` for its player to move."""
    backup(tree, b, leaf, np.float32(value))
    tree.searches[b].leaf = NO_LEAF
    tree.searches[b].simulations_left -= 1
    questions.rolling[b] = False


@kernel
def begin_searches(addresses, tree, questions, states, num_simulations):
    """Put states [rows, S], none terminal, at the roots of the first games; the first question of each is its root."""
    rules = rules_at(addresses)
    tree, questions, states = borrowed(tree), borrowed(questions), borrowed(states)
    for b in range(tree.searches.shape[0]):
        tree.searches[b].leaf = NO_LEAF
        tree.searches[b].simulations_left = 0
    for b in range(states.shape[0]):
        reset(rules, tree, b, states[b])
        copy_state(states[b], questions.states[b])
        questions.rolling[b] = False
        tree.searches[b].leaf = ROOT
        tree.searches[b].simulations_left = num_simulations


@kernel
def ask(addresses, tree, alphago, questions, streams, planes, games):
    """Move every game on to its next question and write its planes, a row each, and the game to games [R]; returns the rows."""
    rules = rules_at(addresses)
    tree, questions, streams, planes = borrowed(tree), borrowed(questions), borrowed(streams), borrowed(planes)
    rows = 0
    for b in range(streams.shape[0]):
        while tree.searches[b].leaf == NO_LEAF and tree.searches[b].simulations_left > 0:
            leaf = descend(rules, tree, alphago, b, questions.start[b], streams[b])
            questions.start[b] = ROOT
            if tree.nodes[b, leaf].terminal:
                settle(tree, questions, b, leaf, tree.nodes[b, leaf].raw_value)
            else:
                tree.searches[b].leaf = leaf
                copy_state(tree.states[b, leaf], questions.states[b])
        if tree.searches[b].leaf != NO_LEAF:
            rules.planes(questions.states[b], planes[rows])
            games[rows] = b
            rows += 1
    return rows


@kernel
def absorb(addresses, tree, alphago, questions, streams, banned, games, rows, logits, values, judge, board, prior):
    """Use the network's answers to the first `rows` of games [R].

    logits [R, A] and values [R] float32, for the player to move. banned: [rows of states, A] bool, moves left out at the roots.
    judge, board: of random rollouts. prior: scratch, [A] float32.
    """
    rules = rules_at(addresses)
    tree, questions, streams, board = borrowed(tree), borrowed(questions), borrowed(streams), borrowed(board)
    for row in range(rows):
        b = games[row]
        leaf, state, stream = tree.searches[b].leaf, questions.states[b], streams[b]
        to_play = tree.nodes[b, leaf].to_play
        rules.legal_mask(state, board.legal)
        for action in range(banned.shape[1]):
            board.legal[action] &= leaf != ROOT or not banned[b, action]
        softmax_over_legal(logits[row], board.legal, prior)
        if not questions.rolling[b]:
            expand(tree, b, leaf, prior, values[row])
            if leaf == ROOT or (is_reply(tree, alphago, b, leaf) and has_room(tree, b)):  # a full tree judges replies, too
                questions.start[b] = leaf
                tree.searches[b].leaf = NO_LEAF
                continue
        rollout_value = 0.0
        if alphago.mixing > 0.0 and alphago.policy_rollouts:
            questions.rolling[b] = True
            rules.step(state, draw(prior, stream), board.there)
            copy_state(board.there, state)
            if not rules.is_terminal(state):
                continue
            rollout_value = rules.outcome(state) if rules.to_play(state) == to_play else -rules.outcome(state)
        elif alphago.mixing > 0.0:
            first = 2.0 * rollout(rules, state, judge, board, stream) - 1.0
            rollout_value = first if to_play == 0 else -first
        own_value = np.float64(tree.nodes[b, leaf].raw_value)
        settle(tree, questions, b, leaf, (1.0 - alphago.mixing) * own_value + alphago.mixing * rollout_value)
