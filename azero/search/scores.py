"""Which search it is, PUCT or Gumbel: five questions that each of them answers in its own way.

The kernels are the same for both. Numba compiles them once for each type of `score`, so a running search asks nothing.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from numba.extending import overload

from azero.config import SearchConfig
from azero.games.game import Game
from azero.search.gumbel import Gumbel, choose_gumbel, draw_noise, improved_policy, improved_value, make_gumbel, select_next
from azero.search.puct import Puct, make_puct, select_child
from azero.search.root import begin_puct, choose_action, mean_value, move_weights, policy_target, temperature_at
from azero.search.tree import ROOT

Score = Puct | Gumbel


def sound_for(config: SearchConfig, game: Game) -> SearchConfig:
    """The search as a game allows it: without proofs where positions may not repeat, for the tree knows no history."""
    return replace(config, solver=config.solver and not game.repetition_words)


def make_score(config: SearchConfig, num_games: int, num_actions: int, fast_simulations: int = 0) -> Score:
    """The score of a config's search, for so many games; `fast_simulations`: of the searches that are marked fast."""
    if config.kind == "gumbel":
        return make_gumbel(config, num_games, num_actions, fast_simulations)
    return make_puct(config)


def next_child(tree, b, node, score):
    """The action by which a simulation leaves an expanded node. For compiled code only, as are the four below."""
    raise NotImplementedError


def begin_search(tree, b, score, policy, ply, stream, noise):
    """Bring chance into the root of game b, which is expanded: Dirichlet noise, or Gumbel noise of the ply's temperature.

    A fast search of PUCT begins with the plain prior. Gumbel noise stays in fast ones too: it is what chooses the move.
    """
    raise NotImplementedError


def write_target(tree, b, score, out):
    """Write the policy target of game b's root into out [A]: shares of the visits, or the improved policy."""
    raise NotImplementedError


def search_value(tree, b, score):
    """What game b's search found its root to be worth, for its player: the mean of its simulations, or the improved value."""
    raise NotImplementedError


def choose_move(tree, b, score, temperature, stream):
    """The action to play after game b's search. Gumbel's temperature was in its noise."""
    raise NotImplementedError


def is_gumbel(score: Any) -> bool:
    """Whether Numba's type of `score` is that of `Gumbel`."""
    return getattr(score, "instance_class", None) is Gumbel


@overload(next_child)
def _next_child(tree, b, node, score):
    if is_gumbel(score):
        return lambda tree, b, node, score: select_next(tree, b, node, score)
    return lambda tree, b, node, score: select_child(tree, b, node, score)


@overload(begin_search)
def _begin_search(tree, b, score, policy, ply, stream, noise):
    if is_gumbel(score):
        return lambda tree, b, score, policy, ply, stream, noise: draw_noise(
            score, b, temperature_at(policy.temperature, ply), stream
        )
    return lambda tree, b, score, policy, ply, stream, noise: begin_puct(tree, b, policy, ply, stream, noise)


@overload(write_target)
def _write_target(tree, b, score, out):
    if is_gumbel(score):
        return lambda tree, b, score, out: improved_policy(tree, b, ROOT, score, out)
    return lambda tree, b, score, out: policy_target(move_weights(tree, b, score), out)


@overload(search_value)
def _search_value(tree, b, score):
    if is_gumbel(score):
        return lambda tree, b, score: improved_value(tree, b, score)
    return lambda tree, b, score: mean_value(tree, b, score)


@overload(choose_move)
def _choose_move(tree, b, score, temperature, stream):
    if is_gumbel(score):
        return lambda tree, b, score, temperature, stream: choose_gumbel(tree, b, score)
    return lambda tree, b, score, temperature, stream: choose_action(move_weights(tree, b, score), temperature, stream)
