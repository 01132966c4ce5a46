"""Moves that a game's history forbids (superko), and positions that have no move left.

Letters: B positions, G games, P plies, A actions, S state words, R repetition words.

A move is forbidden if the repetition key after it equals that of an earlier position but not the present one,
so passing is always allowed. Inside the tree the history is unknown: a search may spend simulations on a
deeper repeat. It is never played, because the root's mask is exact at every move, and `max_plies` bounds
every line of play.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np

from azero.config.schema import BrokenGame
from azero.games.game import Game, rules_at
from azero.games.legal import list_legal, make_legal
from azero.kernels.compiled import kernel
from azero.kernels.words import same_words


@kernel
def find_banned(rules, states, plies, state, actions, count, keys, successor, banned):
    """Write which of `count` legal actions of `state` would repeat one of states[:plies] into banned [A].

    Return how many. actions: [count or more] int32. keys: scratch, [P + 2, R], P at least `plies`.
    successor: scratch, [S].
    """
    here, there = keys[plies], keys[plies + 1]
    for ply in range(plies):
        rules.repetition_key(states[ply], keys[ply])
    rules.repetition_key(state, here)
    repeats = 0
    banned[:] = False
    for action in actions[:count]:
        rules.step(state, action, successor)
        rules.repetition_key(successor, there)
        if same_words(there, here):
            continue
        for ply in range(plies):
            if same_words(there, keys[ply]):
                banned[action] = True
                repeats += 1
                break
    return repeats


@kernel
def find_banned_of_games(addresses, history, plies, games, states, keys, successor, legal, banned):
    """Write banned [B, A] for states [B, S] of `games` [B] with history [G, P, S] and plies [G].

    Return -1, or a row of an unfinished game whose legal moves are all banned. The other arguments are
    scratch.
    """
    rules = rules_at(addresses)
    stuck = -1
    for row in range(games.shape[0]):
        banned[row] = False
        if rules.is_terminal(states[row]):
            continue
        count = list_legal(rules, states[row], legal)
        past, known = history[games[row]], plies[games[row]]
        repeats = find_banned(
            rules, past, known, states[row], legal.actions, count, keys, successor, banned[row]
        )
        if repeats > 0 and repeats == count:
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
        self.legal = make_legal(game.num_actions)

    def add(self, games: np.ndarray, states: np.ndarray) -> None:
        """Store states [B, S] of `games` [B], from which a move has been played."""
        if self.game.repetition_words:
            self.states[games, self.plies[games]] = states
            self.plies[games] += 1

    def take_back(self, games: np.ndarray) -> None:
        """Forget the latest position of `games` [B]."""
        if self.game.repetition_words:
            self.plies[games] -= 1

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


def dead_end(game: Game, actions: Iterable[int], repeats: bool = False) -> BrokenGame:
    """Return the error of a game that goes on after these actions, but has no legal move.

    repeats: it has some, but the history forbids them all.
    """
    moves = " ".join(game.move_names(actions))
    where = f"after {moves}" if moves else "in the position to search"
    why, cure = "", f"correct is_terminal or {'legal_actions' if game.lists_moves else 'legal_mask'}"
    if repeats:
        why = ", because each repeats an earlier position"
        cure = "add a move that never repeats, such as a pass"
    return BrokenGame(
        f"{game.name} is not over {where}, but has no legal move there{why}; {cure}, "
        "and try azero check_game."
    )


def check_moves(game: Game, states: np.ndarray, banned: np.ndarray) -> None:
    """Raise BrokenGame if nothing but banned [B, A] moves is legal in one of states [B, S]."""
    row = first_without_moves(game.rule_addresses, states, banned, make_legal(game.num_actions))
    if row >= 0:
        raise dead_end(game, (), repeats=bool(banned[row].any()))


@kernel
def first_without_moves(addresses, states, banned, legal):
    """Return the first row of states [B, S] without a legal move that is not banned [B, A], or -1.

    legal: scratch.
    """
    rules = rules_at(addresses)
    for row in range(states.shape[0]):
        free = 0
        for action in legal.actions[: list_legal(rules, states[row], legal)]:
            free += not banned[row, action]
        if free == 0:
            return row
    return -1
