"""PV-MCTS: the network's policy and value guide a tree search (AlphaZero's player).

Letters: B positions, G games, A actions, S state words.

Several games are searched side by side, with one leaf of each in a batch. A single game is searched with
prefetch (`azero/search/prefetch.py`), which finds the same.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from azero.config.schema import SEARCH_ALGORITHMS, SearchConfig, UserError, is_cold
from azero.games.game import Game
from azero.games.playing import ONLY_GAME
from azero.network.inference import Inference
from azero.players import Advice, check_choice, check_number
from azero.search.algorithm import check as check_algorithm
from azero.search.algorithm import find_kind, sound_for, with_kind
from azero.search.cache import make_cache
from azero.search.counters import WorkerStats
from azero.search.prefetch import Prefetch
from azero.search.root import Temperature
from azero.search.searches import LockStep, Searches
from azero.search.tree import NO_LEAF, ROOT, Tree, node_bytes, nodes_needed

LARGEST_TREE = 2**30  # bytes, of a search that only the time limits
SNAPSHOT_SECONDS = 0.1  # between two reports of a search under way
GREEDY = Temperature(0.0, 0, 0, 0.0)


class PvMcts:
    """A player that searches with a network, without the noise of self-play.

    It can be `Watched` while it plays one game.
    """

    name = "pv_mcts"

    def __init__(
        self,
        game: Game,
        inference: Inference,
        search: SearchConfig,
        temperature: Temperature = GREEDY,
        cache: int = 65_536,
        leaves: int = 0,
        seconds: float = 0.0,
        until_decided: bool = False,
    ) -> None:
        """Make the player; `make` documents the options."""
        self.game, self.inference, self.temperature = game, inference, temperature
        self.search = as_played(search, game)
        self.deterministic = is_cold(*temperature)
        self.watch: Callable[[Advice], bool] | None = None
        self.cache = make_cache(cache, game.key_words, game.num_actions)
        leaves = leaves or (inference.batch_size if cache else 1)
        self.together = LockStep(game, inference, self.cache)
        self.prefetch = Prefetch(game, inference, self.cache, leaves)
        self.seconds, self.until_decided = seconds, until_decided
        self.new_games(np.zeros(1, np.uint64))
        if seconds:  # compiles before the first move's clock runs
            self.begin(game.initial_state()[None], ONLY_GAME, ONLY_GAME)
            while self.wave(0) and not self.tree.edges[0, ROOT]["child_visits"].any():
                pass
            self.searches.choose(ONLY_GAME, ONLY_GAME, self.temperature)
            self.new_games(np.zeros(1, np.uint64))

    def new_games(self, seeds: np.ndarray) -> None:
        """Forget all trees; game g's moves are drawn from a stream seeded by seeds[g], [G] uint64."""
        self.searches = Searches(self.game, self.search, seeds)
        self.plies = np.zeros(len(seeds), np.int64)
        self.thinking = np.zeros(0, np.int64)  # games whose search is under way

    @property
    def tree(self) -> Tree:
        """The trees of the games."""
        return self.searches.tree

    @property
    def stats(self) -> WorkerStats:
        """What was asked of the network since `new_games`."""
        return self.searches.stats

    @property
    def one_by_one(self) -> bool:
        """Whether positions are searched one by one: there is only one game, or a time limit."""
        return bool(self.seconds) or len(self.plies) == 1

    def begin(
        self, states: np.ndarray, games: np.ndarray, plies: np.ndarray, banned: np.ndarray | None = None
    ) -> None:
        """Begin to think about more positions; see `Player.choose` for the arguments."""
        self.plies[games] = plies
        self.searches.draw_noise(games, plies, self.temperature)
        self.searches.begin(states, games, banned)
        self.thinking = np.union1d(self.thinking, games)

    def think_on(self) -> tuple[np.ndarray, np.ndarray]:
        """Think for one batch of the network, or for one whole search if positions are searched one by one.

        Return the games that were decided before the batch and their moves.
        """
        waiting, decided = 0, self.thinking[:1]
        if self.one_by_one:
            self.think_alone(int(decided[0]))
        else:
            waiting = self.together.wave(self.searches, self.thinking)
            decided = self.thinking[self.tree.searches["leaf"][self.thinking] == NO_LEAF]
        self.thinking = np.setdiff1d(self.thinking, decided)
        actions = self.searches.choose(decided, self.plies[decided], self.temperature)
        if waiting:
            self.together.infer(self.searches)
        return decided, actions

    def think(self, states: np.ndarray, games: np.ndarray, banned: np.ndarray | None = None) -> None:
        """Search states [B, S], one of each of `games` [B]; the results stand at the roots of `tree`.

        banned: [B, A] bool, moves left out at the roots; None for none.
        """
        self.searches.begin(states, games, banned)
        if self.one_by_one:
            for game in games.tolist():
                self.think_alone(game)
        else:
            while self.together.wave(self.searches, games):
                self.together.infer(self.searches)

    def think_alone(self, game: int) -> None:
        """Search the position that a game has begun with, until it has its simulations or may end early.

        `watch` sees it ten times a second and at the end, and may end it.
        """
        begin = shown = last = time.perf_counter()
        while self.wave(game) and not self.is_over(game, begin, last):
            last = time.perf_counter()
            if self.watch is not None and last - shown >= SNAPSHOT_SECONDS:
                if self.watch(self.advice(game)):
                    return
                shown = last = time.perf_counter()
        if self.watch is not None:
            self.watch(self.advice(game))

    def wave(self, game: int) -> bool:
        """Search a game on by one batch of the network. Return whether simulations are left to do."""
        goes_on = self.prefetch.wave(
            self.tree, game, self.searches.algorithm, self.stats, self.searches.exact
        )
        return len(self.searches.ban(np.array([game]))) > 0 or goes_on

    def is_over(self, game: int, begin: float, last: float) -> bool:
        """Return whether a search ends early, because its time is up or its move is decided.

        Its time is up if another wave like the one since `last` would take too long.
        """
        edges, now = self.tree.edges[game, ROOT], time.perf_counter()
        if self.seconds and 2 * now - last > begin + self.seconds:
            return bool(edges["child_visits"].any())  # else there is no move yet
        if not self.until_decided or self.search.solver:
            return False
        return is_decided(edges, int(self.tree.searches["simulations_left"][game]))

    def choose(
        self, states: np.ndarray, games: np.ndarray, plies: np.ndarray, banned: np.ndarray | None = None
    ) -> np.ndarray:
        """Return a move for each of states [B, S], which belong to `games` [B] at `plies` [B], [B] int64."""
        self.searches.draw_noise(games, plies, self.temperature)
        self.think(states, games, banned)
        return self.searches.choose(games, plies, self.temperature)

    def advise(self, state: np.ndarray, banned: np.ndarray | None = None) -> Advice:
        """Return the search's advice on one state [S]; it begins with an empty tree and forgets all games."""
        self.new_games(np.zeros(1, np.uint64))
        self.think(state[None], ONLY_GAME, None if banned is None else banned[None])
        return self.advice(0)

    def advice(self, game: int) -> Advice:
        """Return what a game's search has found so far."""
        edges = self.tree.edges[game, ROOT]
        visits = edges["child_visits"].astype(np.int64)
        values = np.full(len(visits), np.nan)
        np.divide(edges["child_value_sum"], visits, out=values, where=visits > 0)
        return Advice(visits, values, int(self.searches.choose(np.array([game]), ONLY_GAME, GREEDY)[0]))

    def visit_counts(self, games: np.ndarray) -> np.ndarray:
        """Return the visit counts of the roots of `games` [B] after `think`, [B, A] int32."""
        return self.tree.edges["child_visits"][games, ROOT]

    def root_values(self, games: np.ndarray) -> np.ndarray:
        """Return the search's value of the roots of `games` [B] for the player to move, [B] float32."""
        return self.searches.values(games)


def as_played(search: SearchConfig, game: Game) -> SearchConfig:
    """Return a search with the settings that hold outside self-play."""
    return replace(sound_for(search, game), **find_kind(search.kind).play_settings)


def is_decided(edges: np.ndarray, simulations_left: int) -> bool:
    """Return whether no simulation left can change the most visited move of a root's edges [A]."""
    visits = np.sort(edges["child_visits"][edges["prior"] >= 0.0])
    return bool(visits[-1] > (visits[-2] + simulations_left if len(visits) > 1 else 0))


def most_simulations(game: Game, tree_reuse: bool) -> int:
    """Return the simulations of a search that only the time limits: what LARGEST_TREE holds.

    The most is a million.
    """
    return min(1_000_000, LARGEST_TREE // node_bytes(game) // nodes_needed(1, tree_reuse))


def make(
    game: Game,
    inference: Inference,
    *,
    search: SearchConfig | None = None,
    kind: str | None = None,
    num_simulations: int | None = None,
    exact_plies: int | None = None,
    temperature: float = 0.0,
    temperature_plies: int = 1_000_000,
    temperature_decay_plies: int = 0,
    temperature_final: float = 0.0,
    cache: int = 65_536,
    leaves: int = 0,
    seconds: float = 0.0,
    until_decided: bool = False,
) -> PvMcts:
    """Return the player.

    Args:
        search: the search; noise for learning is left out.
        kind: the search algorithm, instead of that of `search`. If that one cannot end early but `seconds` or
            `until_decided` asks for it, the default is PUCT.
        num_simulations: new simulations before each move, instead of those of `search`. With `seconds`, None
            means as many as the time allows.
        exact_plies: solve leaves from which the game must end within this many plies, instead of those of
            `search`. It turns proofs on.
        temperature: exponent 1/temperature on visit counts; 0 plays the most visited move, proofs aside.
        temperature_plies: plies at that temperature.
        temperature_decay_plies: plies of the linear fall that follows.
        temperature_final: the temperature after the fall.
        cache: evaluations remembered, 0 for none.
        leaves: evaluations of one wave when one position is searched; more than 1 needs a cache. 0: all rows
            of the network's batch. The search is the same with each.
        seconds: time for each move, positions being searched one after another; 0 for no limit.
        until_decided: end the search of one position when no simulation left could change the most visited
            move. With the solver it ends when the position is proven, because a proof could change the move.

    Raises:
        UserError: an option is out of range or does not fit the others.
    """
    check_number("pv_mcts", "seconds", seconds, 0.0, 86_400.0, whole=False)
    check_number("pv_mcts", "temperature", temperature, 0.0, 100.0, whole=False)
    check_number("pv_mcts", "temperature_plies", temperature_plies, 0, 1_000_000)
    check_number("pv_mcts", "temperature_decay_plies", temperature_decay_plies, 0, 1_000_000)
    check_number("pv_mcts", "temperature_final", temperature_final, 0.0, 100.0, whole=False)
    check_number("pv_mcts", "cache", cache, 0, 2**28)
    check_number("pv_mcts", "leaves", leaves, 0, inference.batch_size)
    check_choice("pv_mcts", "until_decided", until_decided, (True, False))
    if leaves > 1 and not cache:
        raise UserError(
            f"player pv_mcts: leaves={leaves} needs a cache for prefetched evaluations; "
            "set cache=65536, or leaves=1."
        )
    if until_decided and (temperature or temperature_final):
        raise UserError(
            "player pv_mcts: until_decided=True needs temperature=0, where only the most visited move counts."
        )
    search = chosen_kind(search or SearchConfig(), kind, bool(seconds or until_decided))
    if num_simulations is None:
        num_simulations = most_simulations(game, search.tree_reuse) if seconds else search.num_simulations
    check_number("pv_mcts", "num_simulations", num_simulations, 1, 1_000_000)
    search = replace(search, num_simulations=num_simulations)
    if exact_plies is not None:
        check_number("pv_mcts", "exact_plies", exact_plies, 0, 1000)
        search = replace(search, exact_plies=exact_plies, solver=search.solver or exact_plies > 0)
    schedule = Temperature(
        float(temperature), temperature_plies, temperature_decay_plies, float(temperature_final)
    )
    return PvMcts(game, inference, search, schedule, cache, leaves, float(seconds), until_decided)


def chosen_kind(search: SearchConfig, kind: str | None, ends_early: bool) -> SearchConfig:
    """Return the search with an algorithm, by default its own, or PUCT if its own cannot end early.

    Raises:
        UserError: the algorithm is unknown or cannot end early, or a setting does not fit it.
    """
    usual = SearchConfig().kind
    if kind is None:
        kind = usual if ends_early and not find_kind(search.kind).anytime else search.kind
    check_choice("pv_mcts", "kind", kind, tuple(SEARCH_ALGORITHMS))
    if ends_early and not find_kind(kind).anytime:
        raise UserError(
            f"player pv_mcts: kind={kind} cannot end early; leave out seconds and until_decided, "
            f"or set kind={usual}."
        )
    search = with_kind(search, kind)
    check_algorithm(search)
    return search
