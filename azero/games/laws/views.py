"""Two checks that compare the views of both sides.

Letters: A actions; C, H, W planes; S state words; K key words; R repetition words.

When the player to move changes, planes that show its view must switch: "mine" becomes "the opponent's".
`find_turn` learns from random games which plane becomes which. `draw_fault` then looks for a way to exchange
the sides in the state's words and asks the rules about final boards with the sides exchanged. A board that is
lost for both sides was a draw.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

SAMPLES = 400  # steps examined, evenly spread


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


class Turn(NamedTuple):
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


def spread(steps: Sequence[tuple[Look, Look]], changes: bool) -> list[tuple[Look, Look]]:
    """Return up to SAMPLES steps after which the player to move changes, or does not."""
    chosen = [(before, after) for before, after in steps if (before.to_play != after.to_play) == changes]
    return chosen[:: max(1, len(chosen) // SAMPLES)]


def sampled(steps: Sequence[tuple[Look, Look]]) -> list[Look]:
    """Return about SAMPLES of the positions before the steps, half of them for each player to move."""
    chosen: list[Look] = []
    for mover in (0, 1):
        moves = [before for before, _ in steps if before.to_play == mover]
        chosen += moves[:: max(1, 2 * len(moves) // SAMPLES)]
    return chosen


def find_turn(steps: Sequence[tuple[Look, Look]]) -> Turn | None:
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
    return Turn(becomes, sign.astype(np.float32))


def is_uniform(planes: np.ndarray) -> np.ndarray:
    """Return for each of C planes whether it is constant in every position of planes [positions, C, H, W]."""
    flat = planes.reshape(*planes.shape[:2], -1)
    return np.asarray((flat == flat[:, :, :1]).all(axis=(0, 2)))


def turn_fault(steps: Sequence[tuple[Look, Look]], turn: Turn | None) -> Fault | None:
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
    """Return a fault if the planes show fixed sides, so each player's moves change planes of their own.

    Fixed sides are right in a game with a plane that says who moves; `turn_fault` does not ask there.
    """
    changed: dict[int, set[int]] = {0: set(), 1: set()}
    for before, after in steps:
        if before.to_play in changed:
            changed[before.to_play].update(
                np.flatnonzero((before.planes != after.planes).any(axis=(1, 2))).tolist()
            )
    if not changed[0] or not changed[1] or changed[0] == changed[1]:
        return None
    first, second = (", ".join(map(str, sorted(changed[mover]))) for mover in (0, 1))
    shown = max(spread(steps, changes=True), key=lambda step: np.count_nonzero(step[0].planes))
    text = (
        "planes do not switch with the player to move: the first player's moves always change "
        f"plane {first} and the second player's moves plane {second}"
    )
    return Fault(text, (shown[0].state, shown[1].state))


# Exchanging the sides

Exchange = Callable[[np.ndarray], np.ndarray]
Ask = Callable[[np.ndarray], "Look | None"]


def exchanges(state_words: int) -> Iterator[Exchange]:
    """Yield ways to exchange the sides in a state's words.

    Either one or two pairs of words are swapped, or one word holds own stones and another all stones.
    """
    pairs = list(combinations(range(min(state_words, 8)), 2))

    def swapped(*chosen: tuple[int, int]) -> Exchange:
        def exchange(state: np.ndarray) -> np.ndarray:
            other = state.copy()
            for i, j in chosen:
                other[i], other[j] = state[j], state[i]
            return other

        return exchange

    def complemented(own: int, all_stones: int) -> Exchange:
        def exchange(state: np.ndarray) -> np.ndarray:
            other = state.copy()
            other[own] = state[own] ^ state[all_stones]
            return other

        return exchange

    for pair in pairs:
        yield swapped(pair)
        yield complemented(*pair)
        yield complemented(pair[1], pair[0])
    for first, second in combinations(pairs, 2):
        if not set(first) & set(second):
            yield swapped(first, second)


def exchanges_view(ask: Ask, exchange: Exchange, look: Look, turn: Turn) -> bool:
    """Return whether an exchange turns planes of a state into the opponent's view and keeps to_play."""
    other = ask(exchange(look.state))
    return (
        other is not None
        and other.to_play == look.to_play
        and np.array_equal(other.planes, turn.apply(look.planes))
    )


def shows_role(looks: Sequence[Look]) -> bool:
    """Return whether a plane says who is to move: then the two roles may differ (komi, other goals)."""
    planes = np.stack([look.planes for look in looks])
    movers = np.array([look.to_play for look in looks])
    shown_numbers = planes[:, is_uniform(planes), 0, 0]  # [positions, uniform planes]
    return any(not set(shown[movers == 0]) & set(shown[movers == 1]) for shown in shown_numbers.T)


def draw_fault(
    ask: Ask, steps: Sequence[tuple[Look, Look]], terminals: Sequence[Look], turn: Turn
) -> Fault | None:
    """Return a final board that is lost (or won) for both sides, in a game that treats the sides alike.

    The sides are alike if no plane shows the role, and one of these holds: exchanging the sides turns the
    outcome of some final boards around, or it keeps every legal mask and all doubtful boards are full (the
    longest games). Games that the last move decides, with different goals, or with komi do not qualify.
    """
    looks = sampled(steps)
    if not terminals or turn.is_identity or shows_role(looks):
        return None
    shown = [*looks, *terminals[:SAMPLES]]
    for exchange in exchanges(len(shown[0].state)):
        if all(exchanges_view(ask, exchange, look, turn) for look in shown):
            break
    else:
        return None
    alike = False
    suspects: list[Look] = []
    for look in terminals:
        other = ask(exchange(look.state))
        if other is None or not other.terminal:
            continue
        alike = alike or look.outcome * other.outcome < 0
        if look.outcome * other.outcome > 0:
            suspects.append(look)
    if not alike:
        longest = max(look.ply for look in terminals)
        full = all(look.ply == longest for look in suspects)
        alike = full and all(look.mask is None or same_mask(ask, exchange, look) for look in looks)
    if not suspects or not alike:
        return None
    word = "lost" if suspects[0].outcome < 0 else "won"
    text = (
        f"a final board is {word} for both sides (outcome {suspects[0].outcome:g} for whoever is to play); "
        "a draw must be 0.0"
    )
    return Fault(text, (suspects[0].state,))


def same_mask(ask: Ask, exchange: Exchange, look: Look) -> bool:
    """Return whether exchanging the sides keeps the legal mask."""
    other = ask(exchange(look.state))
    return bool(other and np.array_equal(np.asarray(other.mask), np.asarray(look.mask)))
