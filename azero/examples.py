"""From finished games to training examples: targets, planes, symmetries.

Letters: N examples, T plies of a game, A actions, C H W planes, S state words.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from azero.config import TrainConfig, share_in
from azero.games.game import Game
from azero.games.inputs import write_inputs


class GameRecord(NamedTuple):
    """One finished game of T plies.

    Attributes:
        number: the game's number within its cycle.
        states: [T, S] uint64, each before its ply.
        to_play: [T] int8, who moves there: 0 for the first player, 1 for the other.
        actions: [T] int32, what was played.
        policy_target: [T, A] float32, the search's result; zeros in an opening, where nothing was searched.
        root_value: [T] float32, the search's value for `to_play`; 0 where nothing was searched.
        searched: [T] bool; searched in full, an example. False in an opening and for the moves of fast searches.
        repeats: [T] uint8, how many examples each ply is; None where those searched in full are one each.
        proven: [T] bool, the search has proven its root value, which is exact then; None where searches prove nothing.
        first_outcome: +1.0 the first player won, 0.0 a draw, -1.0 it lost.
    """

    number: int
    states: np.ndarray
    to_play: np.ndarray
    actions: np.ndarray
    policy_target: np.ndarray
    root_value: np.ndarray
    searched: np.ndarray
    first_outcome: float
    repeats: np.ndarray | None = None
    proven: np.ndarray | None = None

    @property
    def example_plies(self) -> np.ndarray:
        """[N] int64: its plies, in order, each as often as it is an example."""
        return np.repeat(np.arange(len(self.actions)), self.searched.astype(bool) if self.repeats is None else self.repeats)

    @property
    def num_examples(self) -> int:
        """How many there are."""
        return int(np.count_nonzero(self.searched) if self.repeats is None else self.repeats.sum())

    @property
    def opening_plies(self) -> int:
        """Plies at its beginning that were not searched at all."""
        return int((~self.policy_target.any(axis=1)).sum())


class Examples(NamedTuple):
    """N training rows.

    Attributes:
        states: [N, S] uint64.
        policy_target: [N, A] float32, rows sum to 1.
        value_target: [N] float32 in [-1, 1], for the player to move in that state.
        draw_target: [N] float32 in [0, 1 - |value_target|], the share of draws in the outcomes behind that value.
        reply_target: [N, A] float32, the policy target of the opponent's ply that came next, zeros where none was searched;
            [N, 0] where nobody asks for it.
    """

    states: np.ndarray
    policy_target: np.ndarray
    value_target: np.ndarray
    draw_target: np.ndarray
    reply_target: np.ndarray


def examples_of(records: Sequence[GameRecord], mix: float = 0.0, *, replies: bool = False) -> Examples:
    """The plies of some games that were searched in full as training rows, in the games' and the plies' order.

    Args:
        records: the games.
        mix: share of the search's own value in the value target; see `value_targets`.
        replies: whether the opponent's replies are targets too.

    Raises:
        ValueError: no records at all, so that the shapes are unknown.
    """
    if not records:
        raise ValueError("examples_of needs at least one game")
    plies = [record.example_plies for record in records]
    values = [value_targets(record, mix)[:, kept] for record, kept in zip(records, plies, strict=True)]
    value, draw = np.concatenate(values, axis=1)
    return Examples(
        np.concatenate([record.states[kept] for record, kept in zip(records, plies, strict=True)]),
        np.concatenate([record.policy_target[kept] for record, kept in zip(records, plies, strict=True)]),
        value,
        draw,
        np.concatenate([reply_targets(record, replies)[kept] for record, kept in zip(records, plies, strict=True)]),
    )


def repeats_by_surprise(searched: np.ndarray, surprise: np.ndarray, share: float, rng: np.random.Generator) -> np.ndarray:
    """How many examples each ply of a game is, [T] uint8: policy surprise weighting (Wu 2019, and KataGo's methods document).

    Of T' plies searched in full each has the weight 1 - share + share * T' * surprise / sum of the surprises. A weight of 1.3
    gives one example and with chance 0.3 another one.

    Args:
        searched: [T] bool, in full.
        surprise: [T] float32, KL(policy target || prior).
        share: of the weight, by surprise.
        rng: draws the fractions.
    """
    surprise = np.where(searched, surprise, 0.0).astype(np.float64)
    by_surprise = searched.sum() * surprise / surprise.sum() if surprise.any() else searched
    weight = (1.0 - share) * searched + share * by_surprise
    return np.minimum(np.floor(weight + rng.random(len(weight))), 255).astype(np.uint8)


def merge_equal(examples: Examples) -> Examples:
    """One example for each distinct state, with the mean of its targets, in the order of the states' words.

    A position met a thousand times then counts as much as one met once, with targets as clear as a thousand games make them.
    """
    states, which, counts = np.unique(examples.states, axis=0, return_inverse=True, return_counts=True)

    def mean(targets: np.ndarray) -> np.ndarray:
        total = np.zeros((len(states), *targets.shape[1:]))
        np.add.at(total, which.ravel(), targets)
        return (total.T / counts).T.astype(np.float32)

    return Examples(states, *(mean(targets) for targets in examples[1:]))


def value_targets(record: GameRecord, mix: float) -> np.ndarray:
    """Value and draw target of each ply, [2, T] float32, for the player who moves there.

    The value target is (1 - mix) outcome + mix root value (Willemsen et al. 2021, who call it soft-Z where mix is 1); a proof
    takes the place of the outcome in the plies before it, see `outcome_or_proof`. A root value does not tell what it expects of
    draws; as far as it leaves room, it is taken to expect what came: 1 - |root value| in a drawn game, else none. So a game
    without draws never learns of any.
    """
    outcome, root = outcome_or_proof(record), np.clip(record.root_value, -1, 1)
    drawn = (outcome == 0).astype(np.float32)
    return np.stack([(1 - mix) * outcome + mix * root, drawn * (1 - mix * np.abs(root))]).astype(np.float32)


def reply_targets(record: GameRecord, replies: bool) -> np.ndarray:
    """What was searched at the next ply, be it fast, [T, A] float32, where the opponent moved there; [T, 0] if nobody asks."""
    if not replies:
        return np.empty((len(record.actions), 0), np.float32)
    targets = np.zeros_like(record.policy_target)
    replied = record.to_play[1:] != record.to_play[:-1]
    targets[:-1][replied] = record.policy_target[1:][replied]
    return targets


def mix_in(train: TrainConfig, cycle: int) -> float:
    """Share of the search's own value in the value targets of a cycle, counted from 1."""
    return share_in(cycle, train.value_mix, train.value_mix_cycles, train.value_mix_final)


def outcome_for_mover(record: GameRecord) -> np.ndarray:
    """The game's outcome for the player to move at each ply, [T] float32."""
    return turned(record, np.float32(record.first_outcome))


def turned(record: GameRecord, values: np.ndarray | np.float32) -> np.ndarray:
    """Values of each ply [T], or one of all, from the first player's view to the mover's or back: the one place of signs."""
    sign = np.where(record.to_play == 0, np.float32(1), np.float32(-1))
    return (sign * values + 0).astype(np.float32)  # + 0: a draw is 0.0, never -0.0


def outcome_or_proof(record: GameRecord) -> np.ndarray:
    """How the game ended or, before that, was proven to end, for the player to move at each ply, [T] float32.

    From a proven ply on nothing but mistakes can change the outcome, and they say nothing of the plies before: the next proof
    at or after a ply decides, the outcome only where none comes. The proof is the search's (MCTS-solver), and exact.
    """
    if record.proven is None:
        return outcome_for_mover(record)
    plies = len(record.actions)
    nearest = np.where(record.proven, np.arange(plies), plies)
    nearest = np.minimum.accumulate(nearest[::-1])[::-1]  # the next proven ply, `plies` where none comes
    return turned(record, np.append(turned(record, record.root_value), record.first_outcome)[nearest])


def encode(game: Game, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What the network sees of some states, and which moves are allowed there.

    Args:
        game: the rules.
        states: [N, S] uint64.

    Returns:
        planes [N, C, H, W] float32, from the view of the player to move, and legal_mask [N, A] bool, True = legal.
    """
    planes = np.empty((len(states), *game.planes_shape), np.float32)
    legal_mask = np.empty((len(states), game.num_actions), np.bool_)
    write_inputs(game.rule_addresses, np.ascontiguousarray(states, np.uint64), planes, legal_mask)
    return planes, legal_mask


def symmetry_sources(game: Game) -> tuple[np.ndarray, np.ndarray]:
    """Where a symmetry fetches from: gather tables for cells [symmetries, H*W] and actions [symmetries, A], int64.

    A game's tables say where a thing goes (`table[k, a]`); gathering wants to know where it comes from, the inverse permutation.
    """
    return np.argsort(game.cell_symmetries, axis=1), np.argsort(game.action_symmetries, axis=1)
