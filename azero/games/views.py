"""Two checks of `check_game` that compare the views of both sides, for any game whose planes and words let them be exchanged.

Letters: A actions, C H W planes, S state words.

When the mover changes, planes that are meant for the mover must turn: what was "mine" is "the opponent's" now. `find_turn` learns
from random games which plane becomes which. With that, `draw_fault` looks for a way to exchange the sides in the state's words
and asks the rules about final boards with the sides exchanged: a board that is lost for both was a draw.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from typing import NamedTuple, Protocol

import numpy as np

SAMPLES = 400  # steps looked at, evenly spread


class Seen(Protocol):
    """What these checks read of a `check_game.Look`."""

    @property
    def state(self) -> np.ndarray:
        """[S] uint64."""

    @property
    def ply(self) -> int:
        """Plies played before it."""

    @property
    def to_play(self) -> int:
        """0 or 1."""

    @property
    def terminal(self) -> bool:
        """Whether the game is over."""

    @property
    def outcome(self) -> float:
        """For to_play."""

    @property
    def planes(self) -> np.ndarray:
        """[C, H, W] float32."""

    @property
    def mask(self) -> np.ndarray | None:
        """[A] bool, None at the end."""


class Turn(NamedTuple):
    """How planes change when the other side comes to move: plane c becomes `sign[c]` times plane `becomes[c]`."""

    becomes: np.ndarray  # [C] int64
    sign: np.ndarray  # [C] float32, 1 or -1

    @property
    def is_identity(self) -> bool:
        """Tell whether every plane stays as it is."""
        return bool((self.becomes == np.arange(len(self.becomes))).all() and (self.sign == 1).all())

    def apply(self, planes: np.ndarray) -> np.ndarray:
        """Return planes [C, H, W] as the other side sees them."""
        turned = np.empty_like(planes)
        turned[self.becomes] = self.sign[:, None, None] * planes
        return turned


class Fault(NamedTuple):
    """What is wrong and the boards that show it."""

    text: str
    states: tuple[np.ndarray, ...]


class Terminal(NamedTuple):
    """What the rules say of a state that play may never reach."""

    over: bool
    outcome: float
    to_play: int
    planes: np.ndarray
    mask: np.ndarray


def spread(steps: Sequence[tuple[Seen, Seen]], changes: bool) -> list[tuple[Seen, Seen]]:
    """Return up to SAMPLES of the steps after which the mover changes, or does not."""
    chosen = [(before, after) for before, after in steps if (before.to_play != after.to_play) == changes]
    return chosen[:: max(1, len(chosen) // SAMPLES)]


def sampled(steps: Sequence[tuple[Seen, Seen]]) -> list[Seen]:
    """Return about SAMPLES of the positions before the steps, of each mover as many."""
    chosen: list[Seen] = []
    for mover in (0, 1):
        moves = [before for before, _ in steps if before.to_play == mover]
        chosen += moves[:: max(1, 2 * len(moves) // SAMPLES)]
    return chosen


def find_turn(steps: Sequence[tuple[Seen, Seen]]) -> Turn | None:
    """Return how planes turn with the mover, as most steps have it; None when no permutation of planes explains them."""
    chosen = spread(steps, changes=True)
    if not chosen:
        return None
    before = np.stack([first.planes for first, _ in chosen])
    after = np.stack([second.planes for _, second in chosen])
    channels = before.shape[1]
    uniform = is_uniform(before) & is_uniform(after)  # a plane that is one number says nothing of stones, so it stays itself
    cost = np.zeros((2, channels, channels))  # entries that differ when plane c becomes plane d, with its sign or the other
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
    """Tell for each of C planes whether it is one number in every position of planes [positions, C, H, W]."""
    flat = planes.reshape(*planes.shape[:2], -1)
    return np.asarray((flat == flat[:, :, :1]).all(axis=(0, 2)))


def changed_cells(before: Seen, after: Seen, turn: Turn | None) -> int:
    """Return how many entries of the planes a step changed, seen through ``turn`` (None: as they stand)."""
    planes = before.planes if turn is None else turn.apply(before.planes)
    return int((planes != after.planes).sum())


def turn_fault(steps: Sequence[tuple[Seen, Seen]], turn: Turn | None) -> Fault | None:
    """Return what is wrong with how planes turn, if anything."""
    if turn is None:
        return None
    if turn.is_identity:
        return None if shows_role(sampled(steps)) else absolute_view(steps)
    stays = spread(steps, changes=False)
    if stays and sum(changed_cells(step[0], step[1], turn) for step in stays) < sum(
        changed_cells(step[0], step[1], None) for step in stays
    ):
        worst = max(stays, key=lambda step: changed_cells(step[0], step[1], None) - changed_cells(step[0], step[1], turn))
        text = "planes turn to the other side's view although to_play says that the same side moves again"
        return Fault(text, (worst[0].state, worst[1].state))
    return None


def absolute_view(steps: Sequence[tuple[Seen, Seen]]) -> Fault | None:
    """Tell whether planes that stay in place show who made a move: then they show fixed sides, not the mover's view.

    That is right for a game that has a plane which says who moves: `turn_fault` does not ask there.
    """
    changed: dict[int, set[int]] = {0: set(), 1: set()}
    for before, after in steps:
        if before.to_play in changed:
            changed[before.to_play].update(np.flatnonzero((before.planes != after.planes).any(axis=(1, 2))).tolist())
    if not changed[0] or not changed[1] or changed[0] == changed[1]:
        return None
    shown = max(spread(steps, changes=True), key=lambda step: np.count_nonzero(step[0].planes))
    text = (
        "planes do not turn with the mover: the first player's moves change "
        f"plane {numbers(changed[0])} and the second player's plane {numbers(changed[1])}, whoever is to move"
    )
    return Fault(text, (shown[0].state, shown[1].state))


def numbers(planes: set[int]) -> str:
    """Return plane numbers as text."""
    return ", ".join(map(str, sorted(planes)))


# Exchanging the sides

Exchange = Callable[[np.ndarray], np.ndarray]
Ask = Callable[[np.ndarray], "Terminal | None"]


def exchanges(state_words: int) -> Iterator[Exchange]:
    """Yield ways to exchange the sides in a state's words: one or two pairs swapped, or own stones kept beside all stones."""
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


def find_exchange(ask: Ask, looks: Sequence[Seen], turn: Turn) -> Exchange | None:
    """Return the exchange after which planes are the other side's view and the same side is to play; None if none does."""
    for exchange in exchanges(len(looks[0].state)):
        if all(exchanges_view(ask, exchange, look, turn) for look in looks):
            return exchange
    return None


def exchanges_view(ask: Ask, exchange: Exchange, look: Seen, turn: Turn) -> bool:
    """Tell whether an exchange works for one state."""
    other = ask(exchange(look.state))
    return other is not None and other.to_play == look.to_play and np.array_equal(other.planes, turn.apply(look.planes))


def shows_role(looks: Sequence[Seen]) -> bool:
    """Tell whether some plane says which player is to move: then the two roles may well differ (komi, other goals)."""
    planes = np.stack([look.planes for look in looks])
    movers = np.array([look.to_play for look in looks])
    shown_numbers = planes[:, is_uniform(planes), 0, 0]  # [positions, uniform planes]
    return any(not set(shown[movers == 0]) & set(shown[movers == 1]) for shown in shown_numbers.T)


def draw_fault(ask: Ask, steps: Sequence[tuple[Seen, Seen]], terminals: Sequence[Seen], turn: Turn) -> Fault | None:
    """Return a final board that the rules call lost (or won) for both sides, if the game treats the sides alike.

    The sides are alike when no plane shows the role, and exchanging them turns the outcome of some final boards around; or leaves
    every legal mask as it is, and all doubtful boards are full (the longest games). Games in which the last move decides, or with
    other goals for the two sides, or with komi, fail that and are left alone.
    """
    looks = sampled(steps)
    if not terminals or turn.is_identity or shows_role(looks):
        return None
    exchange = find_exchange(ask, [*looks, *terminals[:SAMPLES]], turn)
    if exchange is None:
        return None
    alike = False
    suspects: list[Seen] = []
    for look in terminals:
        other = ask(exchange(look.state))
        if other is None or not other.over:
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
        f"a final board is {word} for whichever side is to play (outcome {suspects[0].outcome:g} from both views): is it a draw?"
    )
    return Fault(text, (suspects[0].state,))


def same_mask(ask: Ask, exchange: Exchange, look: Seen) -> bool:
    """Tell whether the legal mask stays when the sides are exchanged."""
    other = ask(exchange(look.state))
    return other is not None and look.mask is not None and np.array_equal(other.mask, look.mask)
