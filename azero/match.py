"""Matches between two players: many games at once, in pairs with colours swapped.

Letters: G games, S state words.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from azero.games.game import Game, rules_at
from azero.players import Player, Prover
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
    moves: tuple[int, int] = (0, 0)  # chosen by each player, openings left out
    seconds: tuple[float, float] = field(default=(0.0, 0.0), compare=False)  # that each player took for them
    unproven: tuple[int, int] = field(default=(0, 0), compare=False)  # of them, where a player claims exact moves


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


class Clock:
    """What each of two players has chosen, and how long it took."""

    def __init__(self) -> None:
        self.moves = [0, 0]
        self.seconds = [0.0, 0.0]
        self.unproven = [0, 0]

    def choose(self, which: int, player: Player, *asked: Any) -> np.ndarray:
        """Let a player choose, and write down its time."""
        started = time.perf_counter()
        actions = player.choose(*asked)
        self.seconds[which] += time.perf_counter() - started
        self.moves[which] += len(actions)
        self.unproven[which] += player.unproven if isinstance(player, Prover) else 0
        return actions

    def add(self, result: MatchResult) -> None:
        """Add what another match took."""
        for which in (0, 1):
            self.moves[which] += result.moves[which]
            self.seconds[which] += result.seconds[which]
            self.unproven[which] += result.unproven[which]


def play_match(
    game: Game,
    players: tuple[Player, Player],
    seeds: np.ndarray,
    openings: Sequence[list[int]] = (),
    watch: Callable[[list[MatchGame]], None] = lambda finished: None,
) -> MatchResult:
    """Play len(seeds) games in lock-step; games 2k and 2k + 1 share an opening and swap colours.

    Args:
        game: the rules.
        players: player 0 moves first in even games.
        seeds: [G] uint64, G even; each player draws from streams of its own.
        openings: the first plies of each pair of games; without any, all begin at the initial state.
        watch: told after each ply of the games that ended with it, often none; may raise to stop the match.
    """
    num_games = len(seeds)
    openings = list(openings) or [[]] * (num_games // 2)
    for player, salt in zip(players, (0, 1), strict=True):
        player.new_games(seeds ^ np.uint64(salt))
    first = np.arange(num_games) % 2  # the player who moves first in each game
    histories: list[list[int]] = [[] for _ in range(num_games)]
    states = np.stack([game.initial_state()] * num_games)
    past, clock = History(game, num_games), Clock()
    to_play = np.full(num_games, game.to_play(states[0]), np.int64)
    running, outcomes = np.ones(num_games, np.bool_), np.zeros(num_games)
    games: list[MatchGame] = []
    while running.any():
        actions = next_actions(players, clock, states, running, to_play ^ first, openings, histories, past)
        moved = np.flatnonzero(running)
        for g in moved:
            histories[g].append(int(actions[g]))
        past.add(moved, states[moved])
        step_games(game.rule_addresses, states, actions, running, to_play, outcomes)
        ended = [
            MatchGame(g, int(first[g]), len(openings[g // 2]), histories[g], float(outcomes[g] * (1 - 2 * first[g])))
            for g in moved[~running[moved]].tolist()
        ]
        games += ended
        watch(ended)
    return summarize(sorted(games), clock)


def next_actions(
    players: tuple[Player, Player],
    clock: Clock,
    states: np.ndarray,
    running: np.ndarray,
    mover: np.ndarray,
    openings: Sequence[list[int]],
    histories: list[list[int]],
    past: History,
) -> np.ndarray:
    """[G] int64: one action for each running game, from its opening or from the player (`mover` [G]) whose move it is."""
    plies = np.array([len(history) for history in histories])
    in_opening = plies < np.array([len(openings[g // 2]) for g in range(len(histories))])
    actions = np.zeros(len(histories), np.int64)
    for g in np.flatnonzero(running & in_opening).tolist():
        actions[g] = openings[g // 2][plies[g]]
    for which, player in enumerate(players):
        games = np.flatnonzero(running & ~in_opening & (mover == which))
        if len(games):
            asked = (states[games], games, plies[games], past.banned(games, states[games]))
            actions[games] = clock.choose(which, player, *asked)
    return actions


def summarize(games: list[MatchGame], clock: Clock | None = None) -> MatchResult:
    """Count."""
    clock = clock or Clock()
    return MatchResult(
        wins=sum(game.outcome > 0 for game in games),
        draws=sum(game.outcome == 0 for game in games),
        losses=sum(game.outcome < 0 for game in games),
        distinct=len({(game.first, *game.actions) for game in games}),
        games=games,
        moves=(clock.moves[0], clock.moves[1]),
        seconds=(clock.seconds[0], clock.seconds[1]),
        unproven=(clock.unproven[0], clock.unproven[1]),
    )
