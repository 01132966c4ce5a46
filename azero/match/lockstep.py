"""Matches between two players: many games at once, in pairs with colours swapped.

Letters: G games, B of them, S state words, A actions.

The games lie on a table with two seats, one for each player. A seat receives the games in which its player is
to move and hands them over after its move. A player that searches with a network answers each game when its
search is done, so that no game waits for the slowest one and batches stay full. With two workers each seat
works in a thread of its own. What is played depends on a game's number alone.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from azero.games.game import Game, rules_at
from azero.games.legal import list_legal, make_legal
from azero.games.repetition import History, dead_end
from azero.kernels.compiled import kernel
from azero.kernels.words import copy_words
from azero.players import Player, Ponderer, Prover
from azero.search.counters import WorkerStats


class MatchGame(NamedTuple):
    """One finished game of a match."""

    number: int
    first: int  # which of the two players moved first: 0 or 1
    opening_plies: int  # random plies at the start
    actions: list[int]  # all plies, the opening's too
    outcome: float  # for player 0 of the match: 1 won, 0 draw, -1 lost


Watch = Callable[[list[MatchGame]], None]  # receives games that have ended, often none; may raise to stop


@dataclass(frozen=True)
class MatchResult:
    """A match seen by player 0."""

    wins: int
    draws: int
    losses: int
    distinct: int  # games that differ in a move or in who moved first
    games: list[MatchGame]  # that count
    repeats: int = 0  # games that do not count: repeated pairs of deterministic players
    moves: tuple[int, int] = (0, 0)  # chosen by each player, openings left out
    seconds: tuple[float, float] = field(default=(0.0, 0.0), compare=False)  # that each player took for them
    unproven: tuple[int, int] = field(default=(0, 0), compare=False)  # moves that a solver did not prove
    stats: tuple[WorkerStats, ...] = field(default=(), compare=False)  # of each player


@kernel
def step_games(addresses, states, actions, running, to_play, outcomes, successor, legal):
    """Play one action in each running game: states [G, S] and to_play [G] move on; ended games stop running.

    Return -1, or a game that goes on without a legal move.

    outcomes [G] float64: for the player who moves first in the initial state. successor [S], legal: scratch.
    """
    rules = rules_at(addresses)
    stuck = -1
    for g in range(states.shape[0]):
        if not running[g]:
            continue
        rules.step(states[g], actions[g], successor)
        copy_words(successor, states[g])
        to_play[g] = rules.to_play(successor)
        if rules.is_terminal(successor):
            running[g] = False
            outcomes[g] = rules.outcome(successor) * (1.0 if to_play[g] == 0 else -1.0)
            continue
        stuck = stuck if list_legal(rules, successor, legal) > 0 else g
    return stuck


class MatchTable:
    """The games of a match under way.

    Attributes:
        seats: where the players work.
        ended: games that are over.
    """

    def __init__(
        self,
        game: Game,
        players: tuple[Player, Player],
        seeds: np.ndarray,
        openings: Sequence[list[int]],
        watch: Watch,
        numbers: np.ndarray | None = None,
    ) -> None:
        """Lay out the games and play their openings.

        Args:
            game, players, watch: as for `play_match`.
            seeds: [G] uint64, of each game.
            openings: the first plies of each game.
            numbers: [G] of the games in their match; without any, they count from 0.
        """
        num_games = len(seeds)
        self.game, self.watch = game, watch
        self.numbers = np.arange(num_games) if numbers is None else numbers
        self.first = self.numbers % 2  # the player who moves first in each game
        self.openings = openings
        self.histories: list[list[int]] = [[] for _ in range(num_games)]
        self.states = np.stack([game.initial_state()] * num_games)
        self.to_play = np.full(num_games, game.to_play(self.states[0]), np.int64)
        self.past = History(game, num_games)
        self.successor, self.legal = np.zeros(game.state_words, np.uint64), make_legal(game.num_actions)
        self.ended: list[MatchGame] = []
        self.abandoned = False
        self.seats = (Seat(0, players[0], seeds), Seat(1, players[1], seeds))
        self.changed = threading.Condition()  # held whenever games change hands
        self.hand_over(np.arange(num_games))

    @property
    def over(self) -> bool:
        """Whether nothing is left to play."""
        return self.abandoned or len(self.ended) == len(self.histories)

    def hand_over(self, games: np.ndarray) -> None:
        """Give games [B] to the player to move, and play openings at once."""
        while len(games):
            forced = np.array([len(self.histories[g]) < len(self.openings[g]) for g in games])
            for g in games[~forced].tolist():
                self.seats[self.to_play[g] ^ self.first[g]].waiting.append(g)
            games = games[forced]
            actions = [self.openings[g][len(self.histories[g])] for g in games]
            games = self.step(games, np.array(actions, np.int64))

    def step(self, games: np.ndarray, actions: np.ndarray) -> np.ndarray:
        """Play one action [B] in each of `games` [B]. Return those that have not ended."""
        if not len(games):
            return games
        for g, action in zip(games.tolist(), actions.tolist(), strict=True):
            self.histories[g].append(action)
        self.past.add(games, self.states[games])
        states, to_play = self.states[games], self.to_play[games]
        running, outcomes = np.ones(len(games), np.bool_), np.zeros(len(games))
        game, scratch = self.game, (self.successor, self.legal)
        stuck = step_games(game.rule_addresses, states, actions, running, to_play, outcomes, *scratch)
        if stuck >= 0:
            raise dead_end(game, self.histories[int(games[stuck])])
        self.states[games], self.to_play[games] = states, to_play
        ended = []
        # a game that goes on after that is a draw, whatever its rules say
        running &= np.array([len(self.histories[g]) < game.max_plies for g in games.tolist()])
        for g, outcome in zip(games[~running].tolist(), outcomes[~running].tolist(), strict=True):
            first = int(self.first[g])
            own = outcome if first == 0 else -outcome
            number = int(self.numbers[g])
            ended.append(MatchGame(number, first, len(self.openings[g]), self.histories[g], own))
        self.ended += ended
        self.watch(ended)
        return games[running]

    def play(self, workers: int) -> None:
        """Play everything: the seats in turn in this thread, or with two workers at the same time."""
        if workers == 1:
            while not self.over:
                for seat in self.seats:
                    seat.move(self)
            return
        with ThreadPoolExecutor(1) as other_worker:
            other = other_worker.submit(self.seats[1].work, self)
            self.seats[0].work(self)
            other.result()

    def result(self) -> MatchResult:
        """Return the match as far as it has been played."""
        one, other = self.seats
        return replace(
            summarize(sorted(self.ended)),
            moves=(one.moves, other.moves),
            seconds=(one.seconds, other.seconds),
            unproven=(one.unproven, other.unproven),
            stats=(one.stats, other.stats),
        )


class Seat:
    """One player's place at a table.

    It does not keep its table, which keeps it: in a circle its player and all its trees would stay in memory
    until Python looks for circles.

    Attributes:
        waiting: games in which its player is to move.
    """

    def __init__(self, which: int, player: Player, seeds: np.ndarray) -> None:
        self.player = player
        self.waiting: list[int] = []
        self.moves, self.unproven, self.thinking = 0, 0, 0
        self.seconds, self.idle_seconds = 0.0, 0.0
        player.new_games(seeds ^ np.uint64(which))

    def work(self, table: MatchTable) -> None:
        """Move until all games at its table are over; wait while there is nothing to do here."""
        try:
            while not table.over:
                if self.move(table):
                    continue
                began = time.perf_counter()
                with table.changed:
                    table.changed.wait_for(lambda: self.waiting or table.over)
                self.idle_seconds += time.perf_counter() - began
        finally:
            with table.changed:
                table.abandoned |= not table.over
                table.changed.notify_all()

    def move(self, table: MatchTable) -> bool:
        """Take waiting games, let the player think, hand over games. Return whether there was work."""
        with table.changed:
            games, self.waiting = np.array(self.waiting, np.int64), []
            states = table.states[games]
            plies = np.array([len(table.histories[g]) for g in games], np.int64)
            banned = table.past.banned(games, states) if len(games) else None
        if not len(games) and not self.thinking:
            return False
        began = time.perf_counter()
        if isinstance(self.player, Ponderer):
            if len(games):
                self.player.begin(states, games, plies, banned)
            decided, actions = self.player.think_on()
            self.thinking += len(games) - len(decided)
            games = decided
        else:
            actions = self.player.choose(states, games, plies, banned)
        self.seconds += time.perf_counter() - began
        self.moves += len(games)
        self.unproven += self.player.unproven if isinstance(self.player, Prover) else 0
        with table.changed:
            table.hand_over(table.step(games, actions))
            table.changed.notify_all()
        return True

    @property
    def stats(self) -> WorkerStats:
        """What the player has done with its network, and how long it waited."""
        asked = self.player.stats if isinstance(self.player, Ponderer) else WorkerStats()
        return WorkerStats(
            plies=self.moves,
            evaluations=asked.evaluations,
            rows=asked.rows,
            seconds=self.seconds,
            inference_seconds=asked.inference_seconds,
            idle_seconds=self.idle_seconds,
        )


def play_match(
    game: Game,
    players: tuple[Player, Player],
    seeds: np.ndarray,
    openings: Sequence[list[int]] = (),
    watch: Watch = lambda finished: None,
    workers: int = 1,
) -> MatchResult:
    """Play len(seeds) games at once; games 2k and 2k + 1 share an opening and swap colours.

    Args:
        game: the rules.
        players: player 0 moves first in even games.
        seeds: [G] uint64, G even; each player draws from streams of its own.
        openings: the first plies of each pair of games; without any, all begin at the initial state.
        watch: receives the games that end after each move of a player, often none; may raise to stop.
        workers: 2 gives each player a thread; both call `watch`, one at a time.
    """
    pairs = openings or [[]] * (len(seeds) // 2)
    table = MatchTable(game, players, seeds, [pairs[g // 2] for g in range(len(seeds))], watch)
    table.play(workers)
    return table.result()


def summarize(
    games: list[MatchGame], parts: Sequence[MatchResult] = (), *, fixed: bool = False
) -> MatchResult:
    """Count the games, and add up the players' moves, times and stats of a match's parts.

    fixed: both players are deterministic, so repeated pairs count once.
    """
    counted = distinct_pairs(games) if fixed else games
    stats = (WorkerStats(), WorkerStats())
    for part in parts:
        for total, added in zip(stats, part.stats, strict=True):
            total.add(added)
    return MatchResult(
        wins=sum(game.outcome > 0 for game in counted),
        draws=sum(game.outcome == 0 for game in counted),
        losses=sum(game.outcome < 0 for game in counted),
        distinct=len({(game.first, *game.actions) for game in counted}),
        games=counted,
        repeats=len(games) - len(counted),
        moves=(sum(part.moves[0] for part in parts), sum(part.moves[1] for part in parts)),
        seconds=(sum(part.seconds[0] for part in parts), sum(part.seconds[1] for part in parts)),
        unproven=(sum(part.unproven[0] for part in parts), sum(part.unproven[1] for part in parts)),
        stats=stats,
    )


def distinct_pairs(games: Sequence[MatchGame]) -> list[MatchGame]:
    """Return the games without pairs (numbers 2n and 2n + 1) that repeat an earlier pair move by move."""
    pairs: dict[int, list[MatchGame]] = {}
    for game in games:
        pairs.setdefault(game.number // 2, []).append(game)
    kept: dict[tuple[tuple[int, ...], ...], list[MatchGame]] = {}
    for pair in pairs.values():
        kept.setdefault(tuple((game.first, *game.actions) for game in pair), pair)
    return [game for pair in kept.values() for game in pair]
