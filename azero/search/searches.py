"""Searches of many games for a player: their trees, and how they advance side by side.

Letters: B positions, G games, A actions, S state words.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from azero.config.schema import SearchConfig
from azero.games.game import Game, rules_at
from azero.games.repetition import check_moves
from azero.kernels.compiled import borrowed, kernel
from azero.network.inference import gathers
from azero.search.algorithm import (
    choose_move,
    draw_noise,
    explaining_search,
    find_kind,
    make_algorithm,
    search_value,
)
from azero.search.cache import EvaluationCache
from azero.search.counters import WorkerStats, infer_counted
from azero.search.dead_end import check_dead_end
from azero.search.exact import make_exact
from azero.search.mcts import LegalRows, receive_evaluations, search_wave, take_win, write_rows
from azero.search.repetition import ban
from azero.search.root import NO_WIN, Temperature, prefer_end, temperature_at, win_at_once
from azero.search.scratch import make_scratch
from azero.search.tree import ROOT, Tree, find_state, nodes_needed, reroot, reset, trees_of

if TYPE_CHECKING:
    from azero.network.inference import Inference


class Coming(NamedTuple):
    """What is to be done at a root as soon as it is expanded, before its simulations begin."""

    banned: np.ndarray | None  # [A] bool: moves to remove; None for none
    win: int  # the action that wins at once, or NO_WIN


@kernel
def start_searches(addresses, tree, states, games, started, num_simulations, tree_reuse, new_index):
    """Put states [B, S] at the roots of `games` [B], keeping what a game's tree already knows of them."""
    rules = rules_at(addresses)
    tree, states = borrowed(tree), borrowed(states)
    for row in range(games.shape[0]):
        b = games[row]
        known = find_state(tree, b, states[row]) if tree_reuse and started[b] else -1
        if known >= 0:
            reroot(tree, b, known, num_simulations, new_index)
        else:
            reset(rules, tree, b, states[row])
        started[b] = True
        tree.searches[b].simulations_left = num_simulations


@kernel
def find_wins(addresses, states, legal, successor, wins):
    """Write into wins [B] an action that wins at once in each of states [B, S], or NO_WIN."""
    rules = rules_at(addresses)
    for row in range(states.shape[0]):
        over = rules.is_terminal(states[row])
        wins[row] = NO_WIN if over else win_at_once(rules, states[row], legal, successor)


@kernel
def take_wins(addresses, tree, b, action):
    """Do as `take_win`."""
    take_win(rules_at(addresses), tree, b, action)


@kernel
def draw_noises(algorithm, games, plies, schedule, streams):
    """Draw the noise of the next search of each of `games` [B], at its ply's temperature."""
    for row in range(games.shape[0]):
        draw_noise(algorithm, games[row], temperature_at(schedule, plies[row]), streams[games[row]])


@kernel
def choose_actions(addresses, tree, games, algorithm, plies, schedule, streams, successor, actions):
    """Write a move for each game into actions [B], by its search and its ply's temperature.

    successor: scratch, [S].
    """
    rules = rules_at(addresses)
    for row in range(games.shape[0]):
        b = games[row]
        chosen = choose_move(tree, b, algorithm, temperature_at(schedule, plies[row]), streams[b])
        actions[row] = tree.edges[b, prefer_end(rules, tree, b, chosen, successor)].action


@kernel
def find_values(tree, games, algorithm, values):
    """Write the value of the root of each of `games` [B] into values [B], for the player to move."""
    for row in range(games.shape[0]):
        values[row] = search_value(tree, games[row], algorithm)


class Searches:
    """The trees of G games and their searches under way.

    Game g draws its random numbers from a stream seeded by seeds[g], [G] uint64.

    Attributes:
        budget: the simulations of the searches that began last.
    """

    def __init__(self, game: Game, search: SearchConfig, seeds: np.ndarray) -> None:
        num_games, num_nodes = len(seeds), nodes_needed(search.num_simulations, search.tree_reuse)
        self.game, self.search, self.budget = game, search, search.num_simulations
        self.tree = trees_of(game, num_games, num_nodes)
        self.algorithm = make_algorithm(search, num_games, game.num_actions)
        self.streams = np.stack([np.asarray(seeds, np.uint64), np.zeros(num_games, np.uint64)], axis=1)
        self.scratch = make_scratch(game, num_nodes)
        self.exact = make_exact(game, search)
        self.started = np.zeros(num_games, np.bool_)
        self.coming: dict[int, Coming] = {}  # by game
        self.stats = WorkerStats()

    def draw_noise(self, games: np.ndarray, plies: np.ndarray, schedule: Temperature) -> None:
        """Draw the noise of the next search of each of `games` [B] at `plies` [B], if there is any."""
        if find_kind(self.search.kind).draw_noise is None:
            return
        with explaining_search(self.search):
            draw_noises(self.algorithm, games, plies, schedule, self.streams)

    def begin(
        self, states: np.ndarray, games: np.ndarray, banned: np.ndarray | None, budget: int = 0
    ) -> None:
        """Begin to search states [B, S], one of each of `games` [B], without banned [B, A] moves.

        With the solver a move that wins at once is looked for among all of them: PUCT may never visit one
        that the network finds unlikely.

        budget: simulations, at most those of `search`; 0: these.

        Raises:
            BrokenGame: every legal move of a state is banned.
        """
        if banned is not None:
            check_moves(self.game, states, banned)
        start_searches(
            self.game.rule_addresses,
            self.tree,
            states,
            games,
            self.started,
            self.search.num_simulations,
            self.search.tree_reuse,
            self.scratch.new_index,
        )
        self.budget = budget or self.search.num_simulations
        self.tree.searches["simulations_left"][games] = self.budget  # fewer than the tree has room for
        wins, scratch = np.full(len(games), NO_WIN), self.scratch
        if self.search.solver:
            find_wins(self.game.rule_addresses, states, scratch.legal, scratch.successor, wins)
        for row, game in enumerate(games.tolist()):
            moves = None if banned is None or not banned[row].any() else banned[row]
            win = NO_WIN if moves is not None and moves[wins[row]] else int(wins[row])
            self.coming.pop(game, None)
            if moves is not None or win != NO_WIN:
                self.coming[game] = Coming(moves, win)
                self.tree.searches["simulations_left"][game] = 0  # first the root alone is expanded

    def prepare(self, games: np.ndarray) -> np.ndarray:
        """Do what is to be done at the expanded roots of `games` [B], and let their simulations begin.

        Return those games.
        """
        ready = [b for b in games.tolist() if b in self.coming and self.tree.nodes["expanded"][b, ROOT]]
        for b in ready:
            banned, win = self.coming.pop(b)
            if banned is not None:
                ban(self.tree, b, banned)
            if win != NO_WIN:
                take_wins(self.game.rule_addresses, self.tree, b, win)
            self.tree.searches["simulations_left"][b] = self.budget - (win != NO_WIN)
        return np.array(ready, np.int64)

    def choose(self, games: np.ndarray, plies: np.ndarray, schedule: Temperature) -> np.ndarray:
        """Return a move for each of `games` [B] at `plies` [B], [B] int64."""
        actions = np.zeros(len(games), np.int64)
        addresses, successor = self.game.rule_addresses, self.scratch.successor
        with explaining_search(self.search):
            choose_actions(
                addresses, self.tree, games, self.algorithm, plies, schedule, self.streams, successor, actions
            )
        return actions

    def values(self, games: np.ndarray) -> np.ndarray:
        """Return the value of the root of each of `games` [B] for the player to move, [B] float32."""
        values = np.zeros(len(games), np.float32)
        with explaining_search(self.search):
            find_values(self.tree, games, self.algorithm, values)
        return values


class LockStep:
    """Advances searches side by side: each waits for one leaf, and a batch evaluates the leaves of many."""

    def __init__(self, game: Game, inference: Inference, cache: EvaluationCache) -> None:
        self.addresses, self.inference, self.cache = game.rule_addresses, inference, cache
        self.planes = np.zeros((inference.batch_size, *game.planes_shape), np.float32)
        self.games = np.zeros(inference.batch_size, np.int64)
        self.legal, self.gathered = LegalRows(game, inference), gathers(inference)
        self.turn = 0  # the game whose leaf comes first in the next batch

    def wave(self, searches: Searches, games: np.ndarray) -> int:
        """Advance the searches of `games` [B] until each waits for the network or is done.

        Return how many wait.
        """
        waiting = 0
        while len(games):
            key, exact = searches.scratch.key, searches.exact
            with explaining_search(searches.search):
                waiting += search_wave(
                    self.addresses, searches.tree, self.cache, games, searches.algorithm, key, exact
                )
            games = searches.prepare(games) if searches.coming else games[:0]
        return waiting

    def infer(self, searches: Searches) -> None:
        """Evaluate one batch of waiting leaves."""
        rows = self.write_leaves(searches.tree)
        moves = self.legal.of_leaves(searches.tree, self.games, rows)
        logits, values = infer_counted(self.inference, self.planes, rows, searches.stats, moves)
        scratch = searches.scratch._replace(gathered=self.gathered)
        stuck = receive_evaluations(
            self.addresses, searches.tree, self.cache, self.games, rows, logits, values, scratch
        )
        check_dead_end(searches.game, searches.tree, stuck)

    def write_leaves(self, tree: Tree) -> int:
        """Write as many waiting leaves as the batch has rows and return how many.

        If there are more, the games take turns.
        """
        rows, num_games = 0, len(tree.searches)
        turn = min(self.turn, num_games)
        for begin, end in ((turn, num_games), (0, turn)):
            part = Tree(*(array[begin:end] for array in tree))
            taken = write_rows(self.addresses, part, self.planes[rows:], self.games[rows:])
            self.games[rows : rows + taken] += begin
            rows += taken
        self.turn = int(self.games[rows - 1]) + 1
        return rows
