"""Checks that planes show the view of the player to move.

Letters: A actions; C, H, W planes; S state words; K key words; R repetition words.

When the player to move changes, planes that show its view must switch: "mine" becomes "the opponent's".
`find_turn` learns from random games which plane becomes which.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeVar

import numpy as np

from azero.games.game import UNBOUNDED

T = TypeVar("T")
SAMPLES = 400  # steps examined, evenly spread
ENOUGH = 10  # cases of each player that show more than chance


class Look(NamedTuple):
    """Everything the rules say about one state. Mask and key are None at the end of a game."""

    state: np.ndarray  # [S] uint64
    ply: int
    to_play: int
    terminal: bool
    outcome: float  # for to_play; 0 unless terminal
    planes: np.ndarray  # [C, H, W] float32
    mask: np.ndarray | None  # [A] bool
    key: np.ndarray | None  # [K] uint64
    repetition: np.ndarray  # [R] uint64
    plies_left: int = UNBOUNDED


class PlaneTurn(NamedTuple):
    """How planes change with the player to move: plane c becomes `sign[c]` times plane `becomes[c]`."""

    becomes: np.ndarray  # [C] int64
    sign: np.ndarray  # [C] float32, 1 or -1

    @property
    def is_identity(self) -> bool:
        """Return whether every plane stays as it is."""
        return bool((self.becomes == np.arange(len(self.becomes))).all() and (self.sign == 1).all())

    def apply(self, planes: np.ndarray) -> np.ndarray:
        """Return planes [C, H, W] as the other side sees them."""
        turned = np.empty_like(planes)
        turned[self.becomes] = self.sign[:, None, None] * planes
        return turned


class Fault(NamedTuple):
    """A fault and the boards that show it."""

    text: str
    states: tuple[np.ndarray, ...]
    certain: bool = True  # False if the rules of some games mean it so


def evenly(items: list[T], most: int) -> list[T]:
    """Return at most so many items, evenly spread.

    Not every second or third: in games of equal length that would leave out some plies.
    """
    if len(items) <= most:
        return items
    return [items[place] for place in np.linspace(0, len(items) - 1, most).astype(int)]


def spread(steps: Sequence[tuple[Look, Look]], changes: bool) -> list[tuple[Look, Look]]:
    """Return up to SAMPLES steps after which the player to move changes, or does not."""
    chosen = [(before, after) for before, after in steps if (before.to_play != after.to_play) == changes]
    return evenly(chosen, SAMPLES)


def sampled(steps: Sequence[tuple[Look, Look]]) -> list[Look]:
    """Return about SAMPLES of the positions before the steps, half of them for each player to move."""
    chosen: list[Look] = []
    for mover in (0, 1):
        moves = [before for before, _ in steps if before.to_play == mover]
        chosen += evenly(moves, SAMPLES // 2)
    return chosen


def find_turn(steps: Sequence[tuple[Look, Look]]) -> PlaneTurn | None:
    """Return how planes change with the player to move; None if no permutation explains most steps."""
    chosen = spread(steps, changes=True)
    if not chosen:
        return None
    before = np.stack([first.planes for first, _ in chosen])
    after = np.stack([second.planes for _, second in chosen])
    channels = before.shape[1]
    # A plane that is one number says nothing of stones, so it stays itself
    uniform = is_uniform(before) & is_uniform(after)
    # Entries that differ when plane c becomes plane d, with its sign or the other
    cost = np.zeros((2, channels, channels))
    for c in range(channels):
        for d in range(channels):
            cost[0, c, d] = (before[:, c] != after[:, d]).sum()
            cost[1, c, d] = (-before[:, c] != after[:, d]).sum() + 0.5  # of equals prefer the same sign
    best = cost.min(axis=0)
    best[np.arange(channels), np.arange(channels)] -= 0.25  # and the same place
    best[:, uniform] = best[uniform] = np.inf
    best[uniform, uniform] = 0.0
    becomes = best.argmin(axis=1)
    if len(set(becomes.tolist())) < channels:
        return None
    sign = np.where(cost[0, np.arange(channels), becomes] <= cost[1, np.arange(channels), becomes], 1, -1)
    return PlaneTurn(becomes, sign.astype(np.float32))


def is_uniform(planes: np.ndarray) -> np.ndarray:
    """Return for each of C planes whether it is constant in every position of planes [positions, C, H, W]."""
    flat = planes.reshape(*planes.shape[:2], -1)
    return np.asarray((flat == flat[:, :, :1]).all(axis=(0, 2)))


def turn_fault(steps: Sequence[tuple[Look, Look]], turn: PlaneTurn | None) -> Fault | None:
    """Return a fault in how planes change with the player to move, or None."""
    if turn is None:
        return None
    if turn.is_identity:
        return None if shows_role(sampled(steps)) else absolute_view(steps)
    stays = spread(steps, changes=False)
    # By how much `turn` explains each step better than planes that stay as they are
    better = [
        np.sum(before.planes != after.planes) - np.sum(turn.apply(before.planes) != after.planes)
        for before, after in stays
    ]
    if sum(better) > 0:
        before, after = stays[int(np.argmax(better))]
        text = "planes switch to the opponent's view although to_play says that the same player moves again"
        return Fault(text, (before.state, after.state))
    return None


def absolute_view(steps: Sequence[tuple[Look, Look]]) -> Fault | None:
    """Return a fault if the planes show fixed sides, so each player's stones appear in planes of their own.

    Only entries that a move fills count: where stones are turned over, every move changes both sides' planes.
    Fixed sides are right in a game with a plane that says who moves; `turn_fault` does not ask there.
    """
    filled = np.zeros((2, 2, len(steps[0][0].planes)))  # moves by mover, sign of the entry, plane
    for before, after in steps:
        empty = before.planes == 0
        now = [(empty & (sign * after.planes > 0)).any(axis=(1, 2)) for sign in (1, -1)]
        filled[before.to_play] += now
    own = [(filled[mover] >= ENOUGH) & (20 * filled[1 - mover] < filled[mover]) for mover in (0, 1)]
    if not own[0].any() or not own[1].any():
        return None
    first, second = (", ".join(map(str, np.flatnonzero(planes.any(axis=0)))) for planes in own)
    shown = max(spread(steps, changes=True), key=lambda step: np.count_nonzero(step[0].planes))
    text = (
        "planes do not switch with the player to move: the first player's moves always fill "
        f"plane {first} and the second player's moves plane {second}"
    )
    return Fault(text, (shown[0].state, shown[1].state))


def shows_role(looks: Sequence[Look]) -> bool:
    """Return whether a plane says who is to move: then the two roles may differ (komi, other goals)."""
    planes = np.stack([look.planes for look in looks])
    movers = np.array([look.to_play for look in looks])
    shown_numbers = planes[:, is_uniform(planes), 0, 0]  # [positions, uniform planes]
    return any(not set(shown[movers == 0]) & set(shown[movers == 1]) for shown in shown_numbers.T)
