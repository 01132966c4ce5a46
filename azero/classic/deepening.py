"""Alpha-beta for Python: to one depth, or to rising depths until the time is up.

Letters: A actions, S state words.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from azero.classic.alpha_beta import NO_ACTION, ROOT, Settings, begin_search, make_line, search_on
from azero.classic.transposition import MOST_ACTIONS, MOST_PLIES, make_table
from azero.games.game import Game
from azero.heuristics import Heuristic

SLICE_SECONDS = 0.001  # time between looks at the clock; a slice costs about 10 microseconds of overhead
LOST = -1.0
Pause = Callable[[], bool] | None  # asked each SLICE_SECONDS whether to end with what was found so far


class Found(NamedTuple):
    """The result of a search."""

    action: int  # the first of the best moves
    value: float  # for the player to move
    nodes: int  # positions reached by a move, including those at the depth limit
    depth: int  # plies searched
    exact: bool  # no line met the depth limit: value and move are those of perfect play
    seconds: float


class Searcher:
    """Alpha-beta with its own table, for one position at a time."""

    def __init__(
        self,
        game: Game,
        depth: int = 0,
        *,
        heuristic: Heuristic | None = None,
        final: Heuristic | None = None,
        table: int = 262_144,
        prune: bool = True,
        ordered: bool = True,
    ) -> None:
        """Allocate memory for a search.

        Args:
            game: the game it searches.
            depth: most plies to search; 0 for the end of the game.
            heuristic: judges unfinished positions at the depth limit; without one they count 0.
            final: judges finished games instead of their outcome, strictly between -1 and 1, to win by as
                much as possible.
            table: entries of the transposition table, 0 for none. A game of over 65,535 actions or 16,383
                plies gets none.
            prune: False for plain negamax, which searches every move.
            ordered: whether to try good moves first; the result is the same.
        """
        self.game = game
        self.depth = min(depth or game.max_plies, game.max_plies)
        self.line = make_line(self.depth, game.num_actions, game.state_words)
        fits = game.num_actions <= MOST_ACTIONS and game.max_plies <= MOST_PLIES
        self.table = make_table(table if fits else 0, game.state_words)
        self.heuristic, self.final = heuristic, final  # compiled code holds only their addresses
        addresses = (heuristic.address if heuristic else 0, final.address if final else 0)
        self.settings = Settings(*addresses, prune, ordered, prune and final is None)
        self.none_banned = np.zeros(game.num_actions, np.bool_)
        self.number = 0
        self.pause: Pause = None
        self.slice_nodes = 8  # few at first, because a heuristic may be slow

    def search(
        self, state: np.ndarray, banned: np.ndarray | None = None, pause: Pause = None, depth: int = 0
    ) -> Found:
        """Search `state` [S] to a depth, 0: the full one, without its banned moves [A]."""
        begin, self.pause = time.perf_counter(), pause
        self.number += 1
        found = self.search_to(depth or self.depth, state, banned, NO_ACTION, math.inf)
        return (found or self.found_so_far(state, banned))._replace(seconds=time.perf_counter() - begin)

    def deepen(
        self,
        state: np.ndarray,
        seconds: float,
        banned: np.ndarray | None = None,
        pause: Pause = None,
        value_wanted: bool = False,
        depth: int = 0,
    ) -> Found:
        """Search `state` [S] to depth 1, 2, 3, … and return the result of the last finished search.

        depth: the last one; 0: the full depth.

        It ends when the time is up, when the result is exact, and, without `value_wanted`, after one ply if
        there is only one move. In a lost position it returns the move that was found losing last.
        """
        begin, self.pause = time.perf_counter(), pause
        self.number += 1
        nodes, result = 0, None
        is_forced = not value_wanted and self.moves(state, banned).sum() == 1
        for plies in range(1, (1 if is_forced else depth or self.depth) + 1):
            first_action = result.action if result else NO_ACTION
            found = self.search_to(plies, state, banned, first_action, begin + seconds)
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
        """Search `state` to a depth, `first_action` first; None if it was stopped or the time was up."""
        forbidden = self.none_banned if banned is None else banned
        addresses, line = self.game.rule_addresses, self.line
        begin_search(addresses, line, state, forbidden, depth, self.number, first_action, self.settings)
        while not self.search_slice():
            if time.perf_counter() >= deadline or (self.pause and self.pause()):
                return None
        root = self.line.rows[ROOT]
        value = float(root["best"]) + 0.0  # + 0.0 turns -0.0 into 0.0
        return Found(int(root["best_action"]), value, self.nodes, depth, bool(root["complete"]), 0.0)

    def search_slice(self) -> bool:
        """Continue for about SLICE_SECONDS; return whether the search is finished."""
        begin = time.perf_counter()
        addresses, line = self.game.rule_addresses, self.line
        finished = bool(search_on(addresses, line, self.table, self.settings, self.slice_nodes))
        if self.heuristic and self.heuristic.failures:
            self.table.words.fill(0)  # it may hold values of a heuristic that has failed
            raise self.heuristic.failures.pop()
        seconds = time.perf_counter() - begin
        if seconds > SLICE_SECONDS:
            self.slice_nodes = max(1, self.slice_nodes // 2)
        elif seconds < SLICE_SECONDS / 4 and not finished:
            self.slice_nodes *= 2
        return finished

    @property
    def nodes(self) -> int:
        """Return the nodes of the latest search to one depth."""
        return int(self.line.progress[0]["nodes"])

    def moves(self, state: np.ndarray, banned: np.ndarray | None) -> np.ndarray:
        """Return the legal moves that are not banned, [A] bool."""
        legal = self.game.legal_mask(state)
        return legal if banned is None else legal & ~banned

    def found_so_far(self, state: np.ndarray, banned: np.ndarray | None) -> Found:
        """Return the best of the moves searched before the time was up, else the first legal one."""
        root = self.line.rows[ROOT]
        if root["best_action"] != NO_ACTION:
            return Found(int(root["best_action"]), float(root["best"]) + 0.0, 0, 0, False, 0.0)
        return Found(int(self.moves(state, banned).argmax()), 0.0, 0, 0, False, 0.0)
