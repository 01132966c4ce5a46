"""Checks that an outcome is the value for the player to move.

Letters: A actions; C, H, W planes; S state words.

A state's words are searched for a way to exchange the sides. A final board that is lost for both sides was a
draw. An outcome that is the first player's instead of the mover's has the wrong sign after every move of the
first player: one player wins whoever moves last, or more stones of its own win for one player and lose for
the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations, permutations

import numpy as np

from azero.games.laws.views import ENOUGH, SAMPLES, Fault, Look, PlaneTurn, sampled, shows_role

CERTAIN = 2.5  # standard errors
OFTEN = 0.2  # share of games
SUSPICION = "outcome seems to be the first player's value, not the mover's"

Exchange = Callable[[np.ndarray], np.ndarray]
Ask = Callable[[np.ndarray], "Look | None"]


def exchanges(states: np.ndarray) -> Iterator[Exchange]:
    """Yield ways to exchange the sides in the words of states [N, S].

    Either one or two pairs of words are swapped, or one word holds own stones and another all stones. Words
    must fit that in all states: another word may be an index, and rules that read a wrong one may crash.
    """
    seen = np.bitwise_or.reduce(states)

    def fits(i: int, j: int, alien: np.ndarray) -> bool:
        """Return whether no state has alien bits, and words i and j hold much the same cells."""
        different, common = int(seen[i] ^ seen[j]).bit_count(), int(seen[i] & seen[j]).bit_count()
        return not alien.any() and different <= common > 0

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

    ordered = list(permutations(range(min(states.shape[1], 8)), 2))
    pairs = [(i, j) for i, j in ordered if i < j and fits(i, j, states[:, i] & states[:, j])]
    yield from map(swapped, pairs)
    yield from (complemented(i, j) for i, j in ordered if fits(i, j, states[:, i] & ~states[:, j]))
    for first, second in combinations(pairs, 2):
        if not set(first) & set(second):
            yield swapped(first, second)


def exchanges_view(ask: Ask, exchange: Exchange, look: Look, turn: PlaneTurn) -> bool:
    """Return whether an exchange turns planes of a state into the opponent's view and keeps to_play."""
    other = ask(exchange(look.state))
    return (
        other is not None
        and other.to_play == look.to_play
        and np.array_equal(other.planes, turn.apply(look.planes))
    )


def find_exchange(
    ask: Ask, looks: Sequence[Look], terminals: Sequence[Look], turn: PlaneTurn
) -> Exchange | None:
    """Return a way to exchange the sides in a state's words, or None."""
    shown = [*looks, *terminals[:SAMPLES]]
    for exchange in exchanges(np.stack([look.state for look in shown])):
        if all(exchanges_view(ask, exchange, look, turn) for look in shown):
            return exchange
    return None


def same_mask(ask: Ask, exchange: Exchange, look: Look) -> bool:
    """Return whether exchanging the sides keeps the legal mask."""
    other = ask(exchange(look.state))
    return bool(other and np.array_equal(np.asarray(other.mask), np.asarray(look.mask)))


def outcome_faults(
    ask: Ask, steps: Sequence[tuple[Look, Look]], terminals: Sequence[Look], turn: PlaneTurn
) -> Iterator[Fault]:
    """Yield the faults of outcomes; ``ask`` says what the rules say of any state, None if one raises."""
    looks = sampled(steps)
    role = shows_role(looks)
    exchange = None if role or turn.is_identity else find_exchange(ask, looks, terminals, turn)
    others = [ask(exchange(look.state)) for look in terminals] if exchange else []
    if exchange:
        yield from draw_fault(ask, exchange, looks, list(zip(terminals, others, strict=True)))
    # Where the game is not over with the sides exchanged, it is what the last mover did that ended it
    last_decides = sum(other is None or not other.terminal for other in others) > len(terminals) / 2
    ends = [(before, after) for before, after in steps if after.terminal]
    equals = not role and starts_alike(steps[0][0], turn)
    for passes in (False, True):
        looks = [after for before, after in ends if (before.to_play == after.to_play) == passes]
        sides = [[look for look in looks if look.to_play == side] for side in (0, 1)]
        if min(map(len, sides)) >= ENOUGH:
            certain = equals or all_won_by_one(sides)
            yield from one_winner(sides, certain, 0.5 if last_decides else 1.0)
            yield from stones_lose(sides, turn)


def draw_fault(
    ask: Ask, exchange: Exchange, looks: Sequence[Look], finals: Sequence[tuple[Look, Look | None]]
) -> Iterator[Fault]:
    """Yield a final board that is lost (or won) for both sides, in a game that treats the sides alike.

    The sides are alike if exchanging them turns the outcome of some final board around, or if it keeps every
    legal mask and all doubtful boards are full (the longest games). So no game qualifies that the last move
    decides.

    finals: final positions, and the same with the sides exchanged.
    """
    products = [look.outcome * other.outcome if other else 0.0 for look, other in finals]
    suspects = [look for (look, _), product in zip(finals, products, strict=True) if product > 0]
    longest = max(look.ply for look, _ in finals)
    if not suspects or (min(products) >= 0 and any(look.ply < longest for look in suspects)):
        return
    if says_nothing(finals):
        return
    if min(products) < 0 or all(look.mask is None or same_mask(ask, exchange, look) for look in looks):
        word = "lost" if suspects[0].outcome < 0 else "won"
        value = f"outcome {suspects[0].outcome:g} for whoever is to play"
        text = f"a final board is {word} for both sides ({value}); a draw must be 0.0"
        if goals_may_differ([look for look, _ in finals]):
            text += ", or, if the sides have different goals, add a plane that says who is to move"
            yield Fault(text, (suspects[0].state,), certain=False)
        else:
            yield Fault(text, (suspects[0].state,))


def says_nothing(finals: Sequence[tuple[Look, Look | None]]) -> bool:
    """Return whether outcomes vary, but never with an exchange of the sides: another word decides them."""
    varied = len({look.outcome for look, _ in finals}) > 1
    return varied and all(other is None or other.outcome == look.outcome for look, other in finals)


def goals_may_differ(terminals: Sequence[Look]) -> bool:
    """Return whether either side wins some games and the other the rest, and only one side's moves end games.

    Games that last as long as any end by themselves; they count if there are no others.
    """
    longest = max(look.ply for look in terminals)
    early = [look for look in terminals if look.ply < longest] or terminals
    winners = {look.outcome * (1 if look.to_play == 0 else -1) for look in terminals}
    return len({look.to_play for look in early}) == 1 and winners == {-1.0, 1.0}


def starts_alike(first: Look, turn: PlaneTurn) -> bool:
    """Return whether both sides begin with the same number of stones."""
    return np.array_equal(first.planes.sum(axis=(1, 2)), turn.apply(first.planes).sum(axis=(1, 2)))


def all_won_by_one(sides: Sequence[Sequence[Look]]) -> bool:
    """Return whether one player wins all games, without a draw, although either often moves last.

    sides: final positions in which the first, and the second player is to play.
    """
    first, second = ([np.sign(look.outcome) for look in looks] for looks in sides)
    often = min(len(first), len(second)) >= OFTEN * (len(first) + len(second))
    return often and {*first, *(-sign for sign in second)} in ({1.0}, {-1.0})


def one_winner(sides: Sequence[Sequence[Look]], certain: bool, share: float) -> Iterator[Fault]:
    """Yield a fault if one player wins whoever moves last, as if `outcome` were the first player's.

    Who completes a line wins: 1.0 after the first player's move, -1.0 after the second player's.

    Args:
        sides: final positions in which the first, and the second player is to play.
        certain: whether it is a mistake; else the rules of some games mean it so.
        share: the share of wins minus that of losses from which on it is a fault; 1 if all must be won.
    """
    signs = [[np.sign(look.outcome) for look in looks if look.outcome] for looks in sides]
    if min(map(len, signs)) < ENOUGH:
        return
    first, second = map(np.mean, signs)
    if first * second < 0 and min(abs(first), abs(second)) >= share:
        winner = "first" if first > 0 else "second"
        text = f"{SUSPICION}: the {winner} player wins whoever moves last"
        yield Fault(text, (sides[0][0].state, sides[1][0].state), certain)


def stones_lose(sides: Sequence[Sequence[Look]], turn: PlaneTurn) -> Iterator[Fault]:
    """Yield a fault if more stones of its own win for one player and lose for the other.

    sides: final positions in which the first, and the second player is to play.
    """
    own = [c for c, d in enumerate(turn.becomes) if c < d or (c == d and turn.sign[c] < 0)]
    other = [turn.becomes[c] for c in own if turn.becomes[c] != c]
    certain = []
    for looks in sides:
        lead = np.array([look.planes[own].sum() - look.planes[other].sum() for look in looks])
        outcome = np.array([look.outcome for look in looks])
        if lead.std() and outcome.std():
            certain.append(np.corrcoef(lead, outcome)[0, 1] * len(looks) ** 0.5)
    if len(certain) == 2 and min(certain) < -CERTAIN and max(certain) > CERTAIN:
        text = f"{SUSPICION}: more stones of its own win for one player and lose for the other"
        yield Fault(text, (sides[0][0].state, sides[1][0].state))
