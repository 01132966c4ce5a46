"""A game's board as `static/board.js` draws it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from azero.games.game import Game

STATIC = Path(__file__).parent / "static"


def board_json(game: Game) -> dict[str, Any]:
    """Return how the page draws the board of a game; kind "text" where it has none."""
    board = game.board
    if board is None:
        nothing = {"columns": [], "rows": [], "symbols": [".", "X", "O"], "goals": ["", ""]}
        return {"kind": "text", **nothing, "by_column": False}
    width, start = len(board.columns), game.initial_state()
    cells = [board.cell_of(start, action) for action in range(game.num_actions)]
    by_column = len(board.rows) > 1 and [cell % width for cell in cells] == list(range(width))
    return {**board.described(), "by_column": by_column}
