"""From finished games to training examples: targets, planes, symmetries.

Letters: N examples, T plies of a game, A actions, C H W planes, S state words.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

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

    @property
    def example_plies(self) -> np.ndarray:
        """[N] int64: its plies, in order, each as often as it is an example."""
        return np.repeat(np.arange(len(self.actions)), self.searched.astype(bool) if self.repeats is None else self.repeats)

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
    """

    states: np.ndarray
    policy_target: np.ndarray
    value_target: np.ndarray


def examples_of(records: Sequence[GameRecord]) -> Examples:
    """The plies of some games that were searched in full as training rows, in the games' and the plies' order.

    The value target is the game's outcome, turned to the player who moves in the state.

    Raises:
        ValueError: no records at all, so that the shapes are unknown.
    """
    if not records:
        raise ValueError("examples_of needs at least one game")
    plies = [record.example_plies for record in records]
    return Examples(
        np.concatenate([record.states[kept] for record, kept in zip(records, plies, strict=True)]),
        np.concatenate([record.policy_target[kept] for record, kept in zip(records, plies, strict=True)]),
        np.concatenate([outcome_for_mover(record)[kept] for record, kept in zip(records, plies, strict=True)]),
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
    policy = np.zeros((len(states), examples.policy_target.shape[1]))
    value = np.zeros(len(states))
    np.add.at(policy, which.ravel(), examples.policy_target)
    np.add.at(value, which.ravel(), examples.value_target)
    return Examples(states, (policy / counts[:, None]).astype(np.float32), (value / counts).astype(np.float32))


def outcome_for_mover(record: GameRecord) -> np.ndarray:
    """The game's outcome for the player to move at each ply, [T] float32: the one place where targets turn a sign."""
    sign = np.where(record.to_play == 0, np.float32(1), np.float32(-1))
    return sign * np.float32(record.first_outcome) + np.float32(0)  # + 0: a draw is 0.0, never -0.0


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
