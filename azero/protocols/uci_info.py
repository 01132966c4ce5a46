"""The lines in which UCI reports a search."""

from __future__ import annotations

import re

import numpy as np

from azero.games.game import Game
from azero.players import Move, Thought
from azero.records.signs import centipawns
from azero.search.tree import LOSS, WIN


def is_won(move: Move) -> bool:
    """Return whether a search has proven that a move wins."""
    return move.lower == WIN


def mate_in(game: Game, state: np.ndarray, move: Move) -> int | None:
    """Return in how many moves a move is proven to win, negative if it loses; None: it is not known.

    The number is that of the line, which must end the game.
    """
    is_proven = move.lower == move.upper and move.lower in (WIN, LOSS)
    if not is_proven and len(move.line) > 1:  # a single move needs no proof
        return None
    mover = game.to_play(state)
    for action in move.line:
        state = game.step(state, action)
    value = game.outcome(state) if game.is_terminal(state) else 0.0
    if not value:
        return None
    moves = (len(move.line) + 1) // 2
    return moves if (value > 0) == (game.to_play(state) == mover) else -moves


def without_speed(line: str) -> str:
    """Return a line without what differs each time: positions in a second, and the time."""
    return re.sub(r" (nps|time) \d+", "", line)


def info_lines(game: Game, state: np.ndarray, thought: Thought, count: int, seconds: float) -> list[str]:
    """Return what a search has found of its best moves, as lines.

    Args:
        game: the rules.
        state: the position, [S].
        thought: what is known of it.
        count: moves that are reported, at most all with visits.
        seconds: since the search began.
    """
    effort, lines = effort_text(thought, seconds), []
    if thought.depth:
        ends = thought.value == 1.0 and game.is_terminal(game.step(state, thought.best))
        # The depth of a search is not the distance of the end that it has found, and its line is not kept
        score = "mate 1" if ends else f"cp {centipawns(thought.value)}"
        (name,) = game.move_names([thought.best], state)
        return [f"info depth {thought.depth} multipv 1 score {score} {effort} pv {name}"]
    visited = [move for move in thought.best_first() if move.visits]
    for place, move in enumerate(visited[:count], 1):
        mate = mate_in(game, state, move)
        score = f"cp {centipawns(move.value)}" if mate is None else f"mate {mate}"
        names = " ".join(game.move_names(move.line, state))
        lines.append(f"info depth {len(move.line)} multipv {place} score {score} {effort} pv {names}")
    return lines


def effort_text(thought: Thought, seconds: float) -> str:
    """Return the positions searched, the new ones in a second, and the time in milliseconds."""
    rate = f" nps {round(thought.nodes / seconds)}" if seconds > 0 else ""
    return f"nodes {thought.visits or thought.nodes}{rate} time {round(1000 * seconds)}"
