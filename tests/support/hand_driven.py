"""A worker of self-play, driven by hand."""

from __future__ import annotations

import numpy as np
from searching import FakeInference

from azero.config.schema import SearchConfig
from azero.games.game import Game
from azero.search.algorithm import make_algorithm
from azero.search.cache import cache_of
from azero.search.mcts import receive_evaluations, write_rows
from azero.search.root import Temperature
from azero.search.scratch import Scratch, make_scratch
from azero.search.tree import Tree, nodes_needed, trees_of
from azero.workers.games import (
    FULL,
    PlaySettings,
    Worker,
    make_worker,
    play_wave,
    start_games,
    with_more_room,
)

PLAIN = PlaySettings(
    num_simulations=16,
    tree_reuse=True,
    temperature=Temperature(1.0, 1000, 0, 0.0),
    opening_fraction=0.0,
    opening_plies=1,
    book=np.zeros((0, 0), np.int32),
    book_fraction=0.0,
)


NOISELESS = SearchConfig(dirichlet_fraction=0.0)


class HandDriven:
    """A worker whose waves a test runs one by one."""

    def __init__(  # type: ignore[no-untyped-def]
        self,
        game: Game,
        size: int,
        settings: PlaySettings = PLAIN,
        first_seed: int = 0,
        answer=None,
        search: SearchConfig = NOISELESS,
    ) -> None:
        self.game, self.settings = game, settings
        num_nodes = nodes_needed(settings.num_simulations, settings.tree_reuse) + 1
        self.inference = FakeInference(game, answer, batch_size=size)
        self.tree: Tree = trees_of(game, size, num_nodes)
        self.worker: Worker = make_worker(game, size)
        self.scratch: Scratch = make_scratch(game, num_nodes)
        self.cache = cache_of(game, 0)
        self.algorithm = make_algorithm(search, size, game.num_actions)
        self.planes = np.zeros((size, *game.planes_shape), np.float32)
        self.rows = np.zeros(size, np.int64)
        seeds = np.arange(first_seed, first_seed + size, dtype=np.uint64)
        start_games(
            game.rule_addresses,
            self.tree,
            self.worker,
            np.arange(size),
            seeds,
            settings,
            self.scratch,
        )

    def wave(self) -> int:
        """Move every game to its next evaluation; return how many are finished."""
        addresses, games = self.game.rule_addresses, (self.tree, self.cache, self.worker)
        return int(play_wave(addresses, *games, self.algorithm, self.settings, self.scratch, None))

    def evaluate(self) -> int:
        """Answer every waiting leaf; return how many there were."""
        rows = int(write_rows(self.game.rule_addresses, self.tree, self.planes, self.rows))
        logits, values = self.inference.infer(self.planes)
        addresses = self.game.rule_addresses
        receive_evaluations(addresses, self.tree, self.cache, self.rows, rows, logits, values, self.scratch)
        return rows

    def play_out(self) -> None:
        """Play until all games are finished."""
        while self.wave() < len(self.worker.status) or self.make_room():
            self.evaluate()

    def make_room(self) -> bool:
        """Give games that are FULL more room for their targets. Return whether there were any."""
        full = bool((self.worker.status == FULL).any())
        if full:
            self.worker = with_more_room(self.worker)
        return full

    def target(self, place: int, ply: int) -> np.ndarray:
        """Return the policy target of a ply by action, [A] float32."""
        worker, found = self.worker, np.zeros(self.game.num_actions, np.float32)
        first = int(worker.target_counts[place, :ply].sum())
        own = slice(first, first + int(worker.target_counts[place, ply]))
        found[worker.target_actions[place, own]] = worker.target_weights[place, own]
        return found
