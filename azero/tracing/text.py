"""A traced search in words, for the terminal and for the page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from azero.games.game import Game
from azero.tracing.tree import grown_tree
from azero.tracing.watched_uct import Choice, Simulation


class Trace(NamedTuple):
    """A search and where it began."""

    game: Game
    start: np.ndarray  # [S] uint64
    moves: list[int]  # that led there
    options: dict[str, Any]
    simulations: list[Simulation]


def side(game: Game, to_play: int) -> str:
    """Return such as X."""
    return game.board.symbols[1 + to_play] if game.board else ("first player", "second player")[to_play]


def names(game: Game, moves: Sequence[int]) -> str:
    """Return moves as people write them."""
    return " ".join(game.action_name(move) for move in moves) or "none"


def path_text(game: Game, simulation: Simulation) -> str:
    """Return the chosen path."""
    return " → ".join(["the root", *(game.action_name(choice.chosen) for choice in simulation.choices)])


def choice_title(game: Game, simulation: Simulation, place: int) -> str:
    """Return the title of the table of one choice."""
    choice = simulation.choices[place]
    before = names(game, [earlier.chosen for earlier in simulation.choices[:place]])
    where = f"after {before}" if place else "at the root"
    expanded = ", expanded now" if choice.listed else ""
    return f"{side(game, choice.to_play)} chooses {where}, t = {choice.total}{expanded}"


def rows(game: Game, choice: Choice) -> list[tuple[str, str, str, str, bool]]:
    """Return the table of one choice: move, visits n, wins w of the first player, UCB1, whether chosen."""
    return [
        (
            game.action_name(candidate.move),
            str(candidate.visits),
            f"{candidate.wins:g}",
            "not tried" if math.isinf(candidate.score) else f"{candidate.score:.4f}",
            candidate.move == choice.chosen,
        )
        for candidate in choice.candidates
    ]


def rollout_text(game: Game, simulation: Simulation) -> str:
    """Return the random moves and how they ended."""
    first, reward = side(game, 0), simulation.reward
    endings = {1.0: f"{first} wins", 0.0: f"{side(game, 1)} wins", 0.5: "a draw"}
    moves = names(game, simulation.rollout) if simulation.rollout else "the game is over"
    return f"{moves}: {endings.get(reward, f'{reward:g} for {first}')}"


def node_text(game: Game, move: int, wins: float, visits: int) -> str:
    """Return a node as the move that led to it (-1 at the root) and w/n."""
    return f"{'the root' if move < 0 else game.action_name(move)} {wins:g}/{visits}"


def update_text(game: Game, simulation: Simulation) -> str:
    """Return the path's nodes after the simulation."""
    return ", ".join(node_text(game, each.move, each.wins, each.visits) for each in simulation.updates)


def tree_text(trace: Trace) -> str:
    """Return the final tree, one line for each node, indented by its depth."""
    lines = list[str]()
    for node in grown_tree(trace.simulations):
        _, visits, wins = node.passed[-1]
        text = node_text(trace.game, node.path[-1] if node.path else -1, wins, visits)
        lines.append("   " * len(node.path) + text)
    return "\n".join(lines)


def head_text(trace: Trace) -> str:
    """Return what the numbers mean."""
    first, second = side(trace.game, 0), side(trace.game, 1)
    exploration = trace.options["exploration"]
    bonus = "√(2 ln t / n)" if math.isclose(exploration, math.sqrt(2.0)) else f"{exploration:g} √(ln t / n)"
    return (
        f"n: visits; w: wins of {first}, a draw counts half; t: visits of all moves of the table. "
        f"UCB1 is w/n + {bonus} where {first} chooses and −w/n + {bonus} where {second} does. "
        f"A node is expanded at visit {trace.options['expansion_threshold']}, the root at once."
    )
