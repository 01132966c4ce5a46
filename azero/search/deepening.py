"""Alpha-beta from Python: to one depth, or deeper and deeper until the time is up.

Letters: A actions, S state words.
"""

from __future__ import annotations

import math
import time
from typing import NamedTuple

import numpy as np

from azero.evaluations import Evaluation
from azero.games.game import Game
from azero.search.alpha_beta import NO_ACTION, ROOT, Settings, begin_search, make_line, search_on
from azero.search.transposition import MOST_ACTIONS, MOST_PLIES, make_table

SLICE_SECONDS = 0.001  # the clock is read about so often; a slice costs some 10 microseconds beside its nodes
LOST = -1.0


class Found(NamedTuple):
    """What a search found of a position."""

    action: int  # the first of the best moves
    value: float  # for the player to move
    nodes: int  # positions searched: all that were reached by a move, those at the depth limit too
    depth: int  # plies searched
    exact: bool  # no line was cut off by the depth limit: value and move are those of perfect play
    seconds: float


class Searcher:
    """Alpha-beta with a table of its own, for one position at a time."""

    def __init__(
        self,
        game: Game,
        depth: int = 0,
        *,
        evaluation: Evaluation | None = None,
        final: Evaluation | None = None,
        table: int = 262_144,
        prune: bool = True,
        ordered: bool = True,
    ) -> None:
        """Get room for a search.

        Args:
            game: the game it searches.
            depth: most plies it looks ahead; 0 for the end of the game.
            evaluation: what an unfinished position is worth at the depth limit; without one 0.
            final: what a finished game is worth instead of its outcome, strictly between -1 and 1: to win by as much as possible.
            table: entries of the transposition table, 0 for none; none for a game of over 65,535 actions or 16,383 plies.
            prune: False for plain negamax, which searches every move.
            ordered: whether good moves are tried first; the result is the same.
        """
        self.game = game
        self.depth = min(depth or game.max_plies, game.max_plies)
        self.line = make_line(self.depth, game.num_actions, game.state_words)
        fits = game.num_actions <= MOST_ACTIONS and game.max_plies <= MOST_PLIES
        self.table = make_table(table if fits else 0, game.state_words)
        self.evaluation, self.final = evaluation, final  # kept, since compiled code knows their addresses only
        addresses = (evaluation.address if evaluation else 0, final.address if final else 0)
        self.settings = Settings(*addresses, prune, ordered, prune and final is None)
        self.none_banned = np.zeros(game.num_actions, np.bool_)
        self.number = 0
        self.slice_nodes = 8  # an evaluation may be slow; slices grow

    def search(self, state: np.ndarray, banned: np.ndarray | None = None) -> Found:
        """Search `state` [S] to the full depth, without its banned moves [A]."""
        begin = time.perf_counter()
        self.number += 1
        found = self.search_to(self.depth, state, banned, NO_ACTION, math.inf)
        assert found  # it had all the time it wanted
        return found._replace(seconds=time.perf_counter() - begin)

    def deepen(self, state: np.ndarray, seconds: float, banned: np.ndarray | None = None, value_wanted: bool = False) -> Found:
        """Search `state` [S] one ply deep, then two, and so on, and return what the last finished search found.

        It ends when the time is up, when the result is exact, and, unless `value_wanted`, after one ply where there is only one
        move. A lost position keeps the move that was the last to be found losing.
        """
        begin = time.perf_counter()
        self.number += 1
        nodes, result = 0, None
        is_forced = not value_wanted and self.has_one_move(state, banned)
        for depth in range(1, (1 if is_forced else self.depth) + 1):
            found = self.search_to(depth, state, banned, result.action if result else NO_ACTION, begin + seconds)
            nodes += self.nodes
            if found is None:
                break
            result = found._replace(action=result.action) if result and found.value == LOST else found
            if found.exact or time.perf_counter() >= begin + seconds:
                break
        result = result or self.found_so_far(state, banned)
        return result._replace(nodes=nodes, seconds=time.perf_counter() - begin)

    def search_to(
        self, depth: int, state: np.ndarray, banned: np.ndarray | None, first_action: int, deadline: float
    ) -> Found | None:
        """Search `state` to a depth, `first_action` first; None if the deadline of `time.perf_counter` came before the end."""
        forbidden = self.none_banned if banned is None else banned
        begin_search(self.game.rule_addresses, self.line, state, forbidden, depth, self.number, first_action, self.settings)
        while not self.search_slice():
            if time.perf_counter() >= deadline:
                return None
        root = self.line.rows[ROOT]
        value = float(root["best"]) + 0.0  # + 0.0 makes -0.0 plain
        return Found(int(root["best_action"]), value, self.nodes, depth, bool(root["complete"]), 0.0)

    def search_slice(self) -> bool:
        """Go on for about SLICE_SECONDS and return whether the search is finished."""
        begin = time.perf_counter()
        finished = bool(search_on(self.game.rule_addresses, self.line, self.table, self.settings, self.slice_nodes))
        seconds = time.perf_counter() - begin
        if seconds > SLICE_SECONDS:
            self.slice_nodes = max(1, self.slice_nodes // 2)
        elif seconds < SLICE_SECONDS / 4 and not finished:
            self.slice_nodes *= 2
        return finished

    @property
    def nodes(self) -> int:
        """Nodes of the latest search to one depth."""
        return int(self.line.progress[0]["nodes"])

    def has_one_move(self, state: np.ndarray, banned: np.ndarray | None) -> bool:
        """Whether there is no choice."""
        legal = self.game.legal_mask(state)
        return int((legal if banned is None else legal & ~banned).sum()) == 1

    def found_so_far(self, state: np.ndarray, banned: np.ndarray | None) -> Found:
        """The best of the moves searched before the time was up, else the first legal one."""
        root = self.line.rows[ROOT]
        if root["best_action"] != NO_ACTION:
            return Found(int(root["best_action"]), float(root["best"]) + 0.0, 0, 0, False, 0.0)
        legal = self.game.legal_mask(state)
        return Found(int((legal if banned is None else legal & ~banned).argmax()), 0.0, 0, 0, False, 0.0)
