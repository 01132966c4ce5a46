"""Which positions a champion is asked about after each cycle: those of `oracle.file`, else those that come with azero.

Of Connect Four there are two collections of six sets, 1,000 positions each: `development` is for each cycle's report and for
choosing settings, `final` is looked at only for the final table. Of some other boards there is one set for development. All were
drawn before any network was trained, no two of them mirror images of each other:

    python -m azero.oracle game=connect_four seed=601 out=connect_four-development.gz
    python -m azero.oracle game=connect_four seed=602 without=connect_four-development.gz out=connect_four-final.gz
    python -m azero.oracle game=tictactoe plies=0-8 positions=300 seed=701 out=tictactoe-development.gz
    python -m azero.oracle game=othello6 plies=18-31 positions=200 seed=701 out=othello6-development.gz
    python -m azero.oracle game=othello plies=46-59 positions=200 seed=701 out=othello-development.gz
    python -m azero.oracle game=hex5 plies=5-18 positions=200 seed=701 out=hex5-development.gz
    python -m azero.oracle game=hex6 plies=16-30 positions=200 seed=701 out=hex6-development.gz
    python -m azero.oracle game=hex7 plies=26-40 positions=200 seed=701 out=hex7-development.gz
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from azero.config import Config

FOLDER = Path(__file__).parent / "positions"
DEVELOPMENT, FINAL = "development", "final"
USUAL: dict[str, dict[str, Any]] = {  # the options of a game where none are named
    "connect_four": {"rows": 6, "columns": 7, "connect": 4},
    "hex": {"size": 7, "swap": False},
    "othello": {"size": 8},
    "tictactoe": {},
}
BOARDS: dict[str, tuple[str, dict[str, Any]]] = {  # by the names of their files: a game, and options that are not usual
    "connect_four": ("connect_four", {}),
    "hex5": ("hex", {"size": 5}),
    "hex6": ("hex", {"size": 6}),
    "hex7": ("hex", {}),
    "othello": ("othello", {}),
    "othello6": ("othello", {"size": 6}),
    "tictactoe": ("tictactoe", {}),
}


def is_connect_four(game_name: str, options: dict[str, Any]) -> bool:
    """Tell whether it is Connect Four on its usual board; options that are not named are the game's defaults."""
    return board_of(game_name, options) == "connect_four"


def board_of(game_name: str, options: dict[str, Any]) -> str | None:
    """The name of the shipped file of a game with these options; None where there is none."""
    if game_name not in USUAL:
        return None
    usual = USUAL[game_name]
    same = (name for name, (game, its) in BOARDS.items() if game == game_name and {**usual, **its} == {**usual, **options})
    return next(same, None)


def path_of(board: str, collection: str = DEVELOPMENT) -> Path:
    """The file of a collection."""
    return FOLDER / f"{board}-{collection}.gz"


def shipped_file(game_name: str, options: dict[str, Any], collection: str = DEVELOPMENT) -> Path | None:
    """The positions that come with azero; None where there are none of this game with these options in the collection."""
    board = board_of(game_name, options)
    return path_of(board, collection) if board and path_of(board, collection).exists() else None


def file_of(config: Config) -> Path | None:
    """The positions that a run asks its champion about after each cycle; None where there are none, or none are asked for."""
    if not config.oracle.positions:
        return None
    if config.oracle.file:
        return Path(config.oracle.file)
    return shipped_file(config.game.name, config.game.options)


def check_file(config: Config) -> None:
    """Refuse an `oracle.file` that cannot be asked about.

    Raises:
        UserError: see `read_positions`.
    """
    if config.oracle.file and config.oracle.positions:
        from azero.games import make_game
        from azero.truth.positions import read_positions

        read_positions(Path(config.oracle.file), make_game(config.game.name, **config.game.options), config.oracle.positions)
