"""Games as pages replay them: a board and a position for each move."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from azero.config.schema import Config, UserError
from azero.games.ending import captured
from azero.games.game import Game
from azero.games.playing import GameInProgress
from azero.page.board import board_json
from azero.run.run import Run
from azero.studio.game_tree import shown_position


class Host(Protocol):
    """What of the server's state is needed to find runs, logs and games; see `Studio`."""

    config: Config
    folder: Path

    def make_game(self, name: object, options: object = None) -> Game:
        """Return a game that the page may ask for."""

    def place_of(self, name: object) -> str:
        """Return what `make_game` calls a game."""

    def name_of(self, game: Game) -> str:
        """Return the name by which the page asks for a game."""


def game_of_run(studio: Host, run: Run) -> tuple[Game | None, str]:
    """Return the game of a run and the name by which the page asks for it.

    None: its rules are a file that the studio was not started with. Such a file is never run.
    """
    name, options = str(run.state.config.get("game.name", "")), run.state.config.get("game.options", {})
    try:
        game = studio.make_game(name, options)
    except UserError:
        return None, Path(name).stem
    return game, studio.name_of(game)


def position_json(game: Game, state: np.ndarray, before: np.ndarray | None, action: int) -> dict[str, Any]:
    """Return a position as a board that takes no moves shows it; `action` led to it from `before`."""
    return {**shown_position(game, state, before, action), "over": True}


def replay_json(
    game: Game, name: str, actions: Sequence[int], values: Sequence[float | None] = ()
) -> dict[str, Any]:
    """Return a game with all its positions, as far as its moves are legal.

    Args:
        game: the rules.
        name: by which the page asks for the game.
        actions: the moves.
        values: of the positions for the first player, None where unknown.
    """
    at = GameInProgress(game)
    at.play_legal(actions)
    positions = [
        position_json(game, state, before, action)
        for state, before, action in zip(at.states, [None, *at.states], [-1, *at.actions], strict=False)
    ]
    known = [*values, *([None] * len(positions))][: len(positions)]
    if at.is_over:
        known[-1] = at.outcome
    if game.board is not None and game.board.captures:
        for position, taken in zip(positions, captured(game.board, at.states), strict=True):
            position["captured"] = taken
    return {
        **{"game": name, "options": game.options, "board": board_json(game)},
        "shown": game.move_texts(at.actions, at.states[0]),
        **{"moves": at.moves, "positions": positions, "values": known},
    }
