"""Moves that a game's history forbids (superko): found for the current position and removed at the root.

Letters: B positions, G games, P plies, A actions, S state words, R repetition words.

A move is forbidden if the repetition key after it equals that of an earlier position but not the present one,
so passing is always allowed. Inside the tree the history is unknown: a search may spend simulations on a
deeper repeat. It is never played, because the root's mask is exact at every move, and `max_plies` bounds
every line of play.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from azero.games.game import Game, rules_at
from azero.kernels.compiled import kernel
from azero.kernels.words import same_words
from azero.search.dead_end import dead_end
from azero.search.tree import ILLEGAL, ROOT


@kernel
def find_banned(rules, states, plies, state, legal, keys, successor, banned):
    """Write which legal actions of `state` would repeat one of states[:plies] into banned [A].

    Return how many. keys: scratch, [P + 2, R], P at least `plies`. successor: scratch, [S].
    """
    here, there = keys[plies], keys[plies + 1]
    for ply in range(plies):
        rules.repetition_key(states[ply], keys[ply])
    rules.repetition_key(state, here)
    count = 0
    for action in range(legal.shape[0]):
        banned[action] = False
        if not legal[action]:
            continue
        rules.step(state, action, successor)
        rules.repetition_key(successor, there)
        if same_words(there, here):
            continue
        for ply in range(plies):
            if same_words(there, keys[ply]):
                banned[action] = True
                count += 1
                break
    return count


@kernel
def ban(tree, b, banned):
    """Remove banned [A] actions from game b's expanded root, with what earlier searches found behind them."""
    left, count = 0.0, 0
    for action in range(banned.shape[0]):
        if tree.edges[b, ROOT, action].prior < 0.0:
            continue
        if not banned[action]:
            left += tree.edges[b, ROOT, action].prior
            count += 1
            continue
        tree.nodes[b, ROOT].node_visits -= tree.edges[b, ROOT, action].child_visits
        tree.nodes[b, ROOT].value_sum -= tree.edges[b, ROOT, action].child_value_sum
        tree.edges[b, ROOT, action].prior = ILLEGAL
        tree.edges[b, ROOT, action].child_visits = 0
        tree.edges[b, ROOT, action].child_value_sum = 0.0
    for action in range(banned.shape[0]):
        if tree.edges[b, ROOT, action].prior >= 0.0:
            tree.edges[b, ROOT, action].prior = (
                tree.edges[b, ROOT, action].prior / left if left > 0.0 else 1.0 / count
            )


@kernel
def ban_roots(tree, games, banned):
    """Remove banned [B, A] actions from the expanded roots of `games` [B]."""
    for row in range(games.shape[0]):
        ban(tree, games[row], banned[row])


@kernel
def find_banned_of_games(addresses, history, plies, games, states, keys, successor, legal, banned):
    """Write banned [B, A] for states [B, S] of `games` [B] with history [G, P, S] and plies [G].

    Return -1, or a row of an unfinished game whose legal moves are all banned. The other arguments are
    scratch.
    """
    rules = rules_at(addresses)
    stuck = -1
    for row in range(games.shape[0]):
        rules.legal_mask(states[row], legal)
        count = find_banned(
            rules, history[games[row]], plies[games[row]], states[row], legal, keys, successor, banned[row]
        )
        if count > 0 and count == legal.sum() and not rules.is_terminal(states[row]):
            stuck = row
    return stuck


class History:
    """The earlier positions of G games in progress. A game without a repetition key keeps none."""

    def __init__(self, game: Game, num_games: int) -> None:
        self.game = game
        kept = game.max_plies if game.repetition_words else 0
        self.states = np.zeros((num_games, kept, game.state_words), np.uint64)
        self.plies = np.zeros(num_games, np.int64)
        self.keys = np.zeros((kept + 2, game.repetition_words), np.uint64)
        self.successor = np.zeros(game.state_words, np.uint64)
        self.legal = np.zeros(game.num_actions, np.bool_)

    def add(self, games: np.ndarray, states: np.ndarray) -> None:
        """Store states [B, S] of `games` [B], from which a move has been played."""
        if self.game.repetition_words:
            self.states[games, self.plies[games]] = states
            self.plies[games] += 1

    def banned(self, games: np.ndarray, states: np.ndarray) -> np.ndarray | None:
        """Return which actions the history forbids in states [B, S] of `games` [B].

        [B, A] bool, or None for a game that forbids none.

        Raises:
            BrokenGame: it forbids every legal action of an unfinished game.
        """
        if not self.game.repetition_words:
            return None
        banned = np.zeros((len(games), self.game.num_actions), np.bool_)
        stuck = find_banned_of_games(
            *(self.game.rule_addresses, self.states, self.plies, games, np.ascontiguousarray(states)),
            *(self.keys, self.successor, self.legal, banned),
        )
        if stuck >= 0:
            past = self.states[games[stuck], : self.plies[games[stuck]]]
            raise dead_end(self.game, actions_between(self.game, [*past, states[stuck]]), repeats=True)
        return banned

    def legal_mask(self, number: int, state: np.ndarray) -> np.ndarray:
        """Return which actions are legal and not forbidden in game `number` at `state`, [A] bool."""
        banned = self.banned(np.array([number]), state[None])
        legal = self.game.legal_mask(state)
        return legal if banned is None else legal & ~banned[0]


def actions_between(game: Game, states: Sequence[np.ndarray]) -> list[int]:
    """Return the actions that lead from each state [S] of a game to the next."""
    return [
        next(
            action
            for action in game.legal_actions(before)
            if np.array_equal(game.step(before, action), after)
        )
        for before, after in pairwise(states)
    ]


def banned_after(game: Game, states: Sequence[np.ndarray]) -> np.ndarray | None:
    """Return which actions the history forbids at the last of a game's states, each [S], from the first on.

    [A] bool, or None for a game that forbids none.
    """
    past, only_game = History(game, 1), np.zeros(1, np.int64)
    for state in states[:-1]:
        past.add(only_game, state[None])
    banned = past.banned(only_game, states[-1][None])
    return None if banned is None else banned[0]
