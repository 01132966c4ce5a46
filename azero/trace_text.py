"""A traced search in words, for the terminal and for the page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from azero.trace_tree import grown_tree

if TYPE_CHECKING:
    import numpy as np

    from azero.games.game import Game
    from azero.search.watched_uct import Choice, Simulation


class Trace(NamedTuple):
    """A search and where it began."""

    game: Game
    start: np.ndarray  # [S] uint64
    moves: list[int]  # that led there
    options: dict[str, Any]
    simulations: list[Simulation]


def side(game: Game, to_play: int) -> str:
    """Such as X."""
    return game.board.symbols[1 + to_play] if game.board else ("first player", "second player")[to_play]


def names(game: Game, moves: Sequence[int]) -> str:
    """Moves as people write them."""
    return " ".join(game.action_name(move) for move in moves) or "none"


def number(value: float) -> str:
    """A count of wins, of which a draw is a half."""
    return f"{value:g}"


def path_text(game: Game, simulation: Simulation) -> str:
    """The chosen path."""
    return "the root → " + " → ".join(game.action_name(choice.chosen) for choice in simulation.choices)


def choice_title(game: Game, simulation: Simulation, place: int) -> str:
    """Over the table of one choice."""
    choice = simulation.choices[place]
    before = names(game, [earlier.chosen for earlier in simulation.choices[:place]])
    where = "at the root" if place == 0 else f"after {before}"
    return f"{side(game, choice.to_play)} chooses {where}, t = {choice.total}" + (", expanded now" if choice.listed else "")


def rows(game: Game, choice: Choice) -> list[tuple[str, str, str, str, bool]]:
    """The table of one choice: move, visits n, wins w of the first player, UCB1, whether it was chosen."""
    return [
        (
            game.action_name(candidate.move),
            str(candidate.visits),
            number(candidate.wins),
            "not tried" if math.isinf(candidate.score) else f"{candidate.score:.4f}",
            candidate.move == choice.chosen,
        )
        for candidate in choice.candidates
    ]


def rollout_text(game: Game, simulation: Simulation) -> str:
    """The random moves and how they ended."""
    first = side(game, 0)
    ending = {1.0: f"{first} wins", 0.0: f"{side(game, 1)} wins", 0.5: "a draw"}.get(
        simulation.reward, f"{simulation.reward:g} for {first}"
    )
    return f"{names(game, simulation.rollout)}: {ending}" if simulation.rollout else f"the game is over: {ending}"


def node_text(game: Game, move: int, wins: float, visits: int) -> str:
    """A node by the move that led to it, -1 at the root, and w/n."""
    return f"{'the root' if move < 0 else game.action_name(move)} {number(wins)}/{visits}"


def update_text(game: Game, simulation: Simulation) -> str:
    """What the path's nodes hold now."""
    return ", ".join(node_text(game, update.move, update.wins, update.visits) for update in simulation.updates)


def tree_text(trace: Trace) -> str:
    """The tree at the end, a line for each node below the one it belongs to."""
    lines = list[str]()
    for node in grown_tree(trace.simulations):
        _, visits, wins = node.passed[-1]
        lines.append("   " * len(node.path) + node_text(trace.game, node.path[-1] if node.path else -1, wins, visits))
    return "\n".join(lines)


def head_text(trace: Trace) -> str:
    """What the numbers mean."""
    first, second = side(trace.game, 0), side(trace.game, 1)
    exploration = trace.options["exploration"]
    bonus = "√(2 ln t / n)" if math.isclose(exploration, math.sqrt(2.0)) else f"{exploration:g} √(ln t / n)"
    return (
        f"n: visits; w: wins of {first}, a draw is a half; t: visits of all moves beside it. UCB1 is w/n + {bonus} where {first} "
        f"chooses and −w/n + {bonus} where {second} does. A node's moves are listed from its visit "
        f"{trace.options['expansion_threshold']} on, the root's at once."
    )
