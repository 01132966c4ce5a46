"""PV-MCTS: the network's policy and value guide a tree search (AlphaZero's player).

Letters: B positions, G games, A actions, S state words.

Several games are searched side by side, with one leaf of each in a batch. A single game is searched with
prefetch (`azero/search/prefetch.py`), which finds the same.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from azero.config.reading import whole_number
from azero.config.schema import SEARCH_ALGORITHMS, SearchConfig, UserError, is_cold, setting
from azero.games.game import Game
from azero.games.playing import ONLY_GAME, GameInProgress
from azero.network.inference import Inference
from azero.players import Move, Player, Thought
from azero.players.base import Thinking
from azero.players.growing import LONGEST_LINE
from azero.players.options import MUST, PlayerOptions, seconds_setting
from azero.search.algorithm import check as check_algorithm
from azero.search.algorithm import explaining_search, find_kind, sound_for, with_kind
from azero.search.cache import cache_of
from azero.search.counters import WorkerStats
from azero.search.prefetch import Prefetch
from azero.search.root import Temperature
from azero.search.searches import LockStep, Searches
from azero.search.tree import (
    LOSS,
    NO_LEAF,
    ROOT,
    UNVISITED,
    WIN,
    Tree,
    edge_to,
    edges_of,
    node_bytes,
    nodes_needed,
    soften,
    visits_of,
)

LARGEST_TREE = 2**30  # bytes, of a search that only the time limits
GREEDY = Temperature(0.0, 0, 0, 0.0)


@dataclass(frozen=True)
class Options(PlayerOptions):
    """PV-MCTS: the network's policy and value guide a tree search (AlphaZero's player)."""

    network = MUST
    searches = shows_moves = keeps_tree = True
    kind: str | None = setting(
        None,
        "The search algorithm. auto: the run's; puct if that cannot end early for seconds or until_decided.",
        choices=SEARCH_ALGORITHMS,
        own="KIND",
    )
    num_simulations: int | None = setting(
        None, "Simulations of a move. auto: the run's, or what seconds allow.", between=(1, 1_000_000)
    )
    exact_plies: int | None = setting(
        None, "Like search.exact_plies, and turns proofs on. auto: the run's.", between=(0, 1000)
    )
    temperature: float = setting(
        0.0, "Exponent 1 / temperature on visits; 0: the most visited, proofs aside.", between=(0.0, 100.0)
    )
    temperature_plies: int = setting(1_000_000, "Plies at that temperature.", between=(0, 1_000_000))
    temperature_decay_plies: int = setting(0, "Plies of its linear fall.", between=(0, 1_000_000))
    temperature_final: float = setting(0.0, "Temperature after the fall.", between=(0.0, 100.0))
    cache: int = setting(65_536, "Evaluations remembered; 0: none.", between=(0, 2**28))
    leaves: int = setting(
        0,
        "Evaluations of a wave of a lone search, with equal results. 0: a batch. Above 1, it needs a cache.",
        between=(0, 2**28),
    )
    seconds: float = seconds_setting("Positions are searched one after another.")
    until_decided: bool = setting(
        False,
        "End a lone search when no simulation left could change the most visited move; with proofs, when "
        "the position is proven.",
    )


class PvMcts(Thinking):
    """A player that searches with a network, without the noise of self-play."""

    name = "pv_mcts"
    takes_most = True

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
        """Make the player; `Options` documents its options."""
        self.game, self.inference, self.temperature = game, inference, temperature
        self.search = as_played(search, game)
        self.deterministic = is_cold(*temperature)
        self.cache = cache_of(game, cache)
        leaves = leaves or (inference.batch_size if cache else 1)
        self.together = LockStep(game, inference, self.cache)
        self.prefetch = Prefetch(game, inference, self.cache, leaves)
        self.seconds, self.until_decided = seconds, until_decided
        self.new_games(np.zeros(1, np.uint64))
        if seconds:  # compiles before the first move's clock runs
            self.begin(game.initial_state()[None], ONLY_GAME, ONLY_GAME)
            while self.wave(0) and not edges_of(self.tree, 0, ROOT)["child_visits"].any():
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

    def search_states(self, states: np.ndarray, games: np.ndarray, banned: np.ndarray | None = None) -> None:
        """Search states [B, S], one of each of `games` [B]; the results stand at the roots of `tree`.

        banned: [B, A] bool, moves left out at the roots; None for none.
        """
        self.searches.begin(states, games, banned, self.at_most(self.search.num_simulations))
        if self.one_by_one:
            for game in games.tolist():
                self.think_alone(game)
        else:
            while self.together.wave(self.searches, games):
                self.together.infer(self.searches)

    def think_alone(self, game: int) -> None:
        """Search the position that a game has begun with, until it has its simulations or may end early."""
        begin = last = time.perf_counter()
        while self.wave(game) and not self.is_over(game, begin, last):
            last = time.perf_counter()

    def wave(self, game: int) -> bool:
        """Search a game on by one batch of the network. Return whether simulations are left to do."""
        with explaining_search(self.search):
            goes_on = self.prefetch.wave(
                self.tree, game, self.searches.algorithm, self.stats, self.searches.exact
            )
        return len(self.searches.prepare(np.array([game]))) > 0 or goes_on

    def is_over(self, game: int, begin: float, last: float) -> bool:
        """Return whether a search ends early: it is stopped, its time is up or its move is decided.

        Its time is up if another wave like the one since `last` would take too long.
        """
        edges, now = edges_of(self.tree, game, ROOT), time.perf_counter()
        is_late = self.seconds > 0.0 and 2 * now - last > begin + self.seconds
        if is_late or (self.pause is not None and self.pause()):
            return bool(edges["child_visits"].any())  # else there is no move yet
        if not self.until_decided or self.search.solver:
            return False
        return is_decided(edges, int(self.tree.searches["simulations_left"][game]))

    def choose(
        self, states: np.ndarray, games: np.ndarray, plies: np.ndarray, banned: np.ndarray | None = None
    ) -> np.ndarray:
        """Return a move for each of states [B, S], which belong to `games` [B] at `plies` [B], [B] int64."""
        self.searches.draw_noise(games, plies, self.temperature)
        self.search_states(states, games, banned)
        return self.searches.choose(games, plies, self.temperature)

    def read(self) -> Thought | None:
        """Return what the latest search of a lone game has found; None: nothing yet."""
        return read_search(self.searches, 0)

    def growing(self) -> NetworkSearch:
        """Return the search as one that grows; see `Analyst`."""
        return NetworkSearch(self)

    def ponder(self, at: GameInProgress, stopping: Callable[[], bool]) -> None:
        """Search a position in the opponent's time; see `ThinkingPlayer`."""
        banned = at.banned()
        self.searches.begin(at.state[None], ONLY_GAME, None if banned is None else banned[None])
        while self.wave(0) and not stopping():  # at least one wave, which expands the root
            pass

    def keep_trees(self) -> None:
        """Let searches begin with what is known already; see `ThinkingPlayer`."""
        self.search = replace(self.search, tree_reuse=find_kind(self.search.kind).reuses_tree)

    def visit_counts(self, games: np.ndarray) -> np.ndarray:
        """Return the visit counts of the roots of `games` [B] after `search_states`, [B, A] int32."""
        return visits_of(self.tree, games, self.game.num_actions)

    def root_values(self, games: np.ndarray) -> np.ndarray:
        """Return the search's value of the roots of `games` [B] for the player to move, [B] float32."""
        return self.searches.values(games)


class NetworkSearch:
    """PV-MCTS that grows."""

    def __init__(self, player: PvMcts) -> None:
        self.player = player

    def begin(self, state: np.ndarray, banned: np.ndarray | None = None) -> None:
        """Start anew; see `GrowingSearch`."""
        self.player.new_games(np.zeros(1, np.uint64))
        self.player.searches.begin(state[None], ONLY_GAME, None if banned is None else banned[None])

    def grow(self, seconds: float) -> bool:
        """Search on; see `GrowingSearch`. One batch of the network is the least."""
        end = time.perf_counter() + seconds
        while self.player.wave(0):
            if time.perf_counter() >= end:
                return True
        return False

    def read(self, path: Sequence[int] = ()) -> Thought | None:
        """Return what is known of a node; see `GrowingSearch`."""
        return read_search(self.player.searches, 0, path)


def read_search(searches: Searches, b: int, path: Sequence[int] = ()) -> Thought | None:
    """Return what game b's search knows of the node that `path` leads to; None: it is not in the tree."""
    nodes, node = searches.tree.nodes[b], ROOT
    for action in path:
        edge = edge_to(searches.tree, b, node, action)
        if edge is None or edge["child"] == UNVISITED:
            return None
        node = int(edge["child"])
    if not nodes["expanded"][node]:
        return None
    soften(searches.tree, b, node)
    edges = edges_of(searches.tree, b, node)
    visits = edges["child_visits"]
    ordered = edges[np.argsort(-visits, kind="stable")]
    moves = [read_move(searches.tree, b, node, edge) for edge in ordered]
    best = moves[0].action
    if node == ROOT and visits.any():
        best = int(searches.choose(np.array([b]), ONLY_GAME, GREEDY)[0])
    value = float(nodes["value_sum"][node] / max(1, nodes["node_visits"][node]))
    left = int(searches.tree.searches["simulations_left"][b])
    made = min(int(visits.sum()), searches.budget - left) if node == ROOT else 0
    return Thought(best, int(visits.sum()), value, moves, nodes=made)


def read_move(tree: Tree, b: int, node: int, edge: np.void) -> Move:
    """Return what game b's search knows of an edge of an expanded node."""
    nodes, action = tree.nodes[b], int(edge["action"])
    visits, child = int(edge["child_visits"]), int(edge["child"])
    value = float(edge["child_value_sum"] / visits) if visits else np.nan
    lower, upper = LOSS, WIN
    if child != UNVISITED:
        lower, upper = float(nodes["lower"][child]), float(nodes["upper"][child])
        if nodes["to_play"][child] != nodes["to_play"][node]:
            lower, upper = -upper, -lower
    return Move(action, visits, value, float(edge["prior"]), read_line(tree, b, edge), lower, upper)


def read_line(tree: Tree, b: int, edge: np.void) -> tuple[int, ...]:
    """Return the most visited moves that follow an edge of game b's tree, from that one on."""
    line = [int(edge["action"])]
    while len(line) < LONGEST_LINE and edge["child"] != UNVISITED:
        edges = edges_of(tree, b, int(edge["child"]))
        if not edges["child_visits"].any():
            break
        edge = edges[edges["child_visits"].argmax()]
        line.append(int(edge["action"]))
    return tuple(line)


def as_played(search: SearchConfig, game: Game) -> SearchConfig:
    """Return a search with the settings that hold outside self-play."""
    return replace(sound_for(search, game), **find_kind(search.kind).play_settings)


def is_decided(edges: np.ndarray, simulations_left: int) -> bool:
    """Return whether no simulation left can change the most visited move of a root's edges."""
    visits = np.sort(edges["child_visits"])
    return bool(visits[-1] > (visits[-2] + simulations_left if len(visits) > 1 else 0))


def most_simulations(game: Game, tree_reuse: bool) -> int:
    """Return the simulations of a search that only the time limits: what LARGEST_TREE holds.

    The most is a million.
    """
    return min(1_000_000, LARGEST_TREE // node_bytes(game, game.num_actions) // nodes_needed(1, tree_reuse))


def make(game: Game, options: Options, inference: Inference, search: SearchConfig | None = None) -> PvMcts:
    """Return the player.

    Args:
        game: the game.
        options: its options.
        inference: the network.
        search: the search; noise for learning is left out. None: the default one.

    Raises:
        UserError: an option does not fit the others.
    """
    whole_number(f"{options.prefix}leaves", options.leaves, 0, inference.batch_size)
    if options.leaves > 1 and not options.cache:
        raise UserError(
            f"{options.typed('leaves')} needs a cache for prefetched evaluations; "
            f"set {options.prefix}cache=65536, or {options.prefix}leaves=1."
        )
    if options.until_decided and (options.temperature or options.temperature_final):
        raise UserError(
            f"{options.typed('until_decided')} needs {options.prefix}temperature=0, where only the most "
            "visited move counts."
        )
    ends_early = bool(options.seconds or options.until_decided)
    search = chosen_kind(search or SearchConfig(), options.kind, ends_early, options.prefix)
    simulations = options.num_simulations
    if simulations is None and options.seconds:
        simulations = most_simulations(game, search.tree_reuse)
    simulations = simulations or search.num_simulations
    whole_number(f"{options.prefix}num_simulations", simulations, 1, 1_000_000)
    search = replace(search, num_simulations=simulations)
    if options.exact_plies is not None:
        solver = search.solver or options.exact_plies > 0
        search = replace(search, exact_plies=options.exact_plies, solver=solver)
    plies = options.temperature_plies, options.temperature_decay_plies
    schedule = Temperature(float(options.temperature), *plies, float(options.temperature_final))
    seconds = float(options.seconds)
    return PvMcts(
        game, inference, search, schedule, options.cache, options.leaves, seconds, options.until_decided
    )


def chosen_kind(search: SearchConfig, kind: str | None, ends_early: bool, prefix: str = "") -> SearchConfig:
    """Return the search with an algorithm, by default its own, or PUCT if its own cannot end early.

    Raises:
        UserError: the algorithm cannot end early, or a setting does not fit it.
    """
    usual = SearchConfig().kind
    if kind is None:
        kind = usual if ends_early and not find_kind(search.kind).anytime else search.kind
    if ends_early and not find_kind(kind).anytime:
        raise UserError(
            f"{prefix}kind={kind} cannot end early; leave out {prefix}seconds and {prefix}until_decided, "
            f"or set {prefix}kind={usual}."
        )
    search = with_kind(search, kind)
    check_algorithm(search)
    return search


def for_analysis(player: Player, keeps_kind: bool) -> PvMcts:
    """Return the player, or unless `keeps_kind` one of its network whose searches may end early."""
    assert isinstance(player, PvMcts)
    if keeps_kind:
        return player
    return PvMcts(player.game, player.inference, chosen_kind(player.search, None, ends_early=True))
