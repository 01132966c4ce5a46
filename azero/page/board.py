"""A game's board as `static/board.js` draws it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from azero.games.game import Game
from azero.games.kit.board import Board

STATIC = Path(__file__).parent / "static"


def board_json(game: Game) -> dict[str, Any]:
    """Return how the page draws the board of a game; kind "text" where it has none."""
    board = game.board
    if board is None:
        nothing: dict[str, Any] = {"columns": [], "rows": [], "symbols": [".", "X", "O"], "goals": ["", ""]}
        nothing |= {"figures": [], "shapes": {}, "players": None, "words": {}, "ends": {}}
        return {"kind": "text", **nothing, "stones": "coloured", "moves": False, "by_column": False}
    return {**board.described(), "by_column": is_by_column(game, board)}


def is_by_column(game: Game, board: Board) -> bool:
    """Return whether each column is one action, as in Connect Four."""
    width, start = len(board.columns), game.initial_state()
    if game.num_actions != width or len(board.rows) == 1 or board.from_of is not None:
        return False
    return [board.cell_of(start, action) % width for action in range(width)] == list(range(width))
