"""Searches of several positions side by side: trees of their own, and one batch of the network for all.

Letters: A actions, B rows of a call of the network, S state words.

Each position has its own number of simulations and ends, or is left, on its own. A batch has rows for the
leaves that the searches wait for. Rows that are left hold leaves that they will probably need next
(`azero/search/prefetch.py`), so a position finds the same alone and beside others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from azero.games.playing import ONLY_GAME
from azero.players import Thought
from azero.players.pv_mcts import LARGEST_TREE, PvMcts, read_search
from azero.search.cache import cache_of
from azero.search.counters import WorkerStats, infer_counted
from azero.search.dead_end import check_dead_end
from azero.search.prefetch import Prefetched, gather, legal_rows, make_prefetched, receive_prefetched
from azero.search.scratch import make_scratch
from azero.search.searches import Searches
from azero.search.tree import ROOT, node_bytes, nodes_needed

SHARE = 4  # positions of the largest size whose trees are in memory together


class Position:
    """One position and its search."""

    def __init__(
        self, player: PvMcts, state: np.ndarray, banned: np.ndarray | None, num_simulations: int
    ) -> None:
        """Begin at a state [S] that is not terminal, without the banned moves [A]."""
        search = replace(player.search, num_simulations=num_simulations, tree_reuse=False)
        self.searches = Searches(player.game, search, np.zeros(1, np.uint64))
        self.searches.begin(state[None], ONLY_GAME, None if banned is None else banned[None])
        self.done = False

    def read(self) -> Thought | None:
        """Return what is known of the position; None: nothing yet."""
        return read_search(self.searches, 0)

    def note_progress(self) -> None:
        """Do what is to be done at the root once it is known, and note whether simulations are left to do."""
        if len(self.searches.prepare(ONLY_GAME)):
            return
        tree = self.searches.tree
        self.done = bool(tree.searches["simulations_left"][0] <= 0 or tree.nodes["proven"][0, ROOT])


class SideBySide:
    """Searches positions with a player's network and search settings."""

    def __init__(self, player: PvMcts, most_positions: int) -> None:
        """Make buffers for `most_positions` at once."""
        self.player, self.game, self.inference = player, player.game, player.inference
        size = self.inference.batch_size
        rows = -(-most_positions // size) * size
        self.planes = np.zeros((rows, *self.game.planes_shape), np.float32)
        self.prefetched = make_prefetched(self.game, rows)
        self.scratch = make_scratch(self.game, 0, player.prefetch.scratch.gathered)
        self.stats = WorkerStats()
        self.clear_cache()

    def clear_cache(self) -> None:
        """Forget all evaluations."""
        entries = len(self.player.cache.used)
        self.cache = cache_of(self.game, entries)

    def tree_bytes(self, num_simulations: int) -> int:
        """Return the memory of a search of so many simulations."""
        nodes = nodes_needed(num_simulations, False)
        return nodes * node_bytes(self.game, nodes)

    @property
    def most_simulations(self) -> int:
        """The most simulations of a position: a few such positions fit into memory together."""
        node = node_bytes(self.game, self.game.num_actions)
        return max(1, min(1_000_000, LARGEST_TREE // SHARE // node))

    def wave(self, positions: Sequence[Position]) -> None:
        """Search positions that are not done on, by one evaluation each; more if rows are left."""
        waiting, begin = list[tuple[Position, Prefetched, int, int]](), 0
        size = self.inference.batch_size
        rules, scratch, journal = self.game.rule_addresses, self.scratch, self.prefetched.journal
        for number, position in enumerate(positions):
            left = -(-max(begin + 1, len(positions)) // size) * size - begin
            share = slice(begin, begin + max(1, left // (len(positions) - number)))
            columns = (array[share] for array in self.prefetched[:-1])
            prefetched = Prefetched._make((*columns, journal))
            searches = position.searches
            rows = gather(
                *(rules, searches.tree, self.cache, 0, searches.algorithm),
                *(self.planes[share], prefetched, scratch, searches.exact),
            )
            if rows:
                waiting.append((position, prefetched, begin, rows))
                begin += rows
        logits, values = self.infer(begin)
        for position, prefetched, start, rows in waiting:
            answers = logits[start : start + rows], values[start : start + rows]
            tree = position.searches.tree
            stuck = receive_prefetched(
                rules, tree, self.cache, ONLY_GAME, prefetched, rows, *answers, scratch
            )
            check_dead_end(self.game, tree, stuck)
        for position in positions:
            position.note_progress()

    def infer(self, rows: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the network's answers to the first rows of `planes`: logits [rows, A] and values [rows]."""
        moves = legal_rows(self.prefetched, rows)
        size, logits, values = self.inference.batch_size, list[np.ndarray](), list[np.ndarray]()
        for start in range(0, rows, size):
            some = min(size, rows - start)
            planes = self.planes[start : start + size]
            answers = infer_counted(self.inference, planes, some, self.stats, moves[start : start + size])
            logits.append(answers[0][:some])
            values.append(answers[1][:some])
        if not rows:
            return np.empty((0, self.game.num_actions), np.float32), np.empty(0, np.float32)
        return np.concatenate(logits), np.concatenate(values)
