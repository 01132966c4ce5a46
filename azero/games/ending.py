"""What pages and pictures say of a game's count and of its end."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from azero.games.game import Game
from azero.games.kit.board import EMPTY, PLAYERS, SECOND, Board, owner_of
from azero.games.playing import GameInProgress


def player_name(game: Game, player: int) -> str:
    """Return what a player (0 or 1) is called at the beginning of a sentence."""
    return game.board.player_name(player) if game.board else PLAYERS[player]


def score_text(game: Game, state: np.ndarray) -> str:
    """Return a state's count in words that can follow "Black wins"; "" if the game has none."""
    return "" if game.board is None or game.board.score_text is None else game.board.score_text(state)


def result_text(game: Game, state: np.ndarray, outcome: float | None = None) -> str:
    """Return who has won, and by how much, such as "Black wins by 3.5 points"; "" before the end.

    outcome: of a game that has ended, for the first player; None: what the rules say.
    """
    if outcome is None:
        if not game.is_terminal(state):
            return ""
        outcome = game.first_outcome(state)
    wins = [f"{player_name(game, player)} wins" for player in (0, 1)]
    return outcome_text(game, state, outcome, wins, "Draw")


def outcome_text(
    game: Game, state: np.ndarray, outcome: float, wins: Sequence[str], draw: str = "A draw"
) -> str:
    """Return how a game has ended, and by how much unless somebody resigned.

    outcome: for the first player; wins: what is said if player 0 or 1 wins, such as "You win".
    """
    who = wins[0] if outcome > 0 else wins[1] if outcome < 0 else draw
    return f"{who} {score_text(game, state) if game.is_terminal(state) else ''}".strip()


def result_for(at: GameInProgress, side: int, other: str) -> str:
    """Return how a game has ended for a person, such as "You win by checkmate."

    side: the person's, 0 or 1; other: what the opponent is called at the beginning of a sentence.
    """
    wins = [f"{other} wins", f"{other} wins"]
    wins[side] = "You win"
    return outcome_text(at.game, at.state, at.outcome or 0.0, wins) + "."


def end_json(game: Game, state: np.ndarray) -> dict[str, Any]:
    """Return what a page shows of a state's count, and of the end if it is one."""
    board, over = game.board, game.is_terminal(state)
    winning, territory = list[int](), list[int]()
    if over and board is not None and board.winning_cells is not None:
        winning = [int(cell) for cell in board.winning_cells(state)]
    if over and board is not None and board.territory is not None:
        territory = np.ravel(board.territory(state)).tolist()
    note = "" if board is None or board.note is None else board.note(state)
    said = {"score": score_text(game, state), "result": result_text(game, state), "note": note}
    return {**said, "winning": winning, "territory": territory}


def captured(board: Board, states: Iterable[np.ndarray]) -> list[list[int]]:
    """Return how many of the opponent's pieces each player has taken until each state of a game."""
    taken = [[0, 0]]
    for before, after in pairwise(board.marks(state) for state in states):
        taken.append(taken[-1].copy())
        for mark in before[(before != EMPTY) & (after == EMPTY)].tolist():
            taken[-1][SECOND - owner_of(mark)] += 1
    return taken
