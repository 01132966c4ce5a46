"""PV-MCTS: the network's policy and value guide a tree search (AlphaZero's player).

Letters: B positions, G games, A actions, S state words.

Several games are searched side by side, one leaf of each in a wave. One game alone is searched with foresight
(`azero/search/foresight.py`), which finds the same.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from azero.config import SearchConfig, UserError, is_cold
from azero.games.game import Game, rules_at
from azero.network.inference import Inference
from azero.players import Advice, check_choice, check_number
from azero.search.cache import make_cache
from azero.search.figures import LaneFigures
from azero.search.foresight import Foresight
from azero.search.gumbel import Gumbel, draw_noise
from azero.search.kernels import borrowed, kernel
from azero.search.lane import make_scratch
from azero.search.mcts import absorb, search_wave, write_rows
from azero.search.puct import node_type
from azero.search.repetition import ban_roots
from azero.search.root import Temperature, temperature_at
from azero.search.scores import choose_move, make_score, search_value, sound_for
from azero.search.tree import EDGE, NO_LEAF, NODE, ROOT, Tree, find_state, make_tree, nodes_needed, reroot, reset

ONLY_GAME = np.zeros(1, np.int64)
LARGEST_TREE = 2**30  # bytes, of a search that only the time limits
SNAPSHOT_SECONDS = 0.1  # between two looks at a search that goes on
GREEDY = Temperature(0.0, 0, 0, 0.0)


@kernel
def start_searches(addresses, tree, states, games, started, num_simulations, tree_reuse, new_index):
    """Put states [B, S] at the roots of `games` [B], keeping what the game's tree already knows of them."""
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
def draw_noises(gumbel, games, plies, schedule, streams):
    """Gumbel noise for the next search of each of `games` [B], as strong as the temperature of its ply."""
    for row in range(games.shape[0]):
        draw_noise(gumbel, games[row], temperature_at(schedule, plies[row]), streams[games[row]])


@kernel
def choose_actions(tree, games, score, plies, schedule, streams, actions):
    """actions [B]: a move for each game by its search and its ply's temperature."""
    for row in range(games.shape[0]):
        b = games[row]
        actions[row] = choose_move(tree, b, score, temperature_at(schedule, plies[row]), streams[b])


@kernel
def find_values(tree, games, score, values):
    """values [B]: what the search of each of `games` [B] found its root to be worth."""
    for row in range(games.shape[0]):
        values[row] = search_value(tree, games[row], score)


class PvMcts:
    """A player that searches with a network. It adds no noise to the root. While it plays one game it can be `Watched`."""

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
        """What the options mean says `make`."""
        search = replace(sound_for(search, game), dirichlet_fraction=0.0, forced_simulations=0.0)  # the two are for learning
        self.game, self.inference, self.search, self.temperature = game, inference, search, temperature
        self.seconds, self.until_decided = seconds, until_decided
        self.deterministic = is_cold(*temperature)
        self.watch: Callable[[Advice], bool] | None = None
        self.cache = make_cache(cache, game.key_words, game.num_actions)
        num_nodes = nodes_needed(search.num_simulations, search.tree_reuse)
        self.num_nodes = num_nodes
        self.scratch = make_scratch(game, num_nodes)
        self.planes = np.zeros((inference.batch_size, *game.planes_shape), np.float32)
        self.row_games = np.zeros(inference.batch_size, np.int64)
        leaves = leaves or (inference.batch_size if cache else 1)
        self.foresight = Foresight(game, inference, self.cache, make_score(search, 1, game.num_actions), leaves)
        self.new_games(np.zeros(1, np.uint64))
        if seconds:  # compiles before the first move's clock runs
            self.begin(game.initial_state()[None], ONLY_GAME, ONLY_GAME)
            while self.wave(0) and not self.tree.edges[0, ROOT]["child_visits"].any():
                pass
            choose_actions(self.tree, ONLY_GAME, self.score, ONLY_GAME, self.temperature, self.streams, np.zeros(1, np.int64))
            self.new_games(np.zeros(1, np.uint64))

    def new_games(self, seeds: np.ndarray) -> None:
        """Forget all trees; game g's moves are drawn from a stream seeded by seeds[g], [G] uint64."""
        num_games = len(seeds)
        sizes = self.num_nodes, self.game.num_actions, self.game.state_words
        self.tree = make_tree(num_games, *sizes, node_type(self.search))
        self.score = self.foresight.score = make_score(self.search, num_games, self.game.num_actions)
        self.started = np.zeros(num_games, np.bool_)
        self.plies = np.zeros(num_games, np.int64)
        self.thinking = np.zeros(0, np.int64)  # games whose search is under way
        self.bans: dict[int, np.ndarray] = {}  # of them, moves to take out at roots that are not expanded yet
        self.turn = 0  # the game whose leaf comes first in the next batch
        self.figures = LaneFigures()
        self.streams = np.stack([np.asarray(seeds, np.uint64), np.zeros(num_games, np.uint64)], axis=1)

    def begin(self, states: np.ndarray, games: np.ndarray, plies: np.ndarray, banned: np.ndarray | None = None) -> None:
        """Take in more positions to think about; see `Player.choose` for the arguments."""
        self.draw_noise(games, plies)
        self.take_in(states, games, banned)

    def draw_noise(self, games: np.ndarray, plies: np.ndarray) -> None:
        """Let chance into the next search of each of `games` [B] at `plies` [B], as far as it comes before the search."""
        self.plies[games] = plies
        if isinstance(self.score, Gumbel):
            draw_noises(self.score, games, plies, self.temperature, self.streams)

    def take_in(self, states: np.ndarray, games: np.ndarray, banned: np.ndarray | None) -> None:
        """Begin to think about states [B, S], one of each of `games` [B]; banned as in `Player.choose`."""
        settings = (self.search.num_simulations, self.search.tree_reuse)
        start_searches(self.game.rule_addresses, self.tree, states, games, self.started, *settings, self.scratch.new_index)
        self.thinking = np.union1d(self.thinking, games)
        for game, moves in zip(games.tolist(), [] if banned is None else banned, strict=False):
            if moves.any():
                self.bans[game] = moves
                self.tree.searches["simulations_left"][game] = 0  # first the root alone is expanded

    def think_on(self) -> tuple[np.ndarray, np.ndarray]:
        """Move all searches on by one batch of the network. Returns the games that were decided before it and their moves.

        Where positions are searched one by one, it is one whole search.
        """
        if self.one_by_one:
            waiting, decided = 0, self.thinking[:1]
            self.think_of_one(int(decided[0]))
        else:
            waiting = self.run_wave(self.thinking)
            decided = self.thinking[self.tree.searches["leaf"][self.thinking] == NO_LEAF]
        self.thinking = np.setdiff1d(self.thinking, decided)
        actions = np.zeros(len(decided), np.int64)
        choose_actions(self.tree, decided, self.score, self.plies[decided], self.temperature, self.streams, actions)
        if waiting:
            self.infer_leaves()
        return decided, actions

    def run_wave(self, games: np.ndarray) -> int:
        """Move the searches of `games` [B] on until each waits for the network or is done. Returns how many wait."""
        tree = self.tree
        waiting = search_wave(self.game.rule_addresses, tree, self.cache, games, self.score, self.scratch.key)
        ready = [b for b in self.bans if tree.searches["leaf"][b] == NO_LEAF] if self.bans else []
        if not ready:
            return waiting
        barred = np.array(ready, np.int64)
        ban_roots(tree, barred, np.stack([self.bans.pop(b) for b in ready]))
        tree.searches["simulations_left"][barred] = self.search.num_simulations
        return waiting + search_wave(self.game.rule_addresses, tree, self.cache, barred, self.score, self.scratch.key)

    def infer_leaves(self) -> None:
        """One batch through the network."""
        game, tree, scratch = self.game, self.tree, self.scratch
        rows = self.write_leaves()
        began = time.perf_counter()
        logits, values = self.inference.infer(self.planes, rows)
        self.figures.inference_seconds += time.perf_counter() - began
        buffers = (scratch.legal, scratch.key, scratch.prior)
        absorb(game.rule_addresses, tree, self.cache, self.row_games, rows, logits, values, *buffers)
        self.figures.evaluations += rows
        self.figures.rows += len(logits)

    def write_leaves(self) -> int:
        """Write as many waiting leaves as the batch has rows, the games taking turns where there are more. Returns how many."""
        rows = 0
        turn = min(self.turn, len(self.streams))
        for begin, end in ((turn, len(self.streams)), (0, turn)):
            part = Tree(*(array[begin:end] for array in self.tree))
            taken = write_rows(self.game.rule_addresses, part, self.planes[rows:], self.row_games[rows:])
            self.row_games[rows : rows + taken] += begin
            rows += taken
        self.turn = int(self.row_games[rows - 1]) + 1
        return rows

    def think(self, states: np.ndarray, games: np.ndarray, banned: np.ndarray | None = None) -> None:
        """Search states [B, S], one of each of `games` [B]; the answers stand at the roots of `self.tree`.

        banned: [B, A] bool, moves left out at the roots; None for none.
        """
        self.take_in(states, games, banned)
        if self.one_by_one:
            for game in games.tolist():
                self.think_of_one(game)
        else:
            while self.run_wave(self.thinking):
                self.infer_leaves()
        self.thinking = self.thinking[:0]

    @property
    def one_by_one(self) -> bool:
        """Whether positions are searched one after another, because there is one game only or the time is what limits."""
        return bool(self.seconds) or len(self.started) == 1

    def think_of_one(self, game: int) -> None:
        """Search a game's position and let `watch` see it."""
        for advice in self.search_one(game):
            if self.watch is not None and self.watch(advice):
                return

    def analyse(self, state: np.ndarray, banned: np.ndarray | None = None) -> Iterator[Advice]:
        """Search one state [S], without its banned moves [A], and yield what the search thinks so far.

        It does so ten times a second and at the end: when the simulations are done, when the time is up, or when the caller reads
        no more. It begins with an empty tree and forgets all games.
        """
        self.new_games(np.zeros(1, np.uint64))
        self.take_in(state[None], ONLY_GAME, None if banned is None else banned[None])
        yield from self.search_one(0)

    def search_one(self, game: int) -> Iterator[Advice]:
        """Search the position that a game has begun with; see `analyse`."""
        begin = shown = last = time.perf_counter()
        while self.wave(game) and not self.is_over(game, begin, last):
            last = time.perf_counter()
            if last - shown >= SNAPSHOT_SECONDS:
                yield self.advice(game)
                shown = last = time.perf_counter()
        yield self.advice(game)

    def wave(self, game: int) -> bool:
        """Search a game on with foresight by one batch of the network. False: its search is done."""
        goes_on = self.foresight.wave(self.tree, game, self.figures)
        if game not in self.bans:
            return goes_on
        ban_roots(self.tree, np.array([game]), self.bans.pop(game)[None])  # the root was all that this wave was to expand
        self.tree.searches["simulations_left"][game] = self.search.num_simulations
        return True

    def is_over(self, game: int, begin: float, last: float) -> bool:
        """Whether a search ends early: no time is left for one more wave like the one since `last`, or its move is decided."""
        edges, now = self.tree.edges[game, ROOT], time.perf_counter()
        if self.seconds and 2 * now - last > begin + self.seconds:
            return bool(edges["child_visits"].any())  # else there is no move yet
        if not self.until_decided or self.search.solver:
            return False
        return is_decided(edges, int(self.tree.searches["simulations_left"][game]))

    def choose(self, states: np.ndarray, games: np.ndarray, plies: np.ndarray, banned: np.ndarray | None = None) -> np.ndarray:
        """A move for each of states [B, S], which belong to `games` [B] at `plies` [B]. Returns [B] int64."""
        self.draw_noise(games, plies)
        self.think(states, games, banned)
        actions = np.zeros(len(games), np.int64)
        choose_actions(self.tree, games, self.score, plies, self.temperature, self.streams, actions)
        return actions

    def advise(self, state: np.ndarray, banned: np.ndarray | None = None) -> Advice:
        """What the search thinks of each move of one state [S]; it begins with an empty tree and forgets all games."""
        self.new_games(np.zeros(1, np.uint64))
        self.think(state[None], ONLY_GAME, None if banned is None else banned[None])
        return self.advice(0)

    def advice(self, game: int) -> Advice:
        """What a game's search has found so far."""
        edges = self.tree.edges[game, ROOT]
        visits = edges["child_visits"].astype(np.int64)
        values = np.full(len(visits), np.nan)
        np.divide(edges["child_value_sum"], visits, out=values, where=visits > 0)
        best = np.zeros(1, np.int64)
        choose_actions(self.tree, np.array([game]), self.score, ONLY_GAME, GREEDY, self.streams, best)
        return Advice(visits, values, int(best[0]))

    def visit_counts(self, games: np.ndarray) -> np.ndarray:
        """[B, A] int32: the root's visit counts after `think`."""
        return self.tree.edges["child_visits"][games, ROOT]

    def root_values(self, games: np.ndarray) -> np.ndarray:
        """[B] float32: the search's value for the player to move, after `think`; see `search_value`."""
        values = np.zeros(len(games), np.float32)
        find_values(self.tree, games, self.score, values)
        return values


def is_decided(edges: np.ndarray, simulations_left: int) -> bool:
    """Whether no simulation left can change which move of a root's edges [A] is visited most."""
    visits = np.sort(edges["child_visits"][edges["prior"] >= 0.0])
    return bool(visits[-1] > (visits[-2] + simulations_left if len(visits) > 1 else 0))


def most_simulations(game: Game, tree_reuse: bool) -> int:
    """Simulations of a search that only the time limits: what LARGEST_TREE holds, a million at most."""
    node_bytes = NODE.itemsize + 8 * game.state_words + EDGE.itemsize * game.num_actions
    return min(1_000_000, LARGEST_TREE // node_bytes // nodes_needed(1, tree_reuse))


def make(
    game: Game,
    inference: Inference,
    *,
    search: SearchConfig | None = None,
    kind: str | None = None,
    num_simulations: int | None = None,
    temperature: float = 0.0,
    temperature_plies: int = 1_000_000,
    temperature_decay_plies: int = 0,
    temperature_final: float = 0.0,
    cache: int = 65_536,
    leaves: int = 0,
    seconds: float = 0.0,
    until_decided: bool = False,
) -> PvMcts:
    """The player by its options.

    Args:
        game: the game it plays.
        inference: its network.
        search: what one search does; its noise is left out.
        kind: "puct" or "gumbel", instead of that in `search`; where `seconds` or `until_decided` may end a search early, "puct".
        num_simulations: new simulations before each move, instead of those in `search`; None with `seconds`: as many as these
            allow.
        temperature: exponent 1/temperature on visit counts; 0 plays the most visited move, but for what is proven.
        temperature_plies: plies at that temperature.
        temperature_decay_plies: then it falls linearly over so many plies,
        temperature_final: to this.
        cache: evaluations remembered, 0 for none.
        leaves: evaluations of one wave when one position is searched, 1 or with a cache more; 0: all rows of the network's batch.
            The search is the same with each.
        seconds: time for each move, positions being searched one after another; 0 for no limit.
        until_decided: whether a search of one position ends when no simulation left could change the most visited move. With
            the solver it ends when the position is proven, and not before, because a proof could still change the move.

    Raises:
        UserError: an option that is out of range or does not fit the others.
    """
    search = search or SearchConfig()
    search = replace(search, kind=kind or ("puct" if seconds or until_decided else search.kind))
    check_choice("pv_mcts", "kind", search.kind, ("puct", "gumbel"))
    if search.kind == "gumbel":
        search = replace(search, tree_reuse=False)  # it shares out the visits of an empty tree
    check_number("pv_mcts", "seconds", seconds, 0.0, 86_400.0, whole=False)
    if num_simulations is None and seconds:
        num_simulations = most_simulations(game, search.tree_reuse)
    if num_simulations is not None:
        search = replace(search, num_simulations=num_simulations)
    check_number("pv_mcts", "num_simulations", search.num_simulations, 1, 1_000_000)
    check_number("pv_mcts", "temperature", temperature, 0.0, 100.0, whole=False)
    check_number("pv_mcts", "temperature_plies", temperature_plies, 0, 1_000_000)
    check_number("pv_mcts", "temperature_decay_plies", temperature_decay_plies, 0, 1_000_000)
    check_number("pv_mcts", "temperature_final", temperature_final, 0.0, 100.0, whole=False)
    check_number("pv_mcts", "cache", cache, 0, 2**28)
    check_number("pv_mcts", "leaves", leaves, 0, inference.batch_size)
    check_choice("pv_mcts", "until_decided", until_decided, (True, False))
    if leaves > 1 and not cache:
        raise UserError(f"player pv_mcts: leaves={leaves} needs a cache to keep what it foresees; set cache=65536, or leaves=1.")
    if until_decided and (temperature or temperature_final):
        raise UserError("player pv_mcts: until_decided=True needs temperature=0, where only the most visited move counts.")
    if search.kind == "gumbel" and (seconds or until_decided):
        raise UserError(
            "player pv_mcts: kind=gumbel shares out its simulations beforehand; leave out seconds and until_decided, or take "
            "kind=puct."
        )
    schedule = Temperature(float(temperature), temperature_plies, temperature_decay_plies, float(temperature_final))
    limits = (leaves, float(seconds), until_decided)
    return PvMcts(game, inference, search, schedule, cache, *limits)
