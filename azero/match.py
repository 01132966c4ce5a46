"""Matches between two players: many games at once, in pairs with colours swapped.

Letters: G games, S state words.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from azero.games.game import Game, rules_at
from azero.players import Player
from azero.search.kernels import kernel
from azero.search.repetition import History


class MatchGame(NamedTuple):
    """One finished game of a match."""

    number: int
    first: int  # which of the two players moved first: 0 or 1
    opening_plies: int  # random plies at the start
    actions: list[int]  # all plies, the opening's too
    outcome: float  # for player 0 of the match: 1 won, 0 draw, -1 lost


@dataclass(frozen=True)
class MatchResult:
    """A match seen by player 0."""

    wins: int
    draws: int
    losses: int
    distinct: int  # games that differ in a move or in who moved first
    games: list[MatchGame]


@kernel
def step_games(addresses, states, actions, running, to_play, outcomes):
    """Play one action in each running game: states [G, S] and to_play [G] move on; games that end leave `running` [G].

    outcomes [G] float64: for the player who moves first in the initial state.
    """
    rules = rules_at(addresses)
    successor = np.zeros_like(states[0])
    for g in range(states.shape[0]):
        if not running[g]:
            continue
        rules.step(states[g], actions[g], successor)
        for word in range(successor.shape[0]):  # Numba's assignment of rows costs seconds of compilation
            states[g, word] = successor[word]
        to_play[g] = rules.to_play(successor)
        if rules.is_terminal(successor):
            running[g] = False
            outcomes[g] = rules.outcome(successor) * (1.0 if to_play[g] == 0 else -1.0)


def random_opening(game: Game, plies: int, rng: np.random.Generator) -> list[int]:
    """So many uniformly random legal actions, fewer where the next would end the game."""
    state, actions = game.initial_state(), list[int]()
    past, only_game = History(game, 1), np.zeros(1, np.int64)
    for _ in range(plies):
        action = int(rng.choice(np.flatnonzero(past.legal_mask(0, state))))
        past.add(only_game, state[None])
        state = game.step(state, action)
        if game.is_terminal(state):
            break
        actions.append(action)
    return actions


def play_match(
    game: Game,
    players: tuple[Player, Player],
    seeds: np.ndarray,
    opening_plies: int = 0,
    openings_seed: np.random.SeedSequence | None = None,
    watch: Callable[[int], None] = lambda finished: None,
) -> MatchResult:
    """Play len(seeds) games in lock-step; games 2k and 2k + 1 share an opening and swap colours.

    Args:
        game: the rules.
        players: player 0 moves first in even games.
        seeds: [G] uint64, G even; each player draws from streams of its own.
        opening_plies: random plies before both games of a pair.
        openings_seed: where the openings come from.
        watch: told of the number of finished games after each ply; may raise to stop the match.
    """
    num_games = len(seeds)
    source = openings_seed or np.random.SeedSequence(0)
    openings = [random_opening(game, opening_plies, np.random.default_rng(child)) for child in source.spawn(num_games // 2)]
    for player, salt in zip(players, (0, 1), strict=True):
        player.new_games(seeds ^ np.uint64(salt))
    first = np.arange(num_games) % 2  # the player who moves first in each game
    histories: list[list[int]] = [[] for _ in range(num_games)]
    states = np.stack([game.initial_state()] * num_games)
    past = History(game, num_games)
    to_play = np.full(num_games, game.to_play(states[0]), np.int64)
    running, outcomes = np.ones(num_games, np.bool_), np.zeros(num_games)
    while running.any():
        actions = next_actions(players, states, running, to_play ^ first, openings, histories, past)
        for g in np.flatnonzero(running):
            histories[g].append(int(actions[g]))
        past.add(np.flatnonzero(running), states[running])
        step_games(game.rule_addresses, states, actions, running, to_play, outcomes)
        watch(int(num_games - running.sum()))
    signs = 1 - 2 * first
    games = [
        MatchGame(g, int(first[g]), len(openings[g // 2]), histories[g], float(outcomes[g] * signs[g])) for g in range(num_games)
    ]
    return summarize(games)


def next_actions(
    players: tuple[Player, Player],
    states: np.ndarray,
    running: np.ndarray,
    mover: np.ndarray,
    openings: list[list[int]],
    histories: list[list[int]],
    past: History,
) -> np.ndarray:
    """[G] int64: one action for each running game, from its opening or from the player (`mover` [G]) whose move it is."""
    plies = np.array([len(history) for history in histories])
    in_opening = plies < np.array([len(openings[g // 2]) for g in range(len(histories))])
    actions = np.zeros(len(histories), np.int64)
    for g in np.flatnonzero(running & in_opening):
        actions[g] = openings[g // 2][plies[g]]
    for which, player in enumerate(players):
        games = np.flatnonzero(running & ~in_opening & (mover == which))
        if len(games):
            actions[games] = player.choose(states[games], games, plies[games], past.banned(games, states[games]))
    return actions


def summarize(games: list[MatchGame]) -> MatchResult:
    """Count."""
    return MatchResult(
        wins=sum(game.outcome > 0 for game in games),
        draws=sum(game.outcome == 0 for game in games),
        losses=sum(game.outcome < 0 for game in games),
        distinct=len({(game.first, *game.actions) for game in games}),
        games=games,
    )
