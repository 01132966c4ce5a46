"""PV-MCTS: the network's policy and value guide a tree search (AlphaZero's player).

Letters: B positions, G games, A actions, S state words.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from azero.config import SearchConfig
from azero.games.game import Game, rules_at
from azero.network.inference import Inference
from azero.players import Advice, check_number
from azero.search.cache import make_cache
from azero.search.kernels import borrowed, kernel
from azero.search.lane import make_scratch
from azero.search.mcts import absorb, search_wave, write_rows
from azero.search.puct import make_puct
from azero.search.repetition import ban_roots
from azero.search.root import Temperature, choose_action, temperature_at
from azero.search.tree import ROOT, find_state, make_tree, nodes_needed, reroot, reset

ONLY_GAME = np.zeros(1, np.int64)
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
def choose_actions(tree, games, plies, schedule, streams, actions):
    """actions [B]: a move for each game by its root's visit counts and its ply's temperature."""
    for row in range(games.shape[0]):
        b = games[row]
        actions[row] = choose_action(tree, b, temperature_at(schedule, plies[row]), streams[b])


class PvMcts:
    """A player that searches with a network. It adds no noise to the root."""

    name = "pv_mcts"

    def __init__(
        self, game: Game, inference: Inference, search: SearchConfig, temperature: Temperature = GREEDY, cache: int = 65_536
    ) -> None:
        """`cache`: evaluations remembered, 0 for none."""
        self.game, self.inference, self.search, self.temperature = game, inference, search, temperature
        self.deterministic = temperature.initial == temperature.final == 0.0
        self.cache = make_cache(cache, game.key_words, game.num_actions)
        self.puct = make_puct(search)
        num_nodes = nodes_needed(search.num_simulations, search.tree_reuse)
        self.num_nodes = num_nodes
        self.scratch = make_scratch(game, num_nodes)
        self.planes = np.zeros((inference.batch_size, *game.planes_shape), np.float32)
        self.row_games = np.zeros(inference.batch_size, np.int64)
        self.new_games(np.zeros(1, np.uint64))

    def new_games(self, seeds: np.ndarray) -> None:
        """Forget all trees; game g's moves are drawn from a stream seeded by seeds[g], [G] uint64."""
        num_games = len(seeds)
        self.tree = make_tree(num_games, self.num_nodes, self.game.num_actions, self.game.state_words)
        self.started = np.zeros(num_games, np.bool_)
        self.streams = np.stack([np.asarray(seeds, np.uint64), np.zeros(num_games, np.uint64)], axis=1)

    def think(self, states: np.ndarray, games: np.ndarray, banned: np.ndarray | None = None) -> None:
        """Search states [B, S], one of each of `games` [B]; the answers stand at the roots of `self.tree`.

        banned: [B, A] bool, moves left out at the roots; None for none.
        """
        game, tree = self.game, self.tree
        settings = (self.search.num_simulations, self.search.tree_reuse)
        start_searches(game.rule_addresses, tree, states, games, self.started, *settings, self.scratch.new_index)
        if banned is not None:
            tree.searches["simulations_left"][games] = 0
            self.run_waves(games)  # only expands the roots
            ban_roots(tree, games, banned)
            tree.searches["simulations_left"][games] = self.search.num_simulations
        self.run_waves(games)

    def run_waves(self, games: np.ndarray) -> None:
        """Expand the roots of `games` [B] and make the simulations that they have left."""
        game, tree, scratch = self.game, self.tree, self.scratch
        while search_wave(game.rule_addresses, tree, self.cache, games, self.puct, scratch.key):
            rows = write_rows(game.rule_addresses, tree, self.planes, self.row_games)
            logits, values = self.inference.infer(self.planes, rows)
            buffers = (scratch.legal, scratch.key, scratch.prior)
            absorb(game.rule_addresses, tree, self.cache, self.row_games, rows, logits, values, *buffers)

    def choose(self, states: np.ndarray, games: np.ndarray, plies: np.ndarray, banned: np.ndarray | None = None) -> np.ndarray:
        """A move for each of states [B, S], which belong to `games` [B] at `plies` [B]. Returns [B] int64."""
        self.think(states, games, banned)
        actions = np.zeros(len(games), np.int64)
        choose_actions(self.tree, games, plies, self.temperature, self.streams, actions)
        return actions

    def advise(self, state: np.ndarray, banned: np.ndarray | None = None) -> Advice:
        """What the search thinks of each move of one state [S]; it begins with an empty tree and forgets all games."""
        self.new_games(np.zeros(1, np.uint64))
        self.think(state[None], ONLY_GAME, None if banned is None else banned[None])
        edges = self.tree.edges[0, ROOT]
        visits = edges["child_visits"].astype(np.int64)
        values = np.full(len(visits), np.nan)
        return Advice(visits, np.divide(edges["child_value_sum"], visits, out=values, where=visits > 0))

    def visit_counts(self, games: np.ndarray) -> np.ndarray:
        """[B, A] int32: the root's visit counts after `think`."""
        return self.tree.edges["child_visits"][games, ROOT]

    def root_values(self, games: np.ndarray) -> np.ndarray:
        """[B] float32: mean value of the search for the player to move, after `think`."""
        return self.tree.nodes["value_sum"][games, ROOT] / self.tree.nodes["node_visits"][games, ROOT]


def make(
    game: Game,
    inference: Inference,
    *,
    search: SearchConfig | None = None,
    num_simulations: int | None = None,
    temperature: float = 0.0,
    temperature_plies: int = 1_000_000,
    temperature_decay_plies: int = 0,
    temperature_final: float = 0.0,
    cache: int = 65_536,
) -> PvMcts:
    """The player by its options.

    Args:
        game: the game it plays.
        inference: its network.
        search: what one search does; its noise is left out.
        num_simulations: new simulations before each move, instead of those in `search`.
        temperature: exponent 1/temperature on visit counts; 0 plays the most visited move.
        temperature_plies: plies at that temperature.
        temperature_decay_plies: then it falls linearly over so many plies,
        temperature_final: to this.
        cache: evaluations remembered, 0 for none.

    Raises:
        UserError: a number is none or out of range.
    """
    search = search or SearchConfig()
    if num_simulations is not None:
        search = replace(search, num_simulations=num_simulations)
    check_number("pv_mcts", "num_simulations", search.num_simulations, 1, 1_000_000)
    check_number("pv_mcts", "temperature", temperature, 0.0, 100.0, whole=False)
    check_number("pv_mcts", "temperature_plies", temperature_plies, 0, 1_000_000)
    check_number("pv_mcts", "temperature_decay_plies", temperature_decay_plies, 0, 1_000_000)
    check_number("pv_mcts", "temperature_final", temperature_final, 0.0, 100.0, whole=False)
    check_number("pv_mcts", "cache", cache, 0, 2**28)
    schedule = Temperature(float(temperature), temperature_plies, temperature_decay_plies, float(temperature_final))
    return PvMcts(game, inference, search, schedule, cache)
