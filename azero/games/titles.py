"""What a game is called where people read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from azero.config.schema import GameConfig
from azero.games.game import Game

TITLES = {  # of games and variants whose name does not say it
    "tictactoe": "Tic-tac-toe",
    "gardner": "Gardner's chess",
    "losalamos": "Los Alamos chess",
}


def game_title(name: str, options: Mapping[str, Any] | None = None) -> str:
    """Return a game's name as a person writes it, such as "Connect Four" for connect_four.

    With its options chess has the name of its variant.
    """
    plain, variant = GameConfig(name=name).stem, (options or {}).get("variant", "standard")
    if plain == "chess" and variant != "standard":
        plain = str(variant)
    return TITLES.get(plain, plain.replace("_", " ").title())


def game_heading(game: Game) -> str:
    """Return a game's name with its size and komi, such as "Go, 9 × 9, komi 7.5"."""
    options, parts = game.options, [game_title(game.name, game.options)]
    if game.board is not None and {"size", "rows"} & options.keys():
        parts.append(f"{len(game.board.rows)} × {len(game.board.columns)}")
    if "connect" in options:
        parts.append(f"{options['connect']} in a row")
    if "komi" in options:
        parts.append(f"komi {options['komi']:g}")
    return ", ".join(parts)


def describe_game(name: str, options: Mapping[str, Any]) -> str:
    """Return a game's name with its options, such as ``go(komi=7.5, size=9)``."""
    listed = ", ".join(f"{key}={options[key]}" for key in sorted(options))
    return f"{name}({listed})" if listed else name
