"""From finished games to training examples: targets and symmetries.

A policy target is pairs of a move and its weight, because a game may have a hundred times as many actions as
a position has moves.

Letters: N examples, T plies of a game, U pairs of its policy targets, L pairs of the longest one, A actions,
S state words, H W rows and columns, K symmetries.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from azero.games.game import Game
from azero.games.kit.board import FIRST, SECOND

MERGED_STATES = 4096  # whose targets are merged at a time
PAIRED_ROWS = 4096  # rows of all actions that become pairs at a time: indices take four times their memory

# Columns of games, by their length
PER_PLY = ("states", "to_play", "actions", "target_counts", "root_value", "searched")
PER_PAIR = ("target_actions", "target_weights")


class GameRecord(NamedTuple):
    """One game of T plies, a row of `Plies`. It has ended, or waits to go on (`stream`).

    Attributes:
        number: the game's number within its cycle.
        states: [T, S] uint64, each before its ply.
        to_play: [T] int8, the player to move: 0 for the first player, 1 for the other.
        actions: [T] int32, the moves played.
        target_counts: [T] int32, how many moves the search gave a weight; 0 in an opening, where nothing was
            searched.
        target_actions: [U] int32, those moves in rising order, ply after ply.
        target_weights: [U] float32, their weights: above 0, and of each ply they sum to 1.
        root_value: [T] float32, the search's value for `to_play`; 0 where nothing was searched.
        searched: [T] bool, an example. False in an opening, and for small searches of earlier versions.
        proven: [T] bool, the search has proven its root value; None: searches prove nothing.
        first_outcome: +1.0 if the first player won, 0.0 for a draw, -1.0 if it lost.
        stream: [2] uint64, the random stream with which the game goes on; None: it has ended.
    """

    number: int
    states: np.ndarray
    to_play: np.ndarray
    actions: np.ndarray
    target_counts: np.ndarray
    target_actions: np.ndarray
    target_weights: np.ndarray
    root_value: np.ndarray
    searched: np.ndarray
    first_outcome: float
    proven: np.ndarray | None = None
    stream: np.ndarray | None = None

    @property
    def opening_plies(self) -> int:
        """The number of plies that were not searched at all."""
        return int((self.target_counts == 0).sum())

    def targets(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return the moves and the weights of each ply's policy target."""
        ends = np.cumsum(self.target_counts)[:-1]
        columns = (np.split(column, ends) for column in (self.target_actions, self.target_weights))
        return list(zip(*columns, strict=True))


def ended_and_waiting(records: Sequence[GameRecord]) -> tuple[list[GameRecord], list[GameRecord]]:
    """Return the games that have ended, and those that wait to go on."""
    ended, waiting = list[GameRecord](), list[GameRecord]()
    for record in records:
        (ended if record.stream is None else waiting).append(record)
    return ended, waiting


class Plies(NamedTuple):
    """G games and their T plies, one game after the other: the columns of a shard.

    Attributes:
        number, first_outcome: [G] int64 and float32, see `GameRecord`.
        plies: [G] int64, the number of each game's.

        stream: [G, 2] uint64, that of each game; None if some game has ended.

    The others are those of `GameRecord`, all games together; `proven` is None if some game has none.
    """

    number: np.ndarray
    plies: np.ndarray
    first_outcome: np.ndarray
    states: np.ndarray
    to_play: np.ndarray
    actions: np.ndarray
    target_counts: np.ndarray
    target_actions: np.ndarray
    target_weights: np.ndarray
    root_value: np.ndarray
    searched: np.ndarray
    proven: np.ndarray | None = None
    stream: np.ndarray | None = None

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

    @property
    def target_entropy(self) -> np.ndarray:
        """The entropy of each ply's policy target in nats, [T] float64."""
        terms = -self.target_weights * np.log(self.target_weights)
        return np.bincount(rows_of(self.target_counts), terms, minlength=len(self.actions))

    def games(self) -> list[GameRecord]:
        """Return the games, views of these columns."""
        plies = spans_of(self.plies)
        pairs = spans_of(np.diff(np.cumsum(self.target_counts)[self.last], prepend=0))
        by_ply = PER_PLY if self.proven is None else (*PER_PLY, "proven")

        def part(names: Sequence[str], span: slice) -> dict[str, Any]:
            return {name: getattr(self, name)[span] for name in names}

        streams = [None] * len(plies) if self.stream is None else self.stream
        return [
            GameRecord(
                number, first_outcome=outcome, stream=stream, **part(by_ply, ply), **part(PER_PAIR, pair)
            )
            for number, outcome, stream, ply, pair in zip(
                self.number.tolist(), self.first_outcome.tolist(), streams, plies, pairs, strict=True
            )
        ]


def rows_of(counts: np.ndarray) -> np.ndarray:
    """Return the row of each pair, from the number of pairs of each row."""
    return np.repeat(np.arange(len(counts)), counts)


def spans_of(counts: np.ndarray) -> list[slice]:
    """Return where each of some parts lies that follow one another, from their lengths."""
    ends = np.cumsum(counts).tolist()
    return [slice(end - count, end) for end, count in zip(ends, counts.tolist(), strict=True)]


def pairs_of(policy_target: np.ndarray) -> dict[str, Any]:
    """Return policy targets [T, A], zeros where nothing was searched, as the columns of a `GameRecord`."""
    parts = []
    for first in range(0, max(1, len(policy_target)), PAIRED_ROWS):
        some = policy_target[first : first + PAIRED_ROWS]
        rows, actions = np.nonzero(some)
        counts = np.bincount(rows, minlength=len(some)).astype(np.int32)
        parts.append((counts, actions.astype(np.int32), some[rows, actions].astype(np.float32)))
    names = ("target_counts", *PER_PAIR)
    return dict(zip(names, map(np.concatenate, zip(*parts, strict=True)), strict=True))


def narrow(most: int) -> type[np.integer]:
    """Return the narrowest type that holds the whole numbers from 0 to `most`, also as a tensor."""
    return next(kind for kind in (np.uint8, np.int16, np.int32) if most <= np.iinfo(kind).max)


def padded(counts: np.ndarray, actions: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return pairs [U] as rows of `counts` [N] pairs, with zeros after them: [N, L] each, L at least 1."""
    shape = len(counts), max(1, int(counts.max(initial=0)))
    rows = np.zeros(shape, actions.dtype), np.zeros(shape, weights.dtype)
    real = np.arange(shape[1], dtype=counts.dtype) < counts[:, None]
    rows[0][real], rows[1][real] = actions, weights
    return rows


def targets_of(policy_target: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return policy targets [N, A], as a script may make them, as the actions and weights of `Examples`."""
    counts, actions, weights = pairs_of(policy_target).values()
    return padded(counts, actions.astype(narrow(policy_target.shape[1] - 1)), weights)


class Examples(NamedTuple):
    """N training rows.

    Attributes:
        states: [N, S] uint64.
        target_actions: [N, L] uint8, int16 or int32, the moves of the policy target, then zeros.
        target_weights: [N, L] float32, their weights, then zeros; rows sum to 1.
        value_target: [N] float32 in [-1, 1], for the player to move in that state.
        draw_target: [N] float32 in [0, 1 - |value_target|], the share of draws in the outcomes behind that
            value.
        occupation: [N, H * W] float32, the last position of the game: 1 where a piece of the player to move
            in that state stands, -1 where one of the other player does, 0 elsewhere. [N, 0] if nothing learns
            it.
    """

    states: np.ndarray
    target_actions: np.ndarray
    target_weights: np.ndarray
    value_target: np.ndarray
    draw_target: np.ndarray
    occupation: np.ndarray

    def each(self, change: Callable[[np.ndarray], np.ndarray]) -> Examples:
        """Return the examples with every array changed by one function."""
        return Examples(*map(change, self))

    def widened(self, width: int) -> Examples:
        """Return the examples with so many pairs in each policy target, at least as many as before."""
        if width == self.target_actions.shape[1]:
            return self
        more = ((0, 0), (0, width - self.target_actions.shape[1]))
        actions, weights = np.pad(self.target_actions, more), np.pad(self.target_weights, more)
        return self._replace(target_actions=actions, target_weights=weights)


def join(parts: Sequence[Examples]) -> Examples:
    """Return some examples one after the other."""
    width = max(part.target_actions.shape[1] for part in parts)
    columns = zip(*(part.widened(width) for part in parts), strict=True)
    return Examples(*map(np.concatenate, columns))


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
    actions = plies.target_actions.astype(narrow(int(plies.target_actions.max(initial=0))))
    targets = padded(plies.target_counts, actions, plies.target_weights)
    rows = Examples(plies.states, *targets, value, draw, occupation)
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

    return Plies(
        number=np.array([game.number for game in games], np.int64),
        plies=np.array([len(game.actions) for game in games], np.int64),
        first_outcome=np.array([game.first_outcome for game in games], np.float32),
        **{name: column(name) for name in (*PER_PLY, *PER_PAIR)},
        proven=None if any(game.proven is None for game in games) else column("proven"),
        stream=None if any(game.stream is None for game in games) else column("stream").reshape(-1, 2),
    )


def merge_equal(examples: Examples) -> Examples:
    """Return one example for each distinct state, with the mean of its targets, ordered by the states' words.

    A frequent position then counts as much as a rare one, and its target is the mean over all its games.
    """
    if not len(examples.states):
        return examples
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

    targets = mean_targets(examples.target_actions, examples.target_weights, order, counts)
    return Examples(states, *targets, *map(mean, examples[3:]))


def mean_targets(
    actions: np.ndarray, weights: np.ndarray, order: np.ndarray, counts: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean policy target of each state, actions and weights as in `Examples`.

    actions, weights: [N, L]. order: [N], the rows state after state. counts: how many rows each state has.
    """
    ends, span, parts = np.cumsum(counts), int(actions.max(initial=0)) + 1, []
    for first in range(0, len(counts), MERGED_STATES):
        some = counts[first : first + MERGED_STATES]
        rows = order[ends[first] - some[0] : ends[first + len(some) - 1]]
        own = weights[rows]
        real = own > 0
        keys = (rows_of(some)[:, None] * span + actions[rows])[real]
        rising = np.argsort(keys, kind="stable")  # fast, because only keys of one state are out of order
        keys = keys[rising]
        new = np.ones(len(keys), np.bool_)
        new[1:] = keys[1:] != keys[:-1]
        total = np.bincount(np.cumsum(new) - 1, own[real][rising])  # in float64, row after row
        states, moves = np.divmod(keys[new], span)
        means = (total / some[states]).astype(np.float32)
        parts.append((np.bincount(states, minlength=len(some)), moves.astype(actions.dtype), means))
    pairs, actions, weights = map(np.concatenate, zip(*parts, strict=True))
    return padded(pairs, actions, weights)


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
    searched = plies.target_counts > 0
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
    targets: np.ndarray = side * found + 0.0  # + 0: a draw is 0.0, never -0.0
    return targets


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
    own: np.ndarray = turned(plies.to_play, np.float32(1))[:, None] * plies.of_game(pieces)
    return own + np.float32(0)


def cell_sources(game: Game) -> np.ndarray:
    """Return for each symmetry from which cell each cell comes, [K, H*W] int64.

    The game's table says where a cell goes (`table[k, cell]`). Gathering needs the inverse permutation.
    """
    return np.argsort(game.cell_symmetries, axis=1)
