"""From finished games to training examples: targets and symmetries.

Letters: N examples, T plies of a game, A actions, S state words, H W rows and columns, K symmetries.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from azero.games.game import Game
from azero.games.kit.board import FIRST, SECOND


class GameRecord(NamedTuple):
    """One finished game of T plies, a row of `Plies`.

    Attributes:
        number: the game's number within its cycle.
        states: [T, S] uint64, each before its ply.
        to_play: [T] int8, the player to move: 0 for the first player, 1 for the other.
        actions: [T] int32, the moves played.
        policy_target: [T, A] float32, the search's result; zeros in an opening, where nothing was searched.
        root_value: [T] float32, the search's value for `to_play`; 0 where nothing was searched.
        searched: [T] bool, an example. False in an opening, and for small searches of earlier versions.
        proven: [T] bool, the search has proven its root value; None: searches prove nothing.
        first_outcome: +1.0 if the first player won, 0.0 for a draw, -1.0 if it lost.
    """

    number: int
    states: np.ndarray
    to_play: np.ndarray
    actions: np.ndarray
    policy_target: np.ndarray
    root_value: np.ndarray
    searched: np.ndarray
    first_outcome: float
    proven: np.ndarray | None = None

    @property
    def opening_plies(self) -> int:
        """The number of plies that were not searched at all."""
        return int((~self.policy_target.any(axis=1)).sum())


class Plies(NamedTuple):
    """G games and their T plies, one game after the other: the columns of a shard.

    Attributes:
        number, first_outcome: [G] int64 and float32, see `GameRecord`.
        plies: [G] int64, the number of each game's.

    The others are those of `GameRecord`, all games together; `proven` is None if some game has none.
    """

    number: np.ndarray
    plies: np.ndarray
    first_outcome: np.ndarray
    states: np.ndarray
    to_play: np.ndarray
    actions: np.ndarray
    policy_target: np.ndarray
    root_value: np.ndarray
    searched: np.ndarray
    proven: np.ndarray | None = None

    def of_game(self, values: np.ndarray) -> np.ndarray:
        """Return the value of each ply's game, [T] or [T, …], from those of the games."""
        return np.repeat(values, self.plies, axis=0)

    @property
    def last(self) -> np.ndarray:
        """The place of each game's last ply, [G] int64."""
        return np.cumsum(self.plies) - 1

    @property
    def num_examples(self) -> int:
        """N, the number of examples."""
        return int(np.count_nonzero(self.searched))

    def games(self) -> list[GameRecord]:
        """Return the games, views of these columns."""
        ends = np.cumsum(self.plies).tolist()
        spans = [slice(end - plies, end) for end, plies in zip(ends, self.plies.tolist(), strict=True)]
        columns = (
            self.states,
            self.to_play,
            self.actions,
            self.policy_target,
            self.root_value,
            self.searched,
        )
        proven = (None if self.proven is None else self.proven[span] for span in spans)
        rows = zip(self.number.tolist(), spans, self.first_outcome.tolist(), proven, strict=True)
        return [
            GameRecord._make((number, *(column[span] for column in columns), first_outcome, proof))
            for number, span, first_outcome, proof in rows
        ]


class Examples(NamedTuple):
    """N training rows.

    Attributes:
        states: [N, S] uint64.
        policy_target: [N, A] float32, rows sum to 1.
        value_target: [N] float32 in [-1, 1], for the player to move in that state.
        draw_target: [N] float32 in [0, 1 - |value_target|], the share of draws in the outcomes behind that
            value.
        occupation: [N, H * W] float32, the last position of the game: 1 where a piece of the player to move
            in that state stands, -1 where one of the other player does, 0 elsewhere. [N, 0] if nothing learns
            it.
    """

    states: np.ndarray
    policy_target: np.ndarray
    value_target: np.ndarray
    draw_target: np.ndarray
    occupation: np.ndarray

    def each(self, change: Callable[[np.ndarray], np.ndarray]) -> Examples:
        """Return the examples with every array changed by one function."""
        return Examples(*map(change, self))


def join(parts: Sequence[Examples]) -> Examples:
    """Return some examples one after the other."""
    return Examples(*map(np.concatenate, zip(*parts, strict=True)))


def examples_of(plies: Plies, mix: float = 0.0, decay: float = 1.0, ends_of: Game | None = None) -> Examples:
    """Return the searched plies of some games as training rows, in the order of games and plies.

    Args:
        plies: of the games.
        mix, decay: what the search's own values count in the value target; see `value_targets`.
        ends_of: the game, for the occupation of its last positions; None leaves that out.
    """
    occupation = np.empty((len(plies.states), 0), np.float32)
    if ends_of:
        occupation = occupation_targets(plies, ends_of)
    value, draw = value_targets(plies, mix, decay)
    rows = Examples(plies.states, plies.policy_target, value, draw, occupation)
    return rows.each(itemgetter(plies.searched))


def plies_of(games: Sequence[GameRecord]) -> Plies:
    """Return the plies of one or more games together.

    Raises:
        ValueError: there are no games, so the shapes are unknown.
    """
    if not games:
        raise ValueError("plies_of needs at least one game")

    def column(name: str) -> np.ndarray:
        return np.concatenate([getattr(game, name) for game in games])

    columns = map(column, ("states", "to_play", "actions", "policy_target", "root_value", "searched"))
    return Plies._make(
        (
            np.array([game.number for game in games], np.int64),
            np.array([len(game.actions) for game in games], np.int64),
            np.array([game.first_outcome for game in games], np.float32),
            *columns,
            None if any(game.proven is None for game in games) else column("proven"),
        )
    )


def merge_equal(examples: Examples) -> Examples:
    """Return one example for each distinct state, with the mean of its targets, ordered by the states' words.

    A frequent position then counts as much as a rare one, and its target is the mean over all its games.
    """
    order = np.lexsort(examples.states.T[::-1])  # by the first word, then the next: faster than `np.unique`
    ordered = examples.states[order]
    new = np.ones(len(ordered), np.bool_)
    new[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    states, which = ordered[new], np.empty(len(ordered), np.int64)
    which[order] = np.cumsum(new) - 1
    counts = np.bincount(which)

    def mean(targets: np.ndarray) -> np.ndarray:
        total = np.zeros((len(states), *targets.shape[1:]))
        np.add.at(total, which, targets)
        return (total.T / counts).T.astype(np.float32)

    return Examples(states, *map(mean, examples[1:]))


def value_targets(plies: Plies, mix: float, decay: float = 1.0) -> np.ndarray:
    """Return value and draw target of each ply, [2, T] float32, for the player to move.

    The value target is (1 - mix) * return + mix * root value (Willemsen et al. 2021 call it soft-Z where mix
    is 1). The return is TD(lambda)'s with lambda = decay (Sutton 1988), from the last ply backwards:

        return = decay * the next ply's return + (1 - decay) * root value

    After the last ply it is the outcome. A proof is its own return, whatever came later (see
    `outcome_or_proof`), and a ply without a search has the next one's. With decay 1 it is the outcome.

    A root value does not say what share of draws it expects. The draw target assumes as many as the root
    value allows, 1 - |root value|, in a drawn game, and none in others. So a game without draws never has a
    draw target.
    """
    end, root = outcome_or_proof(plies), np.clip(plies.root_value, -1, 1)
    drawn = (end == 0).astype(np.float32)
    guess = np.stack([root, drawn * (1 - np.abs(root))])
    later = np.stack([end, drawn])
    if decay < 1.0:
        later = returns(plies, later, guess, decay)
    return ((1 - mix) * later + mix * guess).astype(np.float32)


def returns(plies: Plies, end: np.ndarray, guess: np.ndarray, decay: float) -> np.ndarray:
    """Return the lambda-return of values and draws [2, T]; see `value_targets`.

    end: [2, T], the outcome or the next proof. guess: [2, T], the search's. Values are the mover's.
    """
    count = len(plies.to_play)
    side = np.stack([turned(plies.to_play, np.float32(1)), np.ones(count)])
    searched = np.any(plies.policy_target, axis=1)
    proven = np.zeros(count, np.bool_) if plies.proven is None else plies.proven
    ends = proven.copy()
    ends[plies.last] = True
    found = side * end
    for ply in range(count - 1, -1, -1):
        if ends[ply]:
            later = found[:, ply]
        if searched[ply] and not proven[ply]:
            later = decay * later + (1 - decay) * side[:, ply] * guess[:, ply]
        found[:, ply] = later
    return side * found + 0.0  # + 0: a draw is 0.0, never -0.0


def outcome_for_mover(plies: Plies) -> np.ndarray:
    """Return the outcome of each ply's game for the player to move, [T] float32."""
    return turned(plies.to_play, plies.of_game(plies.first_outcome))


def turned(to_play: np.ndarray, values: np.ndarray | np.float32) -> np.ndarray:
    """Turn values [T], or one for all plies, from the first player's view to the mover's, or back."""
    sign = np.where(to_play == 0, np.float32(1), np.float32(-1))
    return (sign * values + 0).astype(np.float32)  # + 0: a draw is 0.0, never -0.0


def outcome_or_proof(plies: Plies) -> np.ndarray:
    """Return for the player to move, [T] float32, the next proof at or after each ply, else the outcome.

    After a proven ply only mistakes can change the outcome, and they say nothing about the plies before it.
    The proof is the search's (MCTS-solver), and exact.
    """
    if plies.proven is None:
        return outcome_for_mover(plies)
    count = len(plies.to_play)
    nearest = np.where(plies.proven, np.arange(count), count)
    nearest = np.minimum.accumulate(nearest[::-1])[::-1]  # the next proven ply of any game
    ahead = nearest <= plies.of_game(plies.last)
    proofs = turned(plies.to_play, plies.root_value)[np.where(ahead, nearest, 0)]
    return turned(plies.to_play, np.where(ahead, proofs, plies.of_game(plies.first_outcome)))


def occupation_targets(plies: Plies, game: Game) -> np.ndarray:
    """Return whose pieces stand on each cell after a game's last ply, [T, H * W] float32, for the mover.

    See `Examples.occupation`. The game has a board.
    """
    assert game.board is not None
    ends = [game.step(plies.states[last], int(plies.actions[last])) for last in plies.last.tolist()]
    marks = np.array([game.board.marks(end).ravel() for end in ends])
    pieces = (marks == FIRST).astype(np.float32) - (marks == SECOND)
    return turned(plies.to_play, np.float32(1))[:, None] * plies.of_game(pieces) + np.float32(0)


def symmetry_sources(game: Game) -> tuple[np.ndarray, np.ndarray]:
    """Return for each symmetry where it fetches from: tables of cells [K, H*W] and actions [K, A], int64.

    A game's tables say where a thing goes (`table[k, a]`). Gathering needs the inverse permutation.
    """
    return np.argsort(game.cell_symmetries, axis=1), np.argsort(game.action_symmetries, axis=1)
